// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/boundary/crew.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/cpumask.h"

enum {
	GATE_WAIT,
	GATE_GO,
	GATE_ABORT
};

int pin_to_cpu(int cpu, struct err *e)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	struct err inner = ERR_INIT;
	int now;

	if (cpumask_set(&m, cpu) < 0)
		return err_set(e, EINVAL, "pin to cpu %d: no such CPU", cpu);
	if (cpumask_set_affinity(&m, 0, &inner) < 0) {
		*e = inner;
		return err_wrap(e, "pin to cpu %d", cpu);
	}
	now = sched_getcpu();
	if (now >= 0 && now != cpu)
		return err_set(e, EXDEV, "pin to cpu %d: runs on cpu %d", cpu, now);
	return 0;
}

/* On an own deadline of CLOCK_MONOTONIC: the raw clock cannot be slept on. */
void sleep_until(int64_t ns)
{
	int64_t left;

	while ((left = ns - clock_ns()) > 0) {
		struct timespec ts = {left / NSEC_PER_SEC, left % NSEC_PER_SEC};

		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	}
}

static int gate_wait(struct crew *c)
{
	int state;

	pthread_mutex_lock(&c->lock);
	c->ready++;
	pthread_cond_broadcast(&c->cond);
	while (c->state == GATE_WAIT)
		pthread_cond_wait(&c->cond, &c->lock);
	state = c->state;
	pthread_mutex_unlock(&c->lock);
	return state;
}

static void switches(long *involuntary, long *voluntary)
{
	struct rusage ru = {0};

	getrusage(RUSAGE_THREAD, &ru);
	*involuntary = ru.ru_nivcsw;
	*voluntary = ru.ru_nvcsw;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	long involuntary, voluntary;
	int now;

	if (pin_to_cpu(w->cpu, &w->err) == 0 && w->prepare)
		w->prepare(w, &w->err);
	if (gate_wait(w->crew) != GATE_GO)
		return NULL;
	switches(&involuntary, &voluntary);
	w->run(w, &w->err);
	switches(&w->switched, &w->slept);
	w->switched -= involuntary;
	w->slept -= voluntary;
	now = sched_getcpu();
	if (w->err.code == 0 && now >= 0 && now != w->cpu)
		err_set(&w->err, EXDEV, "the thread of cpu %d ended on cpu %d", w->cpu, now);
	return NULL;
}

int crew_new(struct crew **crew, int n, const int *cpus, void *arg, struct err *e)
{
	struct crew *c = aligned_alloc(LINE_PAD, sizeof(*c));

	*crew = NULL;
	if (!c)
		return err_set(e, ENOMEM, "no memory");
	*c = (struct crew){.n = n};
	c->workers = aligned_alloc(LINE_PAD, n * sizeof(*c->workers));
	if (!c->workers) {
		free(c);
		return err_set(e, ENOMEM, "no memory for %d threads", n);
	}
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->cond, NULL);
	for (int i = 0; i < n; i++)
		c->workers[i] = (struct worker){.crew = c, .index = i, .cpu = cpus[i], .arg = arg};
	*crew = c;
	return 0;
}

void crew_free(struct crew **crew)
{
	struct crew *c = *crew;

	if (!c)
		return;
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->cond);
	free(c->workers);
	free(c);
	*crew = NULL;
}

/* Workers whose thread exists are let go, all or none. */
static int open_gate(struct crew *c, int made, struct err *e)
{
	pthread_mutex_lock(&c->lock);
	while (c->ready < made)
		pthread_cond_wait(&c->cond, &c->lock);
	for (int i = 0; i < made && e->code == 0; i++)
		if (c->workers[i].err.code)
			*e = c->workers[i].err;
	c->state = e->code ? GATE_ABORT : GATE_GO;
	c->started = clock_ns();
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->lock);
	return e->code;
}

int crew_run(struct crew *c, int (*prepare)(struct worker *, struct err *),
	     int (*run)(struct worker *, struct err *), int64_t window_ns,
	     void (*meanwhile)(struct crew *), struct err *e)
{
	int made, ret;

	c->ready = 0;
	c->state = GATE_WAIT;
	atomic_store(&c->stop, 0);
	c->switched = c->slept = 0;
	for (made = 0; made < c->n; made++) {
		struct worker *w = &c->workers[made];

		w->prepare = prepare;
		w->run = run;
		w->count = 0;
		w->from = w->to = 0;
		w->err = ERR_INIT;
		ret = pthread_create(&w->thread, NULL, worker_main, w);
		if (ret) {
			err_set(e, ret, "thread %d of %d cannot be made", made + 1, c->n);
			break;
		}
	}
	if (open_gate(c, made, e) == 0) {
		if (meanwhile)
			meanwhile(c);
		else if (window_ns)
			sleep_until(c->started + window_ns);
		if (meanwhile || window_ns)
			atomic_store(&c->stop, 1);
	}
	for (int i = 0; i < made; i++) {
		struct worker *w = &c->workers[i];

		pthread_join(w->thread, NULL);
		c->switched += w->switched;
		c->slept += w->slept;
		if (e->code == 0 && w->err.code)
			*e = w->err;
	}
	c->finished = clock_ns();
	return e->code;
}
