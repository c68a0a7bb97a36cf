// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether the numbers of an attempt can be used at all. What is only doubtful is in proofs.c. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/session/internal.h"

/*
 * An agent's clock may run by so much faster or slower than ours: a rate is counts over the
 * agent's time, so this is the largest error that a clock can bring into a ratio. Crystals
 * differ by a few 1e-5.
 */
#define CLOCK_RATE_MAX 1e-4

static int invalid(const struct part *p, struct err *e, const char *what)
{
	return err_set(e, EBADMSG, "partition \"%s\": %s", p->m->partition->name, what);
}

static int check_clock(const struct attempt *a, const struct part *p, struct err *e)
{
	if (p->after.host_ns <= p->before.host_ns)
		return invalid(p, e, "its clock was not read after the cell");
	if (fabs(p->rate_error) > CLOCK_RATE_MAX + p->rate_slack)
		return err_set(
			e, EBADMSG,
			"partition \"%s\": its clock runs by %.1e against ours (allowed: %.0e, "
			"and %.1e that the readings may be off)",
			p->m->partition->name, p->rate_error, CLOCK_RATE_MAX, p->rate_slack);
	return 0;
}

static int check_identity(const struct attempt *a, const struct part *p, struct err *e)
{
	const struct plan_test *t = &p->m->s->env->plan->tests[a->cell->test];
	const char *mode = a->cell->mode == MODE_THREADS ? "threads" : "processes";

	if (strcmp(p->result.test, t->test) != 0 || strcmp(p->result.family, t->family) != 0 ||
	    strcmp(p->result.mode, mode) != 0)
		return invalid(p, e, "sent the result of another test");
	return 0;
}

static int check_tasks(const struct attempt *a, const struct part *p, struct err *e)
{
	const char *name = p->m->partition->name;

	if (p->result.ntasks != p->ntasks)
		return err_set(e, EBADMSG, "partition \"%s\": %d tasks ran where %d should", name,
			       p->result.ntasks, p->ntasks);
	for (int i = 0; i < p->ntasks; i++) {
		const struct result_task *t = &p->result.tasks[i];
		int cpu = a->cell->placement->cpus[p->first_task + i];
		int want = p->m->backend->ops->agent_cpu(p->m->backend, p->m->index, cpu);

		if (t->cpu != want || t->cpu_before != want || t->cpu_after != want)
			return err_set(
				e, EBADMSG,
				"partition \"%s\": task %d should have run on CPU %d (CPU %d "
				"there), and was on %d before and %d after",
				name, i, cpu, want, t->cpu_before, t->cpu_after);
	}
	return 0;
}

/* First and last sample of a metric, NULL when it has none. */
static int bounds(const struct result *r, int metric, const struct result_sample **first,
		  const struct result_sample **last)
{
	int n = 0;

	for (int i = 0; i < r->nsamples; i++) {
		if (r->samples[i].metric != metric)
			continue;
		if (n++ == 0)
			*first = &r->samples[i];
		*last = &r->samples[i];
	}
	return n;
}

static int check_steps(const struct part *p, int metric, struct err *e)
{
	const struct result_sample *before = NULL;

	for (int i = 0; i < p->result.nsamples; i++) {
		const struct result_sample *s = &p->result.samples[i];

		if (s->metric != metric)
			continue;
		if (before && s->before <= before->after)
			return invalid(p, e, "two samples were taken at the same time");
		for (int n = 0; before && n < p->ntasks; n++)
			if (s->counts[n] < before->counts[n])
				return err_set(
					e, EBADMSG,
					"partition \"%s\": the count of task %d went backwards",
					p->m->partition->name, n);
		before = s;
	}
	return 0;
}

static int check_samples(const struct attempt *a, const struct part *p, struct err *e)
{
	int want = p->m->s->env->plan->samples + 1;

	for (int m = 0; m < p->result.nmetrics; m++) {
		const struct result_metric *metric = &p->result.metrics[m];
		const struct result_sample *first = NULL, *last = NULL;
		int n = bounds(&p->result, metric->id, &first, &last), ret;

		if (n == 0)
			continue;
		if (n != want)
			return err_set(e, EBADMSG,
				       "partition \"%s\": %d readings of %s where %d should",
				       p->m->partition->name, n, metric->name, want);
		ret = check_steps(p, metric->id, e);
		if (ret < 0)
			return ret;
		/* A zero would be taken for a measurement. Elsewhere some tasks only serve others. */
		for (int t = 0; t < p->ntasks && strcmp(p->result.family, "scale") == 0; t++)
			if (last->counts[t] == first->counts[t])
				return err_set(
					e, EBADMSG,
					"partition \"%s\": task %d did nothing in all windows",
					p->m->partition->name, t);
	}
	if (p->result.nmetrics == 0)
		return invalid(p, e, "measured nothing");
	for (int m = 0; m < p->result.nmetrics; m++) {
		const struct result_sample *first, *last;
		bool any = bounds(&p->result, p->result.metrics[m].id, &first, &last) > 0;

		for (int v = 0; v < p->result.nvalues; v++)
			any |= p->result.values[v].metric == p->result.metrics[m].id;
		if (!any)
			return err_set(e, EBADMSG, "partition \"%s\": no number for %s",
				       p->m->partition->name, p->result.metrics[m].name);
	}
	return 0;
}

/* Twice the worse of two readings: one for either end of what is compared. */
static int64_t unsure(const struct part *p)
{
	return p->before.uncertainty_ns > p->after.uncertainty_ns ? p->before.uncertainty_ns
								  : p->after.uncertainty_ns;
}

/* Every part's tasks were in their loops during all of every part's windows. */
static int check_cover(const struct attempt *a, struct err *e)
{
	for (int i = 0; i < a->n; i++) {
		const struct part *w = &a->parts[i];

		for (int s = 0; s < w->result.nsamples; s++) {
			const struct result_sample *sample = &w->result.samples[s];
			int64_t from = part_host_time(w, sample->before) - unsure(w);
			int64_t to = part_host_time(w, sample->after) + unsure(w);

			for (int k = 0; k < a->n; k++) {
				const struct part *c = &a->parts[k];

				if (!c->result.has_cover)
					return invalid(c, e, "does not say when its tasks ran");
				/* On one clock nothing is unsure. */
				if (k == i && sample->before >= c->result.cover_from &&
				    sample->after <= c->result.cover_to)
					continue;
				if (k != i &&
				    part_host_time(c, c->result.cover_from) + unsure(c) <= from &&
				    part_host_time(c, c->result.cover_to) - unsure(c) >= to)
					continue;
				return err_set(
					e, EBADMSG,
					"the tasks of partition \"%s\" did not run during all "
					"of the windows of \"%s\"",
					c->m->partition->name, w->m->partition->name);
			}
		}
	}
	return 0;
}

int attempt_check(const struct attempt *a, struct err *e)
{
	static int (*const checks[])(const struct attempt *, const struct part *, struct err *) = {
		check_identity,
		check_clock,
		check_tasks,
		check_samples,
	};

	for (size_t c = 0; c < sizeof(checks) / sizeof(*checks); c++) {
		for (int i = 0; i < a->n; i++) {
			int ret = checks[c](a, &a->parts[i], e);

			if (ret < 0)
				return ret;
		}
	}
	return check_cover(a, e);
}
