// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/spawn.h"

#include <stdio.h>

#include "sim/calls.h"
#include "sim/mktty.h"

struct instance *spawn_instance(struct spawn *p)
{
	for (struct instance *i = p->sim->instances; i; i = i->next)
		if (i->spawn == p)
			return i;
	return NULL;
}

void spawn_output(struct spawn *p, const void *data, size_t len)
{
	mktty_output(p->sim->mktty, p->id, data, len);
}

void spawn_ended(struct spawn *p, const char *why)
{
	struct sim *s = p->sim;
	struct instance *i = spawn_instance(p);

	calls_unwatch(s, p);
	if (i)
		instance_stopped(s, i, why);
	p->ops->free(p);
}
