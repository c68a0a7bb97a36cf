/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_ANALYSIS_H
#define MKSPLIT_ANALYSIS_ANALYSIS_H

#include "harness/analysis/cause.h"
#include "harness/analysis/model.h"
#include "harness/analysis/series.h"
#include "harness/analysis/stats.h"
#include "harness/analysis/verdict.h"

/*
 * What a results folder says: for every pair of arms that the plan compares, every test at
 * every task count, the ratio with its interval, what gates it, and the verdict. The one
 * place where the rules of docs/methodology.md are applied; reports only print it.
 */

/* One test, mode, task count and metric in one pair of arms. */
struct row {
	int compare, test, tasks, metric;
	bool threads;
	bool main; /* of its test's main metric */
	bool control;
	bool headline; /* the largest task count that both arms have, main metric */
	bool family; /* headline of a primary test: Holm's family */

	const struct series *base, *with;
	double base_rate, with_rate; /* geometric means over boots */

	/* Logarithms of with/base, one a block that both arms have. */
	struct estimate d;
	/* One task a kernel in both arms, a task's rate; n = 0 where not measured. */
	struct estimate anchor;
	/* The ratio less what the anchor shows: what sharing a kernel costs. */
	struct estimate quotient;
	/* The ratio less what the controls at this task count show, beside the raw one. */
	struct estimate normalised;
	enum gate gate; /* of the row itself when it is a control, else of its anchor */

	enum verdict verdict;
	char why[240]; /* reason of no verdict, confounded, undecided; "" otherwise */
	double p; /* of the verdict's own claim; NaN where there is none */
	double p_family; /* of "the ratio is 1", by Holm over the primary tests; NaN outside */
	enum cause cause;
	char cause_why[160]; /* the rule that gave it, "" while unknown */
	size_t blocks_needed; /* to decide, 0 if it is decided or would need too many */

	size_t cells, flagged, unsteady;
	double imbalance; /* largest over smallest partition rate in the split arm; NaN if one */
};

/* A fact whose values differ between two arms. */
struct fact_difference {
	int compare;
	const char *name;
	const char *base, *with; /* the values, first one seen and how many others */
	size_t base_values, with_values;
	const char *declared; /* the plan's entry that allows it, or NULL */
	const char *harmless; /* why it is, or NULL */
};

struct pairing {
	bool no_evidence; /* emulated or simulated, in one of the arms */
	bool not_fresh; /* an arm that was not booted anew in each block */
	bool controls_stand; /* every control that was measured */
	size_t ncontrols;
	size_t family; /* size of Holm's family */
};

struct analysis {
	const struct model *m;
	struct series_set set;
	struct row *rows; /* by compare, then in the plan's order of tests */
	size_t nrows;
	struct pairing *pairings; /* one for each of model->compares */
	struct fact_difference *facts;
	size_t nfacts;
};

/* Borrows the model, which must outlive the analysis. */
int analyse(struct analysis **a, const struct model *m, struct err *e);
void analysis_free(struct analysis *a);

static inline void cleanup_analysisp(struct analysis **a)
{
	analysis_free(*a);
}
#define cleanup_analysis cleanup(cleanup_analysisp)

/*
 * The early stop of docs/methodology.md: every headline row of a primary test (of any test but controls
 * where none is primary) has at least STOP_MIN_BLOCKS blocks and a 95 % interval whose full width is
 * at most `width` of the ratio. False where there is no such row. Where the interval lies plays no part.
 */
bool analysis_narrow_enough(const struct analysis *a, double width);

/* "one boot only", "no evidence", ...: fits a verdict column; long form is row->why. */
const char *row_verdict_text(const struct row *r, char *buf, size_t size);

/* The block log ratios of a row and their blocks, into arrays of row->d.n. */
void row_blocks(const struct row *r, double *d, int *block);

/* Inner parts: facts.c. */
int compare_facts(struct analysis *a);

#endif
