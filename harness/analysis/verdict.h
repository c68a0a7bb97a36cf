/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_VERDICT_H
#define MKSPLIT_ANALYSIS_VERDICT_H

#include "harness/analysis/stats.h"

/* Fewer boots than this never carry a verdict: see docs/methodology.md. */
enum {
	VERDICT_MIN_BLOCKS = 6,
	STOP_MIN_BLOCKS = 8
};

#define DEFAULT_MARGIN 0.03

/* One margin for controls, anchors and verdicts, as logarithms of 1 - delta and 1 + delta. */
struct margin {
	double delta;
	double lo, hi;
};

struct margin margin_of(double delta);

/* A control or an anchor: it must be shown to stand still. */
enum gate {
	GATE_STANDS, /* the 95 % interval lies inside the margin */
	GATE_MOVED, /* the 95 % interval excludes 1 and leaves the margin */
	GATE_UNSURE, /* the interval is too wide to say */
	GATE_NONE, /* not measured, or too few blocks for an interval */
};

enum gate gate_of(const struct estimate *d, const struct margin *m);

enum verdict {
	VERDICT_NONE, /* not to be given here: the reason says why */
	VERDICT_FASTER,
	VERDICT_SLOWER,
	VERDICT_SAME,
	VERDICT_FASTER_SMALL,
	VERDICT_SLOWER_SMALL,
	VERDICT_UNDECIDED,
	VERDICT_CONFOUNDED,
};

const char *verdict_name(enum verdict v);

/*
 * What the block log ratios alone say, oriented so that more is better. Does not look at
 * gates. Never VERDICT_CONFOUNDED; VERDICT_NONE below VERDICT_MIN_BLOCKS.
 */
enum verdict verdict_of(const struct estimate *d, const struct margin *m);

/* The p-value of the claim that this verdict makes: at most 0.05 where it was given. */
double verdict_p(enum verdict v, const struct estimate *d, const struct margin *m);

/*
 * The number of blocks at which verdict_of() would leave "undecided" if mean and spread
 * stay what they are; 0 when that is above limit.
 */
size_t verdict_blocks_needed(const struct estimate *d, const struct margin *m, size_t limit);

#endif
