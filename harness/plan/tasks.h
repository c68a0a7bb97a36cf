/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_TASKS_H
#define MKSPLIT_PLAN_TASKS_H

#include "harness/plan/load.h"

/* Adds a count to an ascending list without repetitions. Returns 0 or -ENOMEM. */
int tasks_add(int **tasks, int *n, int count);

/*
 * Task counts of a plan: a number, or a string such as "1,2-4,all" or "sweep". v NULL means
 * "all". Each count is checked to be possible in every group of arms.
 */
int tasks_read(const struct loader *l, const struct at *at, const json_t *v, int **tasks, int *n,
	       struct err *e);

/*
 * The sweep of a group of arms: powers of two, every CPU, and for each package, node,
 * last-level cache and second hardware thread the counts just before and just after
 * a task first uses it.
 */
int tasks_sweep(const struct plan *p, int group, const struct topology *t, int **tasks, int *n,
		struct err *e);

/* What each test needs against what each partition has at each task count. */
int needs_check(const struct loader *l, const struct at *list, struct err *e);

#endif
