/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_FILE_VALUE_H
#define MKSPLIT_MACHINE_FILE_VALUE_H

#include <jansson.h>

#include "harness/machine/root.h"

/*
 * A switch that is a file: what the journal keeps of it is {"root", "path", "before", "set"}, of
 * kind FILE_VALUE_KIND.
 */
#define FILE_VALUE_KIND "file-value"

/*
 * The value a switch has: its text, or the word in brackets where the kernel lists the choices
 * ("always [madvise] never"). The caller frees *value.
 */
int file_value_read(const struct root *r, const char *path, char **value, struct err *e);

/* What journal_before() is given: a new reference, NULL without memory. */
json_t *file_value_entry(const struct root *r, const char *path, const char *before, const char *set);

/*
 * Puts the former value back (an undo function of journal.h). A value that is neither ours nor
 * the former one is somebody else's: it stays, and is named. A file that is gone (an offline
 * CPU's) is named as well. Idempotent.
 */
int file_value_undo(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
		    struct err *e);

#endif
