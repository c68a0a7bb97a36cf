/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_CHILD_H
#define MKSPLIT_SIM_CHILD_H

#include <sys/types.h>

#include "sim/loop.h"

/* Child processes that the loop looks after. */

/*
 * Calls fn with the wait(2) status when the child ends. Returns 0 or a negative errno; then
 * nobody watches.
 */
int child_watch(struct loop *l, pid_t pid, void (*fn)(void *arg, int status), void *arg);

#endif
