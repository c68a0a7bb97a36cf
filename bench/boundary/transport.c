// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/boundary/transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static uint32_t await_spin(struct mailbox *b, uint32_t parity)
{
	uint32_t seen;

	while (((seen = atomic_load_explicit(&b->sequence, memory_order_acquire)) & 1) != parity)
		spin_hint();
	return seen;
}

static uint32_t await_futex(struct mailbox *b, uint32_t parity)
{
	uint32_t seen;

	while (((seen = atomic_load_explicit(&b->sequence, memory_order_acquire)) & 1) != parity)
		futex_wait(&b->sequence, seen);
	return seen;
}

/* Sleeps as a registered sleeper; the order of the two words is what the waker relies on. */
static uint32_t await_registered(struct mailbox *b, uint32_t parity)
{
	uint32_t seen;

	while (((seen = atomic_load_explicit(&b->sequence, memory_order_acquire)) & 1) != parity) {
		atomic_fetch_add(&b->sleepers, 1);
		if (atomic_load(&b->sequence) == seen)
			futex_wait(&b->sequence, seen);
		atomic_fetch_sub(&b->sleepers, 1);
	}
	return seen;
}

#define SPINS_BEFORE_SLEEP 2000 /* some 10 us to 60 us, the price of a sleep */

static uint32_t await_spin_first(struct mailbox *b, uint32_t parity)
{
	for (int i = 0; i < SPINS_BEFORE_SLEEP; i++) {
		uint32_t seen = atomic_load_explicit(&b->sequence, memory_order_acquire);

		if ((seen & 1) == parity)
			return seen;
		spin_hint();
	}
	return await_registered(b, parity);
}

static void wake_none(struct mailbox *b)
{
}

static void wake_always(struct mailbox *b)
{
	futex_wake(&b->sequence);
}

static void wake_registered(struct mailbox *b)
{
	/*
	 * An exchange, not a load: whichever of waker and sleeper comes second to this word sees
	 * what the other did before it.
	 */
	if (atomic_fetch_add(&b->sleepers, 0))
		futex_wake(&b->sequence);
}

#define MAILBOX(name, await, wake)                                                        \
	static int send_##name(struct channel *c, int side, const void *data, size_t len) \
	{                                                                                 \
		struct mailbox *b = &c->box[side];                                        \
		uint32_t seen = await(b, 0);                                              \
                                                                                          \
		memcpy(b->payload, data, len);                                            \
		atomic_store_explicit(&b->sequence, seen + 1, memory_order_release);      \
		wake(b);                                                                  \
		return 0;                                                                 \
	}                                                                                 \
	static int receive_##name(struct channel *c, int side, void *data, size_t len)    \
	{                                                                                 \
		struct mailbox *b = &c->box[!side];                                       \
		uint32_t seen = await(b, 1);                                              \
                                                                                          \
		memcpy(data, b->payload, len);                                            \
		atomic_store_explicit(&b->sequence, seen + 1, memory_order_release);      \
		wake(b);                                                                  \
		return 0;                                                                 \
	}

MAILBOX(ring, await_spin, wake_none)
MAILBOX(ringwait, await_futex, wake_always)
MAILBOX(ringreg, await_registered, wake_registered)
MAILBOX(ringspin, await_spin_first, wake_registered)

static int send_fd(struct channel *c, int side, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(c->out[side], (const char *)data + done, len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? n : 0;
	}
	return 0;
}

static int receive_fd(struct channel *c, int side, void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(c->in[side], (char *)data + done, len - done);

		if (n == 0)
			return done ? -EIO : -EPIPE;
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? n : 0;
	}
	return 0;
}

static int open_box(struct channel *c, struct err *e)
{
	for (int i = 0; i < 2; i++) {
		atomic_store(&c->box[i].sequence, 0);
		atomic_store(&c->box[i].sleepers, 0);
	}
	return 0;
}

static int open_pipe(struct channel *c, struct err *e)
{
	for (int side = 0; side < 2; side++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) < 0)
			return err_sys(e, "pipe");
		c->in[!side] = fds[0];
		c->out[side] = fds[1];
	}
	return 0;
}

static int open_unix(struct channel *c, struct err *e)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return err_sys(e, "socket pair");
	for (int side = 0; side < 2; side++)
		c->in[side] = c->out[side] = fds[side];
	return 0;
}

static int open_tcp(struct channel *c, struct err *e)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	cleanup_close int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&at, &len) < 0)
		return err_sys(e, "listen on 127.0.0.1");
	c->in[0] = c->out[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->in[0] < 0 || connect(c->in[0], (struct sockaddr *)&at, sizeof(at)) < 0)
		return err_sys(e, "connect to 127.0.0.1");
	c->in[1] = c->out[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (c->in[1] < 0)
		return err_sys(e, "accept on 127.0.0.1");
	for (int side = 0; side < 2; side++)
		if (setsockopt(c->in[side], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
			return err_sys(e, "TCP_NODELAY");
	return 0;
}

const struct transport transports[] = {
	{"ring", 1, open_box, send_ring, receive_ring},
	{"ringwait", 0, open_box, send_ringwait, receive_ringwait},
	{"pipe", 0, open_pipe, send_fd, receive_fd},
	{"unix", 0, open_unix, send_fd, receive_fd},
	{"tcp", 0, open_tcp, send_fd, receive_fd},
	{"ringreg", 0, open_box, send_ringreg, receive_ringreg},
	{"ringspin", 0, open_box, send_ringspin, receive_ringspin},
};

const char *const transport_names[] = {"ring", "ringwait", "pipe",     "unix",
				       "tcp",  "ringreg",  "ringspin", NULL};

void channel_init(struct channel *c, struct mailbox *box)
{
	*c = (struct channel){{-1, -1}, {-1, -1}, box};
}

void channel_end(struct channel *c, int side)
{
	if (c->out[side] < 0)
		return;
	if (c->out[side] == c->in[side]) {
		shutdown(c->out[side], SHUT_WR);
		return;
	}
	close(c->out[side]);
	c->out[side] = -1;
}

void channel_close(struct channel *c)
{
	for (int side = 0; side < 2; side++) {
		if (c->out[side] >= 0 && c->out[side] != c->in[side])
			close(c->out[side]);
		if (c->in[side] >= 0)
			close(c->in[side]);
		c->in[side] = c->out[side] = -1;
	}
}
