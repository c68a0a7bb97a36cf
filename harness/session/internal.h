/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SESSION_INTERNAL_H
#define MKSPLIT_SESSION_INTERNAL_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/backend/backend.h"
#include "harness/results/result.h"
#include "harness/machine/cpus_json.h"
#include "harness/session/link.h"
#include "harness/session/progress.h"
#include "harness/session/session.h"

struct session {
	const struct session_env *env;
	struct session_totals *totals;
	struct backend **backends; /* of each arm; arms of one backend share it */
	char token[33];
	struct progress *progress;
	uint32_t next_id; /* of a cell on the link */
};

/* A partition that is up, and the link to its agent. */
struct member {
	struct session *s;
	struct backend *backend;
	int index; /* in the arm */
	const struct plan_partition *partition;
	struct link *link;
	FILE *console; /* what else the link carried */
	bool ending; /* teardown: only a second signal stops what is under way */
};

/* An arm that is up. */
struct up {
	struct session *s;
	int block, arm;
	struct backend *backend;
	struct member *members;
	int n;
};

/*
 * Brings an arm up from nothing to agents that have been greeted and have told their facts,
 * and stores the steps, the boot and the facts. After a failure nothing is up, unless the user
 * wants to look (hold_on_failure).
 */
int arm_up(struct session *s, int block, int arm, struct up *u, struct err *e);

/* The way down: agents are told, then the backend's steps. Says what went wrong, goes on. */
int arm_down(struct up *u, struct err *e);

/* Keeps what is up until a signal comes, for the user to look at. */
void arm_hold(struct up *u);

/* Before anything else of a member's cell: 0, or the reason why it cannot go on. */
int member_alive(void *member, struct err *e);

/* What one partition does in one attempt at a cell. */
struct part {
	struct member *m;
	int first_task, ntasks; /* its part of the placement's CPUs */
	struct clock_fix before, after;
	int64_t start, first, stop; /* as told with GO; the agent's clock */
	double rate_error; /* of the agent's clock against ours, 1e-6 is 1 ppm */
	double rate_slack; /* what the two fixes' uncertainty explains of it */
	bool have_result;
	struct result result;
};

struct attempt {
	const struct up *up;
	const struct cell *cell;
	int number;
	struct part *parts; /* those with tasks */
	int n;
	double total, prepare, measure; /* seconds */
};

/* Agent's time as ours, between (or beside) the two fixes. */
int64_t part_host_time(const struct part *p, int64_t agent_ns);

/* One measurement of one cell: what came of it, with the reason in e unless it is END_OK. */
enum outcome {
	OUTCOME_MEASURED,
	OUTCOME_INVALID, /* the tasks ran, but the numbers cannot be used */
	OUTCOME_FAILED,
	OUTCOME_UNAVAILABLE,
	OUTCOME_LOST, /* a partition is dead or does not answer */
	OUTCOME_STOPPED /* by a signal */
};
enum outcome attempt_run(struct attempt *a, struct err *e);
void attempt_free(struct attempt *a);

/* 0 when the numbers of an attempt can be used, else -EBADMSG with the reason. */
int attempt_check(const struct attempt *a, struct err *e);

/*
 * The whole of a cell, with its repeats, stored. Returns 0, 1 when a partition was lost (the
 * cell is stored as failed), -EINTR after a signal (nothing is stored), or an error of ours.
 */
int cell_run(struct up *u, const struct cell *c, struct err *e);

/* Stores a cell that was not run. */
int cell_skip(struct session *s, const struct cell *c, enum cell_end status, const char *reason,
	      struct err *e);

/* The cell event of an attempt; flags is stolen. */
json_t *attempt_event(const struct attempt *a, enum cell_end status, const char *reason,
		      json_t *flags);

/* Metrics of an attempt that was measured: docs/results.md, "metrics" of a cell. */
json_t *attempt_metrics(const struct attempt *a);

/* Array of flags: what is doubtful about an attempt that can be used. */
json_t *attempt_flags(const struct attempt *a);

/* The run event. */
json_t *run_event(const struct session *s);

/* Seconds between two readings of clock_ns(). */
static inline double seconds_between(int64_t from, int64_t to)
{
	return (to - from) / 1e9;
}

#endif
