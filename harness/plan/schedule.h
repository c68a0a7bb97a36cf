/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_SCHEDULE_H
#define MKSPLIT_PLAN_SCHEDULE_H

#include "harness/plan/plan.h"

/*
 * What runs where and when: the placement of every task count in every arm, and the cells in
 * their drawn order. Computed from plan and seed alone, so `plan`, `run` and `run --resume`
 * agree.
 */

/*
 * The CPUs of one task count in one arm: tasks in order, grouped by partition. The arms of
 * a comparison use the same CPUs; how they are found is in placement.h. A partition may
 * have no task when there are fewer tasks than kernels.
 */
struct placement {
	int ntasks;
	int *cpus; /* logical host numbers, one a task */
	int *counts; /* tasks of each partition, in the arm's order */
};

struct cell {
	int block, arm, test, mode, tasks, repetition;
	int position; /* of a control: 0 first, 1 middle, 2 last; else 0 */
	/*
	 * One task a kernel, so `tasks` is the arm's number of partitions and differs between arms
	 * (placement.h says why): rates are compared per task. Set as well where one
	 * of the test's own task counts comes to the same.
	 */
	bool anchor;
	const struct placement *placement;
};

/* One boot of an arm: the cells that run in it, in order. */
struct boot {
	int block, arm;
	struct cell *cells;
	int ncells;
};

struct schedule {
	struct boot *boots;
	int nboots;
	int ncells;
	struct placement *placements; /* owned here, shared by cells */
	int nplacements;
	double seconds; /* estimate for the whole, boots included */
};

int schedule_make(struct schedule *s, const struct plan *p, const struct topology *t, struct err *e);
void schedule_free(struct schedule *s);
#define cleanup_schedule cleanup(schedule_free)

/*
 * The name of a cell in results and on --resume, stable over versions:
 * "b3/split/scale:unlink1/VARIANT/processes/24/p0/r0" ("-" for no variant).
 * The caller frees.
 */
char *cell_key(const struct plan *p, const struct cell *c);

#endif
