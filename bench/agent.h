/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_AGENT_H
#define MKSPLIT_BENCH_AGENT_H

#include <stdbool.h>

/* Why an agent ended. */
enum agent_end {
	AGENT_OFF, /* it was told so, with the token */
	AGENT_LEASE, /* nobody spoke to it for too long */
	AGENT_LINK, /* the link has closed */
	AGENT_SIGNAL,
};

/*
 * The agent's end of the link (docs/protocol.md), until it ends. `token` is the word that a host
 * must know. As PID 1 it also reaps what nobody else does.
 */
enum agent_end agent_run(int fd, const char *token, bool pid1);

#endif
