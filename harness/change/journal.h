/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CHANGE_JOURNAL_H
#define MKSPLIT_CHANGE_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>

#include "common/err.h"

/*
 * Every change of the machine is written down, and flushed to disk, before it is made: what
 * it is and what was there before. `mksplit cleanup` works from this file alone, after any
 * kind of death. The lines are JSON objects; the first one names boot id, process and start
 * time; entries of another boot are void, since the kernel forgot them too.
 *
 * The journal is also the lock: one run on a machine at a time. It lives in
 * /run/mksplit (root) or $XDG_RUNTIME_DIR/mksplit, else /tmp/mksplit-UID (0700, checked).
 */
struct journal;

/* Fails with -EBUSY and the pid of the other run, or the advice to run `mksplit cleanup`. */
int journal_open(struct journal **j, struct err *e);

/*
 * Before a change: returns the entry's number (> 0). `undo` (stolen) says what
 * is needed to undo it, understood by the kind's undo function.
 */
int journal_before(struct journal *j, const char *kind, json_t *undo, struct err *e);

/* More became known (a pid, say): merged into the entry, flushed. Steals `more`. */
int journal_update(struct journal *j, int entry, json_t *more, struct err *e);

/* The change is gone again (undone, or it failed without effect). */
int journal_gone(struct journal *j, int entry, struct err *e);

/*
 * Undoes all open entries of this process, newest first, and removes the file. An entry that cannot
 * be undone does not keep the others, and stays in the file for `mksplit cleanup`.
 */
int journal_close(struct journal **j, struct err *e);

/* How a kind of change is undone. Idempotent: twice is the same as once. */
struct undo_kind {
	const char *kind; /* "processes", "folder", "file-value", "mk-instance", ... */
	/*
	 * Compares before it restores: what somebody else changed since stays, and is named by
	 * say(). Returns 0 when nothing of ours is left.
	 */
	int (*undo)(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
		    struct err *e);
};

/*
 * All kinds this program can undo, ending with NULL: defined once by each program, since kinds
 * belong to layers above this one.
 */
extern const struct undo_kind *const undo_kinds[];

/*
 * The folder for the journal and the runs' private folders: $MKSPLIT_STATE_DIR, for tests, else as
 * said above. Made with mode 0700 where it is missing; somebody else's is refused.
 */
int state_folder(char *path, size_t size, struct err *e);

/*
 * Undoes what a crashed run left, saying each thing it does (or would do). Nothing left is success;
 * -EBUSY while the run is alive.
 */
int journal_cleanup(bool dry_run, void (*say)(void *arg, const char *line), void *arg, struct err *e);

/* JSON of the running or crashed run (a new reference), NULL if there is none. */
json_t *journal_peek(bool *alive);

#endif
