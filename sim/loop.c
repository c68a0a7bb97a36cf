// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"

struct watch {
	int fd; /* -1: gone, to be removed by the loop */
	unsigned events;
	loop_fd_fn fn;
	void *arg;
};

struct timer {
	int64_t id, due;
	loop_timer_fn fn;
	void *arg;
};

struct loop {
	struct watch *watches;
	int nwatches, size_watches;
	struct timer *timers;
	int ntimers, size_timers;
	struct pollfd *polls;
	int64_t last_timer;
	bool stopped;
};

struct loop *loop_new(void)
{
	return calloc(1, sizeof(struct loop));
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	free(l->watches);
	free(l->timers);
	free(l->polls);
	free(l);
}

int loop_watch(struct loop *l, int fd, unsigned events, loop_fd_fn fn, void *arg)
{
	if (l->nwatches == l->size_watches) {
		int size = l->size_watches ? l->size_watches * 2 : 16;
		struct watch *w = realloc(l->watches, size * sizeof(*w));
		struct pollfd *p;

		if (!w)
			return -ENOMEM;
		l->watches = w;
		p = realloc(l->polls, size * sizeof(*p));
		if (!p)
			return -ENOMEM;
		l->polls = p;
		l->size_watches = size;
	}
	l->watches[l->nwatches++] = (struct watch){fd, events, fn, arg};
	return 0;
}

void loop_unwatch(struct loop *l, int fd)
{
	for (int i = 0; i < l->nwatches; i++)
		if (l->watches[i].fd == fd)
			l->watches[i].fd = -1;
}

int64_t loop_after(struct loop *l, int64_t ms, loop_timer_fn fn, void *arg)
{
	if (l->ntimers == l->size_timers) {
		int size = l->size_timers ? l->size_timers * 2 : 16;
		struct timer *t = realloc(l->timers, size * sizeof(*t));

		if (!t)
			return -ENOMEM;
		l->timers = t;
		l->size_timers = size;
	}
	l->timers[l->ntimers++] =
		(struct timer){++l->last_timer, clock_ns() + ms * NSEC_PER_MSEC, fn, arg};
	return l->last_timer;
}

void loop_cancel(struct loop *l, int64_t timer)
{
	for (int i = 0; i < l->ntimers; i++) {
		if (l->timers[i].id == timer) {
			l->timers[i] = l->timers[--l->ntimers];
			return;
		}
	}
}

/* Runs what is due, one after the other: a timer's function may set and cancel timers. */
static void run_timers(struct loop *l)
{
	for (;;) {
		int64_t now = clock_ns();
		int first = -1;

		for (int i = 0; i < l->ntimers; i++)
			if (l->timers[i].due <= now &&
			    (first < 0 || l->timers[i].due < l->timers[first].due))
				first = i;
		if (first < 0 || l->stopped)
			return;
		struct timer t = l->timers[first];

		l->timers[first] = l->timers[--l->ntimers];
		t.fn(t.arg);
	}
}

static int wait_ms(const struct loop *l)
{
	int64_t due = INT64_MAX, left;

	for (int i = 0; i < l->ntimers; i++)
		if (l->timers[i].due < due)
			due = l->timers[i].due;
	if (due == INT64_MAX)
		return -1;
	left = due - clock_ns();
	if (left <= 0)
		return 0;
	left = (left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	return left > 60000 ? 60000 : (int)left;
}

static void sweep(struct loop *l)
{
	int kept = 0;

	for (int i = 0; i < l->nwatches; i++)
		if (l->watches[i].fd >= 0)
			l->watches[kept++] = l->watches[i];
	l->nwatches = kept;
}

int loop_run(struct loop *l)
{
	l->stopped = false;
	while (!l->stopped) {
		int n, ready;

		sweep(l);
		n = l->nwatches;
		for (int i = 0; i < n; i++)
			l->polls[i] = (struct pollfd){l->watches[i].fd, l->watches[i].events, 0};
		ready = poll(l->polls, n, wait_ms(l));
		if (ready < 0 && errno != EINTR)
			return -errno;
		/* A handler may add watches (behind n) and unwatch others (fd -1). */
		for (int i = 0; ready > 0 && i < n && !l->stopped; i++) {
			unsigned events = l->polls[i].revents;

			if (events && l->watches[i].fd == l->polls[i].fd)
				l->watches[i].fn(l->watches[i].arg, l->watches[i].fd, events);
		}
		run_timers(l);
	}
	return 0;
}

void loop_stop(struct loop *l)
{
	l->stopped = true;
}
