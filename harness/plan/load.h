/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_LOAD_H
#define MKSPLIT_PLAN_LOAD_H

#include "harness/plan/plan.h"
#include "harness/plan/read.h"

#define PLAN_MAX_ARMS 32

/* The parts of plan_parse(), in the order in which it calls them. */

struct loader {
	struct plan *p;
	const struct topology *t;
	const struct catalog *c;
	const struct at *root;
	json_t *plan; /* the whole document */
};

/* Kernels; arms with partitions, CPU sets resolved and checked, memory and nodes filled in. */
int load_arms(const struct loader *l, struct err *e);

/* Comparisons, groups of arms, quiet CPUs, and the CPUs that can carry tasks in each group. */
int load_groups(const struct loader *l, struct err *e);

/* Tests with task counts; their needs against what the partitions have. */
int load_tests(const struct loader *l, struct err *e);

#endif
