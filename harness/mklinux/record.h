/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_RECORD_H
#define MKSPLIT_MKLINUX_RECORD_H

#include <jansson.h>

#include "harness/change/journal.h"
#include "harness/mklinux/host.h"
#include "harness/mklinux/kernels.h"

/*
 * What the journal knows of a multikernel host, and how it is undone: after a SIGKILL from
 * the journal alone. Only what is ours is touched: an instance by the transaction that made it.
 */
#define MK_UNDO_MOUNT	 "mk-mount"
#define MK_UNDO_POOL	 "mk-pool"
#define MK_UNDO_INSTANCE "mk-instance"

extern const struct undo_kind undo_mk_mount, undo_mk_pool, undo_mk_instance;

/*
 * Everything the pool will take, and the map from CPU to physical id, package, node and core
 * of all online CPUs: Linux forgets where an offline CPU was (docs/mklinux-abi.md 4.2).
 */
json_t *mk_record_pool(const struct mk_host *h, const struct mk_pool *pool, const struct topology *t);
json_t *mk_record_instance(const struct mk_host *h, const char *name, uint32_t id);

/*
 * Removes a stopped, unloaded instance, and sees its CPUs free in the pool (ids may be NULL). Does
 * nothing where it is gone already.
 */
int mk_remove_instance(struct mk_host *h, const char *name, const struct phys_id *ids, size_t n,
		       struct err *e);

#endif
