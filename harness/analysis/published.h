/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_PUBLISHED_H
#define MKSPLIT_ANALYSIS_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/cleanup.h"
#include "common/err.h"
#include "harness/analysis/curve.h"

/*
 * Figures that others published, as results/published/ holds them: ratios of two kernels over
 * one without error bars, and scaling curves. All strings belong to the set and are never NULL.
 */

/* Most ratios are printed with two digits behind the point: half a unit of the last one. */
#define PUBLISHED_HALF_UNIT 0.005

struct pub_row {
	const char *comparison; /* "one_socket_24" */
	const char *test, *role, *class_name, *shared_state;
	double ratio; /* as printed; NaN where only a computed one exists */
	double single, split; /* rates, NaN where not published */
};

struct pub_comparison {
	const char *id, *machine, *lsm;
	int tasks; /* in all */
	int sockets;
	bool simultaneous; /* the two kernels ran at the same time */
	int online; /* CPUs online in the single kernel, 0 where not said */
};

struct pub_curve {
	const char *id, *machine, *test, *arm, *unit;
	bool threads;
	bool speedup; /* relative to one task, not a rate */
	size_t n;
	struct point *points;
};

struct pub_machine {
	const char *id, *cpu, *kernel;
	int sockets, cores_per_socket;
	bool smt;
};

struct published {
	struct pub_row *rows;
	struct pub_comparison *comparisons;
	struct pub_curve *curves;
	struct pub_machine *machines;
	size_t nrows, ncomparisons, ncurves, nmachines;
	struct intern *strings;
};

/* Reads a file of results/published/. *p is owned by the caller. */
int published_read(struct published **p, const char *path, struct err *e);
void published_free(struct published *p);

static inline void cleanup_publishedp(struct published **p)
{
	published_free(*p);
}
#define cleanup_published cleanup(cleanup_publishedp)

/*
 * The row of a test among the comparisons with so many tasks and sockets, or NULL. Configuration
 * experiments (a security module off) are not looked at.
 */
const struct pub_row *published_row(const struct published *p, const char *test, int sockets);

const struct pub_comparison *published_comparison(const struct published *p, const char *id);
const struct pub_machine *published_machine(const struct published *p, const char *id);

/* The curve of a test in rates, for the arm "single" or "split", or NULL. */
const struct pub_curve *published_curve(const struct published *p, const char *test,
					const char *arm, bool threads, const char *machine);

#endif
