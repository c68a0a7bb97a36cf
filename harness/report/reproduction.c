// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/report/reproduction.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "harness/analysis/curves.h"
#include "harness/report/format.h"
#include "harness/report/json_number.h"

static void print_head(FILE *f, const struct reproduction *r, const struct analysis *a, size_t compare)
{
	const struct mcompare *c = &a->m->compares[compare];
	char base[64], with[64];

	if (a->pairings[compare].no_evidence)
		fprintf(f, "No evidence: the CPUs are emulated or simulated. What follows shows "
			   "that the "
			   "plumbing works.\n\n");
	clean_text(base, sizeof(base), a->m->arms[c->base].name);
	clean_text(with, sizeof(with), a->m->arms[c->with].name);
	fprintf(f, "%s against %s, beside two kernels against one as published\n", with, base);
	if (r->ndifferences)
		fprintf(f, "Another class of machine: directions and shapes can be compared, sizes "
			   "cannot.\n");
	for (size_t i = 0; i < r->ndifferences; i++) {
		char text[200];

		fprintf(f, "  %s\n", clean_text(text, sizeof(text), r->differences[i]));
	}
	fprintf(f, "\n%-14s %5s %9s %9s %-13s %-13s %7s %-13s %s\n", "test", "tasks", "published",
		"ours", "95 % interval", "next block", "ours/p.", "95 % interval", "");
}

static void print_row(FILE *f, const struct agreement_row *x)
{
	char published[FORMAT_ROOM], ours[FORMAT_ROOM], ci[FORMAT_ROOM], next[FORMAT_ROOM],
		over[FORMAT_ROOM], over_ci[FORMAT_ROOM], lo[FORMAT_ROOM], hi[FORMAT_ROOM], test[64];
	struct interval n = interval_exp(interval_next(&x->ours->d, 0.95));

	snprintf(next, sizeof(next), "-");
	snprintf(over_ci, sizeof(over_ci), "-");
	if (interval_valid(n))
		snprintf(next, sizeof(next), "%.30s-%.30s", format_ratio(lo, n.lo),
			 format_ratio(hi, n.hi));
	if (interval_valid(x->over_ci))
		snprintf(over_ci, sizeof(over_ci), "%.30s-%.30s", format_ratio(lo, x->over_ci.lo),
			 format_ratio(hi, x->over_ci.hi));
	fprintf(f, "%-14s %5d %9s %9s %-13s %-13s %7s %-13s %s%s%s\n",
		clean_text(test, sizeof(test), x->pub->test), x->ours->tasks,
		format_ratio(published, x->pub->ratio), format_mean(ours, &x->ours->d),
		format_interval(ci, &x->ours->d, 0.95), next, format_ratio(over, x->over), over_ci,
		agreement_name(x->agreement), x->why[0] ? ": " : "", x->why);
}

/* What stands beside the word "reproduced" whatever the numbers are. */
static void print_conditions(FILE *f, const struct reproduction *r, const struct analysis *a,
			     const struct published *p)
{
	const struct pub_comparison *c = r->rows[0].of;
	const struct pub_machine *pm = published_machine(p, c->machine);
	char kernel[96], cpu[96];

	fprintf(f, "\nNot the same as published, even where it says reproduced:\n");
	if (pm)
		fprintf(f, "  machine: %s here, %s there; kernel: %s here, %s there\n",
			clean_text(cpu, sizeof(cpu), a->m->cpu_model), pm->cpu,
			clean_text(kernel, sizeof(kernel), a->m->kernel), pm->kernel);
	if (c->sockets == 1)
		fprintf(f,
			"  there the single kernel ran on another socket than the two kernels\n");
	if (!c->simultaneous)
		fprintf(f, "  there the two kernels were measured one after the other and added "
			   "up; here "
			   "they run at the same time\n");
	if (c->online)
		fprintf(f, "  there the single kernel had %d CPUs online, of which %d were busy\n",
			c->online, c->tasks);
	fprintf(f, "  published ratios carry no error bars: one boot each, as far as is known\n");
}

/* Where one kernel's curve bends and peaks, ours beside theirs. */
static int print_knees(FILE *f, const struct reproduction *r, const struct analysis *a,
		       size_t compare, const struct published *p)
{
	cleanup_scalings struct scalings all = {0};
	bool any = false;

	if (scalings_of(&all, a) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < all.n; i++) {
		const struct scaling *c = &all.curves[i];
		const struct pub_curve *pc;
		struct shape theirs;
		char test[64];
		size_t n;

		if (c->arm != a->m->compares[compare].base || c->n < 3)
			continue;
		pc = published_curve(p, a->m->tests[c->test].test, "single", c->threads,
				     r->rows[0].of->machine);
		if (!pc)
			continue;
		/* As far as ours goes: beyond that there is nothing to be compared. */
		for (n = 0; n < pc->n && pc->points[n].tasks <= c->points[c->n - 1].tasks;)
			n++;
		if (n < 3)
			continue;
		theirs = shape_of(pc->points, n, a->m->margin);
		if (!any)
			fprintf(f,
				"\nwhere one kernel's curve bends and peaks (tasks)\n%-14s %12s "
				"%12s "
				"%12s %12s\n",
				"test", "bends here", "bends there", "peak here", "peak there");
		any = true;
		fprintf(f, "%-14s %12d %12d %12d %12d\n",
			clean_text(test, sizeof(test), a->m->tests[c->test].test),
			c->points[c->shape.knee].tasks, pc->points[theirs.knee].tasks,
			c->points[c->shape.peak].tasks, pc->points[theirs.peak].tasks);
	}
	return 0;
}

int reproduction_text(FILE *f, const struct reproduction *r, const struct analysis *a,
		      size_t compare, const struct published *p)
{
	char tau[FORMAT_ROOM];

	print_head(f, r, a, compare);
	for (size_t i = 0; i < r->nrows; i++)
		print_row(f, &r->rows[i]);
	fprintf(f, "\n");
	for (size_t k = 0; k < sizeof(r->by_agreement) / sizeof(r->by_agreement[0]); k++)
		if (r->by_agreement[k])
			fprintf(f, "%s: %zu of %zu tests\n", agreement_name(k), r->by_agreement[k],
				r->nrows);
	fprintf(f,
		"same direction in %zu of %zu published effects; rank correlation of the ratios "
		"(Kendall) %s\n",
		r->same_direction, r->effects, format_ratio(tau, r->tau));
	if (print_knees(f, r, a, compare, p) < 0)
		return -ENOMEM;
	print_conditions(f, r, a, p);
	return ferror(f) ? -EIO : 0;
}

int reproduction_json(FILE *f, const struct reproduction *r, const struct analysis *a, size_t compare)
{
	const struct mcompare *c = &a->m->compares[compare];
	json_t *rows = json_array(), *differences = json_array(), *o;
	int ret;

	for (size_t i = 0; i < r->ndifferences; i++)
		json_array_append_new(differences, json_string(r->differences[i]));
	for (size_t i = 0; i < r->nrows; i++) {
		const struct agreement_row *x = &r->rows[i];
		struct interval ci = interval_exp(interval_mean(&x->ours->d, 0.95));
		struct interval next = interval_exp(interval_next(&x->ours->d, 0.95));

		json_array_append_new(
			rows, json_pack("{s:s, s:i, s:s, s:o, s:o, s:[o,o], s:[o,o], s:o, s:[o,o], "
					"s:s, s:s, "
					"s:I}",
					"test", x->pub->test, "tasks", x->ours->tasks, "comparison",
					x->pub->comparison, "published", json_number(x->pub->ratio),
					"ratio", json_number(exp(x->ours->d.mean)), "ci95",
					json_number(ci.lo), json_number(ci.hi), "next95",
					json_number(next.lo), json_number(next.hi), "over",
					json_number(x->over), "over_ci95",
					json_number(x->over_ci.lo), json_number(x->over_ci.hi),
					"agreement", agreement_name(x->agreement), "why", x->why,
					"blocks", (json_int_t)x->ours->d.n));
	}
	o = json_pack("{s:i, s:s, s:s, s:b, s:o, s:I, s:I, s:o, s:o}", "format", 1, "base",
		      a->m->arms[c->base].name, "with", a->m->arms[c->with].name, "no_evidence",
		      a->pairings[compare].no_evidence, "differences", differences,
		      "same_direction", (json_int_t)r->same_direction, "effects",
		      (json_int_t)r->effects, "kendall_tau", json_number(r->tau), "rows", rows);
	if (!o)
		return -ENOMEM;
	ret = json_dumpf(o, f, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	json_decref(o);
	fputc('\n', f);
	return ret < 0 || ferror(f) ? -EIO : 0;
}
