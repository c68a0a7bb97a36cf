/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_ROOM_H
#define MKSPLIT_BENCH_ROOM_H

#include <limits.h>
#include <stdbool.h>

#include "common/err.h"

/*
 * The clean room of a cell: the same surroundings on every backend, because files measured on
 * another file system, a deeper path, or in a memory cgroup with a limit are another measurement.
 * With privilege: the root memory cgroup, mount, network and IPC namespaces of its own, and a
 * tmpfs of its own on /tmp and /dev/shm with stated options. All of it ends with the process.
 * Without: a folder in a tmpfs that there is.
 */
struct room {
	char dir[PATH_MAX]; /* for the files of tests */
	bool private_dir; /* a tmpfs of this room alone */
	bool made; /* dir was made by us and has to be removed */
	char missing[400]; /* what could not be done: "mount:EPERM,cgroup:EACCES", or "" */
	char options[200]; /* type and options of the file system that dir is on */
};

/* where: a folder that the user named, or NULL. Whatever fails only to be clean is in missing. */
int room_enter(struct room *r, const char *where, struct err *e);
/* Removes the folder, if it was made, with all that is in it. */
void room_leave(struct room *r);

/* Removes a folder of ours that is left by a process that was killed. */
void room_remove(const char *dir);

#endif
