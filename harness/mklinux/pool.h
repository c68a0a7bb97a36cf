/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_POOL_H
#define MKSPLIT_MKLINUX_POOL_H

#include <jansson.h>

#include "common/err.h"
#include "harness/mklinux/host.h"
#include "harness/mklinux/kernels.h"

/* Resources between host and pool, each with its read-back. */

/*
 * Takes the pool: refuses when there is one already (-EBUSY), writes the baseline, and reads back
 * whether all CPUs and all memory are there and the host has lost them. What a failed one left is
 * given back. After ENOMEM it compacts memory and tries once more.
 */
int mk_pool_take(struct mk_host *h, const struct mk_pool *pool, struct err *e);

/* CPUs of the pool that are free go home to the host, which is seen to have them online again. */
int mk_cpus_home(struct mk_host *h, const struct phys_id *ids, size_t n, const struct cpumask *cpus,
		 struct err *e);

/* CPUs of the host go to the pool that is there. */
int mk_cpus_to_pool(struct mk_host *h, const struct phys_id *ids, size_t n, struct err *e);

/*
 * Gives back CPUs (all of these that are in the pool and free), then memory (chunks of these sizes and
 * nodes), in transactions of their own, and compares. Idempotent. Lent CPUs stay, and are an
 * error; so is memory that the kernel does not let go (some releases keep one chunk until reboot).
 */
int mk_pool_return(struct mk_host *h, const struct phys_id *ids, size_t n,
		   const struct mk_chunk *chunks, size_t nchunks, struct err *e);

#endif
