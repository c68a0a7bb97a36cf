/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SESSION_LINK_H
#define MKSPLIT_SESSION_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/*
 * The host's end of the link to one agent (docs/protocol.md). Everything that comes from
 * there is untrusted: bounded, checked, never a path or a format.
 */
struct link;

/*
 * fd becomes the link's, also when this fails. name is the partition's, for messages. What is on
 * the stream and is no frame goes to console (may be NULL, borrowed), so a shared console is still
 * logged: without '\r' and empty lines, and at most LINK_CONSOLE_MAX bytes.
 */
#define LINK_CONSOLE_MAX (16 << 20)
int link_open(struct link **l, int fd, const char *name, FILE *console, struct err *e);
void link_close(struct link **l);

/*
 * Waits for HELLO and greets. `alive` is asked about once a second, here and while later requests
 * wait, and ends the waiting with the reason when it says no (negative, message in e).
 */
int link_hello(struct link *l, const char *token, int lease_s, int timeout_ms,
	       int (*alive)(void *arg, struct err *e), void *arg, struct err *e);

/* What the agent said of itself when it was greeted. */
struct link_agent {
	char build[80], nonce[80];
	bool pid1;
};
const struct link_agent *link_agent(const struct link *l);

/*
 * Asks, repeating under the same number until timeout. Returns 0 with the words behind OK in
 * reply; -EREMOTEIO with the agent's reason for NO; -ETIMEDOUT, -EPIPE, -ECONNRESET when another
 * agent speaks there than the one that was greeted.
 */
int link_ask(struct link *l, char *reply, size_t size, int timeout_ms, struct err *e,
	     const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/*
 * Pulls a whole object ("facts", "result", "log") of at most max bytes, with a NUL behind it; the
 * caller frees.
 */
int link_get(struct link *l, const char *object, size_t max, char **data, size_t *len, struct err *e);

/* The agent's clock against ours: agent = host + offset, known to +-uncertainty. */
struct clock_fix {
	int64_t host_ns;
	int64_t offset_ns;
	int64_t uncertainty_ns;
};
int link_time(struct link *l, int rounds, struct clock_fix *fix, struct err *e);

/* Frames damaged, requests repeated: for results and reports. */
struct link_stats {
	uint64_t damaged, repeated, noise_bytes;
};
void link_stats(const struct link *l, struct link_stats *s);

#endif
