/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_READER_H
#define MKSPLIT_ANALYSIS_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/analysis/intern.h"
#include "harness/analysis/model.h"

/* Inner parts of model_read(): reader.c, read_run.c and read_cell.c share them. */

enum {
	BLOCKS_MAX = 1000000,
	TASKS_MAX = 65536,
	CPUS_MAX = 65536
};

struct reader {
	struct model *m;
	bool have_run;
	double utc; /* of the event at hand */
};

/* Each returns 0, -EINVAL for an event that makes no sense, or -ENOMEM. */
int read_run(struct reader *r, const json_t *event); /* also -ENOTSUP: a newer format */
int read_cell(struct reader *r, const json_t *event);

bool format_readable(const json_t *run);

/* Of the attempts at one cell only the last counts. Returns 0 or -ENOMEM. */
int keep_last_attempts(struct model *m);

static inline const char *keep(struct reader *r, const char *s)
{
	return intern(r->m->strings, s);
}

/* Room for one more at the end of an array that doubles at powers of two; NULL without memory. */
static inline void *push_sized(void **array, size_t *n, size_t size)
{
	if ((*n & (*n - 1)) == 0) {
		void *bigger = reallocarray(*array, *n ? *n * 2 : 1, size);

		if (!bigger)
			return NULL;
		*array = bigger;
	}
	return (char *)*array + (*n)++ * size;
}

#define push(array, n) ((__typeof__(*(array)))push_sized((void **)(array), (n), sizeof(**(array))))

/* A list of integers in [min, max]. Returns 0, -EINVAL or -ENOMEM; the caller frees *out. */
int read_ints(const json_t *list, int min, int max, int **out, size_t *n);

#endif
