/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_SPAWN_H
#define MKSPLIT_SIM_SPAWN_H

#include "sim/sim.h"

/*
 * What runs in an instance after boot: the initramfs' /init in namespaces of its own, or a
 * guest. It starts in the background; when it ends, instance_stopped() is called.
 */
struct spawn_ops {
	int (*start)(struct sim *s, struct instance *i, struct err *e);
	/* Takes it away at once. Nothing to do when it has ended already. */
	void (*kill)(struct spawn *p);
	/* Stops every task of it (silent-hang). */
	void (*freeze)(struct spawn *p);
	/* Its CPUs have changed: i->cpus is up to date. */
	void (*cpus_changed)(struct spawn *p);
	/* Bytes for its console. Returns how many were taken. */
	size_t (*input)(struct spawn *p, const void *data, size_t len);
	/* After the end: the handle is not used any more. */
	void (*free)(struct spawn *p);
};

struct spawn {
	const struct spawn_ops *ops;
	struct sim *sim;
	int id; /* of the instance: an instance may be gone before its spawn is */
	const struct fault *fault; /* of its console, or NULL */
	int64_t started; /* clock_ns() */
	uint64_t written; /* bytes of output so far */
};

extern const struct spawn_ops spawn_process_ops, spawn_qemu_ops;

/* The instance of a spawn while it still has it, else NULL. */
struct instance *spawn_instance(struct spawn *p);

/* Bytes that a spawn has written to its console. */
void spawn_output(struct spawn *p, const void *data, size_t len);
/* The spawn has ended; frees it. */
void spawn_ended(struct spawn *p, const char *why);

#endif
