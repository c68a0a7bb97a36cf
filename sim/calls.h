/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_CALLS_H
#define MKSPLIT_SIM_CALLS_H

#include "sim/sim.h"
#include "sim/spawn.h"

/*
 * System calls that are answered by mksim instead of the kernel, by seccomp user
 * notification: kexec_file_load, kexec_load and reboot always and never by the kernel;
 * mount, statfs, affinity, getcpu and uname where the simulated machine differs.
 */

enum calls_room {
	CALLS_CLIENT,
	CALLS_SPAWN
};

/*
 * In the process that will exec: installs the filter. Returns the descriptor on which the
 * calls arrive, or a negative errno.
 */
int calls_install(enum calls_room room);

/* In mksim: answers the calls that arrive on fd, which it takes. spawn NULL: the client. */
int calls_watch(struct sim *s, int fd, struct spawn *spawn);
/* The spawn is gone. */
void calls_unwatch(struct sim *s, struct spawn *spawn);
void calls_free(struct sim *s);

/* The process id of the client's room, whose PID namespace counts as the initial one. */
void calls_set_client(struct sim *s, pid_t pid);

/* CPUs went: tasks that were pinned only to those may run everywhere again. */
void calls_cpus_changed(struct sim *s, struct spawn *spawn);

/* The spawn as a process: its kernel was told to stop from inside. */
void spawn_process_powered_off(struct spawn *p, const char *how);

#endif
