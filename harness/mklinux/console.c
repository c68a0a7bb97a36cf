// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/explain.h"

#define TAIL  4096
#define LINE  512
#define CHUNK 65536
/* A full ring of the instance is tried again this often; a frame is repeated by the link anyway. */
#define FULL_TRIES   100
#define FULL_WAIT_US 10000

enum {
	FD_TTY,
	FD_LINK,
	FD_CLIENT,
	FD_LISTEN,
	FD_WAKE,
	NFDS
};

struct mk_console {
	int fd[NFDS]; /* the thread's; -1 where there is none. Changed under the lock. */
	FILE *log;
	char *socket_path;
	pthread_t thread;
	pthread_mutex_t lock; /* over all below and fd[] */
	bool stop, spoke;
	unsigned long lost;
	char line[LINE]; /* of the log: frames are cut out line by line */
	size_t line_len;
	char tail[TAIL];
	size_t tail_len;
};

static void keep_line(struct mk_console *c)
{
	c->line[c->line_len] = '\n';
	if (c->log)
		fwrite(c->line, 1, c->line_len + 1, c->log);
	if (c->tail_len + c->line_len + 1 > TAIL) {
		size_t cut = TAIL / 2 < c->tail_len ? TAIL / 2 : c->tail_len;

		memmove(c->tail, c->tail + cut, c->tail_len - cut);
		c->tail_len -= cut;
	}
	memcpy(c->tail + c->tail_len, c->line, c->line_len + 1);
	c->tail_len += c->line_len + 1;
	c->line_len = 0;
}

/* Text of the kernel goes to log and tail, frames of the link ("~" to the end of a line) do not. */
static void keep(struct mk_console *c, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char ch = data[i];

		if (ch == '\r')
			continue;
		if (ch == '\n') {
			const char *frame = memchr(c->line, '~', c->line_len);

			if (frame && frame + 1 < c->line + c->line_len && strchr("AH", frame[1]))
				c->line_len = (size_t)(frame - c->line);
			if (c->line_len)
				keep_line(c);
			continue;
		}
		/* The rest of an overlong line is dropped: a frame is longer than any message. */
		if (c->line_len < LINE - 1)
			c->line[c->line_len++] = (ch >= 0x20 && ch < 0x7f) || ch == '\t' ? ch : '?';
	}
	if (c->log)
		fflush(c->log);
}

/* To the link or a client, as much as it takes; what it does not take in time is lost to it. */
static void pass_on(struct mk_console *c, int which, const char *data, size_t n)
{
	ssize_t sent = c->fd[which] < 0 ? (ssize_t)n
					: send(c->fd[which], data, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0 && errno != EAGAIN) {
		close(take_fd(c->fd[which]));
		return;
	}
	c->lost += n - (size_t)(sent < 0 ? 0 : sent);
}

static void from_tty(struct mk_console *c)
{
	static _Thread_local char data[CHUNK];
	ssize_t n = read(c->fd[FD_TTY], data, sizeof(data));

	if (n <= 0) {
		/* poll() may say there is something where there is not: do not spin on it. */
		usleep(FULL_WAIT_US);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->spoke = true;
	keep(c, data, (size_t)n);
	pass_on(c, FD_LINK, data, (size_t)n);
	pass_on(c, FD_CLIENT, data, (size_t)n);
	pthread_mutex_unlock(&c->lock);
}

/* In pieces of one message; a full ring (ENOSPC) is waited for. */
static void to_tty(struct mk_console *c, const char *data, size_t n)
{
	int tries = 0;

	while (n) {
		size_t piece = n < MK_CONSOLE_MSG ? n : MK_CONSOLE_MSG;
		ssize_t sent = write(c->fd[FD_TTY], data, piece);

		if (sent > 0) {
			data += sent;
			n -= (size_t)sent;
			tries = 0;
		} else if (sent < 0 && errno == EINTR) {
			continue;
		} else if (++tries < FULL_TRIES) {
			usleep(FULL_WAIT_US);
		} else {
			c->lost += n;
			return;
		}
	}
}

static void from_peer(struct mk_console *c, int which)
{
	static _Thread_local char data[CHUNK];
	ssize_t n;
	int fd;

	pthread_mutex_lock(&c->lock);
	fd = c->fd[which];
	n = fd < 0 ? -1 : recv(fd, data, sizeof(data), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && fd >= 0 && errno != EAGAIN && errno != EINTR))
		close(take_fd(c->fd[which]));
	pthread_mutex_unlock(&c->lock);
	if (n > 0)
		to_tty(c, data, (size_t)n);
}

static void new_client(struct mk_console *c)
{
	int fd = accept4(c->fd[FD_LISTEN], NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	pthread_mutex_lock(&c->lock);
	if (c->fd[FD_CLIENT] >= 0)
		close(c->fd[FD_CLIENT]);
	c->fd[FD_CLIENT] = fd;
	pthread_mutex_unlock(&c->lock);
}

static void *pump(void *arg)
{
	struct mk_console *c = arg;

	for (;;) {
		struct pollfd p[NFDS];
		uint64_t n;

		pthread_mutex_lock(&c->lock);
		for (int i = 0; i < NFDS; i++)
			p[i] = (struct pollfd){.fd = c->fd[i], .events = POLLIN};
		n = c->stop;
		pthread_mutex_unlock(&c->lock);
		if (n)
			return NULL;
		if (poll(p, NFDS, -1) < 0)
			continue;
		if (p[FD_WAKE].revents && read(c->fd[FD_WAKE], &n, sizeof(n)) < 0)
			continue;
		if (p[FD_TTY].revents)
			from_tty(c);
		if (p[FD_LINK].revents)
			from_peer(c, FD_LINK);
		if (p[FD_CLIENT].revents)
			from_peer(c, FD_CLIENT);
		if (p[FD_LISTEN].revents)
			new_client(c);
	}
}

static void wake(struct mk_console *c)
{
	uint64_t one = 1;

	if (write(c->fd[FD_WAKE], &one, sizeof(one)) < 0)
		return; /* it is awake already */
}

/* Chooses the instance. Nothing may follow the id in the same write: it would be lost. */
static int connect_tty(struct mk_console *c, const char *device, int id, struct err *e)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", id);

	c->fd[FD_TTY] = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (c->fd[FD_TTY] < 0 || write(c->fd[FD_TTY], text, (size_t)n) != n)
		return mk_err(e, MK_CALL_CONSOLE, errno);
	return 0;
}

static int listen_at(struct mk_console *c, const char *path, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(e, ENAMETOOLONG, "console socket %s", path);
	strcpy(at.sun_path, path);
	c->socket_path = strdup(path);
	c->fd[FD_LISTEN] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(path);
	if (!c->socket_path || c->fd[FD_LISTEN] < 0 ||
	    bind(c->fd[FD_LISTEN], (struct sockaddr *)&at, sizeof(at)) || listen(c->fd[FD_LISTEN], 1))
		return err_sys(e, "console socket %s", path);
	return 0;
}

static void release(struct mk_console *c)
{
	for (int i = 0; i < NFDS; i++)
		if (c->fd[i] >= 0)
			close(c->fd[i]);
	if (c->line_len && c->log)
		keep_line(c);
	if (c->log)
		fclose(c->log);
	if (c->socket_path)
		unlink(c->socket_path);
	free(c->socket_path);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static int start(struct mk_console *c, struct err *e)
{
	sigset_t all, old;
	int rc;

	/* Signals are the controller's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&c->thread, NULL, pump, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc ? err_set(e, rc, "cannot start a thread for a console") : 0;
}

int mk_console_open(struct mk_console **out, const char *device, int id, const char *log_path,
		    const char *socket_path, struct err *e)
{
	struct mk_console *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (!c)
		return err_set(e, ENOMEM, "out of memory");
	for (int i = 0; i < NFDS; i++)
		c->fd[i] = -1;
	pthread_mutex_init(&c->lock, NULL);
	c->fd[FD_WAKE] = eventfd(0, EFD_CLOEXEC);
	if (c->fd[FD_WAKE] < 0)
		rc = err_sys(e, "eventfd");
	if (!rc && log_path && !(c->log = fopen(log_path, "ae")))
		rc = err_sys(e, "%s", log_path);
	if (!rc && socket_path)
		rc = listen_at(c, socket_path, e);
	rc = rc ? rc : connect_tty(c, device, id, e);
	rc = rc ? rc : start(c, e);
	if (rc) {
		release(c);
		return rc;
	}
	*out = c;
	return 0;
}

void mk_console_close(struct mk_console **c)
{
	if (!*c)
		return;
	pthread_mutex_lock(&(*c)->lock);
	(*c)->stop = true;
	pthread_mutex_unlock(&(*c)->lock);
	wake(*c);
	pthread_join((*c)->thread, NULL);
	release(*c);
	*c = NULL;
}

int mk_console_link(struct mk_console *c, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_sys(e, "socketpair");
	pthread_mutex_lock(&c->lock);
	if (c->fd[FD_LINK] >= 0)
		close(c->fd[FD_LINK]);
	c->fd[FD_LINK] = pair[0];
	pthread_mutex_unlock(&c->lock);
	wake(c);
	return pair[1];
}

bool mk_console_spoke(struct mk_console *c)
{
	bool spoke;

	pthread_mutex_lock(&c->lock);
	spoke = c->spoke;
	pthread_mutex_unlock(&c->lock);
	return spoke;
}

void mk_console_tail(struct mk_console *c, char *text, size_t size)
{
	pthread_mutex_lock(&c->lock);
	snprintf(text, size, "%.*s", (int)c->tail_len, c->tail);
	pthread_mutex_unlock(&c->lock);
}

unsigned long mk_console_lost(struct mk_console *c)
{
	unsigned long lost;

	pthread_mutex_lock(&c->lock);
	lost = c->lost;
	pthread_mutex_unlock(&c->lock);
	return lost;
}
