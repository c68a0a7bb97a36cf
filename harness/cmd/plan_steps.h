/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_PLAN_STEPS_H
#define MKSPLIT_CMD_PLAN_STEPS_H

#include "harness/plan/plan.h"

/*
 * The steps from nothing to each arm, as its backend plans them: an array with one entry an
 * arm, an array of {number, kind, partition, what, seconds}, or {"error": WHY}. The caller
 * owns it; NULL without memory.
 */
json_t *plan_steps(const struct plan *p, const struct topology *t, const struct root *r,
		   const char *bench);

#endif
