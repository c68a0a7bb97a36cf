/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_LOG_H
#define MKSPLIT_SIM_LOG_H

#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/*
 * The protocol log: what the client did and what it was answered, a line each, with the
 * seconds since the start in front. Errors of strict mode are counted, and in strict mode
 * printed on standard error as well.
 */
struct log {
	FILE *file; /* NULL: no log was asked for */
	int64_t start; /* clock_ns() */
	unsigned errors;
	int strict;
};

/* path NULL keeps no log. The file is begun anew. */
int log_open(struct log *l, const char *path, int strict, struct err *e);
void log_close(struct log *l);

void log_line(struct log *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A text of several lines, indented under the line before. */
void log_text(struct log *l, const char *text);
/* Something the real kernel would silently misread, ignore, or not survive. */
void log_strict(struct log *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
