/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_VALUES_H
#define MKSPLIT_ANALYSIS_VALUES_H

#include "harness/analysis/model.h"

/*
 * What is no sum over partitions: latencies and the like, of each partition by itself. One entry for
 * each test, mode, task count, metric, arm and partition.
 */
struct part_value {
	int test, tasks, metric, arm;
	size_t partition; /* of the arm */
	bool threads;
	double value; /* geometric mean over the cells that have it */
	double least, most;
	size_t ncells;
};

/* By test, mode, metric, task count, arm, partition. *values is the caller's. 0 or -ENOMEM. */
int part_values(const struct model *m, struct part_value **values, size_t *n);

#endif
