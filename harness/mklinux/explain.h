/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_EXPLAIN_H
#define MKSPLIT_MKLINUX_EXPLAIN_H

#include <stdbool.h>

#include "common/err.h"

/*
 * What an errno of a multikernel call means, and what to do. The tables of
 * docs/mklinux-abi.md 3.4, 6.5, 8.8, 9.2-9.4 and 10.1 as sentences for people.
 */
enum mk_call {
	MK_CALL_MOUNT,
	MK_CALL_BASELINE,
	MK_CALL_OVERLAY_WRITE, /* the write itself: no transaction came of it */
	MK_CALL_OVERLAY, /* a failed transaction; errno from the kernel log */
	MK_CALL_LOAD,
	MK_CALL_UNLOAD,
	MK_CALL_BOOT,
	MK_CALL_HALT,
	MK_CALL_FORCE_HALT,
	MK_CALL_CONSOLE,
	MK_NCALLS
};

/* "kexec_file_load" and the like, for messages. */
const char *mk_call_name(enum mk_call call);

/*
 * A sentence (static) for an errno of either sign; never NULL: an unknown one gets the advice to
 * read the kernel log.
 */
const char *mk_explain(enum mk_call call, int errnum);

/* True where waiting and asking again is the answer (somebody else held a lock). */
bool mk_retryable(enum mk_call call, int errnum);

/*
 * True for a failed load after which the instance must be left alone: later operations on it can
 * stop the host (8.8).
 */
bool mk_load_poisons(int errnum);

/* "EBUSY", or a number for what has no name here; static or in a buffer of the thread. */
const char *mk_errno_name(int errnum);

/* Records "CALL failed: NAME: SENTENCE" with the errno. */
int mk_err(struct err *e, enum mk_call call, int errnum);

#endif
