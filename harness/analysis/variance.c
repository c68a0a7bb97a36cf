// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/variance.h"

#include <math.h>

/* Running sums of one level: units, their spread around the mean of their parent. */
struct pooled {
	double squares; /* sum over parents of squared deviations */
	double freedom; /* sum over parents of (children - 1) */
	double inverse; /* sum over parents of 1 / children, for the harmonic mean */
	double parents;
	double children;
};

static void pool(struct pooled *p, double n, double sum, double squares)
{
	if (n < 1)
		return;
	p->squares += fmax(0, squares - sum * sum / n);
	p->freedom += n - 1;
	p->inverse += 1 / n;
	p->parents += 1;
	p->children += n;
}

static double spread(const struct pooled *p)
{
	return p->freedom > 0 ? p->squares / p->freedom : NAN;
}

/* What a level's own spread owes to the level below: S^2 / harmonic mean of the counts. */
static double owed(const struct pooled *below, double t2_below, double from_below)
{
	if (isnan(t2_below) || below->parents == 0)
		return 0;
	return (t2_below + from_below) * below->inverse / below->parents;
}

struct variance variance_of(const struct nested *d)
{
	struct pooled level[LEVELS] = {0};
	struct variance v;
	double centre = 0, total = 0;
	double below_rep, below_boot;
	double boots = 0, boot_sum = 0, boot_squares = 0;

	/* Taken off every value first, or the sums of squares would cancel. */
	if (d->nrows > 0 && d->start[d->nrows] > 0)
		centre = d->value[0];
	for (size_t row = 0; row < d->nrows;) {
		double reps = 0, rep_sum = 0, rep_squares = 0;
		size_t boot = d->boot[row];

		for (; row < d->nrows && d->boot[row] == boot; row++) {
			double n = 0, sum = 0, squares = 0;

			for (size_t i = d->start[row]; i < d->start[row + 1]; i++) {
				double x = d->value[i] - centre;

				n++;
				sum += x;
				squares += x * x;
			}
			if (n == 0)
				continue;
			pool(&level[LEVEL_SAMPLE], n, sum, squares);
			reps++;
			rep_sum += sum / n;
			rep_squares += (sum / n) * (sum / n);
		}
		if (reps == 0)
			continue;
		pool(&level[LEVEL_REPETITION], reps, rep_sum, rep_squares);
		boots++;
		boot_sum += rep_sum / reps;
		boot_squares += (rep_sum / reps) * (rep_sum / reps);
	}
	pool(&level[LEVEL_BOOT], boots, boot_sum, boot_squares);

	v.t2[LEVEL_SAMPLE] = spread(&level[LEVEL_SAMPLE]);
	below_rep = owed(&level[LEVEL_SAMPLE], v.t2[LEVEL_SAMPLE], 0);
	v.t2[LEVEL_REPETITION] = spread(&level[LEVEL_REPETITION]) - below_rep;
	if (v.t2[LEVEL_REPETITION] < 0)
		v.t2[LEVEL_REPETITION] = 0;
	/* One repetition a boot leaves the repetition's part inside the boot's. */
	below_boot = isnan(v.t2[LEVEL_REPETITION])
			     ? below_rep
			     : owed(&level[LEVEL_REPETITION], v.t2[LEVEL_REPETITION], below_rep);
	v.t2[LEVEL_BOOT] = spread(&level[LEVEL_BOOT]) - below_boot;
	if (v.t2[LEVEL_BOOT] < 0)
		v.t2[LEVEL_BOOT] = 0;

	for (int i = 0; i < LEVELS; i++)
		total += isnan(v.t2[i]) ? 0 : v.t2[i];
	for (int i = 0; i < LEVELS; i++)
		v.share[i] = total > 0 ? v.t2[i] / total : NAN;
	for (int i = 0; i < LEVEL_BOOT; i++)
		v.per_unit[i] = level[i].parents > 0 ? level[i].children / level[i].parents : NAN;
	return v;
}

static unsigned clamp_count(double r, double now, unsigned max)
{
	if (isnan(r))
		r = isnan(now) ? 1 : now;
	r = round(r);
	return r < 1 ? 1 : r > max ? max : r;
}

struct counts counts_for_next(const struct variance *v, const struct unit_cost *c, unsigned max)
{
	double t_rep = v->t2[LEVEL_REPETITION], t_boot = v->t2[LEVEL_BOOT];
	double samples, repetitions;

	/* Nothing above to average over: as many as allowed are worth their price. */
	samples = sqrt(c->seconds[LEVEL_REPETITION] / c->seconds[LEVEL_SAMPLE] *
		       v->t2[LEVEL_SAMPLE] / t_rep);
	repetitions = sqrt(c->seconds[LEVEL_BOOT] / c->seconds[LEVEL_REPETITION] * t_rep / t_boot);
	if (isnan(t_rep)) {
		/* A repetition cannot be told from its boot: choose between sample and boot. */
		samples = sqrt((c->seconds[LEVEL_REPETITION] + c->seconds[LEVEL_BOOT]) /
			       c->seconds[LEVEL_SAMPLE] * v->t2[LEVEL_SAMPLE] / t_boot);
	}
	return (struct counts){
		.samples = clamp_count(samples, v->per_unit[LEVEL_SAMPLE], max),
		.repetitions = clamp_count(repetitions, v->per_unit[LEVEL_REPETITION], max),
	};
}
