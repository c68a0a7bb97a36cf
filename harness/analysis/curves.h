/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_CURVES_H
#define MKSPLIT_ANALYSIS_CURVES_H

#include "harness/analysis/analysis.h"
#include "harness/analysis/curve.h"

/* The scaling curve of one test in one arm, from the series of its main metric. */
struct scaling {
	int arm, test, metric;
	bool threads;
	size_t n;
	struct point *points;
	const struct series **series; /* [n], where each point comes from */
	struct shape shape;
};

struct scalings {
	size_t n;
	struct scaling *curves; /* by test, mode, arm */
};

/* Curves of rates with at least two points. Returns 0 or -ENOMEM. */
int scalings_of(struct scalings *out, const struct analysis *a);
void scalings_free(struct scalings *s);
#define cleanup_scalings cleanup(scalings_free)

const struct scaling *scaling_find(const struct scalings *s, int arm, int test, bool threads);

enum edge_kind {
	EDGE_LLC,
	EDGE_NODE,
	EDGE_PACKAGE,
	EDGE_KINDS
};

/* "LLC", "NUMA node", "package" */
const char *edge_name(enum edge_kind k);

/* Between these two measured task counts an arm's tasks spread to one more unit. */
struct edge {
	enum edge_kind kind;
	int inside, outside;
};

/* Into edges (room for max), from where the tasks of an arm ran; returns their number. */
size_t edges_of(const struct model *m, int arm, struct edge *edges, size_t max);

#endif
