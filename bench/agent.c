// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/facts.h"
#include "bench/klog.h"
#include "bench/launch.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/frame.h"
#include "config.h"

#define PROTOCOL "1"

#define HELLO_EVERY_NS NSEC_PER_SEC
#define CHUNK	       2048
#define LEASE_MAX_S    86400

#define WORDS 64

struct agent {
	int fd;
	const char *token;
	bool pid1;
	char nonce[17];
	bool greeted;
	int64_t heard; /* clock_ns() of the last good request, or of the end of a run */
	int64_t lease; /* ns; 0: none yet */
	int64_t hello; /* when the last HELLO went out */
	int64_t received; /* when the bytes of the request under way had been read */
	uint32_t seq; /* of the last request */
	char reply[FRAME_PAYLOAD_MAX + 1]; /* to it; "" for none */
	bool off;
	struct launch launch;
	uint32_t id; /* of the cell in launch */
	int64_t stop; /* of its tasks; clock_ns() */
	char *facts;
	size_t facts_len;
	char *log;
	size_t log_len;
	struct klog *klog;
	struct frame_reader reader;
};

/* A console that is full takes what it can; the host asks again for what got lost. */
static void send_frame(struct agent *a, uint32_t seq, const char *payload)
{
	char line[FRAME_LINE_MAX];
	size_t len = frame_encode(line, sizeof(line), FRAME_FROM_AGENT, seq, payload), at = 0;

	while (at < len) {
		struct pollfd p = {.fd = a->fd, .events = POLLOUT};
		ssize_t n = write(a->fd, line + at, len - at);

		if (n > 0)
			at += n;
		else if (n < 0 && errno == EAGAIN)
			poll(&p, 1, 100);
		else if (n < 0 && errno != EINTR)
			return;
	}
}

static void say_hello(struct agent *a)
{
	char payload[200];

	snprintf(payload, sizeof(payload), "HELLO " PROTOCOL " " MKSPLIT_VERSION " %s", a->nonce);
	send_frame(a, 1, payload);
	a->hello = clock_ns();
}

static void ok(struct agent *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void ok(struct agent *a, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(a->reply, sizeof(a->reply), "OK ");

	va_start(ap, fmt);
	vsnprintf(a->reply + n, sizeof(a->reply) - n, fmt, ap);
	va_end(ap);
}

static void no(struct agent *a, const char *why)
{
	char word[3 * 1000 + 2];

	if (word_escape(word, sizeof(word), why, strnlen(why, 1000)) < 0)
		strcpy(word, "-");
	snprintf(a->reply, sizeof(a->reply), "NO %s", word);
}

/* "OK ID failed WHY" and its like. */
static void ok_why(struct agent *a, const char *state, const char *why)
{
	char word[3 * 1000 + 2];

	if (word_escape(word, sizeof(word), why, strnlen(why, 1000)) < 0)
		strcpy(word, "-");
	ok(a, "%u %s %s", a->id, state, word);
}

static bool parse_number(const char *word, int64_t max, int64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoll(word, &end, 10);
	return !errno && end != word && !*end && *value >= 0 && *value <= max;
}

static void do_hi(struct agent *a, char **w, int n)
{
	int64_t lease;

	if (n != 3 || word_unescape(w[1]) < 0 || strcmp(w[1], a->token) != 0) {
		no(a, "another token is wanted");
		return;
	}
	if (!parse_number(w[2], LEASE_MAX_S, &lease) || lease == 0) {
		no(a, "the lease is a number of seconds");
		return;
	}
	a->greeted = true;
	a->lease = lease * NSEC_PER_SEC;
	ok(a, PROTOCOL " " MKSPLIT_VERSION " %s %d", a->nonce, a->pid1);
}

static void do_facts(struct agent *a, char **w, int n)
{
	(void)w;
	(void)n;
	free(a->facts);
	a->facts = facts_collect(&a->facts_len);
	if (a->facts)
		ok(a, "%zu", a->facts_len);
	else
		no(a, "no memory for facts");
}

static void do_get(struct agent *a, char **w, int n)
{
	char word[3 * CHUNK + 2];
	const char *data = NULL;
	size_t len = 0, part;
	int64_t offset;

	if (n != 3 || !parse_number(w[2], INT64_MAX, &offset)) {
		no(a, "GET OBJECT OFFSET is wanted");
		return;
	}
	if (strcmp(w[1], "facts") == 0 && a->facts) {
		data = a->facts;
		len = a->facts_len;
	} else if (strcmp(w[1], "result") == 0 && a->launch.state == LAUNCH_DONE) {
		data = a->launch.result;
		len = a->launch.len;
	} else if (strcmp(w[1], "log") == 0) {
		if (offset == 0) {
			free(a->log);
			a->log = klog_new(a->klog, &a->log_len);
		}
		data = a->log;
		len = a->log_len;
	}
	if (!data) {
		no(a, "there is no such object now");
		return;
	}
	part = (uint64_t)offset >= len ? 0 : len - offset < CHUNK ? len - offset : CHUNK;
	word_escape(word, sizeof(word), data + (part ? offset : 0), part);
	ok(a, "%zu %s", len, word);
}

static void do_time(struct agent *a, char **w, int n)
{
	int64_t k;

	if (n != 2 || !parse_number(w[1], UINT32_MAX, &k))
		no(a, "TIME K is wanted");
	else /* the second reading is the last thing before the reply is written */
		ok(a, "%" PRId64 " %" PRId64 " %" PRId64, k, a->received, clock_ns());
}

static void do_prep(struct agent *a, char **w, int n)
{
	char spec[FRAME_PAYLOAD_MAX + 1] = "";
	struct err e = ERR_INIT;
	size_t len = 0;
	int64_t id;

	if (n < 3 || !parse_number(w[1], UINT32_MAX, &id)) {
		no(a, "PREP ID KEY=VALUE... is wanted");
		return;
	}
	for (int i = 2; i < n; i++)
		len += snprintf(spec + len, sizeof(spec) - len, "%s%s", i > 2 ? " " : "", w[i]);
	launch_drop(&a->launch);
	a->id = (uint32_t)id;
	/* What the kernel said before does not belong to this cell. */
	klog_skip(a->klog);
	if (launch_start(&a->launch, spec, &e) < 0)
		no(a, e.text);
	else
		ok(a, "%u", a->id);
}

/* Whether the second word is the cell that is there. */
static bool is_current(struct agent *a, char **w, int n)
{
	int64_t id;

	if (n >= 2 && parse_number(w[1], UINT32_MAX, &id) && id == a->id &&
	    a->launch.state != LAUNCH_NONE)
		return true;
	no(a, "there is no such cell");
	return false;
}

static void do_go(struct agent *a, char **w, int n)
{
	struct err e = ERR_INIT;
	int64_t count;
	struct go go;

	if (!is_current(a, w, n))
		return;
	if (n != 7 || !parse_number(w[2], INT64_MAX, &go.start) ||
	    !parse_number(w[3], INT64_MAX, &go.first) ||
	    !parse_number(w[4], INT64_MAX, &go.interval) || !parse_number(w[5], 100000, &count) ||
	    !parse_number(w[6], INT64_MAX, &go.stop) || count < 1 || go.first < go.start ||
	    go.interval == 0 || go.interval > (go.stop - go.first) / count) {
		no(a, "GO ID START FIRST INTERVAL N STOP is wanted, in this order of time");
		return;
	}
	go.n = (int)count;
	if (launch_go(&a->launch, &go, &e) < 0) {
		no(a, e.text);
		return;
	}
	a->stop = go.stop;
	ok(a, "%u", a->id);
}

static void do_done(struct agent *a, char **w, int n)
{
	static const char *const names[] = {
		[LAUNCH_PREPARING] = "preparing",     [LAUNCH_READY] = "ready",
		[LAUNCH_RUNNING] = "running",	      [LAUNCH_FAILED] = "failed",
		[LAUNCH_UNAVAILABLE] = "unavailable",
	};

	if (!is_current(a, w, n))
		return;
	if (a->launch.state == LAUNCH_DONE)
		ok(a, "%u done %zu", a->id, a->launch.len);
	else if (a->launch.state == LAUNCH_FAILED || a->launch.state == LAUNCH_UNAVAILABLE)
		ok_why(a, names[a->launch.state], a->launch.why);
	else
		ok(a, "%u %s", a->id, names[a->launch.state]);
}

static void do_drop(struct agent *a, char **w, int n)
{
	int64_t id;

	if (n != 2 || !parse_number(w[1], UINT32_MAX, &id)) {
		no(a, "DROP ID is wanted");
		return;
	}
	if (id == a->id)
		launch_drop(&a->launch);
	ok(a, "%" PRId64, id);
}

static void do_cpus(struct agent *a, char **w, int n)
{
	char online[2000], physical[5000];

	(void)w;
	(void)n;
	if (facts_cpus(online, sizeof(online), physical, sizeof(physical)) < 0)
		no(a, "the list of CPUs cannot be read");
	else
		ok(a, "%s %s", online, physical);
}

static void do_off(struct agent *a, char **w, int n)
{
	if (n != 2 || word_unescape(w[1]) < 0 || strcmp(w[1], a->token) != 0) {
		no(a, "another token is wanted");
		return;
	}
	a->off = true;
	strcpy(a->reply, "OK");
}

static const struct request {
	const char *word;
	void (*answer)(struct agent *a, char **words, int n);
	bool before_hi;
} requests[] = {
	{"HI", do_hi, true}, {"FACTS", do_facts}, {"GET", do_get},   {"TIME", do_time},
	{"PREP", do_prep},   {"GO", do_go},	  {"DONE", do_done}, {"DROP", do_drop},
	{"CPUS", do_cpus},   {"OFF", do_off},
};

static void answer(struct agent *a, uint32_t seq, const char *payload)
{
	char copy[FRAME_PAYLOAD_MAX + 1], *words[WORDS];
	const struct request *r = NULL;
	int n;

	if (seq < a->seq)
		return;
	if (seq > a->seq) {
		snprintf(copy, sizeof(copy), "%s", payload);
		n = words_split(copy, words, WORDS);
		a->reply[0] = '\0';
		for (size_t i = 0; n > 0 && !r && i < sizeof(requests) / sizeof(*requests); i++)
			if (strcmp(words[0], requests[i].word) == 0)
				r = &requests[i];
		if (!r)
			no(a, "unknown request");
		else if (!a->greeted && !r->before_hi)
			no(a, "HI comes first");
		else
			r->answer(a, words, n);
		a->seq = seq;
	}
	a->heard = clock_ns();
	send_frame(a, seq, a->reply);
}

/* False when the link has closed. */
static bool hear(struct agent *a)
{
	char data[4096];
	ssize_t n = read(a->fd, data, sizeof(data));
	const char *payload;
	uint32_t seq;
	size_t used;

	a->received = clock_ns();
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	for (size_t at = 0; at < (size_t)n && !a->off; at += used)
		if (frame_reader_push(&a->reader, data + at, n - at, &used, &seq, &payload))
			answer(a, seq, payload);
	return n > 0;
}

/* While a cell runs the host is silent: its lease begins anew with the end. */
static void hear_runner(struct agent *a)
{
	bool running = a->launch.state == LAUNCH_RUNNING;

	launch_hear(&a->launch);
	if (running && a->launch.state != LAUNCH_RUNNING)
		a->heard = clock_ns();
}

/* Orphans of dead runners come to PID 1. Our own runner is reaped where its end is seen. */
static void reap_orphans(const struct agent *a)
{
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0 ||
		    info.si_pid == a->launch.pid)
			return;
		waitpid(info.si_pid, NULL, 0);
	}
}

/* Until when nothing of ours wakes up but by a message; 0 when no window is open. */
static int64_t silent_until(const struct agent *a)
{
	return a->launch.state == LAUNCH_RUNNING && clock_ns() < a->stop ? a->stop : 0;
}

/* Outside of windows to greet and to watch the lease. */
static int next_timeout_ms(const struct agent *a)
{
	int64_t now = clock_ns(), left = silent_until(a) - now;

	if (left <= 0)
		left = a->greeted ? NSEC_PER_SEC : a->hello + HELLO_EVERY_NS - now;
	/* Rounded up: poll()'s clock may be a little ahead of ours. */
	left = left > 0 ? left / NSEC_PER_MSEC + 1 : 0;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

/* The host is silent in a window, and has the whole lease from its end on. */
static bool lease_is_over(struct agent *a)
{
	if (silent_until(a))
		a->heard = a->stop;
	return a->lease && clock_ns() - a->heard > a->lease;
}

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static enum agent_end loop(struct agent *a, int signals)
{
	for (;;) {
		struct pollfd p[] = {{.fd = a->fd, .events = POLLIN},
				     {.fd = signals, .events = POLLIN},
				     {.fd = a->launch.fd, .events = POLLIN}};
		struct signalfd_siginfo info;

		if (!a->greeted && clock_ns() - a->hello >= HELLO_EVERY_NS)
			say_hello(a);
		if (lease_is_over(a))
			return AGENT_LEASE;
		if (poll(p, 3, next_timeout_ms(a)) <= 0)
			continue;
		if (p[2].revents)
			hear_runner(a);
		while (p[1].revents && read(signals, &info, sizeof(info)) == sizeof(info))
			if (info.ssi_signo != SIGCHLD)
				return AGENT_SIGNAL;
		if (p[1].revents)
			launch_look(&a->launch);
		if (a->pid1 && p[1].revents)
			reap_orphans(a);
		if (p[0].revents && !hear(a))
			return AGENT_LINK;
		if (a->off)
			return AGENT_OFF;
	}
}

enum agent_end agent_run(int fd, const char *token, bool pid1)
{
	cleanup_close int signals = watch_signals();
	cleanup_free struct agent *a = calloc(1, sizeof(*a));
	uint64_t nonce = 0;
	enum agent_end end;

	if (!a)
		return AGENT_LINK;
	a->fd = fd;
	a->token = token;
	a->pid1 = pid1;
	a->launch = LAUNCH_INIT;
	a->hello = clock_ns() - HELLO_EVERY_NS;
	a->heard = clock_ns();
	a->klog = klog_open();
	frame_reader_init(&a->reader, FRAME_FROM_HOST);
	/* Early in the boot of a kernel there may be no entropy yet; it is a mark, no secret. */
	if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) != sizeof(nonce))
		nonce = (uint64_t)clock_ns() ^ (uint64_t)getpid() << 48;
	snprintf(a->nonce, sizeof(a->nonce), "%016" PRIx64, nonce);
	end = loop(a, signals);
	launch_drop(&a->launch);
	klog_close(a->klog);
	free(a->facts);
	free(a->log);
	return end;
}
