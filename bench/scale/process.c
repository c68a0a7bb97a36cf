// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls without state, scheduler, signals. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "bench/scale/tables.h"

static int getppid1(struct task *t)
{
	struct slot *s = t->slot;

	while (!s->stop) {
		getppid();
		s->count++;
	}
	return 0;
}

static int sched_yield_run(struct task *t)
{
	struct slot *s = t->slot;

	while (!s->stop) {
		if (sched_yield() != 0)
			return task_fail(t, "sched_yield", errno);
		s->count++;
	}
	return 0;
}

static void ignore(int sig)
{
	(void)sig;
}

static int signal1_prepare(struct task *t)
{
	struct sigaction act = {.sa_handler = ignore};

	return sigaction(SIGUSR1, &act, NULL) < 0 ? task_fail(t, "sigaction", errno) : 0;
}

static int signal1(struct task *t)
{
	struct slot *s = t->slot;

	while (!s->stop) {
		/* libc's raise on purpose: its four entries into the kernel are this test. */
		if (raise(SIGUSR1) != 0)
			return task_fail(t, "raise", errno);
		s->count++;
	}
	return 0;
}

static const struct test tests[] = {
	{
		.info = {"getppid1", "calls getppid", "a call", "none", ROLE_CONTROL, MODE_BOTH},
		.run = getppid1,
	},
	{
		.info = {"sched_yield", "yields the CPU", "a call",
			 "none: the run queue of the own CPU; a control only with one task a CPU",
			 ROLE_CONTROL, MODE_BOTH},
		.run = sched_yield_run,
	},
	{
		.info = {"signal1", "raises a signal to itself and handles it", "a signal delivered",
			 "the count of pending signals of the user; threads: the handlers' lock",
			 ROLE_EFFECT, MODE_BOTH,
			 .needs = {.special =
					   "as many pending signals (RLIMIT_SIGPENDING) as tasks"}},
		.task_prepare = signal1_prepare,
		.run = signal1,
	},
};

const struct test_table process_tests = TEST_TABLE(tests);
