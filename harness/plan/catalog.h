/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_CATALOG_H
#define MKSPLIT_PLAN_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "harness/plan/plan.h"

/* The tests that the benchmark binary has, as `mksplit-bench list --json` prints them. */
struct catalog_test {
	char *family, *name;
	char *summary;
	int modes; /* MODE_* bits */
	uint64_t memory, memory_per_task; /* bytes */
	uint64_t tmpfs, tmpfs_per_task; /* bytes of files */
	uint64_t mapping; /* size of the mapping it makes and drops without touching it; 0 for none */
};

struct catalog {
	struct catalog_test *tests;
	int ntests;
};

/*
 * The format, of which other keys are ignored; sizes are bytes, and what is absent is 0:
 *
 *	{"tests": [{"family": "scale", "test": "mmap1", "summary": "...",
 *		    "modes": ["processes", "threads"],
 *		    "needs": {"memory": 0, "memory_per_task": 0, "tmpfs": 0, "tmpfs_per_task": 0,
 *			      "mapping": 134217728}}]}
 */
int catalog_parse(struct catalog **c, const char *json, size_t len, struct err *e);

/* Runs the binary with "list --json". */
int catalog_load(struct catalog **c, const char *bench_path, struct err *e);
void catalog_free(struct catalog **c);
#define cleanup_catalog cleanup(catalog_free)

/* family NULL: whichever has a test of this name. NULL when there is none. */
const struct catalog_test *catalog_find(const struct catalog *c, const char *family,
					const char *name);

#endif
