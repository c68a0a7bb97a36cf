// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/plan/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "harness/plan/placement.h"
#include "harness/plan/random.h"

/* More takes weeks to run, and memory to list. */
#define MAX_CELLS 1000000

/* Around warm-up and windows: preparing, clock rounds, fetching the result. */
#define CELL_OVERHEAD_S 0.8

/* What one boot and its teardown cost, for the estimate. */
static const struct {
	const char *backend;
	double seconds;
} boot_costs[] = {{"host", 0.5}, {"qemu", 8}, {"mklinux", 20}};

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for a schedule");
}

/* One thing to measure in every arm; the anchor's task count is the arm's own. */
struct item {
	int test, mode;
	int tasks; /* 0: the anchor */
};

struct items {
	struct item *v;
	int n;
};

/* Placements of every task count (index 0: the anchor) in one group of arms. */
struct placed {
	int narms, max;
	int *first; /* by task count: index into schedule->placements, or -1 */
};

struct maker {
	struct schedule *s;
	const struct plan *p;
	const struct topology *t;
	struct placed *groups;
	int *arm_in_group;
	struct items controls, others;
};

static void maker_free(struct maker *m)
{
	for (int g = 0; m->groups && g < m->p->ngroups; g++)
		free(m->groups[g].first);
	free(m->groups);
	free(m->arm_in_group);
	free(m->controls.v);
	free(m->others.v);
}

static int add_item(struct items *list, struct item item)
{
	struct item *more = reallocarray(list->v, (size_t)list->n + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	list->v = more;
	more[list->n++] = item;
	return 0;
}

static int list_items(struct maker *m, struct err *e)
{
	for (int i = 0; i < m->p->ntests; i++) {
		const struct plan_test *t = &m->p->tests[i];
		struct items *list = t->control ? &m->controls : &m->others;

		for (int mode = MODE_PROCESSES; mode <= MODE_THREADS; mode <<= 1) {
			if (!(t->modes & mode))
				continue;
			for (int k = -1; k < t->ntasks; k++) {
				struct item item = {i, mode, k < 0 ? 0 : t->tasks[k]};

				if (add_item(list, item) < 0)
					return no_memory(e);
			}
		}
	}
	return 0;
}

/* Marks the task counts that are needed, and gives each its room in schedule->placements. */
static int list_placements(struct maker *m, struct err *e)
{
	const struct plan *p = m->p;

	m->groups = calloc((size_t)p->ngroups, sizeof(*m->groups));
	m->arm_in_group = calloc((size_t)p->narms, sizeof(*m->arm_in_group));
	if (!m->groups || !m->arm_in_group)
		return no_memory(e);
	for (int i = 0; i < p->narms; i++)
		m->arm_in_group[i] = m->groups[p->arms[i].group].narms++;
	for (int g = 0; g < p->ngroups; g++) {
		struct placed *pl = &m->groups[g];

		pl->max = cpumask_weight(&p->groups[g].usable);
		pl->first = calloc((size_t)pl->max + 1, sizeof(*pl->first));
		if (!pl->first)
			return no_memory(e);
		for (int i = 0; i <= pl->max; i++)
			pl->first[i] = -1;
		for (int i = -1; i < p->ntests; i++)
			for (int k = 0; k < (i < 0 ? 1 : p->tests[i].ntasks); k++) {
				int n = i < 0 ? 0 : p->tests[i].tasks[k];

				if (n > pl->max || pl->first[n] >= 0)
					continue;
				pl->first[n] = m->s->nplacements;
				m->s->nplacements += pl->narms;
			}
	}
	m->s->placements = calloc((size_t)m->s->nplacements, sizeof(*m->s->placements));
	return m->s->placements ? 0 : no_memory(e);
}

static int make_placements(struct maker *m, struct err *e)
{
	int rc = list_placements(m, e);

	for (int g = 0; g < m->p->ngroups && rc == 0; g++) {
		const struct placed *pl = &m->groups[g];
		cleanup_placer struct placer *placer = NULL;

		rc = placer_new(&placer, m->p, g, m->t, e);
		for (int n = 0; n <= pl->max && rc == 0; n++) {
			struct placement *out;

			if (pl->first[n] < 0)
				continue;
			out = &m->s->placements[pl->first[n]];
			rc = n ? placer_place(placer, n, out, e) : placer_anchor(placer, out, e);
		}
	}
	return rc;
}

static const struct placement *placement_of(const struct maker *m, int arm, int tasks)
{
	const struct placed *pl = &m->groups[m->p->arms[arm].group];

	return &m->s->placements[pl->first[tasks] + m->arm_in_group[arm]];
}

static bool is_anchor(const struct placement *p, int npartitions)
{
	for (int i = 0; i < npartitions; i++)
		if (p->counts[i] != 1)
			return false;
	return true;
}

static bool has_count(const struct plan_test *t, int n)
{
	for (int i = 0; i < t->ntasks; i++)
		if (t->tasks[i] == n)
			return true;
	return false;
}

static int add_cells(struct maker *m, struct boot *b, const struct item *item, int position,
		     struct err *e)
{
	const struct plan_test *t = &m->p->tests[item->test];
	const struct placement *pl = placement_of(m, b->arm, item->tasks);
	int npartitions = m->p->arms[b->arm].npartitions;
	struct cell *more;

	/*
	 * The anchor may also be one of the test's task counts: it is measured once. Of a control it is
	 * measured with the first run only.
	 */
	if (item->tasks == 0 && position > 0)
		return 0;
	if (item->tasks == 0 && has_count(t, npartitions) &&
	    is_anchor(placement_of(m, b->arm, npartitions), npartitions))
		return 0;
	if (m->s->ncells + m->p->repetitions > MAX_CELLS)
		return err_usage(e, "%s: more than %d cells", m->p->path, MAX_CELLS);
	more = reallocarray(b->cells, (size_t)(b->ncells + m->p->repetitions), sizeof(*more));
	if (!more)
		return no_memory(e);
	b->cells = more;
	for (int r = 0; r < m->p->repetitions; r++)
		b->cells[b->ncells++] = (struct cell){
			.block = b->block,
			.arm = b->arm,
			.test = item->test,
			.mode = item->mode,
			.tasks = pl->ntasks,
			.repetition = r,
			.position = position,
			.anchor = is_anchor(pl, npartitions),
			.placement = pl,
		};
	m->s->ncells += m->p->repetitions;
	return 0;
}

static int add_list(struct maker *m, struct boot *b, const struct items *list, int from, int to,
		    int position, struct err *e)
{
	int rc = 0;

	for (int i = from; i < to && rc == 0; i++)
		rc = add_cells(m, b, &list->v[i], position, e);
	return rc;
}

static int fill_boot(struct maker *m, struct boot *b, struct err *e)
{
	int half = m->others.n / 2;
	int rc = add_list(m, b, &m->controls, 0, m->controls.n, 0, e);

	if (rc == 0)
		rc = add_list(m, b, &m->others, 0, half, 0, e);
	if (rc == 0)
		rc = add_list(m, b, &m->controls, 0, m->controls.n, 1, e);
	if (rc == 0)
		rc = add_list(m, b, &m->others, half, m->others.n, 0, e);
	if (rc == 0)
		rc = add_list(m, b, &m->controls, 0, m->controls.n, 2, e);
	return rc;
}

static int by_number(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->test != y->test)
		return x->test - y->test;
	return x->mode != y->mode ? x->mode - y->mode : x->tasks - y->tasks;
}

static int fill_block(struct maker *m, int block, struct err *e)
{
	/* A stream a block, so that a block's order does not hang on how many come before it. */
	struct random rnd = random_stream(m->p->seed, (uint64_t)block);
	cleanup_free int *order = calloc((size_t)m->p->narms, sizeof(*order));
	int rc = 0;

	if (!order)
		return no_memory(e);
	for (int i = 0; i < m->p->narms; i++)
		order[i] = i;
	for (int i = m->p->narms - 1; i > 0; i--) {
		int k = (int)random_below(&rnd, (uint64_t)i + 1), swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	if (m->others.n)
		qsort(m->others.v, (size_t)m->others.n, sizeof(*m->others.v), by_number);
	for (int i = m->others.n - 1; i > 0; i--) {
		int k = (int)random_below(&rnd, (uint64_t)i + 1);
		struct item swap = m->others.v[i];

		m->others.v[i] = m->others.v[k];
		m->others.v[k] = swap;
	}
	for (int i = 0; i < m->p->narms && rc == 0; i++) {
		struct boot *b = &m->s->boots[m->s->nboots++];

		*b = (struct boot){.block = block, .arm = order[i]};
		rc = fill_boot(m, b, e);
	}
	return rc;
}

static double estimate(const struct schedule *s, const struct plan *p)
{
	double cell = CELL_OVERHEAD_S +
		      (double)(p->warmup_ns + 2 * p->guard_ns + p->samples * p->interval_ns) /
			      (double)NSEC_PER_SEC;
	double seconds = cell * s->ncells;

	for (int i = 0; i < s->nboots; i++)
		for (size_t k = 0; k < sizeof(boot_costs) / sizeof(boot_costs[0]); k++)
			if (strcmp(boot_costs[k].backend, p->arms[s->boots[i].arm].backend) == 0)
				seconds += boot_costs[k].seconds;
	return seconds;
}

int schedule_make(struct schedule *s, const struct plan *p, const struct topology *t, struct err *e)
{
	cleanup(maker_free) struct maker m = {.s = s, .p = p, .t = t};
	int rc;

	*s = (struct schedule){0};
	s->boots = calloc((size_t)p->blocks * (size_t)p->narms, sizeof(*s->boots));
	if (!s->boots)
		return no_memory(e);
	rc = list_items(&m, e);
	if (rc == 0)
		rc = make_placements(&m, e);
	for (int b = 0; b < p->blocks && rc == 0; b++)
		rc = fill_block(&m, b, e);
	if (rc < 0) {
		schedule_free(s);
		return rc;
	}
	s->seconds = estimate(s, p);
	return 0;
}

void schedule_free(struct schedule *s)
{
	for (int i = 0; i < s->nboots; i++)
		free(s->boots[i].cells);
	for (int i = 0; i < s->nplacements && s->placements; i++)
		placement_free(&s->placements[i]);
	free(s->boots);
	free(s->placements);
	*s = (struct schedule){0};
}

char *cell_key(const struct plan *p, const struct cell *c)
{
	const struct plan_test *t = &p->tests[c->test];
	char *key;

	if (asprintf(&key, "b%d/%s/%s:%s/%s/%s/%d/p%d/r%d", c->block, p->arms[c->arm].name,
		     t->family, t->test, *t->variant ? t->variant : "-", mode_name(c->mode),
		     c->tasks, c->position, c->repetition) < 0)
		return NULL;
	return key;
}
