// SPDX-License-Identifier: GPL-2.0-or-later
/* The family `scale`: prepare, measure and remove one cell of a loop. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/report.h"
#include "bench/scale/tables.h"
#include "bench/scale/tasks.h"
#include "common/clock.h"

/* Descriptors of the runner itself: standard ones, the way to its parent, libc's. */
#define OWN_DESCRIPTORS 64

/* Any real-time priority goes before all ordinary tasks; the lowest disturbs nobody else. */
#define SAMPLER_PRIORITY 1

static const struct test_info *scale_info(size_t i)
{
	for (const struct test_table *const *t = test_tables; *t; t++) {
		if (i < (*t)->n)
			return &(*t)->tests[i].info;
		i -= (*t)->n;
	}
	return NULL;
}

static int check_params(const struct cell *c, struct err *e)
{
	bool path = strcmp(c->test, "open4") == 0 || strcmp(c->test, "pread4") == 0;

	for (int i = 0; i < c->nparams; i++)
		if (!path || strcmp(c->params[i].name, "path") != 0)
			return err_set(e, EINVAL, "%s has no parameter \"%s\"", c->test,
				       c->params[i].name);
	return 0;
}

/* A limit is a process's: threads share one table of descriptors. */
static int check_descriptors(const struct scale *s, struct err *e)
{
	rlim_t each = s->test->info.needs.descriptors_per_task;
	rlim_t need = OWN_DESCRIPTORS + (s->cell->mode == MODE_THREADS ? each * s->ntasks : each);
	struct rlimit have;

	if (getrlimit(RLIMIT_NOFILE, &have) < 0)
		return err_sys(e, "limit of open files");
	if (have.rlim_cur >= need)
		return 0;
	have.rlim_cur = need;
	if (have.rlim_max < need)
		have.rlim_max = need; /* allowed to the privileged */
	if (setrlimit(RLIMIT_NOFILE, &have) < 0)
		return err_set(e, EOPNOTSUPP,
			       "%s with %d %s needs %lu open files; the hard limit (RLIMIT_NOFILE, "
			       "ulimit -Hn) is lower",
			       s->cell->test, s->ntasks,
			       s->cell->mode == MODE_THREADS ? "threads" : "tasks",
			       (unsigned long)need);
	return 0;
}

/* From now on their arrival is seen where tasks are waited for. */
static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* Partners of tasks that died come to us. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* The sampler's CPU: the quiet one, else the first task's; -1 for anywhere. */
static int sampler_cpu(const struct cell *c)
{
	if (c->sampler >= 0)
		return c->sampler;
	return c->unpinned ? -1 : c->cpus[0];
}

static int scale_prepare(struct cell *c, struct err *e)
{
	struct scale *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_set(e, ENOMEM, "no memory");
	block_signals();
	c->state = s;
	s->cell = c;
	s->ntasks = c->ntasks;
	s->page_size = sysconf(_SC_PAGESIZE);
	s->test = find_loop(c->test);
	if (!s->test)
		return err_set(e, EINVAL, "there is no test \"%s\"", c->test);
	if (!(s->test->info.modes & c->mode))
		return err_set(e, EOPNOTSUPP, "%s has no %s mode", c->test, mode_name(c->mode));
	ret = check_params(c, e);
	if (ret == 0)
		ret = check_descriptors(s, e);
	if (ret < 0)
		return ret;
	ret = tasks_alloc(s, e);
	if (ret == 0 && s->test->prepare)
		ret = s->test->prepare(s, e);
	if (ret == 0)
		ret = tasks_start(s, sampler_cpu(c), e);
	return ret;
}

struct samples {
	int n, ntasks;
	struct sample {
		int64_t before, after;
	} * at;
	uint64_t *counts;
	size_t size;
};

/* A mapping, and touched: neither the heap nor a fault may come between two readings. */
static int samples_alloc(struct samples *m, int n, int ntasks, struct err *e)
{
	size_t head = n * sizeof(*m->at);

	m->n = n;
	m->ntasks = ntasks;
	m->size = head + (size_t)n * ntasks * sizeof(*m->counts);
	m->at = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (m->at == MAP_FAILED) {
		m->at = NULL;
		return err_sys(e, "no memory for %d samples", n);
	}
	m->counts = (uint64_t *)((char *)m->at + head);
	return 0;
}

static void samples_free(struct samples *m)
{
	if (m->at)
		munmap(m->at, m->size);
}

static void read_counters(const struct scale *s, struct samples *m, int k)
{
	uint64_t *counts = &m->counts[(size_t)k * m->ntasks];

	m->at[k].before = clock_ns();
	for (int i = 0; i < m->ntasks; i++)
		counts[i] = __atomic_load_n(&s->slots[i].count, __ATOMIC_RELAXED);
	m->at[k].after = clock_ns();
}

/* Waits, and fails at once when a task fails. */
static int wait_until(struct scale *s, int64_t until, struct err *e)
{
	for (;;) {
		int what = tasks_wait(until), ret;

		if (what < 0)
			return err_set(e, EINTR, "ended by a signal");
		if (what == 0)
			return 0;
		ret = tasks_check(s, e);
		if (ret < 0)
			return ret;
	}
}

static int measure(struct scale *s, const struct go *go, struct samples *m, struct err *e)
{
	struct cell *c = s->cell;
	int ret = 0;

	for (int k = 0; k <= go->n; k++) {
		ret = wait_until(s, go->first + k * go->interval, e);
		if (ret < 0)
			return ret;
		read_counters(s, m, k);
		if (c->live)
			c->live(c->live_arg, k, m->at[k].before, m->at[k].after,
				&m->counts[(size_t)k * m->ntasks], m->ntasks);
	}
	ret = wait_until(s, go->stop, e);
	return ret < 0 ? ret : tasks_stop(s, e);
}

static void add_report(struct scale *s, const struct samples *m)
{
	struct report *r = s->cell->report;
	int64_t from = INT64_MIN, to = INT64_MAX;
	int metric = report_metric(r, "ops", "1/s", "more", "rate", "sum");

	for (int i = 0; i < s->ntasks; i++) {
		const struct task_report *t = &s->reports[i];
		struct report_task line = {
			.pid = s->cell->mode == MODE_THREADS ? t->tid : t->pid,
			.cpu = s->cell->unpinned ? t->cpu_before : s->cell->cpus[i],
			.node = t->node,
			.cpu_before = t->cpu_before,
			.cpu_after = t->cpu_after,
			.cpu_ns = t->cpu_ns,
			.wall_ns = t->left - t->entered,
			.involuntary = t->involuntary,
			.voluntary = t->voluntary,
		};

		report_task(r, i, &line);
		from = t->entered > from ? t->entered : from;
		to = t->left < to ? t->left : to;
	}
	report_cover(r, from, to);
	for (int k = 0; k < m->n; k++)
		report_sample(r, metric, k, m->at[k].before, m->at[k].after,
			      &m->counts[(size_t)k * m->ntasks], m->ntasks);
	report_note(r, "single_threaded", s->reports[0].single_threaded ? "1" : "0");
	report_note(r, "sampler", s->fifo ? "fifo" : "other");
}

/* A rate of zero is no measurement, whatever the reason for it. */
static int check_counts(const struct scale *s, const struct samples *m, struct err *e)
{
	const uint64_t *first = m->counts, *last = &m->counts[(size_t)(m->n - 1) * m->ntasks];

	for (int i = 0; i < s->ntasks; i++)
		if (first[i] == last[i])
			return err_set(e, ENODATA, "task %d on CPU %d counted nothing in %.1f s", i,
				       s->reports[i].cpu_before,
				       (m->at[m->n - 1].before - m->at[0].before) / 1e9);
	return 0;
}

static int scale_run(struct cell *c, const struct go *go, struct err *e)
{
	struct sched_param priority = {.sched_priority = SAMPLER_PRIORITY};
	struct scale *s = c->state;
	struct samples m = {0};
	int ret = tasks_check(s, e);

	if (ret == 0)
		ret = samples_alloc(&m, go->n + 1, s->ntasks, e);
	if (ret < 0)
		return ret;
	s->fifo = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) == 0;
	if (!s->fifo)
		prctl(PR_SET_TIMERSLACK, 1);
	tasks_go(s, go->start);
	ret = measure(s, go, &m, e);
	priority.sched_priority = 0;
	sched_setscheduler(0, SCHED_OTHER, &priority);
	if (ret == 0)
		ret = check_counts(s, &m, e);
	if (ret == 0)
		add_report(s, &m);
	samples_free(&m);
	return ret;
}

static void scale_cleanup(struct cell *c)
{
	struct scale *s = c->state;

	if (!s)
		return;
	tasks_end(s);
	if (s->test && s->test->cleanup && s->tasks)
		s->test->cleanup(s);
	tasks_free(s);
	free(s);
	c->state = NULL;
}

const struct family scale_family = {
	.name = "scale",
	.info = scale_info,
	.prepare = scale_prepare,
	.run = scale_run,
	.cleanup = scale_cleanup,
};
