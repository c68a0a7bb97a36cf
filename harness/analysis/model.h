/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_MODEL_H
#define MKSPLIT_ANALYSIS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/err.h"

/*
 * A results folder in memory, as docs/results.md describes it: what every report, table and
 * comparison is computed from. Read once by model_read(), never changed afterwards. All
 * strings belong to the model and are never NULL ("" where the file says nothing). They came
 * from plans and partitions: whoever prints them escapes them for where they go.
 */

/* No cell has more tasks than this: two to a CPU never happen, and Linux ends far below. */
enum {
	TASK_COUNT_MAX = 65536
};

enum cell_status {
	CELL_OK,
	CELL_FLAGGED,
	CELL_FAILED,
	CELL_SKIPPED,
	CELL_UNAVAILABLE,
	CELL_INVALID,
	CELL_STATUSES
};

const char *cell_status_name(enum cell_status s);

enum nature {
	NATURE_NATIVE,
	NATURE_VIRTUAL,
	NATURE_EMULATED,
	NATURE_SIMULATED,
	NATURE_UNKNOWN
};

const char *nature_name(enum nature n);

/* True where a ratio is no evidence: CPUs that are not the machine's. */
static inline bool nature_is_no_evidence(enum nature n)
{
	return n != NATURE_NATIVE && n != NATURE_VIRTUAL;
}

struct mcpu {
	int cpu;
	int64_t phys;
	int package, node, llc, core, smt;
};

struct mpartition {
	const char *name;
	bool host;
	double memory; /* bytes, 0 where not said */
	int *cpus;
	size_t ncpus;
};

struct marm {
	const char *name, *backend;
	enum nature nature;
	bool fresh; /* every kernel of it boots anew in each block */
	const char *setting, *value; /* what "vary" made of this arm: "" for none */
	const char *base; /* and the arm it was made of, "" for none */
	struct mpartition *partitions;
	size_t npartitions;
};

struct mtest {
	const char *family, *test, *variant;
	bool control, primary;
};

struct mmetric {
	const char *name, *unit, *kind, *combine;
	bool less_is_better;
};

struct mcompare {
	int base, with; /* arms */
	const char **differences;
	size_t ndifferences;
};

struct mflag {
	const char *name, *partition, *text;
	double value;
};

/* One metric of one cell. */
struct mmeasure {
	int metric;
	double value; /* of the arm; NaN where partitions have no common value */
	double *parts; /* each partition's, in the arm's order; NaN where missing */
	double *samples; /* of the arm: partitions added sample by sample where they are summed */
	size_t nparts, nsamples;
};

struct mcell {
	const char *key, *reason;
	int block, arm, test, tasks, position, repetition, attempt;
	bool threads; /* mode */
	bool anchor;
	enum cell_status status;
	double utc; /* seconds since the epoch, when it was stored */
	double seconds;
	double task_spread; /* largest over smallest count of its tasks; NaN if unknown */
	double busy; /* CPUs' worth of CPU time that its tasks got; NaN if unknown */
	struct mflag *flags;
	size_t nflags;
	struct mmeasure *measures;
	size_t nmeasures;
};

struct mboot {
	int block, arm;
	bool ok;
	double utc, seconds;
	const char *error;
};

struct mfact {
	int block, arm;
	const char *partition, *name, *value;
};

/* Where the tasks of one task count ran in one arm, from the first cell that says so. */
struct mplace {
	int arm, tasks;
	int *cpus;
	size_t ncpus;
};

struct mnote {
	const char *kind; /* note, step, fault, run */
	const char *text;
	double utc, seconds;
	int arm; /* or -1 */
	bool ok;
};

struct model {
	char *dir;
	const char *plan, *plan_sha256, *version, *hostname, *kernel, *cpu_model, *arch, *seed;
	bool quick;
	bool ended, interrupted; /* an "end" event was the last word; it said interrupted */
	unsigned resumed; /* how often the run was gone on with */
	int planned_blocks, planned_samples;
	double interval, warmup; /* seconds */
	double margin;
	double begin, end; /* seconds since the epoch, of first and last event */
	int packages, nodes, llcs, cores;

	struct mcpu *cpus;
	struct marm *arms;
	struct mtest *tests;
	struct mmetric *metrics;
	struct mcompare *compares;
	struct mcell *cells; /* the last attempt of each, in the order they were stored */
	struct mboot *boots;
	struct mfact *facts;
	struct mplace *places;
	struct mnote *notes;
	int *quiet;
	size_t ncpus, narms, ntests, nmetrics, ncompares, ncells, nboots, nfacts, nplaces, nnotes,
		nquiet;

	size_t by_status[CELL_STATUSES];
	size_t invalid_attempts; /* repeated because a window was not covered */
	size_t damaged_lines; /* not JSON, or not what docs/results.md says; skipped */
	bool torn; /* the last line had no end, as a crash leaves it */

	struct intern *strings;
};

/*
 * Reads DIR/events.jsonl (or the file itself, if path is one). Refuses a folder without a
 * run event, and a format newer than this program's; skips and counts damaged lines.
 * *m is owned by the caller.
 */
int model_read(struct model **m, const char *path, struct err *e);

/* The same from an open stream, which model_read() is made of; name is for messages. */
int model_read_stream(struct model **m, FILE *f, const char *name, struct err *e);

void model_free(struct model *m);

static inline void cleanup_modelp(struct model **m)
{
	model_free(*m);
}
#define cleanup_model cleanup(cleanup_modelp)

/* "unlink1", "memlat [far]": how a test is called in tables, into buf; returns buf. */
const char *mtest_label(const struct mtest *t, char *buf, size_t size);

int model_arm(const struct model *m, const char *name);

#endif
