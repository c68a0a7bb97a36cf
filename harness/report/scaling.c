// SPDX-License-Identifier: GPL-2.0-or-later
/* Scaling curves in the terminal, and in the columns that will-it-scale's own tools read. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/report/format.h"
#include "harness/report/parts.h"
#include "harness/report/report.h"

static void print_points(FILE *f, const struct analysis *a, const struct scaling *c)
{
	const char *unit = a->m->metrics[c->metric].unit;

	for (size_t i = 0; i < c->n; i++) {
		char rate[FORMAT_ROOM];
		const char *mark = i == c->shape.peak			  ? "  peak"
				   : i == c->shape.knee && c->shape.bends ? "  knee"
									  : "";

		fprintf(f, "  %5d %11s %6.1f %%%s\n", c->points[i].tasks,
			format_value(rate, c->points[i].rate, unit),
			100 * efficiency_at(c->points, i), mark);
	}
}

static void print_curve(FILE *f, const struct analysis *a, const struct scaling *c, bool points)
{
	const struct shape *s = &c->shape;
	char label[96], clean[128], arm[64], rate[FORMAT_ROOM];

	mtest_label(&a->m->tests[c->test], label, sizeof(label));
	fprintf(f, "%s%s, %s: peak %s at %d", clean_text(clean, sizeof(clean), label),
		c->threads ? " (threads)" : "", clean_text(arm, sizeof(arm), a->m->arms[c->arm].name),
		format_value(rate, c->points[s->peak].rate, a->m->metrics[c->metric].unit),
		c->points[s->peak].tasks);
	if (s->bends)
		fprintf(f, ", bends at %d", c->points[s->knee].tasks);
	if (s->negative)
		fprintf(f, ", falls to %.0f %% of it at %d", 100 * s->left,
			c->points[c->n - 1].tasks);
	fprintf(f, "; efficiency %.0f %% at %d\n", 100 * efficiency_at(c->points, c->n - 1),
		c->points[c->n - 1].tasks);
	if (points)
		print_points(f, a, c);
}

/* What k times the single kernel's curve at N/k promised, beside what the split gave. */
static void print_promise(FILE *f, const struct analysis *a, const struct scalings *all,
			  const struct scaling *split)
{
	for (size_t i = 0; i < a->m->ncompares; i++) {
		const struct mcompare *c = &a->m->compares[i];
		const struct marm *base = &a->m->arms[c->base], *with = &a->m->arms[c->with];
		const struct scaling *single =
			scaling_find(all, c->base, split->test, split->threads);
		const struct point *last = &split->points[split->n - 1];
		char promised[FORMAT_ROOM], given[FORMAT_ROOM];
		const char *unit = a->m->metrics[split->metric].unit;
		double rate;

		if (c->with != split->arm || !single || base->npartitions != 1 ||
		    with->npartitions < 2)
			continue;
		rate = predicted_split(single->points, single->n, last->tasks, with->npartitions);
		if (isfinite(rate))
			fprintf(f, "  predicted from %s at %d tasks: %s; measured: %s\n",
				base->name, last->tasks, format_value(promised, rate, unit),
				format_value(given, last->rate, unit));
	}
}

static void print_edges(FILE *f, const struct model *m)
{
	for (size_t arm = 0; arm < m->narms; arm++) {
		struct edge edges[16];
		size_t n = edges_of(m, arm, edges, 16);
		char name[64];

		for (size_t i = 0; i < n; i++)
			fprintf(f, "%s: tasks reach one more %s between %d and %d\n",
				clean_text(name, sizeof(name), m->arms[arm].name),
				edge_name(edges[i].kind), edges[i].inside, edges[i].outside);
	}
}

int print_scaling(FILE *f, const struct analysis *a)
{
	cleanup_scalings struct scalings all = {0};
	/* Without a comparison the curves are what the run was for. */
	bool points = a->m->ncompares == 0;
	bool any = false;

	if (scalings_of(&all, a) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < all.n; i++) {
		if (all.curves[i].n < (points ? 1 : 3))
			continue;
		if (!any)
			fprintf(f, "\nscaling\n");
		any = true;
		print_curve(f, a, &all.curves[i], points);
		print_promise(f, a, &all, &all.curves[i]);
	}
	if (any)
		print_edges(f, a->m);
	return 0;
}

/* The mean share of all CPUs that a series' tasks left, in percent; NaN if unknown. */
static double idle_of(const struct model *m, const struct series *s)
{
	double busy = 0;

	for (size_t i = 0; i < s->ncells; i++)
		busy += m->cells[s->cells[i]].busy / s->ncells;
	return m->ncpus ? fmax(0, 100 * (1 - busy / m->ncpus)) : NAN;
}

static void wis_fields(FILE *f, const struct model *m, const struct scaling *c, int tasks)
{
	for (size_t i = 0; c && i < c->n; i++) {
		double idle;

		if (c->points[i].tasks != tasks)
			continue;
		idle = idle_of(m, c->series[i]);
		fprintf(f, ",%.0f,", c->points[i].rate);
		if (isfinite(idle))
			fprintf(f, "%.2f", idle);
		return;
	}
	fprintf(f, ",,");
}

static bool has_tasks(const struct scaling *c, int tasks)
{
	for (size_t i = 0; c && i < c->n; i++)
		if (c->points[i].tasks == tasks)
			return true;
	return false;
}

int report_wis_csv(FILE *f, const struct analysis *a, int arm, int test)
{
	cleanup_scalings struct scalings all = {0};
	const struct scaling *processes, *threads;
	double alone;

	if (scalings_of(&all, a) < 0)
		return -ENOMEM;
	processes = scaling_find(&all, arm, test, false);
	threads = scaling_find(&all, arm, test, true);
	alone = fmax(processes ? rate_at(processes->points, processes->n, 1) : NAN,
		     threads ? rate_at(threads->points, threads->n, 1) : NAN);
	/* will-it-scale's own first row: nothing runs, everything is idle. */
	fprintf(f, "tasks,processes,processes_idle,threads,threads_idle,linear\n0,0,100,0,100,0\n");
	for (int tasks = 1; tasks <= TASK_COUNT_MAX; tasks++) {
		if (!has_tasks(processes, tasks) && !has_tasks(threads, tasks))
			continue;
		fprintf(f, "%d", tasks);
		wis_fields(f, a->m, processes, tasks);
		wis_fields(f, a->m, threads, tasks);
		if (isfinite(alone))
			fprintf(f, ",%.0f\n", alone * tasks);
		else
			fprintf(f, ",\n");
	}
	return ferror(f) ? -EIO : 0;
}
