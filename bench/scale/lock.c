// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks of libc. As processes each task has copies of the globals, made by fork, so that
 * pthread_mutex1, 3, 4 and 5 are contended as threads only.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdalign.h>

#include "bench/scale/tables.h"

/* Apart from each other and from anything else, so that layout is not what is measured. */
#define APART 128
static alignas(APART) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static alignas(APART) uint64_t global_word;
static alignas(APART) char behind __attribute__((used));
static __thread uint64_t thread_word;

/* The word is in memory before and after, also where the compiler sees through the lock. */
#define keep(word) __asm__ volatile("" : "+m"(word))

static int posix_semaphore1(struct task *t)
{
	struct slot *s = t->slot;
	sem_t sem;

	if (sem_init(&sem, 0, 1) != 0)
		return task_fail(t, "sem_init", errno);
	while (!s->stop) {
		sem_wait(&sem);
		sem_post(&sem);
		s->count++;
	}
	sem_destroy(&sem);
	return 0;
}

static int pthread_mutex1(struct task *t)
{
	struct slot *s = t->slot;

	while (!s->stop) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		s->count++;
	}
	return 0;
}

static int pthread_mutex2(struct task *t)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	struct slot *s = t->slot;

	while (!s->stop) {
		pthread_mutex_lock(&own);
		pthread_mutex_unlock(&own);
		s->count++;
	}
	return 0;
}

static int pthread_mutex3(struct task *t)
{
	struct slot *s = t->slot;

	while (!s->stop) {
		pthread_mutex_lock(&mutex);
		global_word++;
		keep(global_word);
		pthread_mutex_unlock(&mutex);
		s->count++;
	}
	return 0;
}

static int pthread_mutex4(struct task *t)
{
	struct slot *s = t->slot;
	uint64_t own = 0;

	while (!s->stop) {
		pthread_mutex_lock(&mutex);
		own++;
		keep(own);
		pthread_mutex_unlock(&mutex);
		s->count++;
	}
	return 0;
}

static int pthread_mutex5(struct task *t)
{
	struct slot *s = t->slot;

	while (!s->stop) {
		pthread_mutex_lock(&mutex);
		thread_word++;
		keep(thread_word);
		pthread_mutex_unlock(&mutex);
		s->count++;
	}
	return 0;
}

#define PROCESSES_ALONE "none (threads: the mutex and its futex); not contended as processes"

static const struct test tests[] = {
	{
		.info = {"posix_semaphore1", "takes and gives a semaphore of its own", "a pair",
			 "none, no kernel entry", ROLE_CONTROL_USER, MODE_BOTH},
		.run = posix_semaphore1,
	},
	{
		.info = {"pthread_mutex1", "locks and unlocks a global mutex", "a pair",
			 PROCESSES_ALONE, ROLE_CONTROL_USER, MODE_BOTH},
		.run = pthread_mutex1,
	},
	{
		.info = {"pthread_mutex2", "locks and unlocks a mutex on its stack", "a pair",
			 "none, no kernel entry", ROLE_CONTROL_USER, MODE_BOTH},
		.run = pthread_mutex2,
	},
	{
		.info = {"pthread_mutex3",
			 "adds 1 to a global word (128 bytes from the mutex) under a global mutex",
			 "a pair", PROCESSES_ALONE, ROLE_CONTROL_USER, MODE_BOTH},
		.run = pthread_mutex3,
	},
	{
		.info = {"pthread_mutex4", "adds 1 to a word on its stack under a global mutex",
			 "a pair", PROCESSES_ALONE, ROLE_CONTROL_USER, MODE_BOTH},
		.run = pthread_mutex4,
	},
	{
		.info = {"pthread_mutex5", "adds 1 to a thread-local word under a global mutex",
			 "a pair", PROCESSES_ALONE, ROLE_CONTROL_USER, MODE_BOTH},
		.run = pthread_mutex5,
	},
};

const struct test_table lock_tests = TEST_TABLE(tests);
