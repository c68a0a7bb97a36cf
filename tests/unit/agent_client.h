/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_TESTS_AGENT_CLIENT_H
#define MKSPLIT_TESTS_AGENT_CLIENT_H

#include "tests/unit/unit.h"

#include <stdbool.h>
#include <sys/types.h>

#include "common/frame.h"

/*
 * The host's end of the link in tests of the real agent, which runs in a process of its own. It
 * follows docs/protocol.md alone. A program that uses it starts its main() with client_dispatch(),
 * because the agent executes /proc/self/exe for a runner.
 */
struct client {
	int fd;
	pid_t pid;
	uint32_t seq; /* of the last request */
	unsigned int hellos; /* that came so far */
	char hello[200]; /* the last one */
	struct frame_reader reader;
	char pending[4096]; /* bytes that came behind a frame */
	size_t at, end;
	char reply[FRAME_PAYLOAD_MAX + 1];
};

/* Becomes a runner if that is what the arguments ask for. */
void client_dispatch(int argc, char **argv);

void client_start(struct client *c, const char *token);
/* And says HI with this token, with a lease of a minute. */
void client_start_greeted(struct client *c, const char *token);

/* Closes the link, if it is still there, and returns the exit status: of enum agent_end. */
int client_end(struct client *c);

void client_write(struct client *c, const char *data, size_t len);
void client_send(struct client *c, uint32_t seq, const char *payload);

/* The next frame but HELLO, or false when none comes in time. */
bool client_frame(struct client *c, int timeout_ms, uint32_t *seq);

/* A request with the next number; the reply, which has to come. */
const char *client_ask(struct client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Asks DONE until the state is none of those that pass; returns the words behind "OK ID". */
const char *client_settled(struct client *c, unsigned int id);

/* GO for windows from now on, with the guard on both sides. */
void client_go(struct client *c, unsigned int id, int windows, int interval_ms, int guard_ms);

/* An object, pulled in chunks and ended with a NUL; the caller frees. */
char *client_get(struct client *c, const char *object, size_t *len);

/* "3" or "3,5": CPUs that this process may use, at most n. Returns how many. */
int client_cpus(char *list, size_t size, int n);

#endif
