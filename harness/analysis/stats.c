// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rmath's own names (qt, pt), without R around it. */
#define MATHLIB_STANDALONE
#include <Rmath.h>

#include "common/cleanup.h"

struct estimate estimate_of(const double *x, size_t n)
{
	struct estimate e = {.n = n, .mean = NAN, .sd = NAN};
	double sum = 0, squares = 0;

	if (n == 0)
		return e;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	e.mean = sum / n;
	if (n < 2)
		return e;
	/* Second pass: the sum of squares of large, close numbers would cancel. */
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - e.mean) * (x[i] - e.mean);
	e.sd = sqrt(squares / (n - 1));
	return e;
}

double t_quantile(double p, double df)
{
	return qt(p, df, 1, 0);
}

static struct interval interval_around(const struct estimate *e, double level, double factor)
{
	double half;

	if (e->n < 2)
		return (struct interval){NAN, NAN};
	half = t_quantile(0.5 + level / 2, e->n - 1) * e->sd * factor;
	return (struct interval){e->mean - half, e->mean + half};
}

struct interval interval_mean(const struct estimate *e, double level)
{
	return interval_around(e, level, sqrt(1.0 / e->n));
}

struct interval interval_next(const struct estimate *e, double level)
{
	return interval_around(e, level, sqrt(1 + 1.0 / e->n));
}

struct interval interval_welch(const struct estimate *a, const struct estimate *b, double level)
{
	double va = a->sd * a->sd / a->n, vb = b->sd * b->sd / b->n, freedom, half;

	if (a->n < 2 || b->n < 2)
		return (struct interval){NAN, NAN};
	freedom = (va + vb) * (va + vb) / (va * va / (a->n - 1) + vb * vb / (b->n - 1));
	half = va + vb > 0 ? t_quantile(0.5 + level / 2, freedom) * sqrt(va + vb) : 0;
	return (struct interval){a->mean - b->mean - half, a->mean - b->mean + half};
}

bool interval_valid(struct interval i)
{
	return isfinite(i.lo) && isfinite(i.hi);
}

bool interval_inside(struct interval i, double lo, double hi)
{
	return interval_valid(i) && i.lo > lo && i.hi < hi;
}

bool interval_contains(struct interval i, double x)
{
	return interval_valid(i) && i.lo <= x && x <= i.hi;
}

double interval_half(struct interval i)
{
	return (i.hi - i.lo) / 2;
}

struct interval interval_exp(struct interval i)
{
	return (struct interval){exp(i.lo), exp(i.hi)};
}

/* t statistic against mu; without any spread it is infinite on the side of the mean. */
static double t_statistic(const struct estimate *e, double mu)
{
	double d = e->mean - mu;

	if (e->n < 2)
		return NAN;
	if (e->sd == 0)
		return d == 0 ? 0 : copysign(INFINITY, d);
	return d / (e->sd / sqrt(e->n));
}

double p_above(const struct estimate *e, double mu)
{
	double t = t_statistic(e, mu);

	return isnan(t) ? NAN : pt(t, e->n - 1, 0, 0);
}

double p_below(const struct estimate *e, double mu)
{
	double t = t_statistic(e, mu);

	return isnan(t) ? NAN : pt(t, e->n - 1, 1, 0);
}

double p_differs(const struct estimate *e, double mu)
{
	double t = t_statistic(e, mu);

	return isnan(t) ? NAN : 2 * pt(fabs(t), e->n - 1, 0, 0);
}

double p_equivalent(const struct estimate *e, double lo, double hi)
{
	return fmax(p_above(e, lo), p_below(e, hi));
}

struct ranked {
	double p;
	size_t at;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->p > y->p) - (x->p < y->p);
}

int holm_adjust(const double *p, double *out, size_t n)
{
	cleanup_free struct ranked *order = calloc(n ? n : 1, sizeof(*order));
	double least = 0;
	size_t m = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!isnan(p[i]))
			order[m++] = (struct ranked){p[i], i};
		out[i] = p[i];
	}
	qsort(order, m, sizeof(*order), by_p);
	for (size_t i = 0; i < m; i++) {
		least = fmax(least, fmin(1, (m - i) * order[i].p));
		out[order[i].at] = least;
	}
	return 0;
}

size_t blocks_for_half_width(double sd, double level, double half, size_t from, size_t limit)
{
	if (isnan(sd) || !(half > 0))
		return 0;
	for (size_t n = from < 2 ? 2 : from; n <= limit; n++)
		if (t_quantile(0.5 + level / 2, n - 1) * sd / sqrt(n) <= half)
			return n;
	return 0;
}

bool stop_by_width(const struct estimate *e, double width, size_t min_blocks)
{
	struct interval i = interval_mean(e, 0.95);

	return e->n >= min_blocks && interval_valid(i) && exp(i.hi - i.lo) - 1 <= width;
}

struct steadiness steadiness_of(const double *x, size_t n)
{
	struct steadiness s = {NAN, NAN};
	double mean = 0, mid = (n - 1) / 2.0, sxy = 0, sxx = 0, first = 0, second = 0;
	size_t half = n / 2;

	if (n < 2)
		return s;
	for (size_t i = 0; i < n; i++)
		mean += x[i] / n;
	if (!(mean > 0))
		return s;
	for (size_t i = 0; i < n; i++) {
		sxy += (i - mid) * (x[i] - mean);
		sxx += (i - mid) * (i - mid);
	}
	s.drift = sxy / sxx * (n - 1) / mean;
	/* With an odd number the middle sample belongs to neither half. */
	for (size_t i = 0; i < half; i++) {
		first += x[i];
		second += x[n - 1 - i];
	}
	s.halves = second / first - 1;
	return s;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile_sorted(const double *x, size_t n, double p)
{
	double h = (n - 1) * p;
	size_t k = h;

	return k + 1 < n ? x[k] + (h - k) * (x[k + 1] - x[k]) : x[n - 1];
}

int fences_of(const double *x, size_t n, struct fences *f)
{
	cleanup_free double *sorted = NULL;
	double range;

	*f = (struct fences){NAN, NAN, NAN, NAN, NAN};
	if (n == 0)
		return 0;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, x, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	f->q1 = quantile_sorted(sorted, n, 0.25);
	f->median = quantile_sorted(sorted, n, 0.5);
	f->q3 = quantile_sorted(sorted, n, 0.75);
	range = f->q3 - f->q1;
	f->lo = f->q1 - 1.5 * range;
	f->hi = f->q3 + 1.5 * range;
	return 0;
}

double geometric_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += log(x[i]);
	return n ? exp(sum / n) : NAN;
}

double kendall_tau(const double *x, const double *y, size_t n)
{
	double score = 0, untied_x = 0, untied_y = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			double sx = sign(x[i] - x[j]), sy = sign(y[i] - y[j]);

			score += sx * sy;
			untied_x += sx != 0;
			untied_y += sy != 0;
		}
	if (untied_x == 0 || untied_y == 0)
		return NAN;
	return score / sqrt(untied_x * untied_y);
}
