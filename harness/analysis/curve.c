// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/curve.h"

#include <math.h>

/* Less than this share of a lone task's rate, and a further task is not worth its CPU. */
#define KNEE_SHARE 0.5

struct shape shape_of(const struct point *p, size_t n, double margin)
{
	struct shape s = {.left = NAN};
	double alone;

	if (n == 0)
		return s;
	alone = p[0].rate / p[0].tasks;
	for (size_t i = 1; i < n; i++)
		if (p[i].rate > p[s.peak].rate)
			s.peak = i;
	for (s.knee = 0; s.knee + 1 < n; s.knee++) {
		double gain = p[s.knee + 1].rate - p[s.knee].rate;

		if (gain < KNEE_SHARE * alone * (p[s.knee + 1].tasks - p[s.knee].tasks))
			break;
	}
	s.bends = s.knee + 1 < n;
	s.left = p[n - 1].rate / p[s.peak].rate;
	s.negative = s.left < 1 - margin;
	return s;
}

double efficiency_at(const struct point *p, size_t i)
{
	return p[i].rate / p[i].tasks / (p[0].rate / p[0].tasks);
}

double rate_at(const struct point *p, size_t n, double tasks)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i].tasks == tasks)
			return p[i].rate;
		if (i > 0 && p[i - 1].tasks < tasks && tasks < p[i].tasks)
			return p[i - 1].rate + (p[i].rate - p[i - 1].rate) *
						       (tasks - p[i - 1].tasks) /
						       (p[i].tasks - p[i - 1].tasks);
	}
	return NAN;
}

double predicted_split(const struct point *p, size_t n, int tasks, int k)
{
	return k * rate_at(p, n, (double)tasks / k);
}
