/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_TESTS_FAKE_MACHINE_H
#define MKSPLIT_TESTS_FAKE_MACHINE_H

#include <stdbool.h>

#include "harness/machine/topology.h"

/*
 * A machine made up of files: a folder with the parts of /proc and /sys that describe CPUs, for
 * tests of what reads them. Asserts on failure, like the tests it serves.
 */
struct fake_cpu {
	int cpu; /* logical number */
	long phys; /* APIC id */
	int package; /* physical_package_id */
	int core; /* core_id inside the package, shared by hardware threads */
	int node; /* -1: this kernel has no NUMA */
	int llc; /* any number that CPUs with the same last-level cache share */
};

struct fake_machine {
	char dir[64];
	const struct fake_cpu *cpus;
	int ncpus;
	const char *possible, *isolated, *nohz_full; /* NULL: the online ones; no file; no file */
	long node_mib; /* memory of each node */
};

/* An empty folder, for trees that come from elsewhere; fake_machine_remove() deletes it. */
void fake_machine_folder(struct fake_machine *m);

/* Writes the tree into a new folder. */
void fake_machine_make(struct fake_machine *m);
void fake_machine_remove(struct fake_machine *m);

/* A file of the tree, its folders made as needed. */
void fake_machine_file(const struct fake_machine *m, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Reads it back. The caller frees it. */
void fake_machine_topology(const struct fake_machine *m, struct topology *t);

/* Unpacks a tar file into a folder. strip: without the first part of every path. */
void fake_machine_unpack(const char *file, const char *dir, bool strip);

/*
 * packages x cores x threads, one node and one cache a package, all first threads numbered
 * before all second ones as Linux does on x86, APIC ids with room for a power of two
 * of CPUs a package. The caller frees.
 */
struct fake_cpu *fake_cpus(int packages, int cores, int threads);

#endif
