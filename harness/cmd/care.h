/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_CARE_H
#define MKSPLIT_CMD_CARE_H

#include <argp.h>

#include "harness/change/journal.h"
#include "harness/machine/guard.h"
#include "harness/machine/tuning.h"
#include "harness/plan/plan.h"
#include "harness/results/store.h"

/* What the commands that measure do for the machine they borrow: options, before, and after. */

enum {
	CARE_IGNORE_MAX = 64
};

struct care {
	bool tune; /* --tune: the settings that plans can name, all of them */
	char *ignore[CARE_IGNORE_MAX]; /* --ignore and the plan's, borrowed */
	int nignore;
	bool quiet;

	struct guard guard;
	struct tuning *tuning;
	struct store *store; /* notes go there as well, while it is open; NULL */
};

#define CARE_INIT ((struct care){.guard = GUARD_INIT})

enum {
	CARE_OPT_TUNE = 0x1000,
	CARE_OPT_IGNORE
};

#define CARE_OPTIONS                                                                        \
	{"tune",                                                                            \
	 CARE_OPT_TUNE,                                                                     \
	 NULL,                                                                              \
	 0,                                                                                 \
	 "Set governor, turbo, wake-up latency, watchdog and interrupts for the run",       \
	 0},                                                                                \
	{                                                                                   \
		"ignore", CARE_OPT_IGNORE, "NAME", 0,                                       \
			"Run although this check of mksplit doctor fails (idle, guests)", 0 \
	}

/* For an argp parser's default: handles the two options, else ARGP_ERR_UNKNOWN. */
error_t care_parse(struct care *c, int key, char *arg, struct argp_state *state);

/* Before anything of the machine is changed: refuses, warns, remembers. */
int care_begin(struct care *c, const struct root *r, const struct topology *t, const struct plan *p,
	       struct err *e);

/* The settings, when plan or --tune ask for them; undone with the journal. */
int care_tune(struct care *c, const struct topology *t, const struct plan *p, struct journal *j,
	      struct err *e);

/* After the journal is undone: says what is not as it was. */
void care_end(struct care *c);

#endif
