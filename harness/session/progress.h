/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SESSION_PROGRESS_H
#define MKSPLIT_SESSION_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * What the user sees while a plan runs, and what `mksplit status` reads: one line that is
 * rewritten on a terminal, one line a cell elsewhere. Nothing here writes on its own: the
 * session calls it between windows only, since a terminal's emulator is a load as well.
 */
struct progress;

struct progress_options {
	FILE *out;
	bool quiet, verbose;
	const char *status_path; /* file for `mksplit status`, or NULL */
	const char *plan, *results; /* for that file */
	int total, done; /* cells */
	double estimate; /* seconds for all that is not done */
};

/* NULL without memory. */
struct progress *progress_open(const struct progress_options *o);
void progress_close(struct progress **p);

/* What comes next: an arm to boot (cell NULL), or a cell "unlink1 processes 2". */
void progress_next(struct progress *p, int block, const char *arm, const char *cell, int repetition);

/* A cell is finished. status "" counts it without a line; bad ones are always shown. */
void progress_cell(struct progress *p, const char *key, const char *status, const char *text);

/* A line that stays: important unless --quiet, else only with --verbose. */
void progress_say(struct progress *p, bool important, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Object of partition name: path of the socket that serves its console (stolen), for status. */
void progress_consoles(struct progress *p, json_t *consoles);

#endif
