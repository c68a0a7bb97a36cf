// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/sim.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/kmsg.h"

const char *abi_name(enum sim_abi abi)
{
	static const char *const names[] = {[ABI_G2A] = "g2a", [ABI_G2B] = "g2b", [ABI_G1B] = "g1b"};

	return names[abi];
}

const char *abi_release(enum sim_abi abi)
{
	static const char *const releases[] = {
		[ABI_G2A] = "7.0.0-mk2", [ABI_G2B] = "7.0.0-mk5", [ABI_G1B] = "7.0.0-mk1+"};

	return releases[abi];
}

const char *state_name(enum instance_state state)
{
	static const char *const names[] = {[STATE_EMPTY] = "empty",
					    [STATE_READY] = "ready",
					    [STATE_LOADED] = "loaded",
					    [STATE_ACTIVE] = "active",
					    [STATE_FAILED] = "failed"};

	return names[state];
}

int sim_init(struct sim *s, struct err *e)
{
	s->cpus = calloc(s->machine.ncpus, sizeof(*s->cpus));
	if (!s->cpus)
		return err_set(e, ENOMEM, "no memory");
	for (int i = 0; i < s->machine.ncpus; i++) {
		s->cpus[i].present = s->machine.cpus[i].present;
		s->cpus[i].online = s->machine.cpus[i].online;
	}
	s->last_tx = 1;
	s->load_limit = s->options.load_limit;
	return 0;
}

void sim_free(struct sim *s)
{
	while (s->instances) {
		struct instance *i = s->instances;

		s->instances = i->next;
		image_free(i->image);
		free(i->cpus);
		free(i->regions);
		free(i->slots);
		free(i);
	}
	while (s->transactions) {
		struct tx *t = s->transactions;

		s->transactions = t->next;
		tx_free(t);
	}
	for (int i = 0; i < s->nchunks; i++)
		free(s->chunks[i].taken);
	free(s->chunks);
	free(s->cpus);
	machine_free(&s->machine);
	log_close(&s->log);
}

void sim_printk(struct sim *s, int level, const char *fmt, ...)
{
	char text[900];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_line(&s->log, "  kernel: %s", text);
	if (s->kmsg)
		kmsg_add(s->kmsg, level, text);
}

const struct fault *sim_step(struct sim *s, const char *kind, const char *fmt, ...)
{
	const struct fault *f = fault_at(s->options.faults, ++s->step);
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_line(&s->log, "step %d %s: %s", s->step, kind, text);
	if (s->options.list_steps)
		fprintf(stderr, "mksim: step %d %s: %s\n", s->step, kind, text);
	if (f)
		log_line(&s->log, "  fault %s strikes",
			 f->kind == FAULT_ERRNO ? errno_name(f->error) : fault_name(f->kind));
	return f;
}

void sim_crash(struct sim *s, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->host_dead = true;
	log_strict(&s->log, "%s: the real host could crash here", text);
}

static int differs(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int differs(struct sim *s, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_strict(&s->log, "at the end: %s", text);
	return 1;
}

int sim_compare_with_start(struct sim *s)
{
	int n = 0, lent = 0;

	for (struct instance *i = s->instances; i; i = i->next)
		n += differs(s, "instance %s (id %d) is %s", i->name, i->id, state_name(i->state));
	for (int i = 0; i < s->machine.ncpus; i++)
		lent += s->cpus[i].owner != OWNER_HOST;
	if (lent)
		n += differs(s, "%d CPUs belong to the pool", lent);
	for (int i = 0; i < s->machine.ncpus; i++)
		if (s->cpus[i].owner == OWNER_HOST && s->cpus[i].online != s->machine.cpus[i].online)
			n += differs(s, "CPU %d is %s", i, s->cpus[i].online ? "online" : "offline");
	for (int i = 0; i < s->nchunks; i++)
		n += differs(s, "pool memory 0x%llx + 0x%llx of node %d",
			     (unsigned long long)s->chunks[i].base,
			     (unsigned long long)s->chunks[i].size, s->chunks[i].node);
	return n;
}
