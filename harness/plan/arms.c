// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/cpuset.h"
#include "harness/plan/load.h"

#define MAX_KERNELS    32
#define MAX_ARMS       PLAN_MAX_ARMS
#define MAX_PARTITIONS 256

/* A guest or spawn kernel of which the plan says nothing about memory. */
#define DEFAULT_MEMORY_PER_CPU (UINT64_C(512) << 20)

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for a plan");
}

static const struct field kernel_fields[] = {
	{"image", read_string, offsetof(struct plan_kernel, image)},
	{"append", read_string, offsetof(struct plan_kernel, append)},
	{"one_console", read_bool, offsetof(struct plan_kernel, one_console)},
};

static int load_kernel(const struct at *at, const char *name, const json_t *v, struct plan *p,
		       struct err *e)
{
	struct plan_kernel *k = &p->kernels[p->nkernels++];
	json_t *text = json_string(name);
	int rc;

	k->image = strdup("auto");
	k->append = strdup("");
	rc = k->image && k->append && text ? read_name(at, text, &k->name, e) : no_memory(e);
	json_decref(text);
	if (rc < 0 || !v)
		return rc;
	return read_object(at, v, kernel_fields, sizeof(kernel_fields) / sizeof(struct field), k, e);
}

static int load_kernels(const struct loader *l, struct err *e)
{
	struct at at = {.up = l->root, .key = "kernels"};
	json_t *kernels = json_object_get(l->plan, "kernels"), *v;
	const char *name;
	size_t n;

	if (kernels && !json_is_object(kernels))
		return at_error(&at, e, "an object { \"NAME\": { } } is expected");
	n = json_object_size(kernels);
	if (n > MAX_KERNELS)
		return at_error(&at, e, "more than %d kernels", MAX_KERNELS);
	l->p->kernels = calloc(n ? n : 1, sizeof(*l->p->kernels));
	if (!l->p->kernels)
		return no_memory(e);
	json_object_foreach(kernels, name, v) {
		struct at here = {.up = &at, .key = name};
		int rc = load_kernel(&here, name, v, l->p, e);

		if (rc < 0)
			return rc;
	}
	/* A plan need not speak of kernels when it wants the usual one. */
	return n ? 0 : load_kernel(&at, "stock", NULL, l->p, e);
}

/* What a backend's arms may consist of. */
static const struct backend_rule {
	const char *name;
	bool guests; /* partitions have kernels and memory of their own */
	bool host_only; /* the running kernel is the one partition */
} backend_rules[] = {
	{"host", false, true},
	{"qemu", true, false},
	{"mklinux", true, false},
};

static const struct backend_rule *find_rule(const char *name)
{
	for (size_t i = 0; i < sizeof(backend_rules) / sizeof(backend_rules[0]); i++)
		if (strcmp(backend_rules[i].name, name) == 0)
			return &backend_rules[i];
	return NULL;
}

static int read_backend(const struct at *at, const json_t *v, void *to, struct err *e)
{
	if (!json_is_string(v) || !find_rule(json_string_value(v)))
		return at_error(at, e, "a backend is expected: host, qemu or mklinux");
	return read_string(at, v, to, e);
}

/* A partition's fields as the plan has them, before they are resolved. */
struct partition_text {
	struct plan_partition part;
	char *kernel, *nodes;
	uint64_t memory, memory_per_cpu;
};

static const struct field partition_fields[] = {
	{"name", read_name, offsetof(struct partition_text, part.name), true},
	{"cpus", read_string, offsetof(struct partition_text, part.cpus_text), true},
	{"host", read_bool, offsetof(struct partition_text, part.host)},
	{"kernel", read_string, offsetof(struct partition_text, kernel)},
	{"memory", read_size, offsetof(struct partition_text, memory)},
	{"memory_per_cpu", read_size, offsetof(struct partition_text, memory_per_cpu)},
	{"nodes", read_string, offsetof(struct partition_text, nodes)},
};

static void partition_text_free(struct partition_text *t)
{
	free(t->kernel);
	free(t->nodes);
}

static int resolve_cpus(const struct loader *l, const struct at *up, struct plan_partition *part,
			struct err *e)
{
	struct at at = {.up = up, .key = "cpus"};
	int rc = cpuset_parse(&part->cpus, part->cpus_text, l->t, l->p->allow_smt_split, e);

	if (rc < 0)
		return at_wrap(&at, e);
	if (cpumask_weight(&part->cpus) == 0)
		return at_error(&at, e, "no CPU at all");
	cpumask_for_each(cpu, &part->cpus) {
		cleanup_free char *allowed = NULL;

		if (cpumask_test(&l->t->allowed, cpu))
			continue;
		allowed = cpumask_format(&l->t->allowed);
		return at_error(&at, e,
				"CPU %d is outside this process's affinity mask or cpuset "
				"(allowed: %s)",
				cpu, allowed ? allowed : "?");
	}
	return 0;
}

static const struct topo_node *find_node(const struct topology *t, int node)
{
	for (int i = 0; i < t->nnodes; i++)
		if (t->nodes[i].node == node)
			return &t->nodes[i];
	return NULL;
}

/*
 * Where a partition's memory comes from: what the plan says, else the nodes of its CPUs, else
 * (CPUs on a node without memory) every node that has some.
 */
static int resolve_nodes(const struct loader *l, const struct at *up, struct plan_partition *part,
			 const char *text, struct err *e)
{
	struct at at = {.up = up, .key = "nodes"};

	if (text) {
		if (cpumask_parse(&part->nodes, text, e) < 0)
			return at_wrap(&at, e);
		cpumask_for_each(node, &part->nodes) {
			const struct topo_node *n = find_node(l->t, node);

			if (!n || n->memory == 0)
				return at_error(&at, e, "there is no NUMA node %d with memory", node);
		}
		return 0;
	}
	cpumask_for_each(cpu, &part->cpus) {
		const struct topo_cpu *c = topology_cpu(l->t, cpu);
		const struct topo_node *n = c ? find_node(l->t, c->node) : NULL;

		if (n && n->memory && cpumask_set(&part->nodes, n->node) < 0)
			return no_memory(e);
	}
	if (cpumask_weight(&part->nodes) > 0)
		return 0;
	for (int i = 0; i < l->t->nnodes; i++)
		if (l->t->nodes[i].memory && cpumask_set(&part->nodes, l->t->nodes[i].node) < 0)
			return no_memory(e);
	return 0;
}

static int resolve_kernel(const struct loader *l, const struct at *up, struct plan_partition *part,
			  const char *name, struct err *e)
{
	struct at at = {.up = up, .key = "kernel"};

	if (!name) {
		if (l->p->nkernels > 1)
			return at_error(up, e,
					"\"kernel\" is missing: the plan has %d kernels to choose "
					"from",
					l->p->nkernels);
		part->kernel = 0;
		return 0;
	}
	for (int i = 0; i < l->p->nkernels; i++)
		if (strcmp(l->p->kernels[i].name, name) == 0) {
			part->kernel = i;
			return 0;
		}
	return at_error(&at, e, "the plan has no kernel \"%.64s\"", name);
}

static int resolve_guest(const struct loader *l, const struct at *at, struct partition_text *t,
			 struct err *e)
{
	uint64_t ncpus = (uint64_t)cpumask_weight(&t->part.cpus);
	/* Less does not even hold a kernel and the agent. */
	const uint64_t least = UINT64_C(64) << 20;

	if (t->memory && t->memory_per_cpu)
		return at_error(at, e, "\"memory\" and \"memory_per_cpu\" exclude each other");
	if (!t->memory && !t->memory_per_cpu)
		t->memory_per_cpu = DEFAULT_MEMORY_PER_CPU;
	if (t->memory_per_cpu > UINT64_MAX / CPUMASK_LIMIT)
		return at_error(at, e, "memory_per_cpu is too large");
	t->part.memory = t->memory ? t->memory : t->memory_per_cpu * ncpus;
	if (t->part.memory < least)
		return at_error(at, e, "a kernel needs at least 64M of memory, not %llu bytes",
				(unsigned long long)t->part.memory);
	return resolve_kernel(l, at, &t->part, t->kernel, e);
}

static int load_partition(const struct loader *l, const struct at *at, const json_t *v,
			  const struct backend_rule *rule, struct plan_arm *arm, struct err *e)
{
	cleanup(partition_text_free) struct partition_text t = {.part.kernel = -1};
	int rc = read_object(at, v, partition_fields,
			     sizeof(partition_fields) / sizeof(struct field), &t, e);

	if (rule->host_only)
		t.part.host = true;
	if (rc == 0)
		rc = resolve_cpus(l, at, &t.part, e);
	if (rc == 0)
		rc = resolve_nodes(l, at, &t.part, t.nodes, e);
	if (rc == 0 && rule->guests && !t.part.host)
		rc = resolve_guest(l, at, &t, e);
	else if (rc == 0 && (t.kernel || t.memory || t.memory_per_cpu))
		rc = at_error(
			at, e,
			"the running kernel's image and memory cannot be chosen: no \"kernel\" "
			"and no \"memory\" here");
	/* Also after an error: the plan frees what was read. */
	arm->partitions[arm->npartitions++] = t.part;
	return rc;
}

static int check_partitions(const struct loader *l, const struct at *at, const struct plan_arm *a,
			    struct err *e)
{
	int hosts = 0;

	for (int i = 0; i < a->npartitions; i++) {
		const struct plan_partition *x = &a->partitions[i];
		struct at here = {.up = at, .index = (size_t)i};

		hosts += x->host;
		if (hosts > 1)
			return at_error(&here, e, "the running kernel can only be one partition");
		for (int k = 0; k < i; k++) {
			const struct plan_partition *y = &a->partitions[k];
			cleanup_cpumask struct cpumask both = CPUMASK_INIT;
			cleanup_free char *list = NULL;

			if (strcmp(x->name, y->name) == 0)
				return at_error(&here, e, "the name \"%s\" is taken", x->name);
			if (!cpumask_intersects(&x->cpus, &y->cpus))
				continue;
			if (cpumask_copy(&both, &x->cpus) < 0)
				return no_memory(e);
			cpumask_and(&both, &y->cpus);
			list = cpumask_format(&both);
			return at_error(&here, e, "CPU %s also belongs to partition \"%s\"",
					list ? list : "?", y->name);
		}
	}
	return 0;
}

/* Hardware threads of one core under two kernels share what the comparison is about. */
static int check_cores(const struct loader *l, const struct at *at, const struct plan_arm *a,
		       struct err *e)
{
	cleanup_free int *owner = calloc((size_t)l->t->ncores + 1, sizeof(*owner));

	if (!owner)
		return no_memory(e);
	for (int i = 0; i < a->npartitions; i++)
		cpumask_for_each(cpu, &a->partitions[i].cpus) {
			int core = topology_cpu(l->t, cpu)->core;

			if (owner[core] == 0 || owner[core] == i + 1) {
				owner[core] = i + 1;
				continue;
			}
			if (l->p->allow_smt_split)
				return plan_warn(l->p, e,
						 "arm \"%s\": hardware threads of one core belong "
						 "to partitions \"%s\" and \"%s\", as the plan "
						 "permits; they slow each other down",
						 a->name, a->partitions[owner[core] - 1].name,
						 a->partitions[i].name);
			return at_error(at, e,
					"CPU %d of partition \"%s\" is a hardware thread of a core "
					"that partition \"%s\" has too; \"allow_smt_split\": true "
					"in the plan permits it",
					cpu, a->partitions[i].name,
					a->partitions[owner[core] - 1].name);
		}
	return 0;
}

static int check_memory(const struct loader *l, const struct at *at, const struct plan_arm *a,
			struct err *e)
{
	uint64_t wanted = 0, have = 0;

	for (int i = 0; i < a->npartitions; i++) {
		if (a->partitions[i].memory > UINT64_MAX / 2 - wanted)
			return at_error(at, e, "memory sizes overflow");
		wanted += a->partitions[i].memory;
	}
	for (int i = 0; i < l->t->nnodes; i++)
		have += l->t->nodes[i].memory;
	if (have && wanted > have)
		return at_error(at, e, "the partitions want %llu MiB of memory together, of %llu MiB",
				(unsigned long long)wanted >> 20, (unsigned long long)have >> 20);
	return 0;
}

/* An arm that is another one with one setting changed: three strings, for the report. */
static int read_varies(const struct at *at, const json_t *v, void *to, struct err *e)
{
	static const char *const keys[] = {"base", "setting", "value"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!json_is_string(json_object_get(v, keys[i])))
			return at_error(at, e, "a string \"%s\" is missing", keys[i]);
	if (json_object_size(v) != sizeof(keys) / sizeof(keys[0]))
		return at_error(at, e, "only base, setting and value are expected");
	*(json_t **)to = (json_t *)v;
	return 0;
}

static int load_arm(const struct loader *l, const struct at *at, const json_t *v,
		    struct plan_arm *a, struct err *e)
{
	static const struct field fields[] = {
		{"name", read_name, offsetof(struct plan_arm, name), true},
		{"backend", read_backend, offsetof(struct plan_arm, backend), true},
		{"partitions", NULL, 0, true},
		{"settings"},
		{"varies", read_varies, offsetof(struct plan_arm, varies)},
	};
	struct at list = {.up = at, .key = "partitions"};
	struct at settings = {.up = at, .key = "settings"};
	const struct backend_rule *rule;
	json_t *partitions;
	size_t n;
	int rc = read_object(at, v, fields, sizeof(fields) / sizeof(fields[0]), a, e);

	if (rc < 0)
		return rc;
	a->settings = json_object_get(v, "settings");
	if (a->settings && !json_is_object(a->settings))
		return at_error(&settings, e, "an object { } is expected");
	rule = find_rule(a->backend);
	partitions = json_object_get(v, "partitions");
	rc = read_array(&list, partitions, MAX_PARTITIONS, &n, e);
	if (rc < 0)
		return rc;
	if (n == 0)
		return at_error(&list, e, "an arm needs a partition");
	if (rule->host_only && n > 1)
		return at_error(&list, e, "backend \"%s\" has one partition, the running kernel",
				rule->name);
	a->partitions = calloc(n, sizeof(*a->partitions));
	if (!a->partitions)
		return no_memory(e);
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct at here = {.up = &list, .index = i};

		rc = load_partition(l, &here, json_array_get(partitions, i), rule, a, e);
	}
	if (rc == 0)
		rc = check_partitions(l, &list, a, e);
	if (rc == 0)
		rc = check_cores(l, &list, a, e);
	if (rc == 0)
		rc = check_memory(l, &list, a, e);
	return rc;
}

int load_arms(const struct loader *l, struct err *e)
{
	struct at list = {.up = l->root, .key = "arms"};
	json_t *arms = json_object_get(l->plan, "arms");
	struct plan *p = l->p;
	size_t n;
	int rc = load_kernels(l, e);

	if (rc == 0)
		rc = read_array(&list, arms, MAX_ARMS, &n, e);
	if (rc < 0)
		return rc;
	if (n == 0)
		return at_error(&list, e, "a plan needs an arm");
	p->arms = calloc(n, sizeof(*p->arms));
	if (!p->arms)
		return no_memory(e);
	for (size_t i = 0; i < n; i++) {
		struct at at = {.up = &list, .index = i};

		p->narms++;
		rc = load_arm(l, &at, json_array_get(arms, i), &p->arms[i], e);
		if (rc < 0)
			return rc;
		for (size_t k = 0; k < i; k++)
			if (strcmp(p->arms[k].name, p->arms[i].name) == 0)
				return at_error(&at, e, "the name \"%s\" is taken", p->arms[i].name);
	}
	return 0;
}
