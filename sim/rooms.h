/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_ROOMS_H
#define MKSPLIT_SIM_ROOMS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/cpumask.h"
#include "common/err.h"
#include "sim/sim.h"

/*
 * Rooms are namespaces with a furnished file system: the one of the client, and one for
 * each spawn that is a process. Everything in them ends with the process that is their
 * PID 1, and that ends with mksim.
 */

/* Where the FUSE file system is mounted inside of mksim's own mount namespace. */
#define ROOMS_BASE "/sys/fs/fuse/connections"

/* Makes mksim's own mount namespace and finds the real CPUs it may use. */
int rooms_enter(struct sim *s, struct err *e);
void rooms_free(struct sim *s);

/* The real CPU that a simulated one of the machine is folded onto. */
int rooms_fold(const struct sim *s, int cpu);
/* Whether a device number is that of the FUSE file system: reading from it would wait for us. */
bool rooms_is_ours(const struct sim *s, unsigned major, unsigned minor);
/* All real CPUs that mksim was started with. */
const struct cpumask *rooms_real_cpus(const struct sim *s);

/*
 * Starts the client in its room; control is a socket on which the fd of its system-call
 * filter arrives. Returns the process id of the room's first process.
 */
pid_t rooms_start_client(struct sim *s, char **argv, int *control, struct err *e);

/* A mount that the client did not make. */
bool rooms_hides(const struct sim *s, int mount_id);
/* Remembers the mounts of the room of this process as ours. */
void rooms_remember_mounts(struct sim *s, pid_t pid);

/*
 * For a child process that furnishes a room; they print what went wrong on standard error
 * and return a negative errno.
 *
 * A detached copy of a file or folder of the FUSE file system, taken while ROOMS_BASE is
 * still mounted; and its place.
 */
int room_clone(const char *path);
int room_place(int tree, const char *target);
/* Covers a folder with a writable copy of links to all that is in it. */
int room_shadow(const char *folder);
/* Dies with mksim. */
void room_die_with(pid_t parent);

/* Sends and receives one descriptor over a socket. recv returns it, or a negative errno. */
int send_fd(int socket, int fd);
int receive_fd(int socket);

#endif
