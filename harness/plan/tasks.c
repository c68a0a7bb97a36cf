// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/plan/tasks.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/placement.h"

/* Every count of the largest machine Linux has run on; bounds what a plan can cost. */
#define MAX_TASK_COUNTS 4096

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for a plan");
}

int tasks_add(int **tasks, int *n, int count)
{
	int at = 0, *more;

	while (at < *n && (*tasks)[at] < count)
		at++;
	if (at < *n && (*tasks)[at] == count)
		return 0;
	more = reallocarray(*tasks, (size_t)*n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memmove(more + at + 1, more + at, (size_t)(*n - at) * sizeof(*more));
	more[at] = count;
	*tasks = more;
	(*n)++;
	return 0;
}

static int narms_of(const struct plan *p, int group)
{
	return p->groups[group].narms;
}

static void free_all(struct placement *v, int n)
{
	for (int i = 0; i < n; i++)
		placement_free(&v[i]);
}

/* How many different things of each sort a placement touches. */
struct touched {
	int packages, nodes, llcs, threads;
};

static int distinct(const struct placement *p, const struct topology *t, size_t offset)
{
	cleanup_cpumask struct cpumask seen = CPUMASK_INIT;

	for (int i = 0; i < p->ntasks; i++) {
		const struct topo_cpu *c = topology_cpu(t, p->cpus[i]);
		int n = *(const int *)((const char *)c + offset);

		if (n >= 0 && cpumask_set(&seen, n) < 0)
			return -ENOMEM;
	}
	return cpumask_weight(&seen);
}

static struct touched touch(const struct placement *p, const struct topology *t)
{
	return (struct touched){
		.packages = distinct(p, t, offsetof(struct topo_cpu, package)),
		.nodes = distinct(p, t, offsetof(struct topo_cpu, node)),
		.llcs = distinct(p, t, offsetof(struct topo_cpu, llc)),
		.threads = distinct(p, t, offsetof(struct topo_cpu, smt)),
	};
}

int tasks_sweep(const struct plan *p, int group, const struct topology *t, int **tasks, int *n,
		struct err *e)
{
	int usable = cpumask_weight(&p->groups[group].usable), narms = narms_of(p, group);
	cleanup_free struct placement *now = calloc((size_t)narms, sizeof(*now));
	cleanup_placer struct placer *placer = NULL;
	struct touched before = {0};
	int rc = now ? placer_new(&placer, p, group, t, e) : no_memory(e);

	for (int i = 1; i <= usable && rc == 0; i++) {
		struct touched after;

		rc = placer_place(placer, i, now, e);
		if (rc < 0)
			break;
		/* All arms of a group use the same CPUs. */
		after = touch(&now[0], t);
		free_all(now, narms);
		if (i > 1 && memcmp(&before, &after, sizeof(before)) != 0 &&
		    (tasks_add(tasks, n, i - 1) < 0 || tasks_add(tasks, n, i) < 0))
			rc = no_memory(e);
		if (rc == 0 && ((i & (i - 1)) == 0 || i == usable) && tasks_add(tasks, n, i) < 0)
			rc = no_memory(e);
		before = after;
	}
	return rc;
}

static int smallest_group(const struct plan *p)
{
	int smallest = 0;

	for (int g = 1; g < p->ngroups; g++)
		if (cpumask_weight(&p->groups[g].usable) < cpumask_weight(&p->groups[smallest].usable))
			smallest = g;
	return smallest;
}

static int parse_count(const struct at *at, const char **p, struct err *e)
{
	int value = 0;

	if (!isdigit((unsigned char)**p))
		return at_error(at, e,
				"task counts such as \"1,2,4-6,all\", or \"sweep\", are expected");
	for (; isdigit((unsigned char)**p); (*p)++) {
		value = value * 10 + (**p - '0');
		if (value > CPUMASK_LIMIT)
			return at_error(at, e, "task counts end at %d", CPUMASK_LIMIT);
	}
	if (value == 0)
		return at_error(at, e, "a task count is at least 1");
	return value;
}

static int too_many(const struct at *at, struct err *e)
{
	return at_error(at, e, "more than %d task counts", MAX_TASK_COUNTS);
}

static bool take_word(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

/* "4", "1-8", "1-all" */
static int add_range(const struct at *at, const char **p, int all, int **tasks, int *n, struct err *e)
{
	int first = parse_count(at, p, e), last = first;

	if (first > 0 && **p == '-') {
		(*p)++;
		last = take_word(p, "all") ? all : parse_count(at, p, e);
	}
	if (first < 0 || last < 0)
		return -EINVAL;
	if (last < first)
		return at_error(at, e, "%d-%d runs backwards", first, last);
	if (last - first >= MAX_TASK_COUNTS)
		return too_many(at, e);
	for (int i = first; i <= last; i++)
		if (tasks_add(tasks, n, i) < 0)
			return no_memory(e);
	return 0;
}

static int parse_text(const struct loader *l, const struct at *at, const char *p, int **tasks,
		      int *n, struct err *e)
{
	int group = smallest_group(l->p);
	int usable = cpumask_weight(&l->p->groups[group].usable);

	for (;;) {
		int rc = 0;

		if (take_word(&p, "all"))
			rc = tasks_add(tasks, n, usable) < 0 ? no_memory(e) : 0;
		else if (take_word(&p, "sweep"))
			rc = tasks_sweep(l->p, group, l->t, tasks, n, e);
		else
			rc = add_range(at, &p, usable, tasks, n, e);
		if (rc < 0)
			return rc;
		if (*n > MAX_TASK_COUNTS)
			return too_many(at, e);
		if (!*p)
			return 0;
		if (*p != ',')
			return at_error(at, e, "unexpected \"%.20s\"", p);
		p++;
	}
}

static int check_possible(const struct loader *l, const struct at *at, const int *tasks, int n,
			  struct err *e)
{
	for (int g = 0; g < l->p->ngroups; g++) {
		cleanup_free struct placement *v = calloc((size_t)narms_of(l->p, g), sizeof(*v));
		cleanup_placer struct placer *placer = NULL;

		if (!v)
			return no_memory(e);
		if (placer_new(&placer, l->p, g, l->t, e) < 0)
			return e->code;
		for (int i = 0; i < n; i++) {
			if (placer_place(placer, tasks[i], v, e) < 0)
				return at_wrap(at, e);
			free_all(v, narms_of(l->p, g));
		}
	}
	return 0;
}

int tasks_read(const struct loader *l, const struct at *at, const json_t *v, int **tasks, int *n,
	       struct err *e)
{
	const char *text = v ? json_string_value(v) : "all";
	int rc;

	if (json_is_integer(v)) {
		json_int_t count = json_integer_value(v);

		if (count < 1 || count > CPUMASK_LIMIT)
			return at_error(at, e, "a task count from 1 to %d is expected",
					CPUMASK_LIMIT);
		rc = tasks_add(tasks, n, (int)count) < 0 ? no_memory(e) : 0;
	} else if (text) {
		rc = parse_text(l, at, text, tasks, n, e);
	} else {
		return at_error(at, e, "a number or a string such as \"1,2,all\" is expected");
	}
	return rc < 0 ? rc : check_possible(l, at, *tasks, *n, e);
}
