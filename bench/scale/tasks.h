/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_TASKS_H
#define MKSPLIT_BENCH_TASKS_H

#include "bench/scale/scale.h"

/*
 * The life of the tasks: made one by one by a parent that sits on the task's CPU, ready, waiting,
 * inside their loop, ended. They tell the runner with SIGCHLD, which it keeps blocked.
 */

/* What all tasks wait for: in shared memory. */
struct start {
	uint32_t go; /* a futex: 1 once `at` is set, 2 when there will be no start */
	int64_t at; /* clock_ns() */
};

/* Wakes tasks out of blocking calls; interrupts them, does not end them. */
#define WAKE_SIGNAL SIGUSR2

/* Allocates what tasks and runner share. */
int tasks_alloc(struct scale *s, struct err *e);
/* Makes all tasks and waits until they are ready; moves to the CPUs and back to `home`. */
int tasks_start(struct scale *s, int home, struct err *e);
/* Lets them go into their loops at that time. */
void tasks_go(struct scale *s, int64_t at);
/* Fails with the first task that failed, died or was stopped, named. */
int tasks_check(struct scale *s, struct err *e);
/* Sets the stop words, wakes those that block and waits until all have left their loops. */
int tasks_stop(struct scale *s, struct err *e);
/* Ends and reaps whatever is left of them, and then frees what they were. */
void tasks_end(struct scale *s);
void tasks_free(struct scale *s);

/*
 * Waits until clock_ns() is there or something happened. Returns 0 at that time, 1 when a task
 * changed its state, -EINTR when the runner is to end.
 */
int tasks_wait(int64_t until);

/* The raw system call; node may be NULL. */
int this_cpu(int *node);

#endif
