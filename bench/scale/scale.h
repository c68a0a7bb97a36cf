/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_SCALE_H
#define MKSPLIT_BENCH_SCALE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <pthread.h>

#include "bench/test.h"

/*
 * The loops in the manner of will-it-scale: a task repeats its loop until it is told to stop
 * and adds to its own counter. docs/adding-a-test.md shows how to add one.
 */

/*
 * What a running task touches besides what it measures. Slots lie 256 bytes apart, as
 * upstream's counters do, so that neither the line nor its prefetched neighbour is another
 * task's. The stop word is read in each loop and written once, at the end: it has a line of
 * its own, or each count would take it out of the sampler's cache and back.
 */
struct slot {
	uint64_t count; /* written by the task only */
	char pad1[120];
	volatile uint32_t stop;
	char pad2[124];
};
_Static_assert(sizeof(struct slot) == 256, "slots are 256 bytes apart");

enum task_state {
	TASK_NEW,
	TASK_READY,
	TASK_RUNNING,
	TASK_DONE,
	TASK_FAILED,
	TASK_UNAVAILABLE
};

/* What a task tells the runner about itself; in shared memory, apart from the slots. */
struct task_report {
	uint32_t state; /* enum task_state; set last */
	pid_t pid, tid;
	int cpu_before, cpu_after, node; /* by the getcpu system call */
	int single_threaded; /* __libc_single_threaded inside the loop */
	int64_t entered, left; /* clock_ns() */
	int64_t cpu_ns;
	long involuntary, voluntary;
	int error; /* errno of a failure, or 0 */
	int signal; /* that ended a thread, or 0 */
	char step[100]; /* what failed */
};

struct scale;

/* A task, in its own process (a copy) or thread. */
struct task {
	int n; /* 0 to ntasks - 1 */
	struct slot *slot;
	struct task_report *report;
	struct scale *scale;
	/* The test's own; descriptors that are >= 0 are closed after the run. */
	int fd;
	int fds[4];
	off_t offset;
	char path[PATH_MAX], path2[PATH_MAX];
	void *data;
	pid_t partner;
};

/* A loop of the table. Everything but info and run may be missing. */
struct test {
	struct test_info info;
	bool blocks; /* sleeps in the kernel: is woken by a signal once the stop word is set */
	/* By the runner, before any task exists. */
	int (*prepare)(struct scale *s, struct err *e);
	/* By the task, before it is ready. Fails with task_fail() or task_unavailable(). */
	int (*task_prepare)(struct task *t);
	/* Repeats until slot->stop. Returns 0, or what task_fail() returned. */
	int (*run)(struct task *t);
	void (*task_cleanup)(struct task *t);
	void (*cleanup)(struct scale *s);
};

/* The cell that is measured. */
struct scale {
	struct cell *cell;
	const struct test *test;
	int ntasks;
	long page_size;
	struct task *tasks;
	struct slot *slots;
	struct task_report *reports;
	struct start *start; /* what tasks wait for (tasks.c) */
	void *shared; /* the mapping of the three above */
	size_t shared_size;
	int started; /* tasks that exist */
	pthread_t *threads; /* in threads mode */
	bool fifo; /* the sampler is SCHED_FIFO */
	/* The test's own. */
	char path[PATH_MAX]; /* the file that all tasks use */
	char *addresses[2];
	void *data;
};

/*
 * Records that a step failed and returns -code. The cell fails and names task, CPU, step and
 * error; nothing is counted for a task that did not run to the end.
 */
int task_fail(struct task *t, const char *step, int code);
/* As task_fail(), for what this machine or file system cannot do. */
int task_unavailable(struct task *t, const char *step, int code);

/* Every loop is in one of these tables; table.c joins them. */
struct test_table {
	const struct test *tests;
	size_t n;
};
#define TEST_TABLE(table)                                 \
	{                                                 \
		(table), sizeof(table) / sizeof(*(table)) \
	}
extern const struct test_table *const test_tables[]; /* ends in NULL */

const struct test *find_loop(const char *name);

#endif
