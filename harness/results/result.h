/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_RESULTS_RESULT_H
#define MKSPLIT_RESULTS_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/err.h"

/*
 * The result object that an agent sends after a cell (docs/protocol.md). It comes from a
 * partition: a reader believes neither its size nor its numbers.
 */

/* 8192 tasks with 100 samples of counts that have 8 digits. */
#define RESULT_MAX (8 << 20)

enum metric_kind {
	METRIC_RATE,
	METRIC_LATENCY,
	METRIC_HISTOGRAM,
	METRIC_SERIES
};
enum metric_combine {
	COMBINE_SUM,
	COMBINE_MERGE,
	COMBINE_EACH
};
const char *metric_kind_name(enum metric_kind kind);
const char *metric_combine_name(enum metric_combine combine);

struct result_metric {
	int id;
	char *name, *unit;
	bool more; /* more is better */
	enum metric_kind kind;
	enum metric_combine combine;
};

struct result_task {
	int64_t pid;
	int cpu, node; /* asked for */
	int cpu_before, cpu_after; /* where the system call said that it ran */
	int64_t cpu_ns, wall_ns, involuntary, voluntary;
};

/* One reading of the counters, with the agent's clock before and after it. */
struct result_sample {
	int metric, k; /* id of the metric; 0 is the start of the first window */
	int64_t before, after;
	uint64_t *counts; /* running totals, ntasks of them */
};

struct result_value {
	int metric;
	double v;
	json_t *more; /* the line's other keys, as strings */
};

struct result {
	char *family, *test, *mode;
	struct result_metric *metrics;
	int nmetrics;
	struct result_task *tasks; /* by number */
	int ntasks;
	bool has_cover;
	int64_t cover_from, cover_to; /* when every task was inside its loop; the agent's clock */
	struct result_sample *samples; /* as they came: k ascends from 0 for each metric */
	int nsamples;
	struct result_value *values;
	int nvalues;
	json_t *notes; /* object of strings */
};

/*
 * Reads text of len bytes, which may contain anything. On failure (-EPROTO with the line, -ENOMEM)
 * nothing is left to free. Strings come out as printable ASCII.
 */
int result_parse(struct result *r, const char *text, size_t len, struct err *e);
void result_free(struct result *r);
#define cleanup_result cleanup(result_free)

#endif
