/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_TOPOLOGY_H
#define MKSPLIT_MACHINE_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cpumask.h"
#include "common/err.h"
#include "harness/machine/root.h"

/*
 * Which CPUs there are and what they share, as Linux and hwloc see it through a root.
 *
 * Physical ids (x86: APIC id, arm64: MPIDR affinity, riscv: hart id) are what mklinux speaks
 * of, and have a type of their own so that they never meet a logical number by accident:
 * only topology.c converts.
 */
struct phys_id {
	int64_t v; /* -1: not known */
};

struct topo_cpu {
	int cpu; /* logical number, Linux's */
	struct phys_id phys;
	/*
	 * Machine-wide numbers, counted from 0 in topology order (not core_id and the like,
	 * which repeat over packages); -1 where the machine does not say. node is the
	 * kernel's NUMA node number.
	 */
	int package, node, llc, core;
	int smt; /* rank among the hardware threads of its core, 0 first */
	int kind; /* hybrid machines: efficiency class, higher is faster; else 0 */
};

struct topo_node {
	int node; /* the kernel's number */
	uint64_t memory; /* bytes, total */
	struct cpumask cpus;
};

struct topology {
	/* Online CPUs in topology order: package, node, LLC, core, hardware thread. */
	struct topo_cpu *cpus;
	int ncpus;
	struct topo_node *nodes; /* ascending by number; a node may lack memory, or CPUs */
	int nnodes;
	int *rank; /* by logical number: index into cpus, or -1 */
	int nrank;
	int npackages, nllcs, ncores, nkinds;
	/*
	 * How many packages hwloc makes of the same files: a difference means that some of
	 * them contradict others, and the kernel's own sibling lists are believed.
	 */
	int hwloc_packages;
	struct cpumask online, possible, present, offline;
	struct cpumask isolated, nohz_full;
	/*
	 * What this process may use: its affinity mask (which lies inside its cpuset). Under
	 * another root, what the cpuset of the process that made the dump had.
	 */
	struct cpumask allowed;
	double quota; /* CPUs' worth of a cgroup CPU quota; 0 for none */
	char model[128]; /* "Intel(R) Xeon(R) Gold 5418Y", "" if unknown */
	char arch[16]; /* "x86_64" */
};

/* Fills *t; free it with topology_free() also after an error. */
int topology_read(struct topology *t, const struct root *r, struct err *e);
void topology_free(struct topology *t);
#define cleanup_topology cleanup(topology_free)

/* The entry of a logical CPU, or NULL when it is not online. */
const struct topo_cpu *topology_cpu(const struct topology *t, int cpu);

/*
 * The rank of an online CPU in topology order (its index in t->cpus), or -1.
 */
int topology_rank(const struct topology *t, int cpu);

/* Logical number of a physical id, or -1. */
int topology_logical(const struct topology *t, struct phys_id id);

#endif
