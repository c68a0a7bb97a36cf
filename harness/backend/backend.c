// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/backend/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

const struct backend_ops *const backends[] = {&backend_host, &backend_qemu, &backend_mklinux, NULL};

const struct backend_ops *backend_find(const char *name)
{
	for (const struct backend_ops *const *b = backends; *b; b++)
		if (strcmp((*b)->name, name) == 0)
			return *b;
	return NULL;
}

int backend_open(struct backend **out, const struct backend_ops *ops, const struct backend_env *env,
		 struct err *e)
{
	cleanup_free struct backend *b = calloc(1, sizeof(*b));
	int ret;

	if (!b)
		return err_set(e, ENOMEM, "no memory");
	b->ops = ops;
	b->env = *env;
	/* Before any process is started, so that none can be missed. */
	if (env->journal) {
		ret = journal_before(env->journal, "processes",
				     json_pack("{s:s}", "marker", env->token), e);
		if (ret < 0)
			return ret;
	}
	ret = ops->open(b, e);
	if (ret < 0)
		return ret;
	*out = take_ptr(b);
	return 0;
}

void backend_close(struct backend **b)
{
	if (!*b)
		return;
	(*b)->ops->close(*b);
	free(take_ptr(*b));
}

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
