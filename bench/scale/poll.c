// SPDX-License-Identifier: GPL-2.0-or-later
/* poll on descriptors that are always ready. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/scale/files.h"
#include "bench/scale/tables.h"

#define MANY 128

static int poll1(struct task *t)
{
	struct slot *s = t->slot;
	int fd = t->fd;

	while (!s->stop) {
		struct pollfd p;

		memset(&p, 0, sizeof(p));
		p.fd = fd;
		p.events = POLLOUT;
		if (poll(&p, 1, 0) != 1)
			return task_fail(t, "poll", errno);
		s->count++;
	}
	return 0;
}

struct many {
	int fds[MANY];
};

static int poll2_prepare(struct task *t)
{
	/* In the scale's memory, which the task has as a copy or shares. */
	struct many *m = &((struct many *)t->scale->data)[t->n];

	for (int i = 0; i < MANY; i++)
		m->fds[i] = -1;
	t->data = m;
	for (int i = 0; i < MANY; i++) {
		int ret = own_file(t);

		if (ret < 0)
			return ret;
		m->fds[i] = t->fd;
		t->fd = -1;
	}
	return 0;
}

static int poll2(struct task *t)
{
	struct slot *s = t->slot;
	struct many own = *(const struct many *)t->data; /* on the stack, as the entries are */
	struct pollfd all[MANY];

	while (!s->stop) {
		memset(all, 0, sizeof(all));
		for (int i = 0; i < MANY; i++) {
			all[i].fd = own.fds[i];
			all[i].events = POLLOUT;
		}
		if (poll(all, MANY, 0) != MANY)
			return task_fail(t, "poll", errno);
		s->count++;
	}
	return 0;
}

static void poll2_cleanup(struct task *t)
{
	struct many *m = t->data;

	for (int i = 0; m && i < MANY; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
}

static int poll2_memory(struct scale *s, struct err *e)
{
	s->data = calloc(s->ntasks, sizeof(struct many));
	return s->data ? 0 : err_set(e, ENOMEM, "no memory for descriptors");
}

static void poll2_free(struct scale *s)
{
	free(s->data);
}

static const struct test tests[] = {
	{
		.info = {"poll1", "polls one file that is ready", "a call", "none", ROLE_CONTROL,
			 MODE_BOTH},
		.task_prepare = own_file,
		.run = poll1,
	},
	{
		.info = {"poll2", "polls 128 files that are all ready", "a call", "none",
			 ROLE_CONTROL, MODE_BOTH, .needs = {.descriptors_per_task = MANY + 10}},
		.prepare = poll2_memory,
		.task_prepare = poll2_prepare,
		.run = poll2,
		.task_cleanup = poll2_cleanup,
		.cleanup = poll2_free,
	},
};

const struct test_table poll_tests = TEST_TABLE(tests);
