// SPDX-License-Identifier: GPL-2.0-or-later
/* What a dry run of the mklinux backend never calls, and the freeing of its steps. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "harness/backend/backend.h"
#include "harness/cmd/paths.h"
#include "harness/mklinux/own.h"

void steps_free(struct steps *s)
{
	for (int i = 0; i < s->n; i++) {
		free(s->v[i].what);
		json_decref(s->v[i].blob);
		if (s->free_own)
			s->free_own(s->v[i].own);
	}
	free(s->v);
	*s = (struct steps){0};
}

int journal_before(struct journal *j, const char *kind, json_t *undo, struct err *e)
{
	fail_msg("a change without a journal: %s", kind);
	return -1;
}

int journal_update(struct journal *j, int entry, json_t *more, struct err *e)
{
	fail_msg("a change without a journal");
	return -1;
}

int journal_gone(struct journal *j, int entry, struct err *e)
{
	fail_msg("a change without a journal");
	return -1;
}

int initramfs_write(int fd, const char *init, struct err *e)
{
	fail_msg("a load in a dry run");
	return -1;
}

int find_data(char **path, const char *name, struct err *e)
{
	return -1;
}
