// SPDX-License-Identifier: GPL-2.0-or-later
/* Pipes, eventfd, and switching between a task and its partner. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/scale/tables.h"

static int pipe1_prepare(struct task *t)
{
	return pipe(t->fds) < 0 ? task_fail(t, "pipe", errno) : 0;
}

static int pipe1(struct task *t)
{
	struct slot *s = t->slot;
	int from = t->fds[0], to = t->fds[1];
	char byte = 0;

	while (!s->stop) {
		if (write(to, &byte, 1) != 1)
			return task_fail(t, "write", errno);
		if (read(from, &byte, 1) != 1)
			return task_fail(t, "read", errno);
		s->count++;
	}
	return 0;
}

static int eventfd1_prepare(struct task *t)
{
	t->fd = eventfd(0, 0);
	return t->fd < 0 ? task_fail(t, "eventfd", errno) : 0;
}

static int eventfd1(struct task *t)
{
	struct slot *s = t->slot;
	uint64_t value = 1;
	int fd = t->fd;

	while (!s->stop) {
		if (write(fd, &value, sizeof(value)) != sizeof(value))
			return task_fail(t, "write", errno);
		if (read(fd, &value, sizeof(value)) != sizeof(value))
			return task_fail(t, "read", errno);
		s->count++;
	}
	return 0;
}

/* fds: pipe A, from task to partner; pipe B, back. */
enum {
	A_READ,
	A_WRITE,
	B_READ,
	B_WRITE
};

/* Ends when the task closes its ends. */
static void answer(const int *fds)
{
	char byte;

	while (read(fds[A_READ], &byte, 1) == 1)
		if (write(fds[B_WRITE], &byte, 1) != 1)
			return;
}

static void *partner_thread(void *arg)
{
	struct task *t = arg;

	answer(t->fds);
	close(t->fds[A_READ]);
	close(t->fds[B_WRITE]);
	t->fds[A_READ] = t->fds[B_WRITE] = -1;
	return NULL;
}

static int context_switch1_prepare(struct task *t)
{
	pid_t parent = getpid();

	if (pipe(t->fds) < 0 || pipe(t->fds + 2) < 0)
		return task_fail(t, "pipe", errno);
	if (t->scale->cell->mode == MODE_THREADS) {
		pthread_t *thread = &((pthread_t *)t->scale->data)[t->n];
		int ret = pthread_create(thread, NULL, partner_thread, t);

		if (ret != 0)
			return task_fail(t, "make the partner thread", ret);
		t->partner = 1;
		return 0;
	}
	t->partner = fork();
	if (t->partner < 0)
		return task_fail(t, "fork the partner", errno);
	if (t->partner == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		close(t->fds[A_WRITE]);
		close(t->fds[B_READ]);
		answer(t->fds);
		_exit(0);
	}
	/* The end of the partner is an end of file here, and the other way round. */
	close(t->fds[A_READ]);
	close(t->fds[B_WRITE]);
	t->fds[A_READ] = t->fds[B_WRITE] = -1;
	return 0;
}

static int context_switch1(struct task *t)
{
	struct slot *s = t->slot;
	int to = t->fds[A_WRITE], from = t->fds[B_READ];
	char byte = 0;

	while (!s->stop) {
		ssize_t n;

		if (write(to, &byte, 1) != 1)
			return task_fail(t, "write to the partner", errno);
		do {
			n = read(from, &byte, 1);
		} while (n < 0 && errno == EINTR && !s->stop);
		if (s->stop)
			break;
		if (n != 1)
			return task_fail(t, "read from the partner", n < 0 ? errno : EPIPE);
		s->count += 2;
	}
	return 0;
}

static void context_switch1_end(struct task *t)
{
	close(t->fds[A_WRITE]);
	t->fds[A_WRITE] = -1;
	if (t->partner <= 0)
		return;
	if (t->scale->cell->mode == MODE_THREADS) {
		pthread_join(((pthread_t *)t->scale->data)[t->n], NULL);
	} else {
		kill(t->partner, SIGKILL);
		waitpid(t->partner, NULL, 0);
	}
}

static int context_switch1_memory(struct scale *s, struct err *e)
{
	s->data = calloc(s->ntasks, sizeof(pthread_t));
	return s->data ? 0 : err_set(e, ENOMEM, "no memory for threads");
}

static void context_switch1_free(struct scale *s)
{
	free(s->data);
}

static const struct test tests[] = {
	{
		.info = {"context_switch1",
			 "passes a byte to a partner on its CPU and waits for it to come back",
			 "a direction, two a loop", "none: run queue and wake-up of the own CPU",
			 ROLE_CONTROL, MODE_BOTH, .needs = {.descriptors_per_task = 5}},
		.blocks = true,
		.prepare = context_switch1_memory,
		.task_prepare = context_switch1_prepare,
		.run = context_switch1,
		.task_cleanup = context_switch1_end,
		.cleanup = context_switch1_free,
	},
	{
		.info = {"eventfd1", "writes 8 bytes to an eventfd of its own and reads them",
			 "a pair", "none", ROLE_CONTROL, MODE_BOTH},
		.task_prepare = eventfd1_prepare,
		.run = eventfd1,
	},
	{
		.info = {"pipe1", "writes a byte to a pipe of its own and reads it", "a pair",
			 "none", ROLE_CONTROL, MODE_BOTH, .needs = {.descriptors_per_task = 2}},
		.task_prepare = pipe1_prepare,
		.run = pipe1,
	},
};

const struct test_table ipc_tests = TEST_TABLE(tests);
