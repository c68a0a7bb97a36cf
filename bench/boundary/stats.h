/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BOUNDARY_STATS_H
#define MKSPLIT_BENCH_BOUNDARY_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/boundary/boundary.h"

/* Samples in ns, sorted in place by sort_samples(). */
void sort_samples(int64_t *v, size_t n);
double sorted_median(const int64_t *v, size_t n);
/* mkbench's p99: element floor(n * 99 / 100). */
double sorted_p99(const int64_t *v, size_t n);

/*
 * Extra rows PREFIX_min, _mean, _max, _count and those of _p50 _p90 _p99 _p999 _p9999 above
 * which at least ten samples lie.
 */
void emit_distribution(struct sink *s, struct row row, const char *prefix, const int64_t *sorted,
		       size_t n);

/* What two reads of the clock add to the time between them: one read, ns. */
double clock_pair_cost(void);

#endif
