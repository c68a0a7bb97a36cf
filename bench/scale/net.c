// SPDX-License-Identifier: GPL-2.0-or-later
/* Local sockets, and TCP and UDP over the loopback device. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/loopback.h"
#include "bench/scale/tables.h"

static int unix1_prepare(struct task *t)
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, t->fds) < 0 ? task_fail(t, "socketpair", errno)
							       : 0;
}

static int unix1(struct task *t)
{
	struct slot *s = t->slot;
	int a = t->fds[0], b = t->fds[1];
	char byte = 0;

	while (!s->stop) {
		if (write(a, &byte, 1) != 1)
			return task_fail(t, "write", errno);
		if (read(b, &byte, 1) != 1)
			return task_fail(t, "read", errno);
		s->count++;
	}
	return 0;
}

/* Binds to a free port of 127.0.0.1 and says which. */
static int bind_local(struct task *t, int fd, struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);

	*at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(fd, (struct sockaddr *)at, sizeof(*at)) < 0)
		return task_fail(t, "bind to 127.0.0.1", errno);
	if (getsockname(fd, (struct sockaddr *)at, &len) < 0)
		return task_fail(t, "getsockname", errno);
	return 0;
}

/*
 * Closing is abortive, so that no connection waits in TIME_WAIT until the ports run out. The
 * accepted end inherits that from the listener.
 */
static int listen_local(struct task *t, struct sockaddr_in *at)
{
	struct linger abort_at_close = {.l_onoff = 1, .l_linger = 0};
	int ret;

	t->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (t->fd < 0)
		return task_fail(t, "socket", errno);
	ret = bind_local(t, t->fd, at);
	if (ret < 0)
		return ret;
	if (setsockopt(t->fd, SOL_SOCKET, SO_LINGER, &abort_at_close, sizeof(abort_at_close)) < 0)
		return task_fail(t, "setsockopt SO_LINGER", errno);
	return listen(t->fd, 16) < 0 ? task_fail(t, "listen", errno) : 0;
}

static int tcp_conn1_prepare(struct task *t)
{
	struct sockaddr_in at;
	int ret = listen_local(t, &at);

	t->offset = ntohs(at.sin_port);
	return ret;
}

/* Whether a call that failed was only woken up to stop. */
#define stopped(s) (errno == EINTR && (s)->stop)

static int tcp_conn1(struct task *t)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(t->offset)};
	struct slot *s = t->slot;

	while (!s->stop) {
		int client = socket(AF_INET, SOCK_STREAM, 0), server;

		if (client < 0)
			return task_fail(t, "socket", errno);
		if (connect(client, (struct sockaddr *)&at, sizeof(at)) < 0) {
			bool end = stopped(s);
			int code = errno;

			close(client);
			return end ? 0 : task_fail(t, "connect", code);
		}
		server = accept(t->fd, NULL, NULL);
		if (server < 0) {
			bool end = stopped(s);
			int code = errno;

			close(client);
			return end ? 0 : task_fail(t, "accept", code);
		}
		close(server);
		close(client);
		s->count++;
	}
	return 0;
}

static int tcp_conn2_prepare(struct task *t)
{
	int ret;

	if (unshare(CLONE_NEWNET) < 0)
		return errno == EPERM || errno == EINVAL
			       ? task_unavailable(t, "a network namespace of its own", errno)
			       : task_fail(t, "a network namespace of its own", errno);
	ret = loopback_up();
	return ret < 0 ? task_fail(t, "raise lo", -ret) : tcp_conn1_prepare(t);
}

static int tcp_rr1_prepare(struct task *t)
{
	struct sockaddr_in at;
	int one = 1, ret = listen_local(t, &at);

	if (ret < 0)
		return ret;
	t->fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (t->fds[0] < 0)
		return task_fail(t, "socket", errno);
	if (connect(t->fds[0], (struct sockaddr *)&at, sizeof(at)) < 0)
		return task_fail(t, "connect", errno);
	t->fds[1] = accept(t->fd, NULL, NULL);
	if (t->fds[1] < 0)
		return task_fail(t, "accept", errno);
	for (int i = 0; i < 2; i++)
		if (setsockopt(t->fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
			return task_fail(t, "setsockopt TCP_NODELAY", errno);
	return 0;
}

static int udp1_prepare(struct task *t)
{
	struct sockaddr_in at[2];

	for (int i = 0; i < 2; i++) {
		int ret;

		t->fds[i] = socket(AF_INET, SOCK_DGRAM, 0);
		if (t->fds[i] < 0)
			return task_fail(t, "socket", errno);
		ret = bind_local(t, t->fds[i], &at[i]);
		if (ret < 0)
			return ret;
	}
	for (int i = 0; i < 2; i++)
		if (connect(t->fds[i], (struct sockaddr *)&at[1 - i], sizeof(at[0])) < 0)
			return task_fail(t, "connect", errno);
	return 0;
}

/* One byte there and one back, the task holding both ends. */
static int ping_pong(struct task *t)
{
	struct slot *s = t->slot;
	int a = t->fds[0], b = t->fds[1];
	char byte = 0;

	while (!s->stop) {
		if (send(a, &byte, 1, 0) != 1)
			return stopped(s) ? 0 : task_fail(t, "send", errno);
		if (recv(b, &byte, 1, 0) != 1)
			return stopped(s) ? 0 : task_fail(t, "receive", errno);
		if (send(b, &byte, 1, 0) != 1)
			return stopped(s) ? 0 : task_fail(t, "send back", errno);
		if (recv(a, &byte, 1, 0) != 1)
			return stopped(s) ? 0 : task_fail(t, "receive back", errno);
		s->count++;
	}
	return 0;
}

static const struct test tests[] = {
	{
		.info = {"unix1", "writes a byte to a local socket pair and reads it", "a pair",
			 "none (a security module may count references)", ROLE_CONTROL, MODE_BOTH,
			 .needs = {.descriptors_per_task = 2}},
		.task_prepare = unix1_prepare,
		.run = unix1,
	},
	{
		.info = {"tcp_conn1", "connects to its own listener on 127.0.0.1, accepts, aborts both",
			 "a connection", "connection and port tables of the network namespace",
			 ROLE_EFFECT, MODE_BOTH, .needs = {.descriptors_per_task = 3}},
		.blocks = true,
		.task_prepare = tcp_conn1_prepare,
		.run = tcp_conn1,
	},
	{
		.info = {"tcp_conn2", "as tcp_conn1 in a network namespace of the task's own",
			 "a connection", "connection tables that all namespaces use", ROLE_EFFECT,
			 MODE_BOTH,
			 .needs = {.descriptors_per_task = 3,
				   .privilege = true,
				   .special = "the privilege to make network namespaces"}},
		.blocks = true,
		.task_prepare = tcp_conn2_prepare,
		.run = tcp_conn1,
	},
	{
		.info = {"tcp_rr1", "sends a byte over a TCP connection to itself and back",
			 "a round trip", "statistics and memory accounting of the network, in batches",
			 ROLE_EFFECT, MODE_BOTH, .needs = {.descriptors_per_task = 3}},
		.blocks = true,
		.task_prepare = tcp_rr1_prepare,
		.run = ping_pong,
	},
	{
		.info = {"udp1", "sends a byte between two UDP sockets of its own and back",
			 "a round trip", "statistics and memory accounting of the network, in batches",
			 ROLE_EFFECT, MODE_BOTH, .needs = {.descriptors_per_task = 2}},
		.blocks = true,
		.task_prepare = udp1_prepare,
		.run = ping_pong,
	},
};

const struct test_table net_tests = TEST_TABLE(tests);
