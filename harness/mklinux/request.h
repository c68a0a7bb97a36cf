/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_REQUEST_H
#define MKSPLIT_MKLINUX_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "harness/machine/topology.h"

/*
 * What can be asked of a multikernel host, and the device-tree blobs that ask it
 * (docs/mklinux-abi.md 3.1 and 6.3, generation G2). A memory operation on an instance is not
 * among them: it can crash the host (11.7).
 */

enum mk_op {
	MK_BASELINE, /* written to device_tree; all others are overlays */
	MK_POOL_CPU_ADD, /* host CPU to the pool */
	MK_POOL_CPU_REMOVE, /* free CPU of the pool to the host */
	MK_POOL_MEMORY_ADD, /* one contiguous chunk an item */
	MK_POOL_MEMORY_REMOVE, /* a whole chunk, by its exact range */
	MK_POOL_DEVICE_ADD,
	MK_POOL_DEVICE_REMOVE,
	MK_INSTANCE_CREATE,
	MK_INSTANCE_REMOVE,
	MK_INSTANCE_CPU_ADD, /* free CPU of the pool to an instance, running or not */
	MK_INSTANCE_CPU_REMOVE,
	MK_INSTANCE_DEVICE_ADD,
	MK_INSTANCE_DEVICE_REMOVE,
	MK_NOPS
};

/* "instance-create" and the like, for messages; "baseline" for the first. */
const char *mk_op_name(enum mk_op op);

#define MK_NODE_ANY (-1)

/* A piece of pool memory: bytes, physical address. */
struct mk_chunk {
	uint64_t base; /* read back from the kernel; not used in baseline and memory-add */
	uint64_t size;
	int node; /* NUMA node, or MK_NODE_ANY */
};

/* Everything is borrowed. An operation looks only at what it needs. */
struct mk_request {
	enum mk_op op;
	const char *instance; /* name */
	uint32_t id; /* of an instance to create: MK_ID_MIN..MK_ID_MAX */
	const struct phys_id *cpus; /* create: the first becomes the boot CPU */
	size_t ncpus;
	uint64_t memory; /* create: bytes */
	int node; /* create: where the memory comes from, or MK_NODE_ANY */
	const struct mk_chunk *chunks;
	size_t nchunks;
	const char *const *devices; /* PCI addresses "0000:00:1f.2" */
	size_t ndevices;
};

/* A flattened device tree; free with mk_blob_free(). */
struct mk_blob {
	void *data;
	size_t len;
};
#define MK_BLOB_INIT ((struct mk_blob){0})
void mk_blob_free(struct mk_blob *b);
#define cleanup_blob cleanup(mk_blob_free)

/*
 * One blob for items [*done, ...) of the request, of at most `limit` bytes (the page size
 * for overlays: the kernel cuts a longer one silently, 2.4), and moves *done behind what went in.
 * A request is complete when *done == mk_request_items(). It is safe to stop after every blob:
 * a create puts as many CPUs into the instance as fit, and *done then counts CPUs; what is
 * left is an MK_INSTANCE_CPU_ADD to the stopped instance, which this function makes by itself.
 *
 * nonce goes into the root property mk,resources, by which the transaction is found again; NULL
 * for a baseline. -EINVAL for a request that is wrong in itself, -E2BIG where not one
 * item fits, -ENOMEM.
 */
int mk_blob_next(struct mk_blob *b, const struct mk_request *r, const char *nonce, size_t limit,
		 size_t *done, struct err *e);

/* At least 1: an operation without items has one. */
size_t mk_request_items(const struct mk_request *r);

/* Letters, digits, '.', '_', '-', at most MK_NAME_MAX, and not "." or "..". */
int mk_check_name(const char *name, struct err *e);

/* "8,10-12,128" for messages, in the order given. The caller frees; NULL without memory. */
char *mk_ids_format(const struct phys_id *ids, size_t n);

#endif
