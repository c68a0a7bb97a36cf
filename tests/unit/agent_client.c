// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/agent_client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/agent.h"
#include "bench/runner.h"
#include "common/clock.h"

/* Generous: sanitizers, emulators and busy machines run this as well. */
#define REPLY_MS   60000
#define SETTLED_NS (120 * NSEC_PER_SEC)

void client_dispatch(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "runner") == 0)
		exit(runner_main(atoi(argv[2])));
}

void client_start(struct client *c, const char *token)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	*c = (struct client){.fd = pair[0]};
	frame_reader_init(&c->reader, FRAME_FROM_AGENT);
	fflush(NULL);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		close(pair[0]);
		_exit(agent_run(pair[1], token, false));
	}
	close(pair[1]);
}

void client_start_greeted(struct client *c, const char *token)
{
	client_start(c, token);
	assert_memory_equal(client_ask(c, "HI %s 60", token), "OK 1 ", 5);
}

int client_end(struct client *c)
{
	int status;

	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

void client_write(struct client *c, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);

		assert_true(n > 0);
		data += n;
		len -= n;
	}
}

void client_send(struct client *c, uint32_t seq, const char *payload)
{
	char line[FRAME_LINE_MAX];
	size_t len = frame_encode(line, sizeof(line), FRAME_FROM_HOST, seq, payload);

	assert_true(len > 0);
	client_write(c, line, len);
}

/* From what has come already. */
static bool next_frame(struct client *c, uint32_t *seq, const char **payload)
{
	size_t used;
	bool found;

	if (c->at == c->end)
		return false;
	found = frame_reader_push(&c->reader, c->pending + c->at, c->end - c->at, &used, seq,
				  payload);
	c->at += used;
	return found;
}

bool client_frame(struct client *c, int timeout_ms, uint32_t *seq)
{
	int64_t end = clock_ns() + timeout_ms * NSEC_PER_MSEC;
	const char *payload;

	for (;;) {
		struct pollfd p = {.fd = c->fd, .events = POLLIN};
		int64_t left = (end - clock_ns()) / NSEC_PER_MSEC;
		ssize_t n;

		if (next_frame(c, seq, &payload)) {
			if (strncmp(payload, "HELLO ", 6) != 0) {
				snprintf(c->reply, sizeof(c->reply), "%s", payload);
				return true;
			}
			assert_int_equal(*seq, 1);
			c->hellos++;
			snprintf(c->hello, sizeof(c->hello), "%s", payload);
			continue;
		}
		if (left < 0 || poll(&p, 1, (int)left) == 0)
			return false;
		n = read(c->fd, c->pending, sizeof(c->pending));
		if (n <= 0)
			return false;
		c->at = 0;
		c->end = n;
	}
}

const char *client_ask(struct client *c, const char *fmt, ...)
{
	char payload[FRAME_PAYLOAD_MAX + 1];
	uint32_t seq;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(payload, sizeof(payload), fmt, ap);
	va_end(ap);
	client_send(c, ++c->seq, payload);
	assert_true(client_frame(c, REPLY_MS, &seq));
	assert_int_equal(seq, c->seq);
	return c->reply;
}

const char *client_settled(struct client *c, unsigned int id)
{
	int64_t end = clock_ns() + SETTLED_NS;
	const char *state;
	char head[40];
	int n = snprintf(head, sizeof(head), "OK %u ", id);

	do {
		poll(NULL, 0, 5);
		assert_memory_equal(client_ask(c, "DONE %u", id), head, n);
		state = c->reply + n;
	} while ((!strcmp(state, "preparing") || !strcmp(state, "running")) && clock_ns() < end);
	return state;
}

void client_go(struct client *c, unsigned int id, int windows, int interval_ms, int guard_ms)
{
	int64_t start = clock_ns() + 20 * NSEC_PER_MSEC, first = start + guard_ms * NSEC_PER_MSEC;
	int64_t interval = interval_ms * NSEC_PER_MSEC;
	char want[40];

	snprintf(want, sizeof(want), "OK %u", id);
	assert_string_equal(client_ask(c, "GO %u %" PRId64 " %" PRId64 " %" PRId64 " %d %" PRId64,
				       id, start, first, interval, windows,
				       first + windows * interval + guard_ms * NSEC_PER_MSEC),
			    want);
}

char *client_get(struct client *c, const char *object, size_t *len)
{
	char *data = NULL;

	for (*len = 0;;) {
		char *words[3];
		size_t total;
		int n;

		client_ask(c, "GET %s %zu", object, *len);
		assert_int_equal(words_split(c->reply, words, 3), 3);
		assert_string_equal(words[0], "OK");
		total = strtoul(words[1], NULL, 10);
		n = word_unescape(words[2]);
		assert_in_range(n, 0, 2048);
		data = realloc(data, *len + n + 1);
		assert_non_null(data);
		memcpy(data + *len, words[2], n);
		*len += n;
		data[*len] = '\0';
		if (n == 0) {
			assert_int_equal(*len, total);
			return data;
		}
	}
}

int client_cpus(char *list, size_t size, int n)
{
	size_t len = 0;
	cpu_set_t set;
	int found = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && found < n; cpu++)
		if (CPU_ISSET(cpu, &set))
			len += snprintf(list + len, size - len, "%s%d", found++ ? "," : "", cpu);
	return found;
}
