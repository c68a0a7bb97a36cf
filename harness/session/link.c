// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/session/link.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/frame.h"

/*
 * A request is repeated when no reply came within the usual round trip and its spread, as TCP
 * does it: a pipe answers in microseconds, an emulated serial port in a tenth of a second. Until
 * the first round trip is known, and between these bounds, always.
 */
#define REPEAT_FIRST_MS 500
#define REPEAT_MIN_MS	10
#define REPEAT_MAX_MS	8000

/* How long the reason for the end of a stream is waited for. */
#define GONE_MS	      3000
#define GONE_EVERY_MS 20

#define ALIVE_EVERY_MS 1000

/* A round of TIME that has not come back by then is lost. */
#define TIME_ROUND_MS 1000

#define CHUNK_TIMEOUT_MS 60000

struct link {
	int fd;
	char *name;
	uint32_t seq;
	bool greeted;
	struct link_agent agent;

	int (*alive)(void *arg, struct err *e);
	void *alive_arg;
	int64_t next_alive;

	int64_t round_ns, spread_ns; /* smoothed round trip and its mean deviation; 0: unknown */

	/* Bytes read but not yet given to the reader: frames may come two at a time. */
	char in[4096];
	size_t in_at, in_len;
	struct frame_reader reader;

	/* What may still turn out to be a frame, kept for the console in case it does not. */
	char held[2 * FRAME_LINE_MAX];
	size_t held_len;
	FILE *console;
	size_t console_len;
	bool line_start;

	struct link_stats stats;
	char payload[FRAME_PAYLOAD_MAX + 1];
};

int link_open(struct link **l, int fd, const char *name, FILE *console, struct err *e)
{
	cleanup_close int own = fd;
	struct link *n;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(e, "link to \"%s\"", name);
	n = calloc(1, sizeof(*n));
	if (n)
		n->name = strdup(name);
	if (!n || !n->name) {
		free(n);
		return err_set(e, ENOMEM, "no memory");
	}
	n->fd = take_fd(own);
	n->console = console;
	n->line_start = true;
	frame_reader_init(&n->reader, FRAME_FROM_AGENT);
	*l = n;
	return 0;
}

static void console_byte(struct link *l, char c)
{
	l->stats.noise_bytes++;
	/* Each frame brings an empty line of its own. */
	if (!l->console || c == '\r' || (c == '\n' && l->line_start))
		return;
	l->line_start = c == '\n';
	if (l->console_len >= LINK_CONSOLE_MAX)
		return;
	fputc(c, l->console);
	if (++l->console_len == LINK_CONSOLE_MAX)
		fputs("\n[what followed was too long to keep]\n", l->console);
}

static void held_to_console(struct link *l)
{
	/* An echo of our own frames is neither kernel text nor damage. */
	if (l->held_len < 3 || memcmp(l->held, "~H ", 3) != 0 || l->held[l->held_len - 1] != '\n')
		for (size_t i = 0; i < l->held_len; i++)
			console_byte(l, l->held[i]);
	l->held_len = 0;
}

void link_close(struct link **l)
{
	if (!*l)
		return;
	held_to_console(*l);
	if ((*l)->console)
		fflush((*l)->console);
	close((*l)->fd);
	free((*l)->name);
	free(take_ptr(*l));
}

/* Follows what the frame reader consumed; complete: its last byte ended a good frame. */
static void sort_noise(struct link *l, const char *data, size_t n, bool complete)
{
	for (size_t i = 0; i < n; i++) {
		char c = data[i];

		if (c == '~')
			held_to_console(l);
		if (c != '~' && l->held_len == 0) {
			console_byte(l, c);
			continue;
		}
		l->held[l->held_len++] = c;
		if (c == '\n' && complete && i == n - 1)
			l->held_len = 0;
		else if (c == '\n' || l->held_len == sizeof(l->held))
			held_to_console(l);
	}
}

/* The next frame that is already here. */
static bool next_frame(struct link *l, uint32_t *seq, const char **payload)
{
	while (l->in_at < l->in_len) {
		const char *data = l->in + l->in_at;
		size_t used;
		bool found = frame_reader_push(&l->reader, data, l->in_len - l->in_at, &used, seq,
					       payload);

		sort_noise(l, data, used, found);
		l->in_at += used;
		if (found)
			return true;
	}
	return false;
}

static int gone(struct link *l, struct err *e)
{
	struct err why = ERR_INIT;

	/*
	 * The backend knows more than the end of a stream says, and may know it a moment later:
	 * descriptors are closed before their process has ended.
	 */
	for (int ms = 0; l->alive && ms <= GONE_MS; ms += GONE_EVERY_MS) {
		if (l->alive(l->alive_arg, &why) < 0) {
			*e = why;
			return e->code;
		}
		poll(NULL, 0, GONE_EVERY_MS);
	}
	return err_set(e, EPIPE, "the link to \"%s\" was closed from the other side", l->name);
}

/* Waits until the descriptor is ready or the time (clock_ns) has come: 1, 0, or an error. */
static int wait_fd(struct link *l, short events, int64_t until, struct err *e)
{
	for (;;) {
		struct pollfd p = {.fd = l->fd, .events = events};
		int64_t now = clock_ns(), next = until;
		int n;

		if (l->alive && now >= l->next_alive) {
			l->next_alive = now + ALIVE_EVERY_MS * NSEC_PER_MSEC;
			if (l->alive(l->alive_arg, e) < 0)
				return e->code;
		}
		if (l->alive && l->next_alive < next)
			next = l->next_alive;
		/* Rounded up, or the last millisecond would be spent spinning. */
		n = now < next ? poll(&p, 1, (next - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC)
			       : poll(&p, 1, 0);
		if (n > 0)
			return 1;
		if (n < 0 && errno != EINTR)
			return err_sys(e, "link to \"%s\"", l->name);
		if (n < 0)
			l->next_alive = 0; /* a signal: the owner may want to stop */
		if (clock_ns() >= until)
			return 0;
	}
}

/* The next frame, waiting until then: 1, 0 when the time is over, or an error. */
static int receive(struct link *l, int64_t until, uint32_t *seq, const char **payload, struct err *e)
{
	/* A flood of noise keeps the descriptor ready for ever, so the clock is asked as well. */
	for (bool late = false;; late = clock_ns() >= until) {
		ssize_t n;
		int ret;

		if (next_frame(l, seq, payload))
			return 1;
		if (late)
			return 0;
		ret = wait_fd(l, POLLIN, until, e);
		if (ret <= 0)
			return ret;
		n = read(l->fd, l->in, sizeof(l->in));
		if (n == 0 || (n < 0 && (errno == EIO || errno == ECONNRESET)))
			return gone(l, e);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return err_sys(e, "link to \"%s\"", l->name);
		l->in_at = 0;
		l->in_len = n > 0 ? n : 0;
	}
}

/* A socket whose other end is gone is an error of this call, not a SIGPIPE. */
static ssize_t write_some(int fd, const char *data, size_t len)
{
	ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

	return n < 0 && errno == ENOTSOCK ? write(fd, data, len) : n;
}

static int send_frame(struct link *l, const char *payload, int64_t until, struct err *e)
{
	char line[FRAME_LINE_MAX];
	size_t len = frame_encode(line, sizeof(line), FRAME_FROM_HOST, l->seq, payload);
	size_t at = 0;

	if (len == 0)
		return err_set(e, EMSGSIZE, "a request to \"%s\" is too long for a frame", l->name);
	while (at < len) {
		ssize_t n = write_some(l->fd, line + at, len - at);
		int ret;

		if (n > 0)
			at += n;
		if (n >= 0 || errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return errno == EPIPE || errno == EIO || errno == ECONNRESET
				       ? gone(l, e)
				       : err_sys(e, "link to \"%s\"", l->name);
		ret = wait_fd(l, POLLOUT, until, e);
		if (ret < 0)
			return ret;
		if (ret == 0)
			return err_set(e, ETIMEDOUT, "\"%s\" does not read its link", l->name);
	}
	return 0;
}

/* A word of the agent's for people: printable, bounded. */
static void readable(char *out, size_t size, const char *word)
{
	cleanup_free char *copy = strdup(word);
	size_t n = 0;
	int len = copy ? word_unescape(copy) : -1;

	for (int i = 0; i < len && n + 1 < size; i++)
		out[n++] = copy[i] >= 0x20 && copy[i] < 0x7f ? copy[i] : '?';
	out[n] = '\0';
}

static int64_t repeat_after(const struct link *l)
{
	int64_t ms;

	if (!l->round_ns)
		return REPEAT_FIRST_MS * NSEC_PER_MSEC;
	ms = (2 * l->round_ns + 4 * l->spread_ns) / NSEC_PER_MSEC;
	if (ms < REPEAT_MIN_MS)
		ms = REPEAT_MIN_MS;
	return (ms > REPEAT_MAX_MS ? REPEAT_MAX_MS : ms) * NSEC_PER_MSEC;
}

static void learn_round(struct link *l, int64_t ns)
{
	if (!l->round_ns) {
		l->round_ns = ns > 0 ? ns : 1;
		l->spread_ns = ns / 2;
		return;
	}
	l->spread_ns += (llabs(ns - l->round_ns) - l->spread_ns) / 4;
	l->round_ns += (ns - l->round_ns) / 8;
}

/*
 * True for a HELLO. It carries the agent's own number, so it is never a reply; an unknown nonce
 * in it says that the agent we knew is gone.
 */
static bool is_hello(const struct link *l, const char *payload, bool *stranger)
{
	char copy[FRAME_PAYLOAD_MAX + 1], *words[8];

	if (strncmp(payload, "HELLO ", 6) != 0)
		return false;
	snprintf(copy, sizeof(copy), "%s", payload);
	*stranger = words_split(copy, words, 8) >= 4 && l->greeted &&
		    strcmp(words[3], l->agent.nonce) != 0;
	return true;
}

/* Waits for the reply with our number: 1 with its payload, 0 when the time is over. */
static int await_reply(struct link *l, int64_t until, const char **payload, struct err *e)
{
	for (;;) {
		bool stranger = false;
		uint32_t seq;
		int ret = receive(l, until, &seq, payload, e);

		if (ret <= 0)
			return ret;
		if (is_hello(l, *payload, &stranger)) {
			if (stranger)
				return err_set(e, ECONNRESET, "the agent in \"%s\" has restarted",
					       l->name);
			continue;
		}
		if (seq == l->seq)
			return 1;
	}
}

static int read_reply(struct link *l, const char *payload, const char *request, char *reply,
		      size_t size, struct err *e)
{
	if (strncmp(payload, "NO", 2) == 0 && (payload[2] == ' ' || !payload[2])) {
		char why[1000];

		readable(why, sizeof(why), payload[2] ? payload + 3 : "-");
		return err_set(e, EREMOTEIO, "%s", *why ? why : "the agent gave no reason");
	}
	if (strncmp(payload, "OK", 2) != 0 || (payload[2] != ' ' && payload[2]) ||
	    strlen(payload) >= size + 3)
		return err_set(e, EPROTO, "\"%s\" gave no valid answer to \"%.40s\"", l->name,
			       request);
	snprintf(reply, size, "%s", payload[2] ? payload + 3 : "");
	return 0;
}

int link_ask(struct link *l, char *reply, size_t size, int timeout_ms, struct err *e,
	     const char *fmt, ...)
{
	char request[FRAME_PAYLOAD_MAX + 2];
	int64_t end = clock_ns() + timeout_ms * NSEC_PER_MSEC;
	int64_t pause = repeat_after(l);
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(request, sizeof(request), fmt, ap);
	va_end(ap);
	if (len < 0 || len > FRAME_PAYLOAD_MAX)
		return err_set(e, EMSGSIZE, "a request to \"%s\" is too long for a frame", l->name);
	l->seq++;
	for (int try = 0;; try++) {
		int64_t sent = clock_ns();
		int64_t until = sent + pause < end ? sent + pause : end;
		const char *payload;
		int ret = send_frame(l, request, end, e);

		if (ret == 0)
			ret = await_reply(l, until, &payload, e);
		if (ret < 0)
			return ret;
		if (ret > 0) {
			/* Of a repeated request nobody knows which one was answered. */
			if (try == 0)
				learn_round(l, clock_ns() - sent);
			if (l->console)
				fflush(l->console);
			return read_reply(l, payload, request, reply, size, e);
		}
		if (clock_ns() >= end)
			return err_set(e, ETIMEDOUT, "\"%s\" did not answer \"%.40s\" in %d s",
				       l->name, request, timeout_ms / 1000);
		l->stats.repeated++;
		pause *= 2;
		if (pause > REPEAT_MAX_MS * NSEC_PER_MSEC)
			pause = REPEAT_MAX_MS * NSEC_PER_MSEC;
	}
}

int link_hello(struct link *l, const char *token, int lease_s, int timeout_ms,
	       int (*alive)(void *arg, struct err *e), void *arg, struct err *e)
{
	int64_t end = clock_ns() + timeout_ms * NSEC_PER_MSEC;
	char word[256], reply[FRAME_PAYLOAD_MAX + 1], *words[8];
	int n, ret;

	l->alive = alive;
	l->alive_arg = arg;
	l->next_alive = 0;
	if (word_escape(word, sizeof(word), token, strlen(token)) < 0)
		return err_set(e, EINVAL, "the token is too long");
	for (;;) {
		const char *payload;
		uint32_t seq;

		ret = receive(l, end, &seq, &payload, e);
		if (ret < 0)
			return ret;
		if (ret == 0)
			return err_set(e, ETIMEDOUT, "no agent spoke on the link to \"%s\" in %d s",
				       l->name, timeout_ms / 1000);
		snprintf(l->payload, sizeof(l->payload), "%s", payload);
		n = words_split(l->payload, words, 8);
		if (n >= 1 && strcmp(words[0], "HELLO") == 0)
			break;
	}
	if (n < 4 || strcmp(words[1], "1") != 0)
		return err_set(e, EPROTO, "the agent in \"%s\" speaks protocol \"%.20s\", not 1",
			       l->name, n > 1 ? words[1] : "");
	ret = link_ask(l, reply, sizeof(reply), timeout_ms, e, "HI %s %d", word, lease_s);
	if (ret < 0)
		return err_wrap(e, "greeting the agent in \"%s\"", l->name);
	n = words_split(reply, words, 8);
	if (n < 4 || strcmp(words[0], "1") != 0)
		return err_set(e, EPROTO, "the agent in \"%s\" does not speak protocol 1", l->name);
	readable(l->agent.build, sizeof(l->agent.build), words[1]);
	readable(l->agent.nonce, sizeof(l->agent.nonce), words[2]);
	l->agent.pid1 = strcmp(words[3], "1") == 0;
	l->greeted = true;
	return 0;
}

const struct link_agent *link_agent(const struct link *l)
{
	return &l->agent;
}

/* A decimal of the whole word, at most max. */
static bool parse_number(const char *word, uint64_t max, uint64_t *value)
{
	char *end;

	if (*word < '0' || *word > '9')
		return false;
	errno = 0;
	*value = strtoull(word, &end, 10);
	return errno == 0 && !*end && *value <= max;
}

int link_get(struct link *l, const char *object, size_t max, char **data, size_t *len, struct err *e)
{
	cleanup_free char *all = NULL;
	size_t at = 0, total = 0;

	do {
		char reply[FRAME_PAYLOAD_MAX + 1], *words[2];
		uint64_t told;
		int n, ret;

		ret = link_ask(l, reply, sizeof(reply), CHUNK_TIMEOUT_MS, e, "GET %s %zu", object,
			       at);
		if (ret < 0)
			return err_wrap(e, "reading the %s of \"%s\"", object, l->name);
		if (words_split(reply, words, 2) != 2 || !parse_number(words[0], SIZE_MAX, &told))
			return err_set(e, EPROTO, "\"%s\" sent no valid piece of its %s", l->name,
				       object);
		if (told > max)
			return err_set(e, EFBIG,
				       "the %s of \"%s\" has %" PRIu64 " bytes, more than %zu",
				       object, l->name, told, max);
		if (!all) {
			total = told;
			all = malloc(total + 1);
			if (!all)
				return err_set(e, ENOMEM, "no memory");
		}
		n = word_unescape(words[1]);
		if (told != total || n < 0 || (size_t)n > total - at || (n == 0 && at < total))
			return err_set(e, EPROTO, "the %s of \"%s\" changed while it was read",
				       object, l->name);
		memcpy(all + at, words[1], n);
		at += n;
	} while (at < total);
	all[total] = '\0';
	*data = take_ptr(all);
	*len = total;
	return 0;
}

/* One round: 1 with the fix, 0 when it was lost. */
static int time_round(struct link *l, int k, struct clock_fix *fix, struct err *e)
{
	char request[32], copy[FRAME_PAYLOAD_MAX + 1], *words[4];
	uint64_t number, received, sent;
	const char *payload;
	int64_t before, after;
	int ret;

	snprintf(request, sizeof(request), "TIME %d", k);
	l->seq++;
	before = clock_ns();
	ret = send_frame(l, request, before + TIME_ROUND_MS * NSEC_PER_MSEC, e);
	if (ret == 0)
		ret = await_reply(l, before + TIME_ROUND_MS * NSEC_PER_MSEC, &payload, e);
	after = clock_ns();
	if (ret <= 0)
		return ret;
	snprintf(copy, sizeof(copy), "%s", payload);
	if (words_split(copy, words, 4) != 4 || strcmp(words[0], "OK") != 0 ||
	    !parse_number(words[1], INT32_MAX, &number) || number != (uint64_t)k ||
	    !parse_number(words[2], INT64_MAX, &received) ||
	    !parse_number(words[3], INT64_MAX, &sent) || sent < received ||
	    (int64_t)(sent - received) > after - before)
		return err_set(e, EPROTO, "\"%s\" sent no valid time", l->name);
	fix->host_ns = before + (after - before) / 2;
	fix->offset_ns = (int64_t)(received + (sent - received) / 2) - fix->host_ns;
	/* Half of the way that was not the agent's; rounded up, as all halves here are down. */
	fix->uncertainty_ns = (after - before - (int64_t)(sent - received)) / 2 + 2;
	return 1;
}

int link_time(struct link *l, int rounds, struct clock_fix *fix, struct err *e)
{
	bool any = false;

	for (int k = 1; k <= rounds; k++) {
		struct clock_fix one;
		int ret = time_round(l, k, &one, e);

		if (ret < 0)
			return ret;
		if (ret > 0 && (!any || one.uncertainty_ns < fix->uncertainty_ns)) {
			*fix = one;
			any = true;
		}
	}
	if (!any)
		return err_set(e, ETIMEDOUT, "\"%s\" answered none of %d questions for its time",
			       l->name, rounds);
	return 0;
}

void link_stats(const struct link *l, struct link_stats *s)
{
	*s = l->stats;
	s->damaged = l->reader.dropped;
}
