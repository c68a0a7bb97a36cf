/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_MEASURE_H
#define MKSPLIT_CMD_MEASURE_H

#include "common/cleanup.h"
#include "harness/cmd/care.h"
#include "harness/machine/root.h"
#include "harness/machine/topology.h"
#include "harness/plan/catalog.h"
#include "harness/plan/plan.h"
#include "harness/plan/schedule.h"
#include "harness/session/session.h"

/* What `run` and `sweep` have in common: the machine, a plan on it, and the way through it. */
struct measure {
	struct root root;
	struct topology topology;
	char *bench;
	struct catalog *catalog;
	struct plan *plan; /* the command's to fill in */
	const char *command; /* "mksplit run", for messages */
	const char *output; /* results folder to make, or NULL for results/NAME_HOST_UTC */
	const char *resume; /* results folder to go on with, or NULL */
	bool quiet, verbose, hold_on_failure;
	struct care care;

	char *results; /* the folder that was written, once there is one */
	struct session_totals totals;
};

#define MEASURE_INIT ((struct measure){.root = ROOT_INIT, .care = CARE_INIT})

/* Looks at the machine and at mksplit-bench. */
int measure_open(struct measure *m, struct err *e);
void measure_free(struct measure *m);
#define cleanup_measure cleanup(measure_free)

/* Measures m->plan. -EINTR after a signal, with everything undone. */
int measure_go(struct measure *m, struct err *e);

/* To stderr: where the results are, what they are worth in time, how to go on. */
void measure_say_end(const struct measure *m, int ret);

/* The exit status after measure_go() returned ret. */
int measure_status(const struct measure *m, int ret, const struct err *e);

#endif
