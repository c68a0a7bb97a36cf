/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_CPUSET_H
#define MKSPLIT_PLAN_CPUSET_H

#include "common/cpumask.h"
#include "common/err.h"
#include "harness/machine/topology.h"

/*
 * The CPU sets of plans and command lines, as docs/plan.md describes them:
 *
 *	set  = part { ("+" | "-") part }
 *	part = base { "/" K "." I | "[" list "]" }
 *	base = list | "all" | ("package" | "numa" | "llc" | "core") ":" list | "(" set ")"
 *	list = range { "," range }
 *
 * Cutting SET/K.I never separates the hardware threads of a core unless split_cores.
 * Every CPU of the result is online. Errors are the user's, quote the set and say
 * where it is wrong.
 */
int cpuset_parse(struct cpumask *m, const char *text, const struct topology *t, bool split_cores,
		 struct err *e);

#endif
