/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_PLAN_H
#define MKSPLIT_PLAN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/cpumask.h"
#include "common/err.h"
#include "harness/machine/topology.h"

/*
 * A plan as docs/plan.md defines it, read from JSON and resolved against a machine's
 * topology: after plan_load() every CPU set is a set of numbers, every default is filled in,
 * and everything that can be refused before a kernel boots has been refused.
 */

enum {
	MODE_PROCESSES = 1,
	MODE_THREADS = 2
};

struct plan_kernel {
	char *name;
	char *image; /* path, or "auto": the backend looks for the running kernel's */
	char *append; /* added to the kernel command line, may be "" */
	bool one_console; /* kernel messages and link share one port, as on mklinux */
};

struct plan_partition {
	char *name; /* unique inside the arm */
	char *cpus_text; /* as the plan says it */
	struct cpumask cpus;
	struct cpumask nodes; /* NUMA nodes that its memory comes from */
	uint64_t memory; /* bytes; 0: whatever the kernel has (host) */
	int kernel; /* index into plan->kernels, or -1 */
	bool host; /* this partition is the running kernel */
};

struct plan_arm {
	char *name;
	char *backend; /* "host", "qemu", "mklinux" */
	struct plan_partition *partitions;
	int npartitions;
	/* {"base","setting","value"}: another arm with one setting changed; borrowed, or NULL */
	json_t *varies;
	json_t *settings; /* backend's own and declared settings, borrowed from plan->json, or NULL */
	int group; /* arms that comparisons connect have the same one: index into plan->groups */
};

/*
 * Arms that are compared, directly or over others, run their tasks on the same CPUs: those
 * that each of them has in some partition, without the quiet ones.
 */
struct plan_group {
	struct cpumask usable;
	int narms;
};

struct plan_param {
	char *name, *value;
};

struct plan_test {
	char *family; /* "scale", "boundary", "latency" */
	char *test;
	char *variant; /* a name for the parameters, "" for none */
	struct plan_param *params;
	int nparams;
	bool control; /* must not move between arms */
	bool primary; /* verdicts are claimed for it */
	int modes; /* MODE_* bits */
	/*
	 * Task counts, ascending, each realisable in every arm; of a control those of the primary
	 * tests. The anchor, one task a kernel, is the schedule's to add.
	 */
	int *tasks;
	int ntasks;
};

struct plan_compare {
	int base, with; /* arms */
	char **differences; /* facts that are allowed to differ, by name or prefix* */
	int ndifferences;
};

struct plan {
	char *path; /* where it was read from */
	char *name;
	char *description; /* "" for none */
	char *text; /* the file as it was read, for the results folder */
	json_t *json;
	struct cpumask quiet;
	bool allow_smt_split; /* hardware threads of a core may belong to two kernels */
	json_t *tune; /* settings of the machine to be made for the run (machine/tuning.h), or NULL */
	char **ignore; /* names of checks that must not refuse a run (machine/guard.h) */
	int nignore;
	struct plan_kernel *kernels;
	int nkernels;
	struct plan_arm *arms;
	int narms;
	struct plan_group *groups;
	int ngroups;
	struct plan_test *tests;
	int ntests;
	struct plan_compare *compares;
	int ncompares;
	int blocks;
	int repetitions; /* inside one boot */
	int samples; /* windows a repetition */
	int64_t interval_ns; /* length of a window */
	int64_t warmup_ns;
	int64_t guard_ns; /* run before the first window and behind the last */
	double until_width; /* stop early at this full width of the 95 % intervals, 0.04 is 4 %; 0: never */
	double margin; /* delta of controls, anchors, verdicts: 0.03 is 3 % */
	uint64_t seed;
	bool quick; /* one block, short samples: marked in every output */
	char **warnings; /* what may be meant, and may also be a mistake: sentences for people */
	int nwarnings;
};

struct plan_options {
	bool quick;
	bool have_seed;
	uint64_t seed;
};

struct catalog; /* catalog.h; NULL: tests and their needs are not checked */

/*
 * Errors are the user's (EXIT_USAGE) and name file and JSON path: `demo.json: arms[1].
 * partitions[0].cpus: CPU 7 is not online (online: 0-3)`. On success *p is owned by the caller.
 */
int plan_load(struct plan **p, const char *path, const struct topology *t, const struct catalog *c,
	      const struct plan_options *o, struct err *e);
void plan_free(struct plan **p);
#define cleanup_plan cleanup(plan_free)

/* The same from text in memory; `path` is for messages. */
int plan_parse(struct plan **p, const char *path, const char *text, size_t len,
	       const struct topology *t, const struct catalog *c, const struct plan_options *o,
	       struct err *e);

/* Adds a sentence to p->warnings. */
int plan_warn(struct plan *p, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "processes", "threads" */
const char *mode_name(int mode);

#endif
