// SPDX-License-Identifier: GPL-2.0-or-later
/* The backend whose kernels are spawn kernels of a multikernel host. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "harness/backend/nature.h"
#include "harness/mklinux/own.h"

static void say(void *arg, const char *line)
{
	struct backend *b = arg;

	if (b->env.note)
		b->env.note(b->env.note_arg, line);
}

static bool plan_has_spawns(const struct plan *p)
{
	for (int i = 0; p && i < p->narms; i++)
		for (int k = 0; k < p->arms[i].npartitions; k++)
			if (strcmp(p->arms[i].backend, MK_BACKEND) == 0 &&
			    !p->arms[i].partitions[k].host)
				return true;
	return false;
}

/* Before the first measurement, so that every arm of every block sees the same host (5). */
static int prepare(struct backend *b, struct err *e)
{
	struct mk_own *o = mk_own(b);
	int rc;

	if (!mk_is_multikernel(b->env.root))
		return mk_check_generation(&o->detection, e);
	rc = mk_mount_step(b, e);
	rc = rc ? rc : mk_detect(&o->detection, &o->host, true, e);
	rc = rc ? rc : mk_check_generation(&o->detection, e);
	rc = rc ? rc : mk_take_pool(b, e);
	rc = rc ? rc : mk_rehearse(b, e);
	if (rc || cpumask_weight(&o->pool.home) == 0)
		return rc;
	return mk_move_cpus(b, &o->pool.home, true, e);
}

/* As `mksplit try` asks in the plan that it makes. */
static bool wants_transcript(const struct plan *p)
{
	return p && p->narms && p->arms[0].settings &&
	       json_is_true(json_object_get(p->arms[0].settings, "transcript"));
}

static void mk_close(struct backend *b)
{
	struct mk_own *o = mk_own(b);

	if (!o)
		return;
	mk_forget_arm(o);
	mk_pool_free(&o->pool);
	cpumask_free(&o->in_pool);
	free((void *)o->host.blobs);
	free(o);
	b->own = NULL;
}

static int mk_open(struct backend *b, struct err *e)
{
	struct mk_own *o = calloc(1, sizeof(*o));
	char *blobs = NULL;
	int rc;

	if (!o)
		return err_set(e, ENOMEM, "out of memory");
	b->own = o;
	mk_host_init(&o->host, b->env.root, b->env.token ? b->env.token : "none");
	o->host.say = say;
	o->host.say_arg = b;
	o->host.last_tx = -1;
	o->host.transcript = wants_transcript(b->env.plan);
	if (b->env.results_dir && asprintf(&blobs, "%s/blobs", b->env.results_dir) >= 0) {
		mkdir(blobs, 0755);
		o->host.blobs = blobs;
	}
	o->block = mk_block_size(b->env.root);
	rc = mk_detect(&o->detection, &o->host, false, e);
	if (!rc && b->env.plan)
		rc = mk_pool_of(&o->pool, b->env.plan, b->env.topology, o->block, e);
	if (!rc && b->env.journal && plan_has_spawns(b->env.plan))
		rc = prepare(b, e);
	if (rc)
		mk_close(b);
	return rc;
}

static enum nature mk_nature(struct backend *b)
{
	return machine_nature(b->env.root);
}

static int mk_channel(struct backend *b, int partition, struct err *e)
{
	struct mk_own *o = mk_own(b);
	struct mk_live *l = &o->live[partition];

	if (!o->kernels.v[partition].partition->host)
		return l->console ? mk_console_link(l->console, e)
				  : err_set(e, ENOTCONN, "the console is not connected");
	if (l->agent_fd < 0)
		return err_set(e, ENOTCONN, "there is no agent");
	return take_fd(l->agent_fd);
}

/* A spawn kernel numbers its CPUs as its instance lists them (docs/mklinux-abi.md 11.5). */
static int mk_agent_cpu(struct backend *b, int partition, int host_cpu)
{
	const struct mk_kernel *k = &mk_own(b)->kernels.v[partition];

	if (k->partition->host)
		return host_cpu;
	for (size_t i = 0; i < k->ncpus; i++)
		if (k->cpus[i] == host_cpu)
			return (int)i;
	return -1;
}

static const char *mk_console(struct backend *b, int partition)
{
	struct mk_own *o = mk_own(b);

	return partition < o->kernels.n && o->live ? o->live[partition].socket : NULL;
}

const struct backend_ops backend_mklinux = {
	.name = MK_BACKEND,
	.summary = "spawn kernels of a multikernel Linux host (v7.0-mk2 and later)",
	.open = mk_open,
	.close = mk_close,
	.probe = mk_probe,
	.nature = mk_nature,
	.plan = mk_plan,
	.apply = mk_step_apply,
	.channel = mk_channel,
	.agent_cpu = mk_agent_cpu,
	.state = mk_state,
	.console = mk_console,
};
