/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_TREE_H
#define MKSPLIT_MKLINUX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/request.h"

/*
 * A tree that the kernel gave: the root's (pool) or an instance's. The kernel is trusted, what
 * stands in its memory after a spawn went wild is not, so it is parsed as untrusted input. The
 * readers of several releases differ in where they put cells and names (docs/mklinux-abi.md
 * 7.4); all of them are accepted.
 */
struct mk_tree {
	int64_t id; /* -1: the tree does not say */
	char name[MK_NAME_MAX + 1]; /* of an instance, "" where the tree has none */
	struct phys_id *cpus; /* root: all CPUs of the pool, or, without a pool, the host's */
	size_t ncpus;
	struct phys_id *available; /* root: those no instance has */
	size_t navailable;
	struct mk_chunk *chunks; /* root: memory of the pool */
	size_t nchunks;
	uint64_t memory; /* instance: bytes in all its regions */
	uint64_t memory_base; /* instance: of the first region */
	/* Marks that tell the generations apart (0.4). */
	bool has_resources, has_available, has_cells, has_root_cells, has_memory_property;
	bool odd_cpu_cells; /* a list of CPUs whose length is no multiple of 8 */
};
#define MK_TREE_INIT ((struct mk_tree){.id = -1})

/* -EBADMSG, and what is wrong, for a blob that is damaged, cut or out of bounds. */
int mk_tree_parse(struct mk_tree *t, const void *blob, size_t len, struct err *e);
void mk_tree_free(struct mk_tree *t);
#define cleanup_tree cleanup(mk_tree_free)

/*
 * 0 for a tree that can be walked without leaving it: every tag is looked at, and depth and number of
 * nodes are bounded. A root with a name is fine. The blob has to be aligned to 8 bytes.
 */
int mk_tree_check(const void *blob, size_t len);

/* A pool is there if and only if it has memory (2.2). */
bool mk_tree_has_pool(const struct mk_tree *t);

bool mk_ids_contain(const struct phys_id *ids, size_t n, struct phys_id id);
/* The same ids, in whatever order. */
bool mk_ids_equal(const struct phys_id *a, size_t na, const struct phys_id *b, size_t nb);

/*
 * "applied" proves nothing: an instance is created without its CPUs when one of them was not free
 * (6.8). 0 when the instance read back is what the create asked for; -EBADE and the
 * difference otherwise.
 */
int mk_tree_compare(const struct mk_tree *instance, const struct mk_request *create, struct err *e);

#endif
