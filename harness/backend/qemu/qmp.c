// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/backend/qemu/qmp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

/* The longest answer we ask for names a few hundred virtual CPUs. */
#define LINE_MAX_BYTES (1 << 20)

/* QEMU answers at once, unless the machine is busy with other guests that boot. */
#define ANSWER_MS     60000
#define LOOK_EVERY_MS 20

struct qmp {
	int fd;
	bool stopped;
	size_t len;
	char line[LINE_MAX_BYTES];
};

void qmp_close(struct qmp **q)
{
	if (!*q)
		return;
	if ((*q)->fd >= 0)
		close((*q)->fd);
	free(take_ptr(*q));
}
#define cleanup_qmp cleanup(qmp_close)

/* The first whole line taken out of the buffer; NULL with an error when it is no object. */
static json_t *take_line(struct qmp *q, const char *end, struct err *e)
{
	json_t *o = json_loadb(q->line, end - q->line, 0, NULL);
	const char *event;

	q->len -= end + 1 - q->line;
	memmove(q->line, end + 1, q->len);
	if (!json_is_object(o)) {
		json_decref(o);
		err_set(e, EPROTO, "QEMU said something that is no JSON object");
		return NULL;
	}
	event = json_string_value(json_object_get(o, "event"));
	if (event && strcmp(event, "STOP") == 0)
		q->stopped = true;
	else if (event && strcmp(event, "RESUME") == 0)
		q->stopped = false;
	return o;
}

/* Reads what is there: 0, or -EAGAIN, or an error. */
static int read_more(struct qmp *q, struct err *e)
{
	ssize_t n;

	if (q->len == sizeof(q->line))
		return err_set(e, EPROTO, "QEMU's answer is too long");
	n = recv(q->fd, q->line + q->len, sizeof(q->line) - q->len, MSG_DONTWAIT);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return -EAGAIN;
	if (n <= 0)
		return err_set(e, EPIPE, "QEMU closed its control socket");
	q->len += n;
	return 0;
}

/* The next object that arrives; a new reference. */
static json_t *receive(struct qmp *q, int64_t until, struct err *e)
{
	for (;;) {
		char *end = memchr(q->line, '\n', q->len);
		struct pollfd p = {.fd = q->fd, .events = POLLIN};
		int64_t left = until - clock_ns();
		int ret;

		if (end)
			return take_line(q, end, e);
		if (left <= 0) {
			err_set(e, ETIMEDOUT, "QEMU did not answer in time");
			return NULL;
		}
		poll(&p, 1, left / NSEC_PER_MSEC + 1);
		ret = read_more(q, e);
		if (ret < 0 && ret != -EAGAIN)
			return NULL;
	}
}

bool qmp_stopped(struct qmp *q)
{
	struct err none = ERR_INIT;

	if (!q)
		return false;
	do {
		char *end;

		while ((end = memchr(q->line, '\n', q->len)))
			json_decref(take_line(q, end, &none));
	} while (read_more(q, &none) == 0);
	return q->stopped;
}

int qmp_do(struct qmp *q, const char *command, json_t *arguments, json_t **answer, struct err *e)
{
	json_t *o = json_pack("{s:s,s:o*}", "execute", command, "arguments", arguments);
	cleanup_free char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	int64_t until = clock_ns() + ANSWER_MS * NSEC_PER_MSEC;
	size_t len = text ? strlen(text) : 0;

	json_decref(o);
	if (!text)
		return err_set(e, ENOMEM, "no memory");
	text[len] = '\n';
	if (send(q->fd, text, len + 1, MSG_NOSIGNAL) != (ssize_t)len + 1)
		return err_sys(e, "QEMU's control socket");
	for (;;) {
		json_t *in = receive(q, until, e), *ret, *error;
		const char *why;

		if (!in)
			return e->code;
		ret = json_object_get(in, "return");
		error = json_object_get(in, "error");
		if (ret && answer)
			*answer = json_incref(ret);
		why = json_string_value(json_object_get(error, "desc"));
		if (error)
			err_set(e, EIO, "QEMU refused %s: %.200s", command, why ? why : "no reason");
		json_decref(in);
		if (ret || error)
			return ret ? 0 : e->code;
	}
}

static int connect_to(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	return connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : take_fd(fd);
}

int qmp_open(struct qmp **out, const char *path, int timeout_ms,
	     int (*alive)(void *arg, struct err *e), void *arg, struct err *e)
{
	cleanup_qmp struct qmp *q = calloc(1, sizeof(*q));
	int64_t until = clock_ns() + timeout_ms * NSEC_PER_MSEC;
	json_t *greeting;
	int ret;

	if (!q)
		return err_set(e, ENOMEM, "no memory");
	while ((q->fd = connect_to(path)) < 0) {
		if (q->fd != -ENOENT && q->fd != -ECONNREFUSED)
			return err_set(e, q->fd, "%s: %s", path, strerror(-q->fd));
		ret = alive(arg, e);
		if (ret < 0)
			return ret;
		if (clock_ns() > until)
			return err_set(e, ETIMEDOUT, "QEMU made no control socket in %d s",
				       timeout_ms / 1000);
		poll(NULL, 0, LOOK_EVERY_MS);
	}
	greeting = receive(q, until, e);
	if (!greeting)
		return e->code;
	json_decref(greeting);
	ret = qmp_do(q, "qmp_capabilities", NULL, NULL, e);
	if (ret == 0)
		*out = take_ptr(q);
	return ret;
}
