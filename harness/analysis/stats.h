/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_STATS_H
#define MKSPLIT_ANALYSIS_STATS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The arithmetic of docs/methodology.md on plain arrays of doubles. Nothing here knows
 * about boots, arms or files. Values that a comparison works on are natural logarithms of
 * ratios, so an interval of ratios is exp() of the interval given here.
 *
 * "No value" is NaN throughout: an estimate of too few numbers has no spread, hence no
 * interval, and says so by NaN instead of by an invented number. Inputs must be finite;
 * callers drop a cell without a number before they come here.
 */

struct interval {
	double lo, hi;
};

/* Mean and spread of n independent values: for us one value a block. */
struct estimate {
	size_t n;
	double mean; /* NaN for n = 0 */
	double sd; /* with n - 1; NaN for n < 2 */
};

struct estimate estimate_of(const double *x, size_t n);

/* Quantile p of Student's t with df degrees of freedom. */
double t_quantile(double p, double df);

/* Two-sided interval (level 0.95, 0.90, ...) for the mean; both ends NaN for n < 2. */
struct interval interval_mean(const struct estimate *e, double level);

/* Two-sided interval for one more value of the same kind; both ends NaN for n < 2. */
struct interval interval_next(const struct estimate *e, double level);

bool interval_valid(struct interval i);
bool interval_inside(struct interval i, double lo, double hi);
bool interval_contains(struct interval i, double x);

/* Half of the width, NaN where there is no interval. */
double interval_half(struct interval i);

/* p of "the mean is mu", two-sided; of "the mean is <= mu" and ">= mu", one-sided. */
double p_differs(const struct estimate *e, double mu);
double p_above(const struct estimate *e, double mu);
double p_below(const struct estimate *e, double mu);

/*
 * The difference of two independent means, a less b, by Welch: interval at this level, NaN
 * where one of them has no spread to speak of (n < 2).
 */
struct interval interval_welch(const struct estimate *a, const struct estimate *b, double level);

/*
 * Equivalence by two one-sided tests (Schuirmann): p of "the mean is not in (lo, hi)".
 * Below 0.05 exactly when the 90 % interval lies inside.
 */
double p_equivalent(const struct estimate *e, double lo, double hi);

/*
 * Holm's step-down adjustment of n p-values, out may be p itself. NaN entries do not
 * belong to the family and stay NaN. Returns 0 or -ENOMEM.
 */
int holm_adjust(const double *p, double *out, size_t n);

/*
 * The smallest n >= from for which the interval of the mean at this level is at most
 * half wide (half a width), if the sd stays what it is. 0 if that is above limit.
 */
size_t blocks_for_half_width(double sd, double level, double half, size_t from, size_t limit);

/*
 * Early stop by width of the interval alone, never by where it lies: true from min_blocks
 * on once the full width of the 95 % interval of the ratio, in percent of the ratio,
 * is at most width (0.04 for 4 %).
 */
bool stop_by_width(const struct estimate *e, double width, size_t min_blocks);

/* How steady a series of samples is, as shares of its mean. */
struct steadiness {
	double drift; /* least-squares slope times the length of the window */
	double halves; /* mean of the second half over that of the first, less 1 */
};

struct steadiness steadiness_of(const double *x, size_t n);

/* Quartiles (R's type 7) and Tukey's fences at 1.5 interquartile ranges; NaN for n = 0. */
struct fences {
	double q1, median, q3, lo, hi;
};

/* Sorts a copy. Returns 0 or -ENOMEM. */
int fences_of(const double *x, size_t n, struct fences *f);

/* Geometric mean of positive values; NaN for n = 0. */
double geometric_mean(const double *x, size_t n);

/* Kendall's tau-b of n pairs, NaN where one side is constant or n < 2. */
double kendall_tau(const double *x, const double *y, size_t n);

/* exp() of both ends: from logarithms of ratios to ratios. */
struct interval interval_exp(struct interval i);

#endif
