/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_CURVE_H
#define MKSPLIT_ANALYSIS_CURVE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A scaling curve: a rate over task counts, ascending, and what its shape says.
 */
struct point {
	int tasks;
	double rate;
};

struct shape {
	size_t peak; /* index of the highest rate */
	/*
	 * Index of the last point up to which every further task brought at least half of
	 * what the first one did. The last index where the curve never bends so far.
	 */
	size_t knee;
	bool bends; /* the knee is not the last point */
	bool negative; /* the last rate is below the peak by more than the margin */
	double left; /* last rate over peak rate */
};

/* An index of 0 and NaN for no points. margin as in struct model: 0.03. */
struct shape shape_of(const struct point *p, size_t n, double margin);

/* The share of ideal scaling from the first point: rate / (rate of a task there * tasks). */
double efficiency_at(const struct point *p, size_t i);

/* The rate at a task count, linear between points; NaN outside of them. */
double rate_at(const struct point *p, size_t n, double tasks);

/*
 * What k kernels would give for tasks in all if they shared nothing: k times what one
 * kernel gives for tasks / k. NaN where the curve does not reach.
 */
double predicted_split(const struct point *p, size_t n, int tasks, int k);

#endif
