/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_SPAWN_ROOM_H
#define MKSPLIT_SIM_SPAWN_ROOM_H

#include <sys/types.h>

/* How to furnish the room of a spawn that is a process. */
struct spawn_room {
	int id; /* of the instance: whose view of the machine */
	int initrd; /* cpio archive, plain or compressed */
	const char *tty; /* its console */
	int control; /* socket for the process id of its PID 1 and the filter's descriptor */
	pid_t parent;
};

/* In a child process: makes the namespaces, starts /init, waits, exits with its status. */
void spawn_room_run(const struct spawn_room *r) __attribute__((noreturn));

#endif
