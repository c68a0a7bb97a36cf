/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_TEST_H
#define MKSPLIT_BENCH_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * What a benchmark test is to the rest of the program: an entry with a description, and a
 * family whose three functions prepare, run and remove it. A family is the kind of machinery
 * behind its tests: `scale` has tasks that repeat a loop and count, `boundary` has programs
 * that give values.
 */

enum test_mode {
	MODE_PROCESSES = 1,
	MODE_THREADS = 2
};
#define MODE_BOTH (MODE_PROCESSES | MODE_THREADS)

/* What splitting the kernel can do to the test in processes mode (docs/tests.md). */
enum test_role {
	ROLE_CONTROL, /* the loop writes no kernel state that others write: must not move */
	ROLE_CONTROL_USER, /* nor does it enter the kernel */
	ROLE_EFFECT, /* each count takes a lock or changes a line that all tasks of a kernel share */
	ROLE_UNKNOWN, /* shared state is touched in batches, or on some machines only */
	ROLE_MACHINE, /* measures hardware or one pair of CPUs, not what tasks share */
};

/* Sizes in bytes. What the sizing checks of a plan know of a test. */
struct test_needs {
	uint64_t memory, memory_per_task; /* that is touched; files not included */
	uint64_t tmpfs, tmpfs_per_task; /* files */
	uint64_t mapping; /* the largest mapping, which the commit counter sees at once */
	int descriptors_per_task;
	bool privilege; /* CAP_SYS_ADMIN or its like */
	const char *special; /* what else, as a sentence for people, or NULL */
};

struct test_info {
	const char *name;
	const char *title; /* what a task does */
	const char *counts; /* what one count is; for a family of values: what is measured */
	const char *shared; /* the kernel state that processes share; "none" */
	enum test_role role;
	int modes; /* of enum test_mode */
	struct test_needs needs;
};

/* Nanoseconds of clock_ns(). N samples follow FIRST at INTERVAL; tasks go on until STOP. */
struct go {
	int64_t start, first, interval, stop;
	int n;
};

struct param {
	const char *name, *value;
};

/*
 * One cell inside the runner: a process that was exec'd for it, without address-space
 * randomisation, that never had a thread, inside the clean room as far as it goes.
 */
struct cell {
	/* What was asked for. */
	const char *family, *test;
	enum test_mode mode;
	int ntasks;
	const int *cpus; /* CPU of each task, in order */
	int sampler; /* CPU that carries no task, or -1 */
	const char *dir; /* an empty folder for files; what is in it at the end is removed */
	const struct param *params;
	int nparams;
	int64_t guard_ns;
	bool unpinned; /* tasks run anywhere in the inherited mask; cpus are then not looked at */
	bool private_dir; /* dir is a tmpfs of this cell alone */

	/* The result object so far (report.h). */
	struct report *report;
	/*
	 * A sample as soon as it was read: a by-hand run prints it. NULL in a cell of a plan,
	 * where nothing may be written between start and stop.
	 */
	void (*live)(void *arg, int k, int64_t before, int64_t after, const uint64_t *counts, int n);
	void *live_arg;

	void *state; /* the family's own */
};

/* A parameter's value, or fallback. */
const char *cell_param(const struct cell *c, const char *name, const char *fallback);

struct family {
	const char *name;
	/* The i-th entry of the family's table, NULL behind the last. */
	const struct test_info *(*info)(size_t i);
	/*
	 * Gets everything ready and allocated: files, memory, tasks that wait. -EOPNOTSUPP when
	 * this machine cannot run the test (no privilege, no such file system, an option that it
	 * lacks), with the reason in e; other errors are failures. Parameters that the test does
	 * not know are an error.
	 */
	int (*prepare)(struct cell *c, struct err *e);
	/*
	 * Starts at go->start, writes nothing anywhere before go->stop, then adds to c->report.
	 * A fixed amount of work that takes longer than go->stop may finish. SIGTERM ends the
	 * runner at any time (the tasks die with it): state outside the process is the room's.
	 */
	int (*run)(struct cell *c, const struct go *go, struct err *e);
	/* Ends and reaps what runs, after prepare() or run(), also after their failure. */
	void (*cleanup)(struct cell *c);
};

extern const struct family boundary_family, scale_family;
extern const struct family *const families[]; /* ends in NULL */

const struct family *find_family(const char *name);
const struct test_info *find_test(const struct family *f, const char *name);

const char *role_name(enum test_role role);
const char *mode_name(enum test_mode mode);

#endif
