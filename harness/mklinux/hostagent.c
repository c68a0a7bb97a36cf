// SPDX-License-Identifier: GPL-2.0-or-later
/* The host's own partition of an arm: its agent is a process under the running kernel. */
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/mklinux/own.h"

/* An agent that was told OFF is gone at once; one that was not gets a signal after this. */
#define GRACE_MS 2000

int mk_start_agent(struct backend *b, int partition, struct err *e)
{
	struct mk_own *o = mk_own(b);
	struct mk_live *l = &o->live[partition];

	return local_agent_start(&l->agent, &l->agent_fd, o->arm->name,
				 o->arm->partitions[partition].name, &b->env, e);
}

void mk_end_agent(struct mk_live *l)
{
	if (l->agent_fd >= 0)
		close(take_fd(l->agent_fd));
	local_stop(&l->agent, GRACE_MS);
}

int mk_stop_agent(struct backend *b, int partition, struct err *e)
{
	mk_end_agent(&mk_own(b)->live[partition]);
	return 0;
}
