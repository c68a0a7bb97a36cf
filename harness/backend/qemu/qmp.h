/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BACKEND_QEMU_QMP_H
#define MKSPLIT_BACKEND_QEMU_QMP_H

#include <jansson.h>
#include <stdbool.h>

#include "common/err.h"

/*
 * As much of QEMU's machine protocol as we need: one command at a time, its answer, and of the
 * events those about a stopped guest. A line is bounded; what QEMU sends is checked like any other input.
 */
struct qmp;

/* Connects to the socket at path, waiting until QEMU has made it. `alive` ends the waiting. */
int qmp_open(struct qmp **q, const char *path, int timeout_ms,
	     int (*alive)(void *arg, struct err *e), void *arg, struct err *e);
void qmp_close(struct qmp **q);

/* *answer (may be NULL) gets a new reference to what stands behind "return". Steals arguments. */
int qmp_do(struct qmp *q, const char *command, json_t *arguments, json_t **answer, struct err *e);

/*
 * Whether QEMU said that the guest was stopped and did not say that it runs again. Reads the events
 * that have arrived; never waits. False for NULL.
 */
bool qmp_stopped(struct qmp *q);

#endif
