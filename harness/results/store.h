/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_RESULTS_STORE_H
#define MKSPLIT_RESULTS_STORE_H

#include <jansson.h>
#include <stdbool.h>

#include "common/err.h"

/*
 * A results folder (docs/results.md): plan.json, events.jsonl, consoles/, blobs/. Events are
 * only ever appended, one line each, and are on the disk when store_event() returns.
 */
struct store;

/* Creates parent/NAME_HOST_UTC (or exactly `dir` when given), mode 0755, never an existing one. */
int store_create(struct store **s, const char *parent, const char *dir, const char *plan_name,
		 const char *plan_text, struct err *e);

/*
 * Opens one to go on: locks it, cuts a torn last line, and remembers the keys of cells that
 * need no more work.
 */
int store_open(struct store **s, const char *dir, struct err *e);
void store_close(struct store **s);

const char *store_dir(const struct store *s);

/* Of one that was opened: the first run event (seed, quick and so on), borrowed; else NULL. */
const json_t *store_run(const struct store *s);

/* True when the cell with this key ended ok, flagged or "not available". */
bool store_has_cell(const struct store *s, const char *key);

/* How many such cells there are, those of this run included. */
int store_cells(const struct store *s);

/* Appends and flushes (fdatasync). Steals the object; adds "utc" where it is missing. */
int store_event(struct store *s, json_t *event, struct err *e);

#endif
