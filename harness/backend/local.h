/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BACKEND_LOCAL_H
#define MKSPLIT_BACKEND_LOCAL_H

#include <sys/types.h>

#include "harness/backend/backend.h"

/*
 * Programs that a backend starts under the running kernel: agents of the host's own
 * partitions, and emulators. Each dies with mksplit, and carries MKSPLIT_RUN=TOKEN in its
 * environment, by which `mksplit cleanup` finds it (harness/change/undo.h).
 */
struct local_process {
	pid_t pid; /* 0: none */
	char *log; /* where its stderr goes */
	off_t log_start; /* the log's length before it wrote anything */
};

/*
 * Starts argv[0] with stdin /dev/null, stdout and stderr appended to the file `log` (stolen; it
 * is created 0600), and the descriptor `pass`, if it is not negative, as descriptor 3. The
 * program leads a process group of its own, so Ctrl-C does not reach it.
 */
int local_start(struct local_process *p, char *const argv[], int pass, char *log,
		const struct backend_env *env, struct err *e);

/* RUNNING, DOWN (never started or stopped), or DEAD with why: how it ended, and its last lines. */
enum kernel_state local_state(struct local_process *p, char *why, size_t size);

/* Waits a grace period for it to end by itself, then SIGTERM, then SIGKILL. Returns with it reaped. */
void local_stop(struct local_process *p, int grace_ms);

/* The last lines of a text file behind an offset, printable, joined by " | ", for messages. */
void last_lines(const char *path, off_t from, char *out, size_t size);

/*
 * The last line with this text in it, from the text on, printable; "" when there is none in the
 * last 64 KiB of what stands behind the offset.
 */
void last_line_with(const char *text, const char *path, off_t from, char *out, size_t size);

/* The agent of one of the host's partitions: *fd is our end of its link. */
int local_agent_start(struct local_process *p, int *fd, const char *arm, const char *partition,
		      const struct backend_env *env, struct err *e);

#endif
