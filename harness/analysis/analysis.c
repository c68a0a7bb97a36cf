// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/analysis.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A claim about more blocks than this is not advice that anybody follows. */
enum {
	BLOCKS_ADVICE_MAX = 200
};

#define FAMILY_LEVEL 0.05

static double oriented(const struct analysis *a, const struct row *r, double x)
{
	return a->m->metrics[r->metric].less_is_better ? -x : x;
}

/* More is better, whatever the metric counts. */
static struct estimate better_estimate(const struct analysis *a, const struct row *r,
				       struct estimate d)
{
	d.mean = oriented(a, r, d.mean);
	return d;
}

void row_blocks(const struct row *r, double *d, int *block)
{
	series_pair(r->with, r->base, d, block);
}

/* ---- rows ---- */

static struct row *add_row(struct analysis *a, size_t *room, int compare, const struct series *base,
			   const struct series *with)
{
	const struct mtest *t = &a->m->tests[base->test];
	struct row *r;

	if (a->nrows == *room) {
		size_t more = *room ? *room * 2 : 64;
		struct row *bigger = reallocarray(a->rows, more, sizeof(*bigger));

		if (!bigger)
			return NULL;
		a->rows = bigger;
		*room = more;
	}
	r = &a->rows[a->nrows++];
	*r = (struct row){.compare = compare,
			  .test = base->test,
			  .tasks = base->tasks,
			  .metric = base->metric,
			  .threads = base->threads,
			  .main = base->main,
			  .control = t->control,
			  .base = base,
			  .with = with,
			  .base_rate = series_rate(base),
			  .with_rate = series_rate(with),
			  .p = NAN,
			  .p_family = NAN,
			  .imbalance = NAN,
			  .cells = base->ncells + with->ncells,
			  .flagged = base->nflagged + with->nflagged,
			  .unsteady = base->nunsteady + with->nunsteady};
	return r;
}

static double imbalance_of(const struct model *m, const struct series *s)
{
	double worst = NAN;

	for (size_t i = 0; i < s->ncells; i++) {
		const struct mmeasure *x = &m->cells[s->cells[i]].measures[s->measures[i]];
		double least = INFINITY, most = 0;

		for (size_t k = 0; k < x->nparts; k++) {
			/* A partition without a task has no rate to be compared. */
			if (!(x->parts[k] > 0))
				continue;
			least = fmin(least, x->parts[k]);
			most = fmax(most, x->parts[k]);
		}
		if (x->nparts > 1 && most > 0)
			worst = fmax(isnan(worst) ? 1 : worst, most / least);
	}
	return worst;
}

/* With less c in the blocks that both have: the mean of what is left. */
static struct estimate less_blocks(const double *d, const int *block, size_t n, const double *c,
				   const int *cblock, size_t cn, double *scratch)
{
	size_t m = 0;

	for (size_t i = 0, k = 0; i < n && k < cn;) {
		if (block[i] < cblock[k])
			i++;
		else if (block[i] > cblock[k])
			k++;
		else
			scratch[m++] = d[i++] - c[k++];
	}
	return estimate_of(scratch, m);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Block values of a row, its anchor and what is left of it. */
static int fill_row(struct analysis *a, struct row *r)
{
	const struct model *m = a->m;
	const struct mcompare *c = &m->compares[r->compare];
	const struct series *ab = series_anchor(&a->set, m, r->test, r->threads, r->metric, c->base);
	const struct series *aw = series_anchor(&a->set, m, r->test, r->threads, r->metric, c->with);
	size_t room = smaller(r->base->nblocks, r->with->nblocks) + 1;
	cleanup_free double *d = calloc(room, sizeof(*d));
	cleanup_free int *block = calloc(room, sizeof(*block));
	cleanup_free double *scratch = calloc(room, sizeof(*scratch));
	cleanup_free double *anchor = NULL;
	cleanup_free int *anchor_block = NULL;
	size_t n, an;

	if (!d || !block || !scratch)
		return -ENOMEM;
	n = series_pair(r->with, r->base, d, block);
	r->d = estimate_of(d, n);
	r->anchor = r->quotient = r->normalised = estimate_of(d, 0);
	r->imbalance = imbalance_of(m, r->with);
	if (!ab || !aw)
		return 0;
	an = smaller(ab->nblocks, aw->nblocks) + 1;
	anchor = calloc(an, sizeof(*anchor));
	anchor_block = calloc(an, sizeof(*anchor_block));
	if (!anchor || !anchor_block)
		return -ENOMEM;
	an = series_pair(aw, ab, anchor, anchor_block);
	/* Rates add up over tasks, so an anchor compares the rate of one; a latency does not. */
	if (strcmp(m->metrics[r->metric].combine, "sum") == 0)
		for (size_t i = 0; i < an; i++)
			anchor[i] -= log((double)aw->tasks / ab->tasks);
	r->anchor = estimate_of(anchor, an);
	r->quotient = less_blocks(d, block, n, anchor, anchor_block, an, scratch);
	return 0;
}

static int make_rows(struct analysis *a)
{
	const struct model *m = a->m;
	size_t room = 0;

	for (size_t c = 0; c < m->ncompares; c++) {
		for (size_t i = 0; i < a->set.n; i++) {
			const struct series *base = &a->set.series[i];
			const struct series *with;
			struct row *r;

			if (base->arm != m->compares[c].base)
				continue;
			with = series_find(&a->set, base->test, base->threads, base->metric,
					   base->tasks, m->compares[c].with);
			if (!with)
				continue;
			r = add_row(a, &room, c, base, with);
			if (!r || fill_row(a, r) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static bool same_curve(const struct row *a, const struct row *b)
{
	return a->compare == b->compare && a->test == b->test && a->threads == b->threads &&
	       a->metric == b->metric;
}

static void mark_headlines(struct analysis *a)
{
	/* Rows of one curve stand together, by ascending task count. */
	for (size_t i = 0; i < a->nrows; i++) {
		struct row *r = &a->rows[i];
		bool last = i + 1 == a->nrows || !same_curve(r, &a->rows[i + 1]);

		r->headline = r->main && last;
		r->family = r->headline && a->m->tests[r->test].primary && !r->control;
	}
}

/* ---- gates ---- */

/* A control that speaks for this row: same mode and task count, its main metric. */
static bool speaks_for(const struct row *control, const struct row *r)
{
	return control->control && control->main && control->compare == r->compare &&
	       control->threads == r->threads && control->tasks == r->tasks;
}

static bool speaks_otherwise(const struct row *control, const struct row *r)
{
	return control->control && control->main && control->compare == r->compare;
}

/* The controls at the row's own task count, or, where there are none, all of the pair. */
static bool (*controls_of(const struct analysis *a, const struct row *r))(const struct row *,
									  const struct row *)
{
	for (size_t i = 0; i < a->nrows; i++)
		if (speaks_for(&a->rows[i], r))
			return speaks_for;
	return speaks_otherwise;
}

/* The mean of the controls' logarithms a block, and the row less that. */
static int normalise(struct analysis *a, struct row *r)
{
	bool (*counts)(const struct row *, const struct row *) = controls_of(a, r);
	size_t n = smaller(r->base->nblocks, r->with->nblocks);
	cleanup_free double *d = calloc(n + 1, sizeof(*d));
	cleanup_free int *block = calloc(n + 1, sizeof(*block));
	cleanup_free double *sum = calloc(n + 1, sizeof(*sum));
	cleanup_free double *c = NULL;
	cleanup_free int *cblock = NULL;
	cleanup_free size_t *seen = calloc(n + 1, sizeof(*seen));
	size_t controls = 0, kept = 0, room = 0;

	if (!d || !block || !sum || !seen)
		return -ENOMEM;
	n = series_pair(r->with, r->base, d, block);
	for (size_t i = 0; i < a->nrows; i++)
		if (counts(&a->rows[i], r))
			room = a->rows[i].d.n > room ? a->rows[i].d.n : room;
	c = calloc(room + 1, sizeof(*c));
	cblock = calloc(room + 1, sizeof(*cblock));
	if (!c || !cblock)
		return -ENOMEM;
	for (size_t i = 0; i < a->nrows; i++) {
		size_t cn = a->rows[i].d.n;

		if (!counts(&a->rows[i], r))
			continue;
		controls++;
		row_blocks(&a->rows[i], c, cblock);
		for (size_t k = 0, j = 0; k < n && j < cn;) {
			if (block[k] < cblock[j]) {
				k++;
			} else if (block[k] > cblock[j]) {
				j++;
			} else {
				sum[k] += c[j++];
				seen[k++]++;
			}
		}
	}
	/* A block counts only where every control was measured: else their mean would jump. */
	for (size_t k = 0; k < n; k++)
		if (controls > 0 && seen[k] == controls)
			d[kept++] = d[k] - sum[k] / controls;
	r->normalised = estimate_of(d, kept);
	return 0;
}

static void say_gate(const struct analysis *a, char *why, size_t size, const char *what,
		     const struct row *r, const struct estimate *d, enum gate g)
{
	struct interval i = interval_exp(interval_mean(d, 0.95));
	char label[96];

	mtest_label(&a->m->tests[r->test], label, sizeof(label));
	if (g == GATE_MOVED)
		snprintf(why, size, "%s %s moved: %.3f (%.3f to %.3f)", what, label, exp(d->mean),
			 i.lo, i.hi);
	else if (g == GATE_UNSURE)
		snprintf(why, size, "%s %s is not shown to stand still: %.3f (%.3f to %.3f)", what,
			 label, exp(d->mean), i.lo, i.hi);
	else
		snprintf(why, size, "%s %s has too few blocks", what, label);
}

/* The first control or anchor that does not stand, in r->why. True when all do. */
static bool gates_open(const struct analysis *a, struct row *r, const struct margin *m)
{
	bool (*counts)(const struct row *, const struct row *) = controls_of(a, r);

	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *c = &a->rows[i];

		if (c == r || !counts(c, r) || c->gate == GATE_STANDS)
			continue;
		say_gate(a, r->why, sizeof(r->why), "control", c, &c->d, c->gate);
		return false;
	}
	if (r->control || r->anchor.n == 0 || gate_of(&r->anchor, m) == GATE_STANDS)
		return true;
	say_gate(a, r->why, sizeof(r->why), "with one task a kernel", r, &r->anchor,
		 gate_of(&r->anchor, m));
	return false;
}

/* ---- verdicts ---- */

static void describe_pairing(struct analysis *a, size_t compare)
{
	const struct model *m = a->m;
	const struct marm *base = &m->arms[m->compares[compare].base];
	const struct marm *with = &m->arms[m->compares[compare].with];
	struct pairing *p = &a->pairings[compare];

	p->no_evidence = nature_is_no_evidence(base->nature) || nature_is_no_evidence(with->nature);
	p->not_fresh = !base->fresh || !with->fresh;
	p->controls_stand = true;
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];

		if (r->compare != (int)compare)
			continue;
		p->family += r->family;
		if (!r->control || !r->main)
			continue;
		p->ncontrols++;
		p->controls_stand = p->controls_stand && r->gate == GATE_STANDS;
	}
}

/* Why there is no verdict, whatever the numbers are. */
static const char *barred(const struct analysis *a, const struct row *r)
{
	const struct pairing *p = &a->pairings[r->compare];

	if (p->no_evidence)
		return "no evidence: the CPUs are emulated or simulated";
	if (p->not_fresh)
		return "this boot only: an arm was not booted anew in each block";
	if (r->d.n < VERDICT_MIN_BLOCKS)
		return "too few boots: a verdict needs six blocks";
	return NULL;
}

static void decide(struct analysis *a, struct row *r, const struct margin *m)
{
	struct estimate d = better_estimate(a, r, r->d);
	const char *bar = barred(a, r);

	r->verdict = VERDICT_NONE;
	if (bar) {
		snprintf(r->why, sizeof(r->why), "%s", bar);
		return;
	}
	r->verdict = verdict_of(&d, m);
	r->p = verdict_p(r->verdict, &d, m);
	if (!gates_open(a, r, m)) {
		r->verdict = VERDICT_CONFOUNDED;
		return;
	}
	if (r->verdict != VERDICT_UNDECIDED)
		return;
	r->blocks_needed = verdict_blocks_needed(&d, m, BLOCKS_ADVICE_MAX);
	if (r->blocks_needed)
		snprintf(r->why, sizeof(r->why), "about %zu blocks would decide", r->blocks_needed);
	else
		snprintf(r->why, sizeof(r->why), "more than %d blocks would be needed",
			 BLOCKS_ADVICE_MAX);
}

static bool claims_difference(enum verdict v)
{
	return v == VERDICT_FASTER || v == VERDICT_SLOWER || v == VERDICT_FASTER_SMALL ||
	       v == VERDICT_SLOWER_SMALL;
}

/*
 * Holm over the headline rows of the primary tests of each pair. All of them enter with the p of
 * one and the same hypothesis, "the ratio is 1": a test that is shown to be the same must not
 * make room for the others.
 */
static int adjust_families(struct analysis *a)
{
	cleanup_free double *p = calloc(a->nrows + 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (size_t c = 0; c < a->m->ncompares; c++) {
		for (size_t i = 0; i < a->nrows; i++) {
			const struct row *r = &a->rows[i];
			bool in = r->compare == (int)c && r->family && r->verdict != VERDICT_NONE;

			p[i] = in ? p_differs(&r->d, 0) : NAN;
		}
		if (holm_adjust(p, p, a->nrows) < 0)
			return -ENOMEM;
		for (size_t i = 0; i < a->nrows; i++) {
			struct row *r = &a->rows[i];

			if (isnan(p[i]))
				continue;
			r->p_family = p[i];
			if (p[i] <= FAMILY_LEVEL || !claims_difference(r->verdict))
				continue;
			snprintf(r->why, sizeof(r->why),
				 "%s by itself, but not among %zu primary tests (Holm: p = %.3f)",
				 verdict_name(r->verdict), a->pairings[c].family, p[i]);
			r->verdict = VERDICT_UNDECIDED;
		}
	}
	return 0;
}

const char *row_verdict_text(const struct row *r, char *buf, size_t size)
{
	if (r->verdict == VERDICT_UNDECIDED && r->blocks_needed)
		snprintf(buf, size, "undecided (%zu blocks)", r->blocks_needed);
	else if (r->cause != CAUSE_UNKNOWN)
		snprintf(buf, size, "%s: %s", verdict_name(r->verdict), cause_name(r->cause));
	else
		snprintf(buf, size, "%s", verdict_name(r->verdict));
	return buf;
}

bool analysis_narrow_enough(const struct analysis *a, double width)
{
	bool any_family = false, any = false;

	for (size_t i = 0; i < a->nrows; i++)
		any_family = any_family || a->rows[i].family;
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];

		if (any_family ? !r->family : !r->headline || r->control)
			continue;
		any = true;
		if (!stop_by_width(&r->d, width, STOP_MIN_BLOCKS))
			return false;
	}
	return any;
}

static int analyse_all(struct analysis *a)
{
	const struct margin margin = margin_of(a->m->margin);

	a->pairings = calloc(a->m->ncompares + 1, sizeof(*a->pairings));
	if (!a->pairings || series_collect(&a->set, a->m) < 0 || make_rows(a) < 0)
		return -ENOMEM;
	mark_headlines(a);
	for (size_t i = 0; i < a->nrows; i++) {
		struct row *r = &a->rows[i];

		r->gate = gate_of(r->control ? &r->d : &r->anchor, &margin);
		if (normalise(a, r) < 0)
			return -ENOMEM;
	}
	for (size_t c = 0; c < a->m->ncompares; c++)
		describe_pairing(a, c);
	for (size_t i = 0; i < a->nrows; i++)
		decide(a, &a->rows[i], &margin);
	if (adjust_families(a) < 0)
		return -ENOMEM;
	find_causes(a);
	return compare_facts(a);
}

int analyse(struct analysis **out, const struct model *m, struct err *e)
{
	cleanup_analysis struct analysis *a = calloc(1, sizeof(*a));

	if (a)
		a->m = m;
	if (!a || analyse_all(a) < 0)
		return err_set(e, ENOMEM, "no memory to analyse %s", m->dir);
	*out = take_ptr(a);
	return 0;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	series_free(&a->set);
	free(a->rows);
	free(a->pairings);
	free(a->facts);
	free(a);
}
