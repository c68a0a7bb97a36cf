// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/agreement.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/analysis/reader.h"

/* An effect is known sharply enough when our half-width is at most this share of it. */
#define SHARP_SHARE 0.25

static const char *const names[] = {
	[AGREE_REPRODUCED] = "reproduced",     [AGREE_OTHER_SIZE] = "same direction, other size",
	[AGREE_NOT] = "not reproduced",	       [AGREE_UNDECIDED] = "undecided",
	[AGREE_SHAPE_ONLY] = "direction only", [AGREE_NO_EVIDENCE] = "plumbing only",
};

const char *agreement_name(enum agreement a)
{
	return names[a];
}

/* Our interval for one more block, widened by what rounding hides of the published figure. */
static bool next_block_holds(const struct estimate *d, double published, double half_unit)
{
	struct interval next = interval_exp(interval_next(d, 0.95));

	return next.lo - half_unit <= published && published <= next.hi + half_unit;
}

static enum agreement about_effect(const struct estimate *d, double published, double half_unit,
				   const struct margin *m)
{
	struct interval ci = interval_mean(d, 0.95);
	bool up = published > 1;
	bool same_side = up ? ci.lo > 0 : ci.hi < 0;
	bool other_side = up ? ci.hi < 0 : ci.lo > 0;
	bool sharp = interval_half(ci) <= SHARP_SHARE * fabs(log(published));
	bool held = next_block_holds(d, published, half_unit);

	if (same_side && sharp && held)
		return AGREE_REPRODUCED;
	if (other_side || interval_inside(ci, m->lo, m->hi))
		return AGREE_NOT;
	/* Sharp enough to see an effect of that size, and nothing is there. */
	if (sharp && !same_side)
		return AGREE_NOT;
	return same_side && !held ? AGREE_OTHER_SIZE : AGREE_UNDECIDED;
}

static enum agreement about_parity(const struct estimate *d, double published, double half_unit,
				   const struct margin *m)
{
	struct interval ci = interval_mean(d, 0.95);

	if (interval_inside(ci, m->lo, m->hi))
		return next_block_holds(d, published, half_unit) ? AGREE_REPRODUCED
								 : AGREE_OTHER_SIZE;
	return ci.lo > m->hi || ci.hi < m->lo ? AGREE_NOT : AGREE_UNDECIDED;
}

enum agreement agreement_of(const struct estimate *d, double published, double half_unit,
			    const struct margin *m)
{
	double p = log(published);

	if (d->n < VERDICT_MIN_BLOCKS)
		return AGREE_UNDECIDED;
	/* A "parity" outside the margin is judged as the small effect that it is. */
	if (p > m->lo && p < m->hi)
		return about_parity(d, published, half_unit, m);
	return about_effect(d, published, half_unit, m);
}

/* ---- machine class ---- */

static void differs(struct reproduction *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void differs(struct reproduction *r, const char *fmt, ...)
{
	va_list ap;

	if (r->ndifferences == CLASS_KEYS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(r->differences[r->ndifferences++], sizeof(r->differences[0]), fmt, ap);
	va_end(ap);
}

static bool has_smt(const struct model *m)
{
	for (size_t i = 0; i < m->ncpus; i++)
		if (m->cpus[i].smt > 0)
			return true;
	return false;
}

/* The value of a fact in an arm, or NULL. */
static const char *fact_of(const struct model *m, int arm, const char *name)
{
	for (size_t i = 0; i < m->nfacts; i++)
		if (m->facts[i].arm == arm && strcmp(m->facts[i].name, name) == 0)
			return m->facts[i].value;
	return NULL;
}

/* "7.0" of "7.0.0-mk1+" */
static size_t series_length(const char *release)
{
	size_t dots = 0, i;

	for (i = 0; release[i]; i++)
		if (release[i] == '.' && ++dots == 2)
			break;
	return i;
}

static void compare_class(struct reproduction *r, const struct model *m, size_t compare,
			  const struct pub_machine *pm, const struct pub_comparison *pc)
{
	int base = m->compares[compare].base;
	const char *kernel = fact_of(m, base, "kernel.release");
	const char *lsm = fact_of(m, base, "lsm.active");
	int cores = m->packages > 0 ? m->cores / m->packages : 0;

	if (!kernel)
		kernel = m->kernel;
	if (m->packages != pm->sockets)
		differs(r, "packages: %d here, %d there", m->packages, pm->sockets);
	if (cores != pm->cores_per_socket)
		differs(r, "cores a package: %d here, %d there", cores, pm->cores_per_socket);
	if (has_smt(m) != pm->smt)
		differs(r, "hardware threads: %s here, %s there", has_smt(m) ? "on" : "off",
			pm->smt ? "on" : "off");
	if (series_length(kernel) != series_length(pm->kernel) ||
	    strncmp(kernel, pm->kernel, series_length(kernel)) != 0)
		differs(r, "kernel series: %.40s here, %s there", kernel, pm->kernel);
	if (lsm && strstr(pc->lsm, "AppArmor enabled") && !strstr(lsm, "apparmor"))
		differs(r, "security modules: %.60s here, AppArmor there", lsm);
}

int sockets_used(const struct model *m, size_t compare)
{
	const struct marm *with = &m->arms[m->compares[compare].with];
	int package[2] = {-1, -1};

	if (with->npartitions < 2)
		return 1;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < m->ncpus && with->partitions[k].ncpus; i++)
			if (m->cpus[i].cpu == with->partitions[k].cpus[0])
				package[k] = m->cpus[i].package;
	return package[0] != package[1] ? 2 : 1;
}

/* ---- rows ---- */

/* Ours at the published task count, or the headline; NULL where the test was not run. */
static const struct row *our_row(const struct analysis *a, size_t compare, const char *test, int tasks)
{
	const struct row *headline = NULL;

	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];

		if (r->compare != (int)compare || !r->main || r->threads ||
		    strcmp(a->m->tests[r->test].test, test) != 0 || a->m->tests[r->test].variant[0])
			continue;
		if (r->tasks == tasks)
			return r;
		if (r->headline)
			headline = r;
	}
	return headline;
}

/* The controls that speak for a row, as for verdicts: at its task count, else all. */
static const char *controls_of(const struct analysis *a, const struct row *r)
{
	bool at_count = false;

	for (size_t i = 0; i < a->nrows; i++)
		at_count = at_count || (a->rows[i].control && a->rows[i].main &&
					a->rows[i].compare == r->compare &&
					a->rows[i].tasks == r->tasks && !a->rows[i].threads);
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *c = &a->rows[i];

		if (c == r || !c->control || !c->main || c->compare != r->compare ||
		    (at_count && (c->tasks != r->tasks || c->threads)))
			continue;
		if (c->gate != GATE_STANDS)
			return "a control moved, or is not shown to stand still";
	}
	return "";
}

static void judge(struct agreement_row *x, const struct analysis *a, bool same_class)
{
	const struct margin m = margin_of(a->m->margin);
	const struct pairing *p = &a->pairings[x->ours->compare];

	x->why = "";
	if (p->no_evidence) {
		x->agreement = AGREE_NO_EVIDENCE;
		return;
	}
	if (!same_class || x->ours->tasks != x->of->tasks) {
		x->agreement = AGREE_SHAPE_ONLY;
		return;
	}
	x->agreement = agreement_of(&x->ours->d, x->pub->ratio, PUBLISHED_HALF_UNIT, &m);
	if (p->not_fresh)
		x->why = "an arm was not booted anew in each block";
	else if (x->ours->d.n < VERDICT_MIN_BLOCKS)
		x->why = "fewer than six blocks";
	else
		x->why = controls_of(a, x->ours);
	if (x->why[0])
		x->agreement = AGREE_UNDECIDED;
	else if (x->agreement == AGREE_UNDECIDED)
		x->why = "not sharp enough";
}

static void correlate(struct reproduction *r, const struct analysis *a)
{
	cleanup_free double *x = calloc(r->nrows + 1, sizeof(*x));
	cleanup_free double *y = calloc(r->nrows + 1, sizeof(*y));

	r->tau = NAN;
	if (!x || !y)
		return;
	for (size_t i = 0; i < r->nrows; i++) {
		double p = r->rows[i].pub->ratio;

		x[i] = r->rows[i].ours->d.mean;
		y[i] = p;
		if (fabs(p - 1) <= a->m->margin)
			continue;
		r->effects++;
		r->same_direction += (x[i] > 0) == (p > 1);
	}
	r->tau = kendall_tau(x, y, r->nrows);
}

int reproduce(struct reproduction *r, const struct analysis *a, size_t compare,
	      const struct published *p, int sockets, bool assume_same, struct err *e)
{
	const struct pub_comparison *first = NULL;

	*r = (struct reproduction){.tau = NAN};
	for (size_t i = 0; i < p->nrows; i++) {
		const struct pub_row *pub = &p->rows[i];
		const struct pub_comparison *c = published_comparison(p, pub->comparison);
		const struct row *ours;
		struct agreement_row *x;

		/* One row a test: the one that published_row() chooses. Controls claim nothing. */
		if (published_row(p, pub->test, sockets) != pub || !c ||
		    strcmp(pub->role, "control") == 0)
			continue;
		ours = our_row(a, compare, pub->test, c->tasks);
		if (!ours || ours->d.n == 0)
			continue;
		x = push(&r->rows, &r->nrows);
		if (!x)
			return err_set(e, ENOMEM, "no memory");
		*x = (struct agreement_row){.ours = ours, .pub = pub, .of = c};
		x->over = exp(ours->d.mean) / pub->ratio;
		x->over_ci = interval_exp(interval_mean(&ours->d, 0.95));
		x->over_ci.lo /= pub->ratio;
		x->over_ci.hi /= pub->ratio;
		first = first ? first : c;
	}
	if (r->nrows == 0)
		return err_set(
			e, ENOENT,
			"none of the tests that were published for %d socket%s is in this run",
			sockets, sockets == 1 ? "" : "s");
	if (!assume_same) {
		const struct pub_machine *pm = published_machine(p, first->machine);

		if (pm)
			compare_class(r, a->m, compare, pm, first);
	}
	for (size_t i = 0; i < r->nrows; i++) {
		judge(&r->rows[i], a, r->ndifferences == 0);
		r->by_agreement[r->rows[i].agreement]++;
	}
	correlate(r, a);
	return 0;
}

void reproduction_free(struct reproduction *r)
{
	free(r->rows);
	*r = (struct reproduction){0};
}
