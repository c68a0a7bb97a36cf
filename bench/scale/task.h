/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_TASK_H
#define MKSPLIT_BENCH_TASK_H

#include "bench/scale/scale.h"

/* What a task itself does, from its first instruction to its end. */
_Noreturn void task_process(struct task *t, pid_t runner);
void *task_thread(void *task);

#endif
