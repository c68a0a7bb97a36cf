/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_VARIANCE_H
#define MKSPLIT_ANALYSIS_VARIANCE_H

#include <stddef.h>

/*
 * Where the noise comes from, after Kalibera and Jones (ISMM 2013): the variance that
 * each level alone adds, T_i^2 = S_i^2 - S_(i-1)^2 / r_(i-1), and the numbers of samples
 * and repetitions that their formula would choose for the next run,
 * r_i = sqrt(c_(i+1)/c_i * T_i^2/T_(i+1)^2), with c the seconds that a new unit costs.
 */

enum {
	LEVEL_SAMPLE,
	LEVEL_REPETITION,
	LEVEL_BOOT,
	LEVELS
};

/* Logarithms of rates: one row a repetition, rows of one boot next to each other. */
struct nested {
	size_t nrows;
	const size_t *boot; /* [nrows], a number that repetitions of one boot share */
	const size_t *start; /* [nrows + 1], where a row's samples begin in value */
	const double *value;
};

struct variance {
	double t2[LEVELS]; /* never negative; NaN where the level has no two units */
	double share[LEVELS]; /* of the sum of the known t2; NaN where t2 is */
	double per_unit[2]; /* mean samples a repetition, mean repetitions a boot */
};

struct variance variance_of(const struct nested *d);

struct unit_cost {
	double seconds[LEVELS]; /* of one more sample, repetition (warm-up), boot */
};

/*
 * Counts for the next run: samples a repetition and repetitions a boot, at least 1 and at
 * most max each. A level without a known variance keeps what it has now (rounded).
 */
struct counts {
	unsigned samples, repetitions;
};

struct counts counts_for_next(const struct variance *v, const struct unit_cost *c, unsigned max);

#endif
