/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_SNAPSHOT_H
#define MKSPLIT_MACHINE_SNAPSHOT_H

#include <jansson.h>

#include "harness/machine/root.h"

/*
 * What changes of the machine are known to move behind one's back: taking a CPU offline breaks
 * interrupt affinities, cpusets and the masks of pinned tasks, and may change the clocksource,
 * and none of it comes back with the CPU. A run takes a snapshot before its first change and
 * compares after its last.
 *
 * A snapshot is an object of groups (online CPUs, governors, interrupts, cpusets, pinned
 * tasks, clocksource), each an object NAME: VALUE, and can be stored with the results.
 */

/* A new reference, or NULL with a message. What cannot be read (no privilege) is left out. */
json_t *snapshot_take(const struct root *r, struct err *e);

/*
 * Says a sentence for each difference, and returns how many there are. What only one of the
 * two has (a process that ended, a new interrupt) is no difference.
 */
int snapshot_compare(const json_t *before, const json_t *after,
		     void (*say)(void *arg, const char *line), void *arg);

#endif
