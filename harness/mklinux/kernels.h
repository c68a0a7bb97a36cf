/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_KERNELS_H
#define MKSPLIT_MKLINUX_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "harness/machine/root.h"
#include "harness/machine/topology.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/request.h"
#include "harness/plan/plan.h"

/* From a plan to what a multikernel host is asked for: instances of an arm, and the pool for all. */

#define MK_BACKEND "mklinux"

/* One spawn kernel of an arm, as it is asked for. */
struct mk_kernel {
	const struct plan_partition *partition; /* borrowed */
	char name[MK_NAME_MAX + 1]; /* of the instance: "mksplit-PARTITION" */
	uint32_t id;
	/*
	 * Its CPUs, as the host numbered them and as the firmware does, in the order that the
	 * spawn kernel numbers them: quiet ones first, since the first one becomes the boot
	 * CPU, which hears the doorbells and can never leave.
	 */
	int *cpus;
	struct phys_id *ids;
	size_t ncpus;
	uint64_t memory; /* bytes */
	int node; /* where its memory comes from, or MK_NODE_ANY */
};

struct mk_kernels {
	struct mk_kernel *v; /* one a partition of the arm; the host's partition has no CPUs here */
	int n;
};

/*
 * The kernels of an arm. Refuses, as the user's error, what cannot be: CPU 0 in a spawn kernel, a
 * CPU whose physical id is not known, a spawn kernel over several NUMA nodes as the base of a
 * comparison. ids_taken: ids that instances of others have (NULL for none).
 */
int mk_kernels_of(struct mk_kernels *k, const struct plan *p, const struct plan_arm *arm,
		  const struct topology *t, const bool ids_taken[MK_ID_MAX + 1], struct err *e);
void mk_kernels_free(struct mk_kernels *k);
#define cleanup_kernels cleanup(mk_kernels_free)

/* The create request of a kernel; borrows from it. */
struct mk_request mk_create_request(const struct mk_kernel *k);

/* What the pool has to have for every arm of the plan. */
struct mk_pool {
	struct cpumask cpus; /* all CPUs that some arm gives to a spawn kernel */
	/* Those that some arm leaves to the host: they go home when no arm is up. */
	struct cpumask home;
	struct phys_id *ids; /* of cpus, in ascending order of CPUs */
	size_t nids;
	struct mk_chunk *chunks;
	size_t nchunks;
};

/*
 * Memory a node: the most that any arm takes of it, and a block of slack, since the pool needs some
 * for itself and an instance cannot have all of it (docs/mklinux-abi.md 5.1). One chunk a
 * node, or chunks of the setting "pool_chunk" (bytes; 0 for one). block: memory block size.
 */
int mk_pool_of(struct mk_pool *pool, const struct plan *p, const struct topology *t, uint64_t block,
	       struct err *e);
void mk_pool_free(struct mk_pool *pool);
struct mk_request mk_baseline_request(const struct mk_pool *pool);

/* Size of the machine's memory blocks, in bytes; 128 MiB where it does not say. */
uint64_t mk_block_size(const struct root *root);

/* Physical ids of a set, ascending by CPU; the caller frees. *n gets their number. */
int mk_ids_of(const struct topology *t, const struct cpumask *cpus, struct phys_id **ids, size_t *n,
	      struct err *e);

#endif
