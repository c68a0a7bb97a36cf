/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_REPORT_PARTS_H
#define MKSPLIT_REPORT_PARTS_H

#include <stdio.h>

#include "harness/analysis/analysis.h"
#include "harness/analysis/curves.h"

/* Inner parts of the terminal report. Each returns 0 or -ENOMEM. */
int print_scaling(FILE *f, const struct analysis *a);
int print_variance(FILE *f, const struct analysis *a);
int print_values(FILE *f, const struct analysis *a);

/*
 * Shares of the noise at each level, pooled over the headline rows of non-controls, and what
 * the next run should choose. Returns the number of series that it is a mean of, or -ENOMEM.
 */
struct noise {
	struct variance v; /* means of t2 over the series; shares of those */
	double next_samples, next_repetitions; /* medians of what each test would choose */
	double sd_block_ratio; /* median sd of the block log ratios */
	size_t blocks_for_2_percent; /* for a half-width of 2 % at that sd; 0: above 200 */
};

int noise_of(struct noise *out, const struct analysis *a);

#endif
