/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CHANGE_UNDO_H
#define MKSPLIT_CHANGE_UNDO_H

#include "harness/change/journal.h"

/*
 * "processes": {"marker": TEXT}. Ends every process whose environment holds the line
 * MKSPLIT_RUN=TEXT, which programs started by a run inherit: it needs no pid, so it also
 * finds what was started the moment before a crash. SIGTERM, then SIGKILL, then waits.
 */
#define UNDO_MARKER "MKSPLIT_RUN="
extern const struct undo_kind undo_processes;

/* "folder": {"path": PATH}. Removes a folder tree, only directly below state_folder(). */
extern const struct undo_kind undo_folder;

#endif
