/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_CHECK_H
#define MKSPLIT_MACHINE_CHECK_H

#include <stdbool.h>

#include "common/err.h"
#include "harness/machine/topology.h"

/* One thing that somebody looked at. value and advice are text for people, freed with the table. */
enum check_status {
	CHECK_PASS,
	CHECK_WARN,
	CHECK_FAIL,
	CHECK_SKIP
};
/* "pass", "warn", "fail", "skip" */
const char *check_status_name(enum check_status s);

struct check_result {
	const char *name; /* a fixed string: the name by which it can be ignored */
	enum check_status status;
	char *value; /* what was found */
	char *advice; /* what to do, NULL when there is nothing to do */
};
struct check_results {
	struct check_result *v;
	int n;
};
int check_add(struct check_results *c, const char *name, enum check_status status,
	      const char *advice, const char *value_fmt, ...) __attribute__((format(printf, 5, 6)));
void check_results_free(struct check_results *c);
#define cleanup_checks cleanup(check_results_free)

/*
 * The checks of the machine itself: a table, run in its order. Backends have
 * theirs (backend.h, probe).
 */
struct check_env {
	const struct root *root;
	const struct topology *topology;
	int idle_ms; /* how long idle time is watched; 0 leaves that check out */
};

struct machine_check {
	const char *name;
	const char *needs; /* skipped unless the check of this name passed or warned; NULL */
	bool live; /* only of the machine that runs this, never of a dump */
	/*
	 * A run is refused when it fails. Checks of the others never fail, they warn.
	 */
	bool guards;
	int (*run)(const struct check_env *env, const struct machine_check *self,
		   struct check_results *out, struct err *e);
	const char *about; /* what is looked at, for documentation */
};

extern const struct machine_check machine_checks[];
extern const int nmachine_checks;

/* Runs them all. guards_only: those that can refuse a run. */
int machine_checks_run(const struct check_env *env, bool guards_only, struct check_results *out,
		       struct err *e);

/* True for a name that machine_checks_run() can report, so that a typo in --ignore is found. */
bool machine_check_known(const char *name);

/* The first failure that is not ignored; NULL when there is none. */
const struct check_result *check_refusal(const struct check_results *c, char *const *ignore,
					 int nignore);

#endif
