// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/cmd/measure.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/analysis/analysis.h"
#include "harness/change/journal.h"
#include "harness/cmd/paths.h"

int measure_open(struct measure *m, struct err *e)
{
	int ret = root_open(&m->root, NULL, e);

	if (ret == 0)
		ret = topology_read(&m->topology, &m->root, e);
	if (ret == 0)
		ret = find_bench(&m->bench, e);
	if (ret == 0)
		ret = catalog_load(&m->catalog, m->bench, e);
	return ret;
}

void measure_free(struct measure *m)
{
	plan_free(&m->plan);
	catalog_free(&m->catalog);
	free(m->bench);
	free(m->results);
	topology_free(&m->topology);
	root_close(&m->root);
}

/* The run's private folder; the journal removes it, whatever happens to us. */
static int make_run_dir(char *path, size_t size, struct journal *j, struct err *e)
{
	int ret = session_folder(path, size, getpid());

	if (ret < 0)
		return err_set(e, ret, "the path of the run folder is too long");
	ret = journal_before(j, "folder", json_pack("{s:s}", "path", path), e);
	if (ret < 0)
		return ret;
	return mkdir(path, 0700) < 0 ? err_sys(e, "%s", path) : 0;
}

/* Whether the plan's "until" is fulfilled by what is in the results folder. */
static bool narrow_enough(void *arg, int blocks_done)
{
	const struct measure *m = arg;
	cleanup_model struct model *model = NULL;
	cleanup_analysis struct analysis *a = NULL;
	struct err e = ERR_INIT;

	if (blocks_done < STOP_MIN_BLOCKS)
		return false;
	if (model_read(&model, m->results, &e) < 0 || analyse(&a, model, &e) < 0)
		return false;
	return analysis_narrow_enough(a, m->plan->until_width);
}

static int with_store(struct measure *m, struct journal *j, const struct schedule *schedule,
		      struct store *store, struct err *e)
{
	char run_dir[PATH_MAX];
	int ret = make_run_dir(run_dir, sizeof(run_dir), j, e);

	if (ret < 0)
		return ret;
	return session_run(
		&(struct session_env){
			.root = &m->root,
			.topology = &m->topology,
			.plan = m->plan,
			.schedule = schedule,
			.bench = m->bench,
			.run_dir = run_dir,
			.journal = j,
			.store = store,
			.enough = m->plan->until_width > 0 ? narrow_enough : NULL,
			.enough_arg = m,
			.resumed = m->resume != NULL,
			.quiet = m->quiet,
			.verbose = m->verbose,
			.hold_on_failure = m->hold_on_failure,
		},
		&m->totals, e);
}

int measure_go(struct measure *m, struct err *e)
{
	cleanup_schedule struct schedule schedule = {0};
	struct journal *journal = NULL;
	struct store *store = NULL;
	struct err undo = ERR_INIT;
	int ret = schedule_make(&schedule, m->plan, &m->topology, e), undone;

	if (ret < 0)
		return ret;
	stop_watch();
	/* Before anything is written: another run, or what a crashed one left, is in the way. */
	ret = journal_open(&journal, e);
	if (ret < 0)
		return ret;
	m->care.quiet = m->quiet;
	ret = care_begin(&m->care, &m->root, &m->topology, m->plan, e);
	if (ret == 0)
		ret = m->resume ? store_open(&store, m->resume, e)
				: store_create(&store, "results", m->output, m->plan->name,
					       m->plan->text, e);
	m->care.store = store;
	if (ret == 0)
		ret = care_tune(&m->care, &m->topology, m->plan, journal, e);
	if (ret == 0) {
		m->results = strdup(store_dir(store));
		if (!m->quiet)
			fprintf(stderr, "Results go to %s\n", store_dir(store));
		ret = with_store(m, journal, &schedule, store, e);
	}
	undone = journal_close(&journal, &undo);
	if (undone < 0 && (ret == 0 || ret == -EINTR)) {
		*e = undo;
		ret = err_wrap(e, "putting the machine back");
	}
	care_end(&m->care);
	m->care.store = NULL;
	store_close(&store);
	return ret;
}

static void say_seconds(const struct session_totals *t)
{
	double other = t->total - t->boots - t->measured;

	if (t->total <= 0)
		return;
	fprintf(stderr,
		"%.1f s in all: %.1f s of boots, %.1f s of warm-up and windows, %.1f s of overhead "
		"(%.1f %%)\n",
		t->total, t->boots, t->measured, other, 100 * other / t->total);
}

static void say_cells(const struct session_totals *t)
{
	const char *comma = "";

	for (int i = 0; i < END_KINDS; i++) {
		if (!t->cells[i])
			continue;
		fprintf(stderr, "%s%d %s", comma, t->cells[i], cell_end_name(i));
		comma = ", ";
	}
	if (!*comma)
		fputs("no cell measured", stderr);
	if (t->invalid)
		fprintf(stderr, "; %d attempts repeated", t->invalid);
}

void measure_say_end(const struct measure *m, int ret)
{
	const struct session_totals *t = &m->totals;

	/* Quiet is about what goes well. */
	if (!m->results || (m->quiet && ret == 0))
		return;
	fprintf(stderr, "%s: ", m->results);
	say_cells(t);
	fputc('\n', stderr);
	say_seconds(t);
	if (ret < 0 || t->cells[END_FAILED] || t->cells[END_SKIPPED])
		fprintf(stderr, "What is stored stays; the cells that are missing: mksplit run --resume %s\n",
			m->results);
}

int measure_status(const struct measure *m, int ret, const struct err *e)
{
	if (ret == -EINTR && m->totals.signal)
		return 128 + m->totals.signal;
	if (ret < 0)
		return e->exit ? e->exit : EXIT_FAILURE;
	return m->totals.cells[END_FAILED] || m->totals.cells[END_SKIPPED] ? EXIT_FAILURE : 0;
}
