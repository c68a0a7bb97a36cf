/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_REPORT_H
#define MKSPLIT_BENCH_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * The result object as docs/protocol.md defines it, while it is written. Lines are collected
 * in memory; a failed allocation is remembered and comes out of report_end().
 */
struct report;

struct report *report_new(const char *family, const char *test, const char *mode);
void report_free(struct report **r);

/*
 * kind: rate, latency, histogram or series; combine: sum, merge or each; better: more or less.
 * Returns the metric's id, counted from 0.
 */
int report_metric(struct report *r, const char *name, const char *unit, const char *better,
		  const char *kind, const char *combine);

struct report_task {
	long pid;
	int cpu, node, cpu_before, cpu_after; /* -1 where unknown */
	int64_t cpu_ns, wall_ns; /* from loop entry to loop exit */
	long involuntary, voluntary; /* context switches in that time */
};
void report_task(struct report *r, int n, const struct report_task *t);

void report_cover(struct report *r, int64_t from, int64_t to);

void report_sample(struct report *r, int metric, int k, int64_t before, int64_t after,
		   const uint64_t *counts, int n);

/*
 * A number of a metric, and further key=value words for it ("cpu_a=0 cpu_b=1"; values already
 * escaped; "" for none).
 */
void report_value(struct report *r, int metric, double v, const char *more);

/* A fact about this cell; the value is escaped here. */
void report_note(struct report *r, const char *key, const char *value);

/* Ends the object. The text stays the report's. */
int report_end(struct report *r, const char **text, size_t *len, struct err *e);

#endif
