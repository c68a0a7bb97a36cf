/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_FACTS_H
#define MKSPLIT_BENCH_FACTS_H

#include <stddef.h>

/*
 * What an agent says about its kernel and surroundings: the object "facts", lines of key=value,
 * sorted, values escaped as words. The same list comes from every kind of partition; what a kernel
 * does not have reads "-", so that its absence can be compared as well. The caller frees; NULL
 * without memory.
 */
char *facts_collect(size_t *len);

/*
 * The CPUs online as a list, and their physical ids in the same order, comma separated, "?" where
 * unknown. Returns 0, or -1 when the kernel does not say.
 */
int facts_cpus(char *online, size_t online_size, char *physical, size_t physical_size);

#endif
