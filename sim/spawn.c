// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/spawn.h"

#include <stdio.h>

#include "common/clock.h"
#include "sim/calls.h"
#include "sim/fault.h"
#include "sim/mktty.h"

struct instance *spawn_instance(struct spawn *p)
{
	for (struct instance *i = p->sim->instances; i; i = i->next)
		if (i->spawn == p)
			return i;
	return NULL;
}

/* Every so many bytes something happens to a faulty console. */
enum {
	DROP_EVERY = 500,
	PRINTK_EVERY = 700
};

static void faulty_output(struct spawn *p, const char *data, size_t len)
{
	static const char message[] = "[   42.000000] mksim: a kernel message in between\r\n";
	int64_t age = clock_ns() - p->started;

	if (p->fault->kind == FAULT_CONSOLE_DEAD && age >= p->fault->ms * NSEC_PER_MSEC)
		return;
	for (size_t k = 0; k < len; k++) {
		p->written++;
		if (p->fault->kind == FAULT_CONSOLE_DROP && p->written % DROP_EVERY == 0)
			continue;
		mktty_output(p->sim->mktty, p->id, data + k, 1);
		if (p->fault->kind == FAULT_CONSOLE_PRINTK && p->written % PRINTK_EVERY == 0)
			mktty_output(p->sim->mktty, p->id, message, sizeof(message) - 1);
	}
}

void spawn_output(struct spawn *p, const void *data, size_t len)
{
	if (p->fault)
		faulty_output(p, data, len);
	else
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
