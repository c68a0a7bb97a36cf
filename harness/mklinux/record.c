// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "harness/machine/snapshot.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/calls.h"
#include "harness/mklinux/pool.h"

#define GONE_WAIT_MS 2000
#define POLL_US	     50000

static json_t *json_cpu(const struct topo_cpu *c)
{
	return json_pack("{s:i, s:I, s:i, s:i, s:i}", "cpu", c->cpu, "phys", (json_int_t)c->phys.v,
			 "package", c->package, "node", c->node, "core", c->core);
}

json_t *mk_record_pool(const struct mk_host *h, const struct mk_pool *pool, const struct topology *t)
{
	struct err none = ERR_INIT;
	json_t *map = json_array(), *cpus = json_array(), *chunks = json_array();
	cleanup_free char *online = cpumask_format(&t->online), *set = cpumask_format(&pool->cpus);

	for (int i = 0; i < t->ncpus; i++)
		json_array_append_new(map, json_cpu(&t->cpus[i]));
	for (size_t i = 0; i < pool->nids; i++)
		json_array_append_new(cpus, json_integer(pool->ids[i].v));
	for (size_t i = 0; i < pool->nchunks; i++)
		json_array_append_new(chunks, json_pack("{s:I, s:i}", "size",
							(json_int_t)pool->chunks[i].size, "node",
							pool->chunks[i].node));
	return json_pack("{s:s, s:s?, s:s?, s:o, s:o, s:o, s:o*}", "prefix", h->prefix, "online",
			 online, "cpus", set, "ids", cpus, "chunks", chunks, "map", map, "before",
			 snapshot_take(h->root, &none));
}

json_t *mk_record_instance(const struct mk_host *h, const char *name, uint32_t id)
{
	return json_pack("{s:s, s:s, s:i}", "prefix", h->prefix, "name", name, "id", (int)id);
}

int mk_remove_instance(struct mk_host *h, const char *name, const struct phys_id *ids, size_t n,
		       struct err *e)
{
	struct mk_request r = {.op = MK_INSTANCE_REMOVE, .instance = name};
	int64_t end = clock_ns() + GONE_WAIT_MS * NSEC_PER_MSEC;
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	char status[MK_STATUS_MAX];
	int rc;

	mk_status(h, name, status);
	if (!*status)
		return 0;
	if (strcmp(status, "active") == 0 || strcmp(status, "loaded") == 0)
		return err_set(e, EBUSY, "instance \"%s\" is \"%s\": it cannot be removed", name,
			       status);
	rc = mk_apply(h, &r, e);
	mk_status(h, name, status);
	while (*status && clock_ns() < end) {
		usleep(POLL_US);
		mk_status(h, name, status);
	}
	if (*status)
		return rc ? rc : err_set(e, EBUSY, "instance \"%s\" is still there", name);
	*e = ERR_INIT;
	rc = mk_read_root(h, &t, e);
	for (size_t i = 0; !rc && i < n; i++)
		if (!mk_ids_contain(t.available, t.navailable, ids[i]))
			rc = err_set(
				e, EBADE,
				"instance \"%s\" is gone, but its CPU with physical id %" PRId64
				" is not free in the pool",
				name, ids[i].v);
	return rc;
}

struct teller {
	void (*say)(void *arg, const char *line);
	void *arg;
};

/* A host handle for undoing: reads the machine itself, and continues this run's nonces. */
static int open_host(struct mk_host *h, struct root *root, const json_t *entry, struct err *e)
{
	const char *prefix = json_string_value(json_object_get(entry, "prefix"));
	int rc = root_open(root, NULL, e);

	if (rc)
		return rc;
	mk_host_init(h, root, "cleanup");
	if (prefix)
		snprintf(h->prefix, sizeof(h->prefix), "%.47s", prefix);
	/* Far from the numbers of the process that is gone. */
	h->serial = 1000000 + (unsigned)getpid();
	return 0;
}

static int undo_instance(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
			 struct err *e)
{
	const char *name = json_string_value(json_object_get(entry, "name"));
	const char *prefix = json_string_value(json_object_get(entry, "prefix"));
	int id = (int)json_integer_value(json_object_get(entry, "id")), rc;
	cleanup_root struct root root = ROOT_INIT;
	char status[MK_STATUS_MAX], line[300];
	struct mk_host h;

	if (!name || !prefix)
		return err_set(e, EINVAL, "a journal entry without name");
	rc = open_host(&h, &root, entry, e);
	if (rc)
		return rc;
	mk_status(&h, name, status);
	if (!mk_is_mounted(&root) || !*status)
		return 0;
	if (mk_instance_id(&h, name) != id || !mk_is_ours(&root, prefix, name)) {
		snprintf(line,
			 sizeof(line), "instance \"%s\" is there, but this run's transactions did not make it: left alone",
			 name);
		say(arg, line);
		return 0;
	}
	if (json_is_true(json_object_get(entry, "alone")))
		return err_set(
			e, EBUSY,
			"instance \"%s\" is left alone since its load failed: reboot the host to "
			"get its CPUs and memory back",
			name);
	snprintf(line, sizeof(line), "instance \"%s\" (\"%s\"): stopping and removing it", name,
		 status);
	say(arg, line);
	rc = mk_stop(&h, name, id, 0, e);
	mk_status(&h, name, status);
	if (!rc && strcmp(status, "loaded") == 0)
		rc = mk_unload(&h, name, id, e);
	return rc ? rc : mk_remove_instance(&h, name, NULL, 0, e);
}

const struct undo_kind undo_mk_instance = {MK_UNDO_INSTANCE, undo_instance};

static struct phys_id *ids_in(const json_t *list, size_t *n)
{
	struct phys_id *ids;

	*n = json_array_size(list);
	ids = calloc(*n ? *n : 1, sizeof(*ids));
	for (size_t i = 0; ids && i < *n; i++)
		ids[i].v = json_integer_value(json_array_get(list, i));
	return ids;
}

static struct mk_chunk *chunks_in(const json_t *list, size_t *n)
{
	struct mk_chunk *c;

	*n = json_array_size(list);
	c = calloc(*n ? *n : 1, sizeof(*c));
	for (size_t i = 0; c && i < *n; i++) {
		json_t *item = json_array_get(list, i);

		c[i].size = (uint64_t)json_integer_value(json_object_get(item, "size"));
		c[i].node = (int)json_integer_value(json_object_get(item, "node"));
	}
	return c;
}

/* Whether every CPU that was online before is again. */
static int compare_online(const struct root *root, const json_t *entry, struct err *e)
{
	const char *text = json_string_value(json_object_get(entry, "online"));
	cleanup_cpumask struct cpumask before = CPUMASK_INIT, now = CPUMASK_INIT;
	cleanup_free char *missing = NULL;

	if (!text || cpumask_parse(&before, text, e) ||
	    root_read_cpulist(root, &now, e, "/sys/devices/system/cpu/online"))
		return e->code;
	cpumask_andnot(&before, &now);
	if (cpumask_weight(&before) == 0)
		return 0;
	missing = cpumask_format(&before);
	return err_set(e, EBADE, "CPUs %s were online before and are not now",
		       missing ? missing : "?");
}

static void pass_line(void *arg, const char *line)
{
	struct teller *t = arg;

	t->say(t->arg, line);
}

/*
 * Offlining moves interrupts to other CPUs, and they do not come back with the CPU: their lists are
 * written again. Everything else that changed is said.
 */
static void restore_side_effects(const struct root *root, const json_t *before,
				 void (*say)(void *arg, const char *line), void *arg)
{
	json_t *irqs = json_object_get(before, "interrupt affinity"), *value, *after;
	struct err none = ERR_INIT;
	const char *irq;

	json_object_foreach(irqs, irq, value) {
		const char *list = json_string_value(value);
		cleanup_free char *is = NULL;

		/* Interrupts come and go with devices; only those that are there count. */
		if (list && root_read(root, &is, &none, "/proc/irq/%s/smp_affinity_list", irq) == 0 &&
		    strcmp(is, list) != 0)
			root_write(root, list, &none, "/proc/irq/%s/smp_affinity_list", irq);
	}
	after = before ? snapshot_take(root, &none) : NULL;
	if (after)
		snapshot_compare(before, after, say, arg);
	json_decref(after);
}

static int undo_pool(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
		     struct err *e)
{
	struct teller teller = {say, arg};
	cleanup_root struct root root = ROOT_INIT;
	cleanup_free struct phys_id *ids = NULL;
	cleanup_free struct mk_chunk *chunks = NULL;
	struct mk_host h;
	size_t nids, nchunks;
	int rc = open_host(&h, &root, entry, e);

	if (rc)
		return rc;
	ids = ids_in(json_object_get(entry, "ids"), &nids);
	chunks = chunks_in(json_object_get(entry, "chunks"), &nchunks);
	if (!ids || !chunks)
		return err_set(e, ENOMEM, "out of memory");
	h.say = pass_line;
	h.say_arg = &teller;
	if (mk_is_mounted(&root))
		rc = mk_pool_return(&h, ids, nids, chunks, nchunks, e);
	rc = rc ? rc : compare_online(&root, entry, e);
	restore_side_effects(&root, json_object_get(entry, "before"), say, arg);
	return rc;
}

const struct undo_kind undo_mk_pool = {MK_UNDO_POOL, undo_pool};

static int undo_mount(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
		      struct err *e)
{
	cleanup_names struct mk_names names = {0};
	cleanup_root struct root root = ROOT_INIT;
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	struct mk_host h;
	int rc = open_host(&h, &root, entry, e);

	if (rc || !mk_is_mounted(&root))
		return rc;
	/* Somebody else may have begun to use it. */
	if (mk_instances(&h, &names, e) || mk_read_root(&h, &t, e) || names.n ||
	    mk_tree_has_pool(&t)) {
		say(arg, MK_FS_PATH " is in use and stays mounted");
		*e = ERR_INIT;
		return 0;
	}
	if (umount2(MK_FS_PATH, 0) && errno != EINVAL) {
		say(arg, MK_FS_PATH " is busy and stays mounted");
		return 0;
	}
	return 0;
}

const struct undo_kind undo_mk_mount = {MK_UNDO_MOUNT, undo_mount};
