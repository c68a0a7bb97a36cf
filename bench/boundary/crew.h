/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BOUNDARY_CREW_H
#define MKSPLIT_BENCH_BOUNDARY_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "common/err.h"

/* Lines of 256 bytes are the longest in use; what shall not share a line is this far apart. */
#define LINE_PAD 256

/*
 * Threads pinned to one CPU each that prepare, start together, and are found on their CPU at
 * the end as well: a thread that was elsewhere is an error.
 */
struct worker;

struct crew {
	_Alignas(LINE_PAD) atomic_int stop; /* workers of timed windows look at it */
	_Alignas(LINE_PAD) int n;
	struct worker *workers; /* n */
	int64_t started; /* when all were ready and let go */
	int64_t finished; /* when the last was joined */
	long switched; /* involuntary context switches of all between start and end */
	long slept; /* voluntary ones */
	/* The gate. */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int ready;
	int state;
};

struct worker {
	_Alignas(LINE_PAD) struct crew *crew;
	int index, cpu;
	void *arg; /* the test's */
	int64_t from, to; /* the worker's own, set by run() where it wants to */
	uint64_t count; /* the worker's own */
	/* Set by the machinery. */
	pthread_t thread;
	int (*prepare)(struct worker *w, struct err *e); /* may be NULL */
	int (*run)(struct worker *w, struct err *e);
	long switched, slept;
	struct err err;
};

/* A crew of n workers on these CPUs; freed by crew_free(). */
int crew_new(struct crew **crew, int n, const int *cpus, void *arg, struct err *e);
void crew_free(struct crew **crew);
#define cleanup_crew cleanup(crew_free)

/*
 * Every worker prepares on its CPU, all wait for the last, all run; after window_ns (0: never)
 * stop is set. Returns when all have ended, with the first error of any. meanwhile (may be
 * NULL) is called in the place of the sleep.
 */
int crew_run(struct crew *c, int (*prepare)(struct worker *, struct err *),
	     int (*run)(struct worker *, struct err *), int64_t window_ns,
	     void (*meanwhile)(struct crew *), struct err *e);

static inline int crew_stopped(struct crew *c)
{
	return atomic_load_explicit(&c->stop, memory_order_relaxed);
}

/* Binds the calling thread and sees that it runs there. */
int pin_to_cpu(int cpu, struct err *e);

void sleep_until(int64_t ns);

static inline void spin_hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#elif defined(__riscv)
	__asm__ volatile(".4byte 0x0100000f" ::: "memory"); /* pause, also for old assemblers */
#else
	__asm__ volatile("" ::: "memory");
#endif
}

#endif
