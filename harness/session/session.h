/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SESSION_SESSION_H
#define MKSPLIT_SESSION_SESSION_H

#include <stdbool.h>

#include "common/err.h"
#include "harness/change/journal.h"
#include "harness/machine/root.h"
#include "harness/machine/topology.h"
#include "harness/plan/plan.h"
#include "harness/plan/schedule.h"
#include "harness/results/store.h"

/* Drives a schedule: boots its arms, measures its cells, stores what came of them. */

/* What a session is given; all borrowed while it runs. */
struct session_env {
	const struct root *root;
	const struct topology *topology;
	const struct plan *plan;
	const struct schedule *schedule;
	const char *bench; /* path of mksplit-bench */
	const char *run_dir; /* private folder of this run; status.json is kept there */
	struct journal *journal;
	struct store *store; /* cells that it has are not measured again */
	/*
	 * Asked after each block (of which so many are done): true ends the run early, by what is stored
	 * so far. NULL: never.
	 */
	bool (*enough)(void *arg, int blocks_done);
	void *enough_arg;
	bool resumed;
	bool quiet, verbose;
	bool hold_on_failure;
};

enum cell_end {
	END_OK,
	END_FLAGGED,
	END_FAILED,
	END_SKIPPED,
	END_UNAVAILABLE,
	END_INVALID /* of an attempt only, never the last word */
};
#define END_KINDS END_INVALID
const char *cell_end_name(enum cell_end s);

struct session_totals {
	int cells[END_KINDS]; /* by enum cell_end, of this start */
	int invalid; /* attempts that were repeated */
	/* Seconds of wall time: of all, of boots and teardowns, of warm-up and windows. */
	double total, boots, measured;
	int signal; /* that ended it early, or 0 */
};

/*
 * Returns 0 when the schedule was worked off, whatever came of its cells; -EINTR after a signal
 * (totals.signal), with what was up torn down. Another error is one of ours: a full disk, a
 * backend that cannot be opened.
 */
int session_run(const struct session_env *env, struct session_totals *totals, struct err *e);

/* Where status.json of the run with this process number is, for `mksplit status`. */
int session_folder(char *path, size_t size, long pid);

/*
 * SIGINT and SIGTERM are kept for the session to see (stop_asked: which one, or 0), a second
 * one hurries it on (stop_hurry); SIGHUP and SIGPIPE are ignored. Signal dispositions belong to
 * the whole process, so this state does as well.
 */
void stop_watch(void);
int stop_asked(void);
bool stop_hurry(void);

#endif
