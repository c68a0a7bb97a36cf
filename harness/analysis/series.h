/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_SERIES_H
#define MKSPLIT_ANALYSIS_SERIES_H

#include "harness/analysis/model.h"
#include "harness/analysis/stats.h"
#include "harness/analysis/variance.h"

/* Samples that drift by more than this share over the window are flagged "not steady". */
#define STEADY_LIMIT 0.02

/*
 * One metric of one test at one task count in one arm, over the boots: x is the mean of the
 * logarithms of the repetitions (and positions of a control) inside a boot.
 */
struct series {
	int arm, test, tasks, metric;
	bool threads;
	bool anchor; /* its cells ran one task a kernel */
	bool main; /* the first metric its test reports: the one that verdicts are about */
	size_t nblocks;
	int *block; /* [nblocks], ascending */
	double *x; /* [nblocks] natural logarithm of the value */
	size_t ncells, nflagged, nunsteady;
	size_t *cells; /* [ncells] into model->cells, by block, position, repetition */
	size_t *measures; /* [ncells] into that cell's measures */
};

struct series_set {
	size_t n;
	struct series *series; /* ascending by test, mode, metric, tasks, arm */
};

/* Collects every cell that carries numbers. Returns 0 or -ENOMEM. */
int series_collect(struct series_set *set, const struct model *m);
void series_free(struct series_set *set);
#define cleanup_series cleanup(series_free)

/* The series, or NULL. */
const struct series *series_find(const struct series_set *set, int test, bool threads, int metric,
				 int tasks, int arm);

/* The anchor of a test in an arm: one task a kernel. NULL where it was not measured. */
const struct series *series_anchor(const struct series_set *set, const struct model *m, int test,
				   bool threads, int metric, int arm);

/* exp() of the mean over boots: a geometric mean. */
double series_rate(const struct series *s);

/*
 * Differences of the logarithms, a from b, in the blocks that both have, into d and block
 * (each with room for the smaller nblocks; block may be NULL). Returns their number.
 */
size_t series_pair(const struct series *a, const struct series *b, double *d, int *block);

/* Variance levels of a series' samples. Returns 0 or -ENOMEM. */
int series_variance(const struct series *s, const struct model *m, struct variance *v);

#endif
