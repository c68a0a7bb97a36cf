/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_REPORT_REPORT_H
#define MKSPLIT_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/analysis/analysis.h"

/*
 * An analysis for people and programs. Each writes to f and returns 0, -ENOMEM, or -EIO when
 * f could not be written. All text that came from a plan or a partition is escaped for
 * where it goes.
 */

struct text_options {
	bool color;
	bool all; /* every metric and every row, not only those of the main metric */
};

/* The terminal report. Its first line says so when ratios are no evidence. */
int report_text(FILE *f, const struct analysis *a, const struct text_options *o);

/* One object; docs/results.md has its members. */
int report_json(FILE *f, const struct analysis *a);

/* One line a row, with a header; empty fields where there is no number. */
int report_csv(FILE *f, const struct analysis *a);

/*
 * The curve of one test in one arm in will-it-scale's own columns
 * (tasks,processes,processes_idle,threads,threads_idle,linear). Idle is the share of all
 * CPUs that the tasks left, in percent; fields that were not measured are empty.
 */
int report_wis_csv(FILE *f, const struct analysis *a, int arm, int test);

/*
 * report.html: one file that needs no network and no script, follows light and dark, and has
 * the numbers of every plot in a table. pub (may be NULL) is drawn beside the run's own.
 */
struct published;
int report_html(FILE *f, const struct analysis *a, const struct published *pub);

/*
 * The answer to one of the model's compares in a sentence or two, into buf, which it returns. Names
 * in it are as the plan has them: escape it.
 */
const char *report_answer(const struct analysis *a, int compare, char *buf, size_t size);

#endif
