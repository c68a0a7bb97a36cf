// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/frame.h"
#include "common/io.h"
#include "harness/session/link.h"

/*
 * An agent and the line to it, in one thread. The line does to the bytes of both directions
 * what real ones do; the agent answers as docs/protocol.md says and counts what it did.
 */
struct agent {
	int fd;
	pthread_t thread;
	struct frame_reader reader;
	uint64_t rng;
	int faults; /* in 1000 frames, of each kind; 0 for a clean line */
	int long_lines; /* of 10 MB, to be sent on the way */

	uint32_t last;
	char reply[FRAME_PAYLOAD_MAX + 1];

	unsigned frames, requests, next, wrong, repeated_time;
	const char *hello; /* sent at the start, and again when the host says AGAIN */
	int mute; /* answers to swallow */
	size_t object_len;
	char object[10000];

	struct delayed {
		int64_t due;
		bool to_host;
		size_t len;
		char data[2 * FRAME_LINE_MAX + 2048];
	} delayed[4];
};

static unsigned draw(struct agent *a, unsigned below)
{
	a->rng = a->rng * 6364136223846793005u + 1442695040888963407u;
	return (a->rng >> 33) % below;
}

static bool hit(struct agent *a)
{
	return draw(a, 1000) < (unsigned)a->faults;
}

static void agent_bytes(struct agent *a, const char *data, size_t n);

/* The host may have closed; then the thread ends at its next read. */
static void to_host_bytes(struct agent *a, const char *data, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(a->fd, data, n, MSG_NOSIGNAL);

		if (sent < 0)
			return;
		data += sent;
		n -= sent;
	}
}

static void arrive(struct agent *a, bool to_host, const char *data, size_t n)
{
	if (!to_host)
		agent_bytes(a, data, n);
	else
		to_host_bytes(a, data, n);
}

/* What a console line may do to one frame's bytes. */
static void carry(struct agent *a, bool to_host, const char *frame, size_t n)
{
	static const char printk[] = "[   12.345678] e1000 0000:00:03.0: ~ link is up\r\n";
	static char garbage[1024];
	char data[2 * FRAME_LINE_MAX + 2048];

	memcpy(data, frame, n);
	if (hit(a))
		return;
	if (hit(a))
		data[draw(a, n)] ^= 1 << draw(a, 8);
	if (hit(a)) { /* one byte is lost */
		size_t at = draw(a, n);

		memmove(data + at, data + at + 1, n - at - 1);
		n--;
	}
	if (hit(a)) { /* kernel text in the middle */
		size_t at = draw(a, n);

		memmove(data + at + sizeof(printk) - 1, data + at, n - at);
		memcpy(data + at, printk, sizeof(printk) - 1);
		n += sizeof(printk) - 1;
	}
	if (hit(a)) { /* a terminal in the way: every line end gets two '\r' */
		char twice[sizeof(data)];
		size_t len = 0;

		for (size_t i = 0; i < n && len + 3 < sizeof(twice); i++) {
			if (data[i] == '\n') {
				twice[len++] = '\r';
				twice[len++] = '\r';
			}
			twice[len++] = data[i];
		}
		memcpy(data, twice, len);
		n = len;
	}
	if (hit(a)) {
		for (size_t i = 0; i < sizeof(garbage); i++)
			garbage[i] = draw(a, 256);
		arrive(a, to_host, garbage, sizeof(garbage));
	}
	if (hit(a)) {
		struct delayed *d = &a->delayed[draw(a, 4)];

		if (!d->len) {
			d->due = clock_ns() + draw(a, 30) * NSEC_PER_MSEC;
			d->to_host = to_host;
			d->len = n;
			memcpy(d->data, data, n);
			return;
		}
	}
	arrive(a, to_host, data, n);
	if (hit(a))
		arrive(a, to_host, data, n);
}

static void answer(struct agent *a, uint32_t seq)
{
	char line[FRAME_LINE_MAX];

	a->frames++;
	if (a->mute > 0) {
		a->mute--;
		return;
	}
	carry(a, true, line, frame_encode(line, sizeof(line), FRAME_FROM_AGENT, seq, a->reply));
}

static void say_hello(struct agent *a)
{
	char line[FRAME_LINE_MAX];
	size_t n = frame_encode(line, sizeof(line), FRAME_FROM_AGENT, 1, a->hello);

	to_host_bytes(a, line, n);
}

static void act(struct agent *a, const char *request)
{
	unsigned number;
	size_t offset;

	a->requests++;
	if (sscanf(request, "COUNT %u", &number) == 1) {
		a->wrong += number != a->next++;
		snprintf(a->reply, sizeof(a->reply), "OK %u", number);
	} else if (strncmp(request, "HI word 30", 10) == 0) {
		snprintf(a->reply, sizeof(a->reply), "OK 1 b%%20d n1 1");
	} else if (sscanf(request, "TIME %u", &number) == 1) {
		int64_t now = clock_ns() + 5 * NSEC_PER_SEC;

		snprintf(a->reply, sizeof(a->reply), "OK %u %ld %ld", number, (long)now, (long)now);
	} else if (sscanf(request, "GET facts %zu", &offset) == 1 && offset <= a->object_len) {
		size_t n = a->object_len - offset < 2048 ? a->object_len - offset : 2048;
		char word[3 * 2048 + 2];

		word_escape(word, sizeof(word), a->object + offset, n);
		snprintf(a->reply, sizeof(a->reply), "OK %zu %s", a->object_len, word);
	} else if (strcmp(request, "AGAIN") == 0) {
		say_hello(a);
		snprintf(a->reply, sizeof(a->reply), "OK");
	} else if (strcmp(request, "BAD") == 0) {
		snprintf(a->reply, sizeof(a->reply), "YES 1");
	} else {
		snprintf(a->reply, sizeof(a->reply), "NO no%%20such%%0Arequest");
	}
}

static void agent_bytes(struct agent *a, const char *data, size_t n)
{
	const char *payload;
	size_t used, at = 0;
	uint32_t seq;

	while (frame_reader_push(&a->reader, data + at, n - at, &used, &seq, &payload)) {
		at += used;
		a->frames++;
		if (seq < a->last)
			continue;
		if (seq == a->last)
			a->repeated_time += strncmp(payload, "TIME", 4) == 0;
		else
			act(a, payload);
		a->last = seq;
		answer(a, seq);
	}
}

static void deliver_late(struct agent *a)
{
	for (size_t i = 0; i < 4; i++) {
		struct delayed *d = &a->delayed[i];
		char data[sizeof(d->data)];
		size_t n = d->len;

		if (!n || d->due > clock_ns())
			continue;
		memcpy(data, d->data, n);
		d->len = 0;
		arrive(a, d->to_host, data, n);
	}
}

static void *agent_main(void *arg)
{
	static char long_line[10 << 20];
	struct agent *a = arg;
	bool waiting = false;

	if (a->hello)
		say_hello(a);
	for (;;) {
		struct pollfd p = {.fd = a->fd, .events = POLLIN};
		char data[FRAME_LINE_MAX];
		ssize_t n;

		deliver_late(a);
		waiting = false;
		for (size_t i = 0; i < 4; i++)
			waiting |= a->delayed[i].len > 0;
		if (poll(&p, 1, waiting ? 5 : -1) <= 0)
			continue;
		n = read(a->fd, data, sizeof(data));
		if (n <= 0)
			return NULL;
		if (a->long_lines > 0 && a->requests % 1000 == 500) {
			a->long_lines--;
			memset(long_line, 'x', sizeof(long_line));
			memcpy(long_line, "~A 1 2 ", 7);
			to_host_bytes(a, long_line, sizeof(long_line));
		}
		if (a->faults)
			carry(a, false, data, n);
		else
			agent_bytes(a, data, n);
	}
}

static struct agent *agent_start(struct link **l, FILE *console, const char *hello)
{
	struct agent *a = calloc(1, sizeof(*a));
	struct err e = ERR_INIT;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	a->fd = fd[1];
	a->hello = hello;
	a->rng = 42;
	frame_reader_init(&a->reader, FRAME_FROM_HOST);
	assert_int_equal(link_open(l, fd[0], "west", console, &e), 0);
	return a;
}

static void agent_run(struct agent *a)
{
	assert_int_equal(pthread_create(&a->thread, NULL, agent_main, a), 0);
}

static void agent_end(struct agent *a, struct link **l)
{
	link_close(l);
	pthread_join(a->thread, NULL);
	close(a->fd);
	free(a);
}

static int always_alive(void *arg, struct err *e)
{
	return 0;
}

static int found_dead(void *arg, struct err *e)
{
	return err_set(e, ESHUTDOWN, "kernel panic in \"west\"");
}

static void test_a_line_that_does_everything_wrong(void **state)
{
	/* Half of the frames are requests, half replies. */
	enum {
		REQUESTS = 50000
	};
	cleanup_file FILE *console = fopen("/dev/null", "w");
	struct link *l = NULL;
	struct agent *a = agent_start(&l, console, NULL);
	struct err e = ERR_INIT;
	struct link_stats stats;
	size_t before, after;
	char reply[100], want[20];

	a->faults = 3;
	a->long_lines = 3;
	agent_run(a);
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < REQUESTS; i++) {
		if (link_ask(l, reply, sizeof(reply), 600000, &e, "COUNT %u", i) < 0)
			fail_msg("request %u: %s", i, e.text);
		snprintf(want, sizeof(want), "%u", i);
		assert_string_equal(reply, want);
	}
	after = mallinfo2().uordblks;
	link_stats(l, &stats);
	print_message("%u frames, %lu requests repeated, %lu replies damaged, %lu bytes of noise\n",
		      a->frames, stats.repeated, stats.damaged, stats.noise_bytes);
	assert_true(a->frames >= 2 * REQUESTS - 1000);
	assert_int_equal(a->requests, REQUESTS);
	assert_int_equal(a->next, REQUESTS);
	assert_int_equal(a->wrong, 0);
	assert_int_equal(a->long_lines, 0);
	assert_true(stats.repeated > 100);
	assert_true(stats.damaged > 100);
	assert_true(stats.noise_bytes > 30 << 20);
	assert_true(after < before + 65536);
	agent_end(a, &l);
}

static void test_greeting(void **state)
{
	struct link *l = NULL;
	struct agent *a = agent_start(&l, NULL, "HELLO 1 build n1");
	struct err e = ERR_INIT;
	char reply[100];

	agent_run(a);
	assert_int_equal(link_hello(l, "word", 30, 60000, always_alive, NULL, &e), 0);
	assert_string_equal(link_agent(l)->build, "b d");
	assert_string_equal(link_agent(l)->nonce, "n1");
	assert_true(link_agent(l)->pid1);

	/* A HELLO that was still on its way does no harm; one of another agent is an end. */
	assert_int_equal(link_ask(l, reply, sizeof(reply), 60000, &e, "AGAIN"), 0);
	a->hello = "HELLO 1 build n2";
	assert_int_equal(link_ask(l, reply, sizeof(reply), 60000, &e, "AGAIN"), -ECONNRESET);
	assert_string_equal(e.text, "the agent in \"west\" has restarted");
	agent_end(a, &l);
}

static void test_other_protocol(void **state)
{
	struct link *l = NULL;
	struct agent *a = agent_start(&l, NULL, "HELLO 2 build n1");
	struct err e = ERR_INIT;

	agent_run(a);
	assert_int_equal(link_hello(l, "word", 30, 60000, NULL, NULL, &e), -EPROTO);
	assert_non_null(strstr(e.text, "speaks protocol \"2\""));
	agent_end(a, &l);
}

static void test_refusals(void **state)
{
	struct link *l = NULL;
	struct agent *a = agent_start(&l, NULL, NULL);
	struct err e = ERR_INIT;
	char reply[100], word[300];

	agent_run(a);
	assert_int_equal(link_ask(l, reply, sizeof(reply), 60000, &e, "WHAT"), -EREMOTEIO);
	assert_string_equal(e.text, "no such?request");
	assert_int_equal(link_ask(l, reply, sizeof(reply), 60000, &e, "BAD"), -EPROTO);
	memset(word, 'w', sizeof(word));
	word[299] = '\0';
	assert_int_equal(link_hello(l, word, 30, 60000, NULL, NULL, &e), -EINVAL);
	agent_end(a, &l);
}

static void test_objects(void **state)
{
	static const size_t sizes[] = {0, 1, 2047, 2048, 2049, 9999};
	struct link *l = NULL;
	struct agent *a = agent_start(&l, NULL, NULL);
	struct err e = ERR_INIT;
	char *data = NULL;
	size_t len;

	for (size_t i = 0; i < sizeof(a->object); i++)
		a->object[i] = i % 251;
	agent_run(a);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		a->object_len = sizes[i];
		assert_int_equal(link_get(l, "facts", 9999, &data, &len, &e), 0);
		assert_int_equal(len, sizes[i]);
		assert_memory_equal(data, a->object, len);
		assert_int_equal(data[len], 0);
		free(data);
	}
	assert_int_equal(link_get(l, "facts", 9998, &data, &len, &e), -EFBIG);
	agent_end(a, &l);
}

static void test_time_is_asked_once_a_round(void **state)
{
	struct link *l = NULL;
	struct agent *a = agent_start(&l, NULL, NULL);
	struct err e = ERR_INIT;
	struct clock_fix fix;

	a->mute = 1;
	agent_run(a);
	assert_int_equal(link_time(l, 4, &fix, &e), 0);
	assert_int_equal(a->requests, 4);
	assert_int_equal(a->repeated_time, 0);
	/* The agent's clock is 5 s ahead, by definition within what the fix says of itself. */
	assert_true(llabs(fix.offset_ns - 5 * NSEC_PER_SEC) <= fix.uncertainty_ns);
	agent_end(a, &l);
}

static void test_silence_and_death(void **state)
{
	struct link *l = NULL;
	struct agent *a = agent_start(&l, NULL, "HELLO 1 build n1");
	struct err e = ERR_INIT;
	char reply[100];

	agent_run(a);
	assert_int_equal(link_hello(l, "word", 30, 60000, always_alive, NULL, &e), 0);
	a->mute = 1000;
	assert_int_equal(link_ask(l, reply, sizeof(reply), 300, &e, "COUNT 0"), -ETIMEDOUT);
	a->mute = 0;
	assert_int_equal(link_ask(l, reply, sizeof(reply), 60000, &e, "COUNT 1"), 0);
	assert_string_equal(reply, "1");
	shutdown(a->fd, SHUT_RDWR);
	assert_int_equal(link_ask(l, reply, sizeof(reply), 60000, &e, "COUNT 2"), -EPIPE);
	agent_end(a, &l);

	a = agent_start(&l, NULL, NULL);
	agent_run(a);
	assert_int_equal(link_hello(l, "word", 30, 60000, found_dead, NULL, &e), -ESHUTDOWN);
	assert_string_equal(e.text, "kernel panic in \"west\"");
	agent_end(a, &l);
}

static void test_console_is_what_is_no_frame(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *console = open_memstream(&text, &size);
	struct link *l = NULL;
	struct agent *a = agent_start(&l, console, NULL);
	struct err e = ERR_INIT;
	char reply[100];

	assert_true(write_all(a->fd, "[1] half\n~H 1 2 3 echo\n[2] x\r\n~A broken\n", 41) == 0);
	agent_run(a);
	assert_int_equal(link_ask(l, reply, sizeof(reply), 60000, &e, "COUNT 0"), 0);
	agent_end(a, &l);
	fclose(console);
	assert_string_equal(text, "[1] half\n[2] x\n~A broken\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greeting),
		cmocka_unit_test(test_other_protocol),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_time_is_asked_once_a_round),
		cmocka_unit_test(test_silence_and_death),
		cmocka_unit_test(test_console_is_what_is_no_frame),
		cmocka_unit_test(test_a_line_that_does_everything_wrong),
	};

	return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
