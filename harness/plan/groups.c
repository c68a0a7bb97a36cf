// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/cpuset.h"
#include "harness/plan/load.h"

#define MAX_COMPARES	64
#define MAX_DIFFERENCES 64

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for a plan");
}

/* A comparison's fields as the plan has them. */
struct compare_text {
	char *base, *with;
};

static void compare_text_free(struct compare_text *t)
{
	free(t->base);
	free(t->with);
}

static int find_arm(const struct plan *p, const struct at *up, const char *key, const char *name,
		    struct err *e)
{
	struct at at = {.up = up, .key = key};

	for (int i = 0; i < p->narms; i++)
		if (strcmp(p->arms[i].name, name) == 0)
			return i;
	return at_error(&at, e, "the plan has no arm \"%.64s\"", name);
}

static int load_differences(const struct at *up, const json_t *v, struct plan_compare *c,
			    struct err *e)
{
	struct at list = {.up = up, .key = "differences"};
	size_t n;
	int rc;

	if (!v)
		return 0;
	rc = read_array(&list, v, MAX_DIFFERENCES, &n, e);
	if (rc < 0)
		return rc;
	c->differences = calloc(n ? n : 1, sizeof(*c->differences));
	if (!c->differences)
		return no_memory(e);
	for (size_t i = 0; i < n; i++) {
		struct at at = {.up = &list, .index = i};

		rc = read_string(&at, json_array_get(v, i), &c->differences[i], e);
		if (rc < 0)
			return rc;
		c->ndifferences++;
	}
	return 0;
}

static int load_compare(const struct loader *l, const struct at *at, const json_t *v,
			struct plan_compare *c, struct err *e)
{
	static const struct field fields[] = {
		{"base", read_string, offsetof(struct compare_text, base), true},
		{"with", read_string, offsetof(struct compare_text, with), true},
		{"differences"},
	};
	cleanup(compare_text_free) struct compare_text t = {0};
	int rc = read_object(at, v, fields, sizeof(fields) / sizeof(fields[0]), &t, e);

	if (rc < 0)
		return rc;
	c->base = find_arm(l->p, at, "base", t.base, e);
	if (c->base < 0)
		return c->base;
	c->with = find_arm(l->p, at, "with", t.with, e);
	if (c->with < 0)
		return c->with;
	if (c->base == c->with)
		return at_error(at, e, "an arm cannot be compared with itself");
	return load_differences(at, json_object_get(v, "differences"), c, e);
}

/* Without "compare" the first arm is the base of all others. */
static int load_compares(const struct loader *l, struct err *e)
{
	struct at list = {.up = l->root, .key = "compare"};
	json_t *compares = json_object_get(l->plan, "compare");
	struct plan *p = l->p;
	size_t n = (size_t)p->narms - 1;
	int rc = compares ? read_array(&list, compares, MAX_COMPARES, &n, e) : 0;

	if (rc < 0)
		return rc;
	p->compares = calloc(n ? n : 1, sizeof(*p->compares));
	if (!p->compares)
		return no_memory(e);
	for (size_t i = 0; i < n; i++) {
		struct at at = {.up = &list, .index = i};

		p->ncompares++;
		if (!compares) {
			p->compares[i].with = (int)i + 1;
			continue;
		}
		rc = load_compare(l, &at, json_array_get(compares, i), &p->compares[i], e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Numbers the connected parts of the graph of comparisons. */
static int make_groups(struct plan *p, struct err *e)
{
	bool changed = true;
	int *group_of;

	for (int i = 0; i < p->narms; i++)
		p->arms[i].group = i;
	while (changed) {
		changed = false;
		for (int i = 0; i < p->ncompares; i++) {
			int *a = &p->arms[p->compares[i].base].group;
			int *b = &p->arms[p->compares[i].with].group;

			if (*a == *b)
				continue;
			*a = *b = *a < *b ? *a : *b;
			changed = true;
		}
	}
	p->groups = calloc((size_t)p->narms, sizeof(*p->groups));
	group_of = calloc((size_t)p->narms, sizeof(*group_of));
	if (!p->groups || !group_of) {
		free(group_of);
		return no_memory(e);
	}
	for (int i = 0; i < p->narms; i++) {
		/* The smallest arm of a group names it, and comes first. */
		if (p->arms[i].group == i)
			group_of[i] = p->ngroups++;
		p->arms[i].group = group_of[p->arms[i].group];
		p->groups[p->arms[i].group].narms++;
	}
	free(group_of);
	return 0;
}

static int add_core(struct cpumask *m, const struct topology *t, int cpu)
{
	const struct topo_cpu *c = topology_cpu(t, cpu);

	for (int i = 0; i < t->ncpus; i++)
		if (t->cpus[i].core == c->core && cpumask_set(m, t->cpus[i].cpu) < 0)
			return -ENOMEM;
	return 0;
}

/* The first CPU of a set in topology order. */
static int first_in_order(const struct topology *t, const struct cpumask *m)
{
	for (int i = 0; i < t->ncpus; i++)
		if (cpumask_test(m, t->cpus[i].cpu))
			return t->cpus[i].cpu;
	return -1;
}

/*
 * CPU 0's core, which takes most interrupts and cannot be given away, and one core in every
 * partition that has none yet: small partitions first, since a core of theirs also serves the
 * larger ones around them.
 */
static int auto_quiet(const struct loader *l, struct err *e)
{
	struct plan *p = l->p;
	int largest = 0;

	if (add_core(&p->quiet, l->t, cpumask_next(&l->t->online, 0)) < 0)
		return no_memory(e);
	for (int i = 0; i < p->narms; i++)
		for (int k = 0; k < p->arms[i].npartitions; k++)
			if (cpumask_weight(&p->arms[i].partitions[k].cpus) > largest)
				largest = cpumask_weight(&p->arms[i].partitions[k].cpus);
	for (int size = 1; size <= largest; size++)
		for (int i = 0; i < p->narms; i++)
			for (int k = 0; k < p->arms[i].npartitions; k++) {
				const struct cpumask *cpus = &p->arms[i].partitions[k].cpus;

				if (cpumask_weight(cpus) != size ||
				    cpumask_intersects(cpus, &p->quiet))
					continue;
				if (add_core(&p->quiet, l->t, first_in_order(l->t, cpus)) < 0)
					return no_memory(e);
			}
	return 0;
}

static int load_quiet(const struct loader *l, struct err *e)
{
	struct at at = {.up = l->root, .key = "quiet"};
	json_t *v = json_object_get(l->plan, "quiet");
	const char *text = v ? json_string_value(v) : "auto";

	if (!text)
		return at_error(&at, e, "a CPU set, \"auto\" or \"none\" is expected");
	if (strcmp(text, "none") == 0)
		return 0;
	if (strcmp(text, "auto") == 0)
		return auto_quiet(l, e);
	if (cpuset_parse(&l->p->quiet, text, l->t, true, e) < 0)
		return at_wrap(&at, e);
	return 0;
}

static int find_usable(const struct loader *l, struct plan_group *g, int group, struct err *e)
{
	struct plan *p = l->p;
	bool first = true;

	for (int i = 0; i < p->narms; i++) {
		cleanup_cpumask struct cpumask whole = CPUMASK_INIT;

		if (p->arms[i].group != group)
			continue;
		for (int k = 0; k < p->arms[i].npartitions; k++)
			if (cpumask_or(&whole, &p->arms[i].partitions[k].cpus) < 0)
				return no_memory(e);
		if (first && cpumask_copy(&g->usable, &whole) < 0)
			return no_memory(e);
		cpumask_and(&g->usable, &whole);
		first = false;
	}
	cpumask_andnot(&g->usable, &p->quiet);
	return 0;
}

/* A partition that can never carry a task is a mistake of the plan, not a result of 0. */
static int check_usable(const struct loader *l, struct err *e)
{
	struct at list = {.up = l->root, .key = "arms"};
	struct plan *p = l->p;

	for (int i = 0; i < p->narms; i++) {
		struct at arm = {.up = &list, .index = (size_t)i};
		struct at parts = {.up = &arm, .key = "partitions"};
		const struct cpumask *usable = &p->groups[p->arms[i].group].usable;

		for (int k = 0; k < p->arms[i].npartitions; k++) {
			struct at at = {.up = &parts, .index = (size_t)k};
			const struct plan_partition *part = &p->arms[i].partitions[k];
			cleanup_cpumask struct cpumask left = CPUMASK_INIT;
			cleanup_free char *list_text = NULL, *quiet = NULL;

			if (cpumask_intersects(&part->cpus, usable))
				continue;
			if (cpumask_copy(&left, &part->cpus) < 0)
				return no_memory(e);
			cpumask_andnot(&left, &p->quiet);
			list_text = cpumask_format(&part->cpus);
			quiet = cpumask_format(&p->quiet);
			if (cpumask_weight(&left) == 0)
				return at_error(&at, e,
						"no CPU is left for tasks: its CPUs are %s, quiet "
						"are %s (\"quiet\": \"none\" keeps none back)",
						list_text, quiet);
			return at_error(&at, e,
					"none of its CPUs %s is in every arm that arm \"%s\" is "
					"compared with, so none can carry a task",
					list_text, p->arms[i].name);
		}
	}
	return 0;
}

static int warn_kinds(const struct loader *l, struct err *e)
{
	for (int g = 0; g < l->p->ngroups; g++) {
		int kind = -1;

		cpumask_for_each(cpu, &l->p->groups[g].usable) {
			int k = topology_cpu(l->t, cpu)->kind;

			if (kind >= 0 && k != kind)
				return plan_warn(l->p, e,
						 "the CPUs that carry tasks are of different kinds "
						 "(fast and slow cores): a task count says little "
						 "without saying which");
			kind = k;
		}
	}
	return 0;
}

/* CPUs that the scheduler leaves alone are not like the others. */
static int warn_isolated(const struct loader *l, struct err *e)
{
	const struct {
		const struct cpumask *mask;
		const char *name;
	} sorts[] = {{&l->t->isolated, "isolated"}, {&l->t->nohz_full, "nohz_full"}};

	for (int g = 0; g < l->p->ngroups; g++)
		for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
			const struct cpumask *usable = &l->p->groups[g].usable;
			int rc;

			if (!cpumask_intersects(usable, sorts[i].mask) ||
			    cpumask_subset(usable, sorts[i].mask))
				continue;
			rc = plan_warn(l->p, e,
				       "some of the CPUs that carry tasks are %s, others are not",
				       sorts[i].name);
			if (rc < 0)
				return rc;
		}
	return 0;
}

/* A CPU quota stops the tasks of agents on this kernel when it is used up. */
static int warn_quota(const struct loader *l, struct err *e)
{
	if (l->t->quota == 0)
		return 0;
	return plan_warn(l->p, e,
			 "a control group limits this process to %.2f CPUs' worth of time; tasks "
			 "are stopped "
			 "when it is used up",
			 l->t->quota);
}

/* Hash sizes and commit batches follow the memory a CPU. */
static int warn_memory(const struct loader *l, struct err *e)
{
	const struct plan_partition *first = NULL;

	for (int i = 0; i < l->p->narms; i++)
		for (int k = 0; k < l->p->arms[i].npartitions; k++) {
			const struct plan_partition *x = &l->p->arms[i].partitions[k];
			uint64_t share;

			if (x->memory == 0)
				continue;
			if (!first)
				first = x;
			share = x->memory / (uint64_t)cpumask_weight(&x->cpus);
			if (share == first->memory / (uint64_t)cpumask_weight(&first->cpus))
				continue;
			return plan_warn(
				l->p, e,
				"partitions \"%s\" and \"%s\" have different memory a CPU: "
				"hash tables and commit batches of their kernels differ",
				first->name, x->name);
		}
	return 0;
}

int load_groups(const struct loader *l, struct err *e)
{
	int rc = load_compares(l, e);

	if (rc == 0)
		rc = make_groups(l->p, e);
	if (rc == 0)
		rc = load_quiet(l, e);
	for (int g = 0; g < l->p->ngroups && rc == 0; g++)
		rc = find_usable(l, &l->p->groups[g], g, e);
	if (rc == 0)
		rc = check_usable(l, e);
	if (rc == 0)
		rc = warn_kinds(l, e);
	if (rc == 0)
		rc = warn_isolated(l, e);
	if (rc == 0)
		rc = warn_quota(l, e);
	if (rc == 0)
		rc = warn_memory(l, e);
	return rc;
}
