// SPDX-License-Identifier: GPL-2.0-or-later
/* The futex system call, on a word of the task's own stack that is never waited for. */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/scale/tables.h"

#define EXPECTED 1 /* never the value of the word, so that a wait returns at once */

static int wake(struct task *t, int op)
{
	struct slot *s = t->slot;
	volatile uint32_t word;

	while (!s->stop) {
		word = 0;
		if (syscall(SYS_futex, &word, op, 1, NULL, NULL, 0) != 0)
			return task_fail(t, "futex wake", errno);
		s->count++;
	}
	return 0;
}

static int futex_wait(struct task *t, int op)
{
	struct slot *s = t->slot;
	volatile uint32_t word = 0;

	/* The reason once, before anything is counted: to look at it is a call. */
	if (syscall(SYS_futex, &word, op, EXPECTED, NULL, NULL, 0) != -1 || errno != EAGAIN)
		return task_fail(t, "futex wait", errno);
	while (!s->stop) {
		word = 0;
		if (syscall(SYS_futex, &word, op, EXPECTED, NULL, NULL, 0) != -1)
			return task_fail(t, "futex wait", EBADE);
		s->count++;
	}
	return 0;
}

static int futex1(struct task *t)
{
	return wake(t, FUTEX_WAKE);
}

static int futex2(struct task *t)
{
	return futex_wait(t, FUTEX_WAIT);
}

static int futex3(struct task *t)
{
	return wake(t, FUTEX_WAKE_PRIVATE);
}

static int futex4(struct task *t)
{
	return futex_wait(t, FUTEX_WAIT_PRIVATE);
}

static const struct test tests[] = {
	{
		.info = {"futex1", "wakes a futex that nobody waits for", "a call",
			 "none: one entry of the futex hash table is read", ROLE_CONTROL, MODE_BOTH},
		.run = futex1,
	},
	{
		.info = {"futex2", "waits for a futex whose value differs: returns at once",
			 "a call", "none: the lock of one hash entry, shared only by collision",
			 ROLE_CONTROL, MODE_BOTH},
		.run = futex2,
	},
	{
		.info = {"futex3", "wakes a private futex that nobody waits for", "a call",
			 "none: one entry of the futex hash table is read", ROLE_CONTROL, MODE_BOTH},
		.run = futex3,
	},
	{
		.info = {"futex4", "waits for a private futex whose value differs: returns at once",
			 "a call", "none", ROLE_CONTROL, MODE_BOTH},
		.run = futex4,
	},
};

const struct test_table futex_tests = TEST_TABLE(tests);
