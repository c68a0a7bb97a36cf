/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_COMMON_CPUMASK_H
#define MKSPLIT_COMMON_CPUMASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "common/err.h"

/*
 * A set of CPU numbers that grows as needed. Numbers at or above CPUMASK_LIMIT are
 * refused, so that a list from a file or a user can never become a huge allocation
 * (Linux itself stops at 8192 CPUs on x86).
 */
#define CPUMASK_LIMIT 65536

struct cpumask {
	size_t nwords;
	uint64_t *words;
};

#define CPUMASK_INIT ((struct cpumask){0})

void cpumask_free(struct cpumask *m);
#define cleanup_cpumask cleanup(cpumask_free)

/* Adds a CPU. Returns 0, -ENOMEM, or -ERANGE for a number out of [0, CPUMASK_LIMIT). */
int cpumask_set(struct cpumask *m, int cpu);
void cpumask_clear(struct cpumask *m, int cpu);
bool cpumask_test(const struct cpumask *m, int cpu);
int cpumask_weight(const struct cpumask *m);

/* The first CPU >= from, or -1. cpumask_for_each() walks a set in ascending order. */
int cpumask_next(const struct cpumask *m, int from);
#define cpumask_for_each(cpu, m)                                                                   \
	for (int cpu = cpumask_next((m), 0); cpu >= 0; cpu = cpumask_next((m), cpu + 1))

/* dst = src; dst |= src; dst &= src; dst &= ~src. Return 0 or -ENOMEM. */
int cpumask_copy(struct cpumask *dst, const struct cpumask *src);
int cpumask_or(struct cpumask *dst, const struct cpumask *src);
void cpumask_and(struct cpumask *dst, const struct cpumask *src);
void cpumask_andnot(struct cpumask *dst, const struct cpumask *src);
bool cpumask_equal(const struct cpumask *a, const struct cpumask *b);
bool cpumask_intersects(const struct cpumask *a, const struct cpumask *b);
bool cpumask_subset(const struct cpumask *small, const struct cpumask *large);

/*
 * Parses the kernel's list format ("0-3,8,10-14:2"; the step form as in taskset) into
 * an initialised mask, which is emptied first. An empty list is an empty set. Trailing
 * white space, as sysfs has, is allowed. Fails with EXIT_USAGE and a message that
 * quotes the list and says what is wrong at which place.
 */
int cpumask_parse(struct cpumask *m, const char *list, struct err *e);

/* The list format, "0-3,8"; "" for an empty set. The caller frees; NULL without memory. */
char *cpumask_format(const struct cpumask *m);

/* The CPUs a task (0: the calling thread) may run on, whatever the kernel's mask size. */
int cpumask_get_affinity(struct cpumask *m, pid_t tid, struct err *e);
int cpumask_set_affinity(const struct cpumask *m, pid_t tid, struct err *e);

#endif
