/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BOUNDARY_MEMORY_H
#define MKSPLIT_BENCH_BOUNDARY_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/* Memory on a wanted node, by the kernel's own calls, and the proof that it lies there. */

enum huge {
	HUGE_SYSTEM,
	HUGE_NEVER,
	HUGE_THP,
	HUGE_TLB
}; /* order of -H system never thp hugetlb */
extern const char *const huge_names[];

struct memory {
	void *at;
	size_t len; /* mapped; may be above what was asked with HUGE_TLB */
	int node; /* as asked */
	int real_node; /* after memory_verify(): of all pages looked at, else -1 */
	enum huge huge;
};

/*
 * Maps without touching. A node above 0 on a kernel without NUMA is an error, the other ones
 * mean the default there.
 */
int memory_map(struct memory *m, size_t len, int node, enum huge huge, struct err *e);
void memory_unmap(struct memory *m);

/* Writes 1 to every byte: the calling thread is the first to touch it. */
void memory_touch(struct memory *m);

/*
 * Where pages lie: all of them up to 1,024, else 1,024 spread evenly; all whatever their number
 * with every != 0. -EXDEV for a page elsewhere than asked. With HUGE_NEVER and HUGE_THP also
 * that the mapping has what was asked for (smaps).
 */
int memory_verify(struct memory *m, int every, struct err *e);

/* Bytes of the mapping in transparent huge pages, -1 where smaps does not say. */
long memory_huge_bytes(const struct memory *m);

size_t page_size(void);
/* coherency_line_size of CPU 0's first cache, 64 where unknown; at most 256. */
size_t cache_line(void);
/* MemAvailable in bytes, 0 where it cannot be read. */
uint64_t memory_available(void);

#endif
