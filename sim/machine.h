/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_MACHINE_H
#define MKSPLIT_SIM_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpumask.h"
#include "common/err.h"

/*
 * The machine that is shown to the client: CPUs with their physical ids, nodes with their
 * memory, and the static part of /sys/devices/system. It comes from hwloc's synthetic
 * syntax, an hwloc XML file, or the dump of a real machine.
 */

/* Small files by path, as in a dump. Sorted by store_sort() before it is looked at. */
struct store_entry {
	char *path; /* without a leading slash */
	char *text; /* content, or the target of a link */
	char *original; /* the content at the start, once it was written to; else NULL */
	bool link;
};

struct store {
	struct store_entry *v;
	size_t n, size;
};

/* Takes neither string; returns 0 or -ENOMEM. */
int store_put(struct store *s, const char *path, const char *text, bool link);
void store_sort(struct store *s);
/* A client's write. Returns 0, -ENOENT or -ENOMEM. */
int store_set(struct store *s, const char *path, const char *text);
/* NULL when there is no such file. */
const struct store_entry *store_get(const struct store *s, const char *path);
/* Index of the first entry below the folder, or n; the entries of a folder are adjacent. */
size_t store_first_below(const struct store *s, const char *folder);
bool store_has_folder(const struct store *s, const char *folder);
void store_free(struct store *s);

struct machine_cpu {
	uint64_t phys; /* what the ABI speaks of: APIC id */
	int package, core; /* physical_package_id, core_id */
	int node; /* -1: none */
	bool present, online; /* as they were when the client started */
	char *info; /* its block of /proc/cpuinfo without "processor" and "apicid" lines */
};

struct range {
	uint64_t base, size;
};

struct machine_node {
	int node; /* Linux's number; they may have gaps */
	uint64_t memory; /* bytes */
	struct range ranges[4]; /* where it lies; filled by machine_place_memory() */
	int nranges;
};

struct machine {
	struct machine_cpu *cpus; /* by Linux number */
	int ncpus; /* possible CPUs: 0 .. ncpus - 1 */
	struct machine_node *nodes;
	int nnodes;
	uint64_t block_size; /* of memory hot-plug */
	/* Files below /sys/devices/system (cpu/..., node/...). */
	struct store sys;
	char *what; /* one line for the log */
};

struct machine_options {
	uint64_t node_memory; /* bytes for each node of a synthetic machine that says none */
};

/*
 * Reads SPEC: a folder or (compressed) tar file that holds proc/ and sys/ of a machine, an
 * hwloc XML file, else hwloc's synthetic syntax; NULL is a small default machine.
 */
int machine_read(struct machine *m, const char *spec, const struct machine_options *o, struct err *e);
void machine_free(struct machine *m);

/* The readers behind it. */
int machine_from_hwloc(struct machine *m, const char *spec, bool xml,
		       const struct machine_options *o, struct err *e);
int machine_from_dump(struct machine *m, const char *path, struct err *e);

/* Linux number of a physical id, or -1; index of a node number, or -1. */
int machine_cpu_of(const struct machine *m, uint64_t phys);
int machine_node_index(const struct machine *m, int node);

/* "00000000,0000000f" as sysfs writes it, for nbits CPUs. The caller frees; NULL: no memory. */
char *format_cpumap(const struct cpumask *m, int nbits);
/* The reverse. Returns 0 or -EINVAL. */
int parse_cpumap(struct cpumask *m, const char *text);

#endif
