// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/boundary/stats.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"

#define CLOCK_PAIRS 1001
#define CLOCK_BATCH 16 /* the clock may move in steps of 10 ns and more */
#define TAIL_MIN    10

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

void sort_samples(int64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), ascending);
}

double sorted_median(const int64_t *v, size_t n)
{
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2.0;
}

double sorted_p99(const int64_t *v, size_t n)
{
	return v[n * 99 / 100];
}

static void emit_one(struct sink *s, struct row row, const char *prefix, const char *what,
		     double value, const char *unit)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", prefix, what);
	row.metric = name;
	row.value = value;
	row.unit = unit;
	row.extra = true;
	emit(s, &row);
}

void emit_distribution(struct sink *s, struct row row, const char *prefix, const int64_t *v, size_t n)
{
	static const struct {
		const char *name;
		double part;
	} points[] = {
		{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999},
	};
	double sum = 0;

	if (!s->extended || n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	emit_one(s, row, prefix, "min", v[0], "ns");
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		if (n * (1 - points[i].part) >= TAIL_MIN)
			emit_one(s, row, prefix, points[i].name, v[(size_t)(n * points[i].part)],
				 "ns");
	emit_one(s, row, prefix, "max", v[n - 1], "ns");
	emit_one(s, row, prefix, "mean", sum / n, "ns");
	emit_one(s, row, prefix, "count", n, "1");
}

double clock_pair_cost(void)
{
	static const int reads = 2 * CLOCK_BATCH;
	int64_t v[CLOCK_PAIRS];

	for (int i = 0; i < CLOCK_PAIRS; i++) {
		int64_t from = clock_ns();

		for (int k = 1; k < reads; k++)
			clock_ns();
		v[i] = clock_ns() - from;
	}
	sort_samples(v, CLOCK_PAIRS);
	/* A sample between two reads holds one read's worth of the clock. */
	return sorted_median(v, CLOCK_PAIRS) / reads;
}
