// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"
#include "harness/session/internal.h"

/* A boot that lost a partition is made once more for the cells that are left. */
#define BOOTS_EACH 2

int session_folder(char *path, size_t size, long pid)
{
	struct err e = ERR_INIT;
	int ret = state_folder(path, size, &e);
	size_t len = strlen(path);

	if (ret < 0)
		return ret;
	return (size_t)snprintf(path + len, size - len, "/run-%ld", pid) < size - len
		       ? 0
		       : -ENAMETOOLONG;
}

static void note(void *arg, const char *line)
{
	struct session *s = arg;

	progress_say(s->progress, false, "  %s", line);
}

static void close_backends(struct session *s)
{
	int n = s->env->plan->narms;

	/* Shared ones once: by the first arm that has it. */
	for (int i = 0; s->backends && i < n; i++) {
		struct backend *b = s->backends[i];

		for (int k = i; k < n; k++)
			if (s->backends[k] == b)
				s->backends[k] = NULL;
		if (b)
			backend_close(&b);
	}
	free(take_ptr(s->backends));
}

static int open_backends(struct session *s, struct err *e)
{
	const struct session_env *env = s->env;
	const struct plan *plan = env->plan;
	const struct backend_env be = {
		.root = env->root,
		.topology = env->topology,
		.plan = plan,
		.journal = env->journal,
		.bench = env->bench,
		.run_dir = env->run_dir,
		.results_dir = store_dir(env->store),
		.token = s->token,
		.hold_on_failure = env->hold_on_failure,
		.note = note,
		.note_arg = s,
	};

	s->backends = calloc(plan->narms, sizeof(struct backend *));
	if (!s->backends)
		return err_set(e, ENOMEM, "no memory");
	for (int i = 0; i < plan->narms; i++) {
		const struct backend_ops *ops = backend_find(plan->arms[i].backend);
		int ret;

		if (!ops)
			return err_set(e, EINVAL, "arm \"%s\": there is no backend \"%s\"",
				       plan->arms[i].name, plan->arms[i].backend);
		for (int k = 0; k < i && !s->backends[i]; k++)
			if (s->backends[k]->ops == ops)
				s->backends[i] = s->backends[k];
		if (s->backends[i])
			continue;
		ret = backend_open(&s->backends[i], ops, &be, e);
		if (ret < 0)
			return err_wrap(e, "backend %s", ops->name);
	}
	return 0;
}

/* The cells of a boot that are still to be measured. */
struct pending {
	const struct cell **cells;
	int n;
};

static int collect_pending(const struct session *s, const struct boot *boot, struct pending *p,
			   struct err *e)
{
	p->n = 0;
	p->cells = calloc(boot->ncells ? boot->ncells : 1, sizeof(*p->cells));
	if (!p->cells)
		return err_set(e, ENOMEM, "no memory");
	for (int i = 0; i < boot->ncells; i++) {
		cleanup_free char *key = cell_key(s->env->plan, &boot->cells[i]);

		if (!key)
			return err_set(e, ENOMEM, "no memory");
		if (!store_has_cell(s->env->store, key))
			p->cells[p->n++] = &boot->cells[i];
	}
	return 0;
}

/* Cells in an arm that is up: how many were worked off, until one lost a partition. */
static int run_cells(struct up *u, const struct cell **cells, int n, bool *lost, struct err *e)
{
	for (int i = 0; i < n; i++) {
		int ret = cell_run(u, cells[i], e);

		if (ret < 0)
			return ret;
		if (ret > 0) {
			*lost = true;
			return i + 1;
		}
	}
	return n;
}

static int skip_cells(struct session *s, const struct cell **cells, int n, const char *why,
		      struct err *e)
{
	for (int i = 0; i < n; i++) {
		cleanup_free char *key = cell_key(s->env->plan, cells[i]);
		int ret = cell_skip(s, cells[i], END_SKIPPED, why, e);

		if (ret < 0)
			return ret;
		s->totals->cells[END_SKIPPED]++;
		progress_cell(s->progress, key ? key : "", "skipped", why);
	}
	return 0;
}

static int run_boot(struct session *s, const struct boot *boot, struct err *e)
{
	const char *name = s->env->plan->arms[boot->arm].name;
	cleanup_free const struct cell **owned = NULL;
	struct pending todo = {0};
	int ret = collect_pending(s, boot, &todo, e);

	owned = todo.cells;
	for (int try = 0; ret == 0 && todo.n > 0 && try < BOOTS_EACH; try++) {
		struct err why = ERR_INIT, down = ERR_INIT;
		bool lost = false;
		struct up u;
		int64_t began;
		int done;

		progress_next(s->progress, boot->block, name, NULL, 0);
		ret = arm_up(s, boot->block, boot->arm, &u, &why);
		if (ret == -EINTR) {
			*e = why;
			return ret;
		}
		if (ret < 0) {
			progress_say(s->progress, true, "arm \"%s\" did not come up: %s", name,
				     why.text);
			ret = try + 1 < BOOTS_EACH ? 0
						   : skip_cells(s, todo.cells, todo.n, why.text, e);
			continue;
		}
		done = run_cells(&u, todo.cells, todo.n, &lost, e);
		if (lost && s->env->hold_on_failure)
			arm_hold(&u);
		began = clock_ns();
		if (arm_down(&u, &down) < 0)
			progress_say(s->progress, true, "arm \"%s\" did not go down cleanly: %s",
				     name, down.text);
		s->totals->boots += seconds_between(began, clock_ns());
		if (done < 0)
			return done;
		todo.cells += done;
		todo.n -= done;
		if (todo.n > 0 && try + 1 == BOOTS_EACH)
			ret = skip_cells(s, todo.cells, todo.n, "two boots lost a partition", e);
	}
	return ret;
}

/* A block is done: is that enough? Says so in the events when it is. */
static bool enough(struct session *s, int blocks_done)
{
	struct err e = ERR_INIT;
	char text[120];

	if (!s->env->enough || !s->env->enough(s->env->enough_arg, blocks_done))
		return false;
	snprintf(text, sizeof(text), "stopped after %d blocks: the intervals are narrow enough",
		 blocks_done);
	progress_say(s->progress, false, "%s", text);
	/* The run is over in any case; without its note it only looks shorter. */
	if (store_event(s->env->store, json_pack("{s:s,s:s}", "event", "note", "text", text), &e) < 0)
		progress_say(s->progress, true, "%s", e.text);
	return true;
}

static int work_off(struct session *s, struct err *e)
{
	const struct schedule *schedule = s->env->schedule;

	for (int i = 0; i < schedule->nboots; i++) {
		if (i > 0 && schedule->boots[i].block != schedule->boots[i - 1].block &&
		    enough(s, schedule->boots[i].block))
			return 0;
		int ret = stop_asked() ? err_set(e, EINTR, "stopped by a signal")
				       : run_boot(s, &schedule->boots[i], e);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static json_t *end_event(const struct session_totals *t, int ret)
{
	json_t *cells = json_object();
	double other = t->total - t->boots - t->measured;

	for (int i = 0; i < END_KINDS; i++)
		json_object_set_new(cells, cell_end_name(i), json_integer(t->cells[i]));
	return json_pack("{s:s,s:b,s:b,s:o,s:i,s:{s:f,s:f,s:f,s:f}}", "event", "end", "ok",
			 ret == 0 && !t->cells[END_FAILED] && !t->cells[END_SKIPPED], "interrupted",
			 ret == -EINTR, "cells", cells, "invalid", t->invalid, "seconds", "total",
			 t->total, "boots", t->boots, "warmup_and_windows", t->measured, "other",
			 other > 0 ? other : 0.0);
}

static int make_token(struct session *s, struct err *e)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return err_sys(e, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int open_progress(struct session *s, const char *status_path, struct err *e)
{
	const struct session_env *env = s->env;
	const struct schedule *schedule = env->schedule;
	int done = 0;

	for (int i = 0; i < schedule->nboots; i++) {
		struct pending p;
		int ret = collect_pending(s, &schedule->boots[i], &p, e);

		if (ret < 0)
			return ret;
		free(p.cells);
		done += schedule->boots[i].ncells - p.n;
	}
	s->progress = progress_open(&(struct progress_options){
		.out = stderr,
		.quiet = env->quiet,
		.verbose = env->verbose,
		.status_path = status_path,
		.plan = env->plan->name,
		.results = store_dir(env->store),
		.total = schedule->ncells,
		.done = done,
		.estimate = schedule->ncells
				    ? schedule->seconds * (schedule->ncells - done) / schedule->ncells
				    : 0,
	});
	return s->progress ? 0 : err_set(e, ENOMEM, "no memory");
}

int session_run(const struct session_env *env, struct session_totals *totals, struct err *e)
{
	struct session s = {.env = env, .totals = totals};
	char status_path[PATH_MAX];
	struct err end = ERR_INIT;
	int64_t began = clock_ns();
	int ret = make_token(&s, e), ended;

	*totals = (struct session_totals){0};
	snprintf(status_path, sizeof(status_path), "%s/status.json", env->run_dir);
	if (ret == 0)
		ret = open_progress(&s, status_path, e);
	if (ret == 0)
		ret = open_backends(&s, e);
	if (ret == 0)
		ret = store_event(env->store, run_event(&s), e);
	if (ret == 0) {
		ret = work_off(&s, e);
		totals->total = seconds_between(began, clock_ns());
		totals->signal = ret == -EINTR ? stop_asked() : 0;
		ended = store_event(env->store, end_event(totals, ret), &end);
		if (ret == 0 && ended < 0) {
			*e = end;
			ret = ended;
		}
	}
	close_backends(&s);
	progress_close(&s.progress);
	unlink(status_path);
	return ret;
}
