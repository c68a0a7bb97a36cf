/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_TOPOLOGY_H
#define MKSPLIT_BENCH_TOPOLOGY_H

#include <stdbool.h>

#include "common/cleanup.h"
#include "common/cpumask.h"
#include "common/err.h"

/*
 * Where the CPUs of this kernel lie, as sysfs says it (Documentation/ABI/stable/
 * sysfs-devices-system-cpu and -node). Small on purpose: the program runs where nothing but
 * the kernel is, so no library looks for it.
 */

struct topo_cpu {
	int cpu; /* the kernel's number */
	int package, node;
	int llc, core; /* lowest CPU that shares the last cache, the core */
	int thread; /* position among the threads of its core, from 0 */
};

struct topology {
	/*
	 * In topology order: the first thread of every core by package, node, last cache and
	 * core, then the second threads in the same order, and so on.
	 */
	struct topo_cpu *cpus;
	int n;
	bool numa; /* the kernel shows nodes; without, every CPU says node 0 */
};

#define TOPOLOGY_INIT ((struct topology){0})

/*
 * Reads the online CPUs under a prefix ("" for this machine), those of allowed only where
 * allowed is not NULL. What sysfs does not say counts as one package, node, cache, and one
 * thread a core; without any sysfs the CPUs are those of allowed. Fails with -ENOENT when no
 * CPU is left.
 */
int topology_read(struct topology *t, const char *prefix, const struct cpumask *allowed,
		  struct err *e);
void topology_free(struct topology *t);
#define cleanup_topology cleanup(topology_free)

/* NULL for a CPU that is not there. */
const struct topo_cpu *topology_cpu(const struct topology *t, int cpu);

/*
 * How far two CPUs lie from each other: T0 the same CPU, T1 threads of a core, T2 cores of a
 * node, T3 on two nodes (on two packages where the kernel shows no nodes).
 */
enum tier {
	TIER_T0,
	TIER_T1,
	TIER_T2,
	TIER_T3
};

const char *tier_name(enum tier tier);
/* Returns the tier, or -ENOENT for a CPU that is not there. */
int topology_tier(const struct topology *t, int a, int b);
/* The first pair of a tier in topology order; returns 0 or -ENOENT. */
int topology_pair(const struct topology *t, enum tier tier, int *a, int *b);
/* A node other than that of this CPU which has CPUs, or -1. */
int topology_remote_node(const struct topology *t, int cpu);

#endif
