// SPDX-License-Identifier: GPL-2.0-or-later
/* What a dry run of the mklinux backend never calls, and the freeing of its steps. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "harness/backend/backend.h"
#include "harness/cmd/paths.h"
#include "harness/mklinux/own.h"
#include "harness/session/link.h"

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

int find_data(char **path, const char *name, struct err *e)
{
	return -1;
}

int link_open(struct link **l, int fd, const char *name, FILE *console, struct err *e)
{
	fail_msg("a link in a dry run");
	return -1;
}

int link_hello(struct link *l, const char *token, int lease_s, int timeout_ms,
	       int (*alive)(void *arg, struct err *e), void *arg, struct err *e)
{
	fail_msg("a link in a dry run");
	return -1;
}

int link_ask(struct link *l, char *reply, size_t size, int timeout_ms, struct err *e,
	     const char *fmt, ...)
{
	fail_msg("a link in a dry run");
	return -1;
}

void link_close(struct link **l)
{
}
