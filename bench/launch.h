/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_LAUNCH_H
#define MKSPLIT_BENCH_LAUNCH_H

#include <limits.h>
#include <sys/types.h>

#include "bench/test.h"
#include "common/err.h"

/*
 * The parent's side of a runner (runner.h has the messages): the agent has one, and so has a
 * run by hand.
 */
enum launch_state {
	LAUNCH_NONE,
	LAUNCH_PREPARING,
	LAUNCH_READY,
	LAUNCH_RUNNING,
	LAUNCH_DONE, /* result holds the result object */
	LAUNCH_FAILED, /* why */
	LAUNCH_UNAVAILABLE, /* why */
};

struct launch {
	enum launch_state state;
	pid_t pid; /* 0: reaped, or never there */
	int fd; /* our end of the socket; -1 when there is none */
	char folder[PATH_MAX]; /* that the runner made and we remove should it be killed */
	char why[1000];
	char *result;
	size_t len;
	/* A sample of a live run; may be NULL. */
	void (*live)(void *arg, int k, int64_t before, int64_t after, const uint64_t *counts, int n);
	void *live_arg;
};

#define LAUNCH_INIT ((struct launch){.fd = -1})

/*
 * Executes this program anew as a runner, with address-space randomisation off, and sends it what
 * to prepare (the words of spec.h). The runner leads a process group and dies with us.
 */
int launch_start(struct launch *l, const char *spec, struct err *e);

/* Takes one message off the socket, which poll() said is readable, or notes that it ended. */
void launch_hear(struct launch *l);

/*
 * At SIGCHLD: a runner that was stopped stands still with all threads of its test, which is the
 * end of the cell.
 */
void launch_look(struct launch *l);

/* -EINVAL unless READY. */
int launch_go(struct launch *l, const struct go *go, struct err *e);

/* Ends what runs, waits for it, removes what it made, frees the result. */
void launch_drop(struct launch *l);

#endif
