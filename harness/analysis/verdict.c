// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/verdict.h"

#include <math.h>

struct margin margin_of(double delta)
{
	return (struct margin){.delta = delta, .lo = log(1 - delta), .hi = log(1 + delta)};
}

enum gate gate_of(const struct estimate *d, const struct margin *m)
{
	struct interval i = interval_mean(d, 0.95);

	if (!interval_valid(i))
		return GATE_NONE;
	if (interval_inside(i, m->lo, m->hi))
		return GATE_STANDS;
	return interval_contains(i, 0) ? GATE_UNSURE : GATE_MOVED;
}

static const char *const names[] = {
	[VERDICT_NONE] = "no verdict",
	[VERDICT_FASTER] = "faster",
	[VERDICT_SLOWER] = "slower",
	[VERDICT_SAME] = "same",
	[VERDICT_FASTER_SMALL] = "faster, small",
	[VERDICT_SLOWER_SMALL] = "slower, small",
	[VERDICT_UNDECIDED] = "undecided",
	[VERDICT_CONFOUNDED] = "confounded",
};

const char *verdict_name(enum verdict v)
{
	return names[v];
}

static enum verdict decide(const struct estimate *d, const struct margin *m)
{
	struct interval wide = interval_mean(d, 0.95), narrow = interval_mean(d, 0.90);

	if (wide.lo > m->hi)
		return VERDICT_FASTER;
	if (wide.hi < m->lo)
		return VERDICT_SLOWER;
	if (interval_inside(narrow, m->lo, m->hi))
		return VERDICT_SAME;
	if (wide.lo > 0)
		return VERDICT_FASTER_SMALL;
	if (wide.hi < 0)
		return VERDICT_SLOWER_SMALL;
	return VERDICT_UNDECIDED;
}

enum verdict verdict_of(const struct estimate *d, const struct margin *m)
{
	return d->n < VERDICT_MIN_BLOCKS ? VERDICT_NONE : decide(d, m);
}

double verdict_p(enum verdict v, const struct estimate *d, const struct margin *m)
{
	/* Twice the one-sided p, because the interval behind the verdict has two sides. */
	switch (v) {
	case VERDICT_FASTER:
		return fmin(1, 2 * p_above(d, m->hi));
	case VERDICT_SLOWER:
		return fmin(1, 2 * p_below(d, m->lo));
	case VERDICT_SAME:
		return p_equivalent(d, m->lo, m->hi);
	default:
		return p_differs(d, 0);
	}
}

size_t verdict_blocks_needed(const struct estimate *d, const struct margin *m, size_t limit)
{
	struct estimate future = *d;

	if (isnan(d->sd))
		return 0;
	future.n = d->n > VERDICT_MIN_BLOCKS ? d->n : VERDICT_MIN_BLOCKS;
	for (; future.n <= limit; future.n++)
		if (decide(&future, m) != VERDICT_UNDECIDED)
			return future.n;
	return 0;
}
