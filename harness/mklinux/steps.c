// SPDX-License-Identifier: GPL-2.0-or-later
/* Which steps lead from one layout to another, and the table that applies them. */
#include <errno.h>
#include <libfdt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/mklinux/dts.h"
#include "harness/mklinux/own.h"

enum kind {
	STEP_MOUNT,
	STEP_TAKE_POOL,
	STEP_CPUS_HOME,
	STEP_CPUS_TO_POOL,
	STEP_CREATE,
	STEP_CONNECT,
	STEP_LOAD,
	STEP_BOOT,
	STEP_OVERLAY,
	STEP_START_AGENT,
	STEP_STOP_AGENT,
	STEP_OVERLAY_UNDO,
	STEP_STOP,
	STEP_UNLOAD,
	STEP_REMOVE,
};

static const struct {
	const char *name;
	int (*one)(struct backend *b, int partition, struct err *e); /* on a partition */
	double expected_s;
} kinds[] = {
	[STEP_MOUNT] = {"mount", NULL, 0.1},
	[STEP_TAKE_POOL] = {"take-pool", NULL, 30},
	[STEP_CPUS_HOME] = {"cpus-home", NULL, 5},
	[STEP_CPUS_TO_POOL] = {"cpus-to-pool", NULL, 5},
	[STEP_CREATE] = {"create-instance", mk_create, 0.2},
	[STEP_CONNECT] = {"connect-console", mk_connect, 0.1},
	[STEP_LOAD] = {"load-kernel", mk_load_kernel, 1},
	[STEP_BOOT] = {"boot-kernel", mk_boot_kernel, 1},
	[STEP_OVERLAY] = {"apply-overlay", NULL, 0.2},
	[STEP_START_AGENT] = {"start-agent", mk_start_agent, 0.1},
	[STEP_STOP_AGENT] = {"stop-agent", mk_stop_agent, 1},
	[STEP_OVERLAY_UNDO] = {"undo-overlay", NULL, 0.2},
	[STEP_STOP] = {"stop-kernel", mk_stop_kernel, 1},
	[STEP_UNLOAD] = {"unload-kernel", mk_unload_kernel, 0.2},
	[STEP_REMOVE] = {"remove-instance", mk_remove, 0.2},
};

/* What a step carries besides its partition. */
struct payload {
	enum kind kind;
	struct cpumask cpus;
	const struct plan_arm *arm;
};

static void free_payload(void *own)
{
	struct payload *p = own;

	if (p)
		cpumask_free(&p->cpus);
	free(p);
}

/* The blobs of a request as they would be written: an array, or NULL without memory. */
static json_t *blobs_of(struct mk_own *o, const struct mk_request *r)
{
	size_t done = 0, items = mk_request_items(r);
	bool baseline = r->op == MK_BASELINE;
	size_t limit = baseline ? MK_TREE_MAX : (size_t)sysconf(_SC_PAGESIZE);
	json_t *list = json_array();

	while (list && done < items) {
		cleanup_blob struct mk_blob b = MK_BLOB_INIT;
		cleanup_free char *dts = NULL, *hex = NULL;
		char nonce[MK_NONCE_MAX];
		struct err e = ERR_INIT;

		mk_nonce(&o->host, r, nonce);
		if (mk_blob_next(&b, r, baseline ? NULL : nonce, limit, &done, &e))
			break;
		dts = dts_of(b.data, b.len);
		hex = hex_of(b.data, b.len);
		json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:s?, s:s?}", "path",
						      baseline ? MK_FS_PATH "/device_tree"
							       : MK_FS_PATH "/overlays/new",
						      "name", nonce, "length", (int)b.len, "bytes",
						      hex, "dts", dts));
		o->host.serial++;
	}
	return list;
}

struct builder {
	struct backend *b;
	const struct plan_arm *arm;
	struct steps *out;
	bool no_memory;
	bool dry; /* nobody writes: the steps show what would be written */
};

static void add(struct builder *w, enum kind kind, int partition, const struct cpumask *cpus,
		const struct mk_request *r, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
static void add(struct builder *w, enum kind kind, int partition, const struct cpumask *cpus,
		const struct mk_request *r, const char *fmt, ...)
{
	struct step *more = reallocarray(w->out->v, (size_t)w->out->n + 1, sizeof(*more));
	struct payload *p = calloc(1, sizeof(*p));
	va_list ap;

	if (more)
		w->out->v = more;
	if (!more || !p || (cpus && cpumask_copy(&p->cpus, cpus))) {
		free_payload(p);
		w->no_memory = true;
		return;
	}
	p->kind = kind;
	p->arm = w->arm;
	more += w->out->n;
	*more = (struct step){.number = w->out->n,
			      .partition = partition,
			      .kind = kinds[kind].name,
			      .expected_s = kinds[kind].expected_s,
			      .own = p};
	va_start(ap, fmt);
	if (vasprintf(&more->what, fmt, ap) < 0)
		more->what = NULL;
	va_end(ap);
	if (r && w->dry)
		more->blob = blobs_of(mk_own(w->b), r);
	w->no_memory |= !more->what;
	w->out->n++;
}

/* CPUs that the layout leaves to the host although the pool may have them. */
static int at_home(const struct mk_own *o, const struct plan_arm *arm, struct cpumask *home)
{
	if (!arm)
		return cpumask_copy(home, &o->pool.home);
	for (int i = 0; i < arm->npartitions; i++)
		if (arm->partitions[i].host && cpumask_or(home, &arm->partitions[i].cpus))
			return -ENOMEM;
	cpumask_and(home, &o->pool.cpus);
	return 0;
}

/* Moves between host and pool, so that the pool has what the layout wants there. */
static int add_moves(struct builder *w, const struct plan_arm *arm, struct err *e)
{
	cleanup_cpumask struct cpumask home = CPUMASK_INIT, there = CPUMASK_INIT, back = CPUMASK_INIT;
	struct mk_own *o = mk_own(w->b);
	const struct cpumask *in_pool = w->dry && !o->pool_taken ? &o->pool.cpus : &o->in_pool;

	if (at_home(o, arm, &home) || cpumask_copy(&back, &home) ||
	    cpumask_copy(&there, &o->pool.cpus))
		return err_set(e, ENOMEM, "out of memory");
	cpumask_and(&back, in_pool);
	cpumask_andnot(&there, &home);
	cpumask_andnot(&there, in_pool);
	for (int out = 1; out >= 0; out--) {
		const struct cpumask *m = out ? &back : &there;
		cleanup_free struct phys_id *ids = NULL;
		cleanup_free char *text = NULL, *phys = NULL;
		struct mk_request r = {.op = out ? MK_POOL_CPU_REMOVE : MK_POOL_CPU_ADD};
		int rc;

		if (cpumask_weight(m) == 0)
			continue;
		rc = mk_ids_of(w->b->env.topology, m, &ids, &r.ncpus, e);
		if (rc)
			return rc;
		r.cpus = ids;
		text = cpumask_format(m);
		phys = mk_ids_format(ids, r.ncpus);
		add(w, out ? STEP_CPUS_HOME : STEP_CPUS_TO_POOL, -1, m, &r,
		    out ? "return CPUs %s (physical ids %s) from the pool to the host"
			: "give CPUs %s (physical ids %s) of the host to the pool",
		    text ? text : "", phys ? phys : "");
	}
	return 0;
}

static void add_pool(struct builder *w)
{
	struct mk_own *o = mk_own(w->b);
	cleanup_free char *cpus = cpumask_format(&o->pool.cpus);
	cleanup_free char *ids = mk_ids_format(o->pool.ids, o->pool.nids);
	struct mk_request r = mk_baseline_request(&o->pool);
	uint64_t bytes = 0;

	for (size_t i = 0; i < o->pool.nchunks; i++)
		bytes += o->pool.chunks[i].size;
	if (!mk_is_mounted(w->b->env.root))
		add(w, STEP_MOUNT, -1, NULL, NULL, "mount %s", MK_FS_PATH);
	add(w, STEP_TAKE_POOL, -1, NULL, &r,
	    "give CPUs %s (physical ids %s) and %llu MiB of memory in %zu chunks to the pool",
	    cpus ? cpus : "", ids ? ids : "", (unsigned long long)(bytes >> 20), o->pool.nchunks);
}

static void add_kernel(struct builder *w, int i)
{
	const struct mk_kernel *k = &mk_own(w->b)->kernels.v[i];
	cleanup_free char *ids = mk_ids_format(k->ids, k->ncpus), *cmdline = mk_cmdline(w->b, i);
	struct mk_request r = mk_create_request(k);
	const struct plan_kernel *image = &w->b->env.plan->kernels[k->partition->kernel];

	add(w, STEP_CREATE, i, NULL,
	    &r, "create instance \"%s\" (id %u) with the CPUs of physical ids %s and %llu MiB of node %d",
	    k->name, k->id, ids ? ids : "", (unsigned long long)(k->memory >> 20), k->node);
	add(w, STEP_CONNECT, i, NULL, NULL, "connect to the console of \"%s\"", k->name);
	add(w, STEP_LOAD, i, NULL, NULL, "load kernel image %s into \"%s\": %s", image->image,
	    k->name, cmdline ? cmdline : "");
}

static int plan_up(struct builder *w, struct err *e)
{
	struct mk_own *o = mk_own(w->b);
	int rc = mk_user_overlay_check(w->arm, e);

	if (rc)
		return rc;
	if (!o->pool_taken)
		add_pool(w);
	rc = add_moves(w, w->arm, e);
	if (rc)
		return rc;
	for (int i = 0; i < o->kernels.n; i++)
		if (!o->kernels.v[i].partition->host)
			add_kernel(w, i);
	/* All are there before the first boots: what a kernel may ever hear of is fixed then. */
	for (int i = 0; i < o->kernels.n; i++)
		if (!o->kernels.v[i].partition->host)
			add(w, STEP_BOOT, i, NULL, NULL, "boot \"%s\"", o->kernels.v[i].name);
	if (mk_has_user_overlay(w->arm))
		add(w, STEP_OVERLAY, -1, NULL, NULL, "apply the plan's own overlay");
	for (int i = 0; i < o->kernels.n; i++)
		if (o->kernels.v[i].partition->host)
			add(w, STEP_START_AGENT, i, NULL, NULL,
			    "start the agent of the host's partition \"%s\"",
			    o->kernels.v[i].partition->name);
	return 0;
}

/* In the reverse order: what started last stops first. */
static int plan_down(struct builder *w, struct err *e)
{
	struct mk_own *o = mk_own(w->b);

	for (int i = o->kernels.n - 1; i >= 0; i--)
		if (o->kernels.v[i].partition->host)
			add(w, STEP_STOP_AGENT, i, NULL, NULL,
			    "stop the agent of the host's partition");
	if (mk_has_user_overlay(w->arm) && o->overlay_applied)
		add(w, STEP_OVERLAY_UNDO, -1, NULL, NULL, "undo the plan's own overlay");
	for (int i = o->kernels.n - 1; i >= 0; i--)
		if (o->live[i].entry) {
			const char *name = o->kernels.v[i].name;

			add(w, STEP_STOP, i, NULL, NULL, "stop \"%s\"", name);
			add(w, STEP_UNLOAD, i, NULL, NULL, "unload the kernel of \"%s\"", name);
			add(w, STEP_REMOVE, i, NULL, NULL,
			    "remove instance \"%s\": its CPUs and memory return to the pool", name);
		}
	return o->pool_taken && !o->rehearsing ? add_moves(w, NULL, e) : 0;
}

void mk_forget_arm(struct mk_own *o)
{
	for (int i = 0; o->live && i < o->kernels.n; i++) {
		mk_console_close(&o->live[i].console);
		free(o->live[i].socket);
		mk_end_agent(&o->live[i]);
	}
	free(o->live);
	o->live = NULL;
	mk_kernels_free(&o->kernels);
	o->arm = NULL;
}

/* Ids of instances that are there, so that ours are others. */
static void ids_taken(const struct mk_own *o, bool taken[MK_ID_MAX + 1])
{
	cleanup_names struct mk_names names = {0};
	struct err e = ERR_INIT;

	if (mk_instances(&o->host, &names, &e))
		return;
	for (int i = 0; i < names.n; i++) {
		int id = mk_instance_id(&o->host, names.v[i]);

		if (id >= 0 && id <= MK_ID_MAX)
			taken[id] = true;
	}
}

static int take_arm(struct backend *b, const struct plan_arm *arm, struct err *e)
{
	struct mk_own *o = mk_own(b);
	bool taken[MK_ID_MAX + 1] = {false};
	int rc;

	mk_forget_arm(o);
	ids_taken(o, taken);
	rc = mk_kernels_of(&o->kernels, b->env.plan, arm, b->env.topology, taken, e);
	if (rc)
		return rc;
	o->live = calloc((size_t)o->kernels.n, sizeof(*o->live));
	if (!o->live)
		return err_set(e, ENOMEM, "out of memory");
	for (int i = 0; i < o->kernels.n; i++)
		o->live[i].agent_fd = -1;
	o->arm = arm;
	return 0;
}

int mk_plan(struct backend *b, const struct layout *is, const struct layout *want,
	    struct steps *out, struct err *e)
{
	struct builder w = {.b = b, .arm = want->arm ? want->arm : is->arm, .out = out};
	struct mk_own *o = mk_own(b);
	int rc = 0;

	*out = (struct steps){.free_own = free_payload};
	w.dry = !b->env.journal;
	if (is->arm && want->arm)
		return err_set(e, EOPNOTSUPP, "arm \"%s\" has to go down before \"%s\" comes up",
			       is->arm->name, want->arm->name);
	if (want->arm) {
		rc = take_arm(b, want->arm, e);
		rc = rc ? rc : plan_up(&w, e);
	} else if (is->arm && o->arm == is->arm) {
		rc = plan_down(&w, e);
	}
	if (!rc && w.no_memory)
		rc = err_set(e, ENOMEM, "out of memory");
	if (rc)
		steps_free(out);
	return rc;
}

int mk_step_apply(struct backend *b, const struct step *s, struct err *e)
{
	const struct payload *p = s->own;

	if (!b->env.journal)
		return err_set(e, EROFS, "nothing is changed without a journal");
	mk_say(&mk_own(b)->host, "%s", s->what);
	if (kinds[p->kind].one)
		return kinds[p->kind].one(b, s->partition, e);
	switch (p->kind) {
	case STEP_MOUNT:
		return mk_mount_step(b, e);
	case STEP_TAKE_POOL:
		return mk_take_pool(b, e);
	case STEP_CPUS_HOME:
	case STEP_CPUS_TO_POOL:
		return mk_move_cpus(b, &p->cpus, p->kind == STEP_CPUS_HOME, e);
	case STEP_OVERLAY:
	case STEP_OVERLAY_UNDO:
		return mk_user_overlay(b, p->arm, p->kind == STEP_OVERLAY_UNDO, e);
	default:
		return err_set(e, ENOSYS, "no such step");
	}
}
