/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BOUNDARY_H
#define MKSPLIT_BENCH_BOUNDARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/boundary/options.h"
#include "common/err.h"

/*
 * The socket-boundary suite: what it costs to cross from one CPU to another, by the names,
 * options and rows of mkbench. A test is set up once, then repeated; each repeat gives rows.
 */

enum {
	NODE_DEFAULT = -1,
	NODE_INTERLEAVE = -2,
	NO_CPU = -1
};

/* One line of the CSV. The columns behind unit are written in the extended form only. */
struct row {
	const char *variant;
	int cpu_a, cpu_b; /* NO_CPU where there is none */
	int mem_node; /* as asked */
	uint64_t size; /* bytes, 0 where there is none */
	const char *metric;
	double value;
	const char *unit;
	bool extra; /* not among the published rows: written in the extended form only */
	int real_node; /* where the pages lie, -1: several or unknown */
};

/* Where rows go. */
struct sink {
	void (*row)(void *arg, const struct row *row, int repeat);
	void (*note)(void *arg, const char *text); /* a sentence for people, on stderr by hand */
	void *arg;
	bool extended; /* extra rows are wanted, and the work for them worth while */
	int repeat;
};

void emit(struct sink *s, const struct row *row);
__attribute__((format(printf, 2, 3))) void note(struct sink *s, const char *fmt, ...);

struct boundary_test {
	const char *name;
	const char *letters; /* options in getopt's form */
	const char *help; /* lines of text, one an option of its own */
	/*
	 * Checks options, allocates, places and warms up. *state is the test's; it is given to
	 * teardown() also after a failure, unless NULL.
	 */
	int (*setup)(const struct options *o, struct sink *s, void **state, struct err *e);
	int (*repeat)(void *state, struct sink *s, struct err *e);
	void (*teardown)(void *state);
};

extern const struct boundary_test memlat_test, membw_test, pingpong_test, atomics_test, lock_test,
	ipc_test, wakeup_test, tlbshoot_test;
extern const struct boundary_test *const boundary_tests[]; /* ends in NULL */

const struct boundary_test *find_boundary_test(const char *name);

/* One line on stdout; returns 0, or -EXDEV when CPU or node was not the one asked for. */
int boundary_check(const struct options *o, char *line, size_t size, struct err *e);

/* mkbench's command line, argv[0] being its name; returns the exit status. */
int boundary_main(int argc, char **argv);

#endif
