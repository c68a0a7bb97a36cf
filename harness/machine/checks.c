// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/machine/checks.h"

/* In the order in which doctor prints them; a prerequisite stands before what needs it. */
const struct machine_check machine_checks[] = {
	{"topology", NULL, false, false, check_topology, "the kernel's lists and hwloc agree"},
	{"levels", NULL, false, false, check_levels, "packages, NUMA nodes and caches nest"},
	{"offline", NULL, false, false, check_offline, "every CPU that is there is online"},
	{"allowed", NULL, false, false, check_allowed, "this process may use every online CPU"},
	{"quota", NULL, false, false, check_quota, "no control group limits CPU time"},
	{"isolated", NULL, false, false, check_isolated, "isolated and nohz_full CPUs"},
	{"kinds", NULL, false, false, check_kinds, "all cores are of one kind"},
	{"smt", NULL, false, false, check_smt, "one hardware thread a core"},
	{"physical-ids", NULL, false, false, check_phys, "physical CPU ids are known"},
	{"memory-nodes", NULL, false, false, check_memory_nodes, "CPUs have memory on their node"},
	{"governor", NULL, false, false, check_governor, "CPU frequency does not wander"},
	{"boost", "governor", false, false, check_boost, "no turbo, which follows the load"},
	{"numa-balancing", NULL, false, false, check_numa_balancing, "pages stay where they are"},
	{"thp", NULL, false, false, check_thp, "transparent huge pages"},
	{"watchdog", NULL, false, false, check_watchdog, "lockup detectors take no time"},
	{"ksm", NULL, false, false, check_ksm, "nobody merges pages"},
	{"swap", NULL, false, false, check_swap, "nothing is swapped out"},
	{"clocksource", NULL, false, false, check_clocksource, "clocks are read without the kernel"},
	{"virtual", NULL, false, false, check_virtual, "this is hardware, not a guest"},
	{"throttle", NULL, false, false, check_throttle, "no CPU was throttled for heat"},
	{"daemons", NULL, true, false, check_daemons, "nobody moves interrupts or pages"},
	{"guests", NULL, true, true, check_guests, "no virtual machines run here"},
	{"idle", NULL, true, true, check_idle, "the machine is idle"},
};

const int nmachine_checks = sizeof(machine_checks) / sizeof(machine_checks[0]);
