/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_VERSUS_H
#define MKSPLIT_ANALYSIS_VERSUS_H

#include "harness/analysis/analysis.h"

/*
 * Two runs of one's own: did the ratio of two arms change from run A to run B? Only ratios are
 * compared, since the rates of two runs also differ by everything that happened between them.
 */
enum change {
	CHANGE_UP, /* B's ratio is higher by more than the margin */
	CHANGE_DOWN,
	CHANGE_NONE, /* the same within the margin, by two one-sided tests */
	CHANGE_UNDECIDED,
	CHANGE_UNKNOWN, /* no interval, or no evidence in one of the runs */
};

const char *change_name(enum change c);

struct versus_row {
	const struct row *a, *b;
	double change; /* B's ratio over A's */
	struct interval ci; /* of that, 95 %, by Welch */
	enum change verdict;
};

enum {
	OBSTACLES_MAX = 12
};

struct versus {
	struct versus_row *rows;
	size_t nrows;
	/* Why these two runs should not be compared, as sentences. */
	char obstacles[OBSTACLES_MAX][200];
	size_t nobstacles;
};

/*
 * Pairs rows by names of arms, test, variant, mode, task count and metric. Fails when there are
 * none. Obstacles are found, not acted on: the caller refuses. Borrows both analyses; free with
 * versus_free() also after an error.
 */
int versus_of(struct versus *v, const struct analysis *a, const struct analysis *b, struct err *e);
void versus_free(struct versus *v);
#define cleanup_versus cleanup(versus_free)

#endif
