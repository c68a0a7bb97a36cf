/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_PLACEMENT_H
#define MKSPLIT_PLAN_PLACEMENT_H

#include "harness/plan/plan.h"
#include "harness/plan/schedule.h"

/*
 * Which CPUs N tasks run on. All arms of a group (plan.h) use the same N CPUs, and an arm
 * only says which kernel owns which of them:
 *
 * - Each arm wants its tasks dealt to its partitions in proportion to their usable CPUs (by
 *   largest remainder, and at least one a kernel from as many tasks as kernels on).
 * - Atoms are the pieces into which the partitions of all arms together cut the usable CPUs.
 *   How many tasks each atom gets is searched so that every arm gets what it wants, near
 *   the proportional share; where the arms' wishes contradict one another, one task more or less a
 *   partition is allowed.
 * - Inside an atom cores are taken in topology order, and second hardware threads of busy
 *   cores last.
 *
 * The anchor is one task a kernel. An arm of two kernels runs two tasks there and an arm of
 * one kernel runs one, on the first of the same CPUs: two tasks in the one kernel would share
 * what the test contends for, and would be no anchor. What is compared at the anchor is the
 * rate per task.
 */
struct placer;

int placer_new(struct placer **p, const struct plan *plan, int group, const struct topology *t,
	       struct err *e);
void placer_free(struct placer **p);
#define cleanup_placer cleanup(placer_free)

/*
 * Fills out[i] for the i-th arm of the group, in the plan's order; the caller frees each
 * with placement_free(). Errors are the user's, and name the arms that cannot agree.
 */
int placer_place(struct placer *p, int ntasks, struct placement *out, struct err *e);

/* One task a kernel, for every arm of the group. */
int placer_anchor(struct placer *p, struct placement *out, struct err *e);

void placement_free(struct placement *p);

#endif
