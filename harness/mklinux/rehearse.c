// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Before the first kernel of a plan boots, the smallest one does: one CPU and one block of memory
 * go the whole way, up to the agent's hello and back. What is wrong with host, image or agent
 * shows here, where the least is at stake.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "harness/mklinux/own.h"
#include "harness/session/link.h"

/* Emulated kernels of a rehearsal need minutes, real ones seconds; a dead one is noticed at once. */
#define HELLO_MS      300000
#define LEASE_S	      300
#define OFF_MS	      5000
#define MEMORY_WANTED (UINT64_C(512) << 20)

struct watch {
	struct backend *b;
};

static int alive(void *arg, struct err *e)
{
	struct watch *w = arg;
	char why[2000];

	if (mk_state(w->b, 0, why, sizeof(why)) != KERNEL_DEAD)
		return 0;
	return err_set(e, ESHUTDOWN, "%s", why);
}

/* The first spawn kernel of the plan, cut down to one CPU and one block (or half a GiB). */
static int small_partition(const struct backend *b, struct plan_partition *small, struct err *e)
{
	const struct plan_partition *first = NULL;
	uint64_t memory = mk_own(b)->block > MEMORY_WANTED ? mk_own(b)->block : MEMORY_WANTED;

	for (int i = 0; i < b->env.plan->narms && !first; i++)
		for (int k = 0; k < b->env.plan->arms[i].npartitions && !first; k++)
			if (strcmp(b->env.plan->arms[i].backend, MK_BACKEND) == 0 &&
			    !b->env.plan->arms[i].partitions[k].host)
				first = &b->env.plan->arms[i].partitions[k];
	if (!first)
		return err_set(e, EINVAL, "the plan has no spawn kernel");
	*small = (struct plan_partition){.name = (char *)"try",
					 .cpus_text = first->cpus_text,
					 .memory = first->memory < memory ? first->memory : memory,
					 .kernel = first->kernel};
	if (cpumask_set(&small->cpus, cpumask_next(&first->cpus, 0)) ||
	    cpumask_set(&small->nodes, cpumask_next(&first->nodes, 0)))
		return err_set(e, ENOMEM, "out of memory");
	return 0;
}

/* All steps; on the way down every one, whatever the ones before did. The first error counts. */
static int walk(struct backend *b, const struct layout *is, const struct layout *want, bool down,
		struct err *e)
{
	struct steps s = {0};
	int rc = mk_plan(b, is, want, &s, e);

	for (int i = 0; i < s.n && (down || !rc); i++) {
		struct err own = ERR_INIT;
		int64_t from = clock_ns();

		if (mk_step_apply(b, &s.v[i], &own) && !rc) {
			*e = own;
			rc = err_wrap(e, "%s", s.v[i].what);
		}
		mk_say(&mk_own(b)->host, "%s: %s in %lld ms", s.v[i].kind,
		       own.code ? own.text : "done",
		       (long long)((clock_ns() - from) / NSEC_PER_MSEC));
	}
	steps_free(&s);
	return rc;
}

static int greet(struct backend *b, struct err *e)
{
	struct watch w = {b};
	struct link *l = NULL;
	int64_t from = clock_ns();
	struct err quiet = ERR_INIT;
	char reply[64];
	int fd = b->ops->channel(b, 0, e), rc;

	if (fd < 0)
		return fd;
	rc = link_open(&l, fd, "try", NULL, e);
	rc = rc ? rc : link_hello(l, b->env.token, LEASE_S, HELLO_MS, alive, &w, e);
	if (!rc) {
		mk_say(&mk_own(b)->host, "the agent said hello after %lld ms",
		       (long long)((clock_ns() - from) / NSEC_PER_MSEC));
		link_ask(l, reply, sizeof(reply), OFF_MS, &quiet, "OFF %s", b->env.token);
	}
	link_close(&l);
	return rc;
}

int mk_rehearse(struct backend *b, struct err *e)
{
	struct plan_partition small = {0};
	struct plan_arm arm = {.name = (char *)"try",
			       .backend = (char *)MK_BACKEND,
			       .partitions = &small,
			       .npartitions = 1};
	struct layout none = {0}, up = {.arm = &arm};
	struct err down = ERR_INIT;
	int rc = small_partition(b, &small, e), ended;

	mk_own(b)->rehearsing = true;
	if (!rc) {
		rc = walk(b, &none, &up, false, e);
		rc = rc ? rc : greet(b, e);
		ended = walk(b, &up, &none, true, &down);
		mk_forget_arm(mk_own(b));
		if (!rc && ended) {
			*e = down;
			rc = ended;
		}
	}
	mk_own(b)->rehearsing = false;
	cpumask_free(&small.cpus);
	cpumask_free(&small.nodes);
	return rc ? err_wrap(e, "the trial with one CPU failed") : 0;
}
