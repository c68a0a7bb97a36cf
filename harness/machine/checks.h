/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_CHECKS_H
#define MKSPLIT_MACHINE_CHECKS_H

#include "harness/machine/check.h"

/* The functions of the table in checks.c, by subject. */

#define CHECK_FN(name)                                                          \
	int name(const struct check_env *env, const struct machine_check *self, \
		 struct check_results *out, struct err *e)

/* checks_load.c: what else runs here */
CHECK_FN(check_idle);
CHECK_FN(check_guests);
CHECK_FN(check_daemons);

/* checks_topology.c: the shape of the machine */
CHECK_FN(check_topology);
CHECK_FN(check_levels);
CHECK_FN(check_offline);
CHECK_FN(check_allowed);
CHECK_FN(check_quota);
CHECK_FN(check_isolated);
CHECK_FN(check_kinds);
CHECK_FN(check_smt);
CHECK_FN(check_phys);
CHECK_FN(check_memory_nodes);

/* checks_settings.c: switches that move results */
CHECK_FN(check_governor);
CHECK_FN(check_boost);
CHECK_FN(check_numa_balancing);
CHECK_FN(check_thp);
CHECK_FN(check_watchdog);
CHECK_FN(check_ksm);
CHECK_FN(check_swap);
CHECK_FN(check_clocksource);
CHECK_FN(check_virtual);
CHECK_FN(check_throttle);

#endif
