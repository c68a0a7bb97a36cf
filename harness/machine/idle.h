/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_IDLE_H
#define MKSPLIT_MACHINE_IDLE_H

#include <stdint.h>

#include "common/err.h"
#include "harness/machine/root.h"

/* CPU time of the whole machine since boot, in ticks. */
struct idle_times {
	uint64_t idle, total;
};

int idle_read(struct idle_times *t, const struct root *r, struct err *e);

/* Share of idle time between two readings, 0 to 1. */
double idle_share(const struct idle_times *before, const struct idle_times *after);

#endif
