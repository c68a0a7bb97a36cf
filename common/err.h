/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_COMMON_ERR_H
#define MKSPLIT_COMMON_ERR_H

/*
 * Errors are values with context. A function that can fail takes a `struct err *`
 * last, and returns 0 (or something useful >= 0) on success and a negative errno on
 * failure, with the message in the err. Callers add context on the way up with
 * err_wrap(); only main() and the files in cmd/ print and choose the exit status.
 *
 * A struct err owns nothing, lives on the stack, and starts as ERR_INIT.
 */

enum { EXIT_USAGE = 2 };

struct err {
	int code; /* negative errno of the first failure, 0 while there is none */
	int exit; /* exit status for main(): EXIT_FAILURE or EXIT_USAGE */
	char text[2000];
};

#define ERR_INIT ((struct err){0})

/* Records a failure of ours: code is an errno value of either sign. Returns it negative. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As err_set() with the current errno, whose description is appended to the message. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The user's input is wrong (command line, plan file): exit status 2. Returns -EINVAL. */
int err_usage(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts context in front of the message: "<context>: <message>". Returns e->code. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
