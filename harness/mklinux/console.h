/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_CONSOLE_H
#define MKSPLIT_MKLINUX_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/*
 * A spawn kernel's console, /dev/mktty (docs/mklinux-abi.md 10.1). A thread reads it all the time,
 * since what is not read in time is lost without a word, and only the newest descriptor of an
 * instance hears anything: so there is one, which serves the link, the log and `mksplit console`.
 * The thread sleeps while nothing is said.
 */
struct mk_console;

/*
 * Connects to the instance, before it boots: nothing is kept of what it said earlier. log_path
 * gets what it says, without the frames of the link; socket_path serves `mksplit console`. Either
 * may be NULL. device is /dev/mktty, or its double in tests.
 */
int mk_console_open(struct mk_console **c, const char *device, int id, const char *log_path,
		    const char *socket_path, struct err *e);
void mk_console_close(struct mk_console **c);

/* A descriptor for the link, the caller's; the one before hears nothing any more. */
int mk_console_link(struct mk_console *c, struct err *e);

/* Whether it has said anything, and the last lines of it ("" for none), printable. */
bool mk_console_spoke(struct mk_console *c);
void mk_console_tail(struct mk_console *c, char *text, size_t size);

/* Bytes that could not be passed on in time, to the instance or to the link. */
unsigned long mk_console_lost(struct mk_console *c);

#endif
