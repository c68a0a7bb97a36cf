/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_FAULT_H
#define MKSPLIT_SIM_FAULT_H

#include <stdbool.h>

#include "common/err.h"
#include "sim/buf.h"

/*
 * Faults on request: "NAME@STEP" or "NAME@STEP+SECONDS", where STEP is a number that
 * --list-steps shows. A NAME that is an errno ("EBUSY") makes the step fail with it.
 */
enum fault_kind {
	FAULT_ERRNO,
	FAULT_OVERLAY_FAIL,
	FAULT_APPLIED_WITHOUT_CPUS,
	FAULT_APPLIED_BUT_ERROR,
	FAULT_BLOB_CUT,
	FAULT_TX_LOST,
	FAULT_CONSOLE_DROP,
	FAULT_CONSOLE_PRINTK,
	FAULT_CONSOLE_DEAD,
	FAULT_BOOT_HANG,
	FAULT_PANIC,
	FAULT_SILENT_HANG,
	FAULT_HALT_TIMEOUT,
	FAULT_FORCE_HALT_LATE,
	FAULT_POOL_ENOMEM,
	FAULT_POOL_BUSY,
	FAULT_MOVE_TIMEOUT,
	FAULT_CPU_LATE,
	FAULT_LOAD_DANGLING,
	FAULT_STATUS_STALE,
	FAULT_KILL_BEFORE,
	FAULT_KILL_AFTER,
	FAULT_KINDS
};

struct fault {
	enum fault_kind kind;
	int step;
	int error; /* negative errno, for FAULT_ERRNO */
	int ms; /* how long, or after how long */
	bool struck;
};

struct fault_list {
	struct fault *v;
	int n;
};

/* Adds one from the command line. */
int fault_parse(struct fault_list *l, const char *text, struct err *e);
void fault_list_free(struct fault_list *l);

const struct fault *fault_at(struct fault_list *l, int step);
static inline bool fault_is(const struct fault *f, enum fault_kind kind)
{
	return f && f->kind == kind;
}
const char *fault_name(enum fault_kind kind);
/* A table for --help-faults: name, where it can strike, what happens. */
void fault_print_table(struct buf *out);

/* "EBUSY" for EBUSY of either sign; "errno 1234" for unknown ones (in a static buffer). */
const char *errno_name(int error);

#endif
