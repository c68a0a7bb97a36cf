/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_TESTS_FUZZ_MACHINE_H
#define MKSPLIT_TESTS_FUZZ_MACHINE_H

#include <stdlib.h>

#include "harness/machine/topology.h"

/* A machine in memory: 2 packages x 4 cores x 2 threads, two nodes; CPU 15 is not allowed. */
static inline const struct topology *fuzz_machine(void)
{
	static struct topology t;

	if (t.ncpus)
		return &t;
	t.cpus = calloc(16, sizeof(*t.cpus));
	t.rank = calloc(16, sizeof(*t.rank));
	t.nodes = calloc(2, sizeof(*t.nodes));
	if (!t.cpus || !t.rank || !t.nodes)
		abort();
	t.npackages = t.nllcs = t.nnodes = 2;
	t.ncores = 8;
	t.nkinds = 1;
	t.nrank = 16;
	for (int i = 0; i < 16; i++) {
		int core = i / 2, cpu = core + i % 2 * 8;

		t.cpus[i] = (struct topo_cpu){
			.cpu = cpu,
			.phys = {i},
			.package = core / 4,
			.node = core / 4,
			.llc = core / 4,
			.core = core,
			.smt = i % 2,
		};
		t.rank[cpu] = i;
		cpumask_set(&t.online, cpu);
		if (cpu != 15)
			cpumask_set(&t.allowed, cpu);
		cpumask_set(&t.nodes[core / 4].cpus, cpu);
		t.nodes[core / 4] = (struct topo_node){.node = core / 4,
						       .memory = UINT64_C(64) << 30,
						       .cpus = t.nodes[core / 4].cpus};
	}
	t.ncpus = 16;
	return &t;
}

#endif
