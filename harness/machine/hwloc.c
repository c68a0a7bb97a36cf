// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/internal.h"

/*
 * hwloc is used to look at caches, NUMA nodes and kinds of cores, never to bind. It takes
 * the root of a dump, and the choice of its readers, from the environment alone.
 */
struct saved_env {
	const char *name;
	char *old;
};

static void env_restore(struct saved_env *v)
{
	if (v->old)
		setenv(v->name, v->old, 1);
	else
		unsetenv(v->name);
	free(v->old);
}

static struct saved_env env_set(const char *name, const char *value)
{
	const char *old = getenv(name);
	struct saved_env v = {.name = name, .old = old ? strdup(old) : NULL};

	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
	return v;
}

static int load(hwloc_topology_t *topo, const struct root *r, struct err *e)
{
	/*
	 * The Linux reader alone: with the CPUID reader the result would depend on the machine
	 * that looks at a dump, and "stop" keeps every other reader out.
	 */
	struct saved_env root = env_set("HWLOC_FSROOT", r->real ? NULL : r->path);
	struct saved_env readers = env_set("HWLOC_COMPONENTS", "linux,stop");
	struct saved_env hush = env_set("HWLOC_HIDE_ERRORS", "2");
	int rc = hwloc_topology_init(topo);

	if (rc == 0) {
		/* A cpuset or an affinity mask narrows what is allowed, not what there is. */
		hwloc_topology_set_flags(*topo, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
		/* Levels without structure are levels all the same. */
		hwloc_topology_set_all_types_filter(*topo, HWLOC_TYPE_FILTER_KEEP_ALL);
		hwloc_topology_set_io_types_filter(*topo, HWLOC_TYPE_FILTER_KEEP_NONE);
		hwloc_topology_set_type_filter(*topo, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
		rc = hwloc_topology_load(*topo);
		if (rc < 0)
			hwloc_topology_destroy(*topo);
	}
	env_restore(&hush);
	env_restore(&readers);
	env_restore(&root);
	return rc < 0 ? err_set(e, EIO, "hwloc cannot read the topology") : 0;
}

/* The outermost cache around a processing unit, an L1 where there is nothing else. */
static hwloc_obj_t last_level_cache(hwloc_obj_t pu)
{
	hwloc_obj_t found = NULL;

	for (hwloc_obj_t o = pu; o; o = o->parent)
		if (hwloc_obj_type_is_dcache(o->type))
			found = o;
	return found;
}

/* Things are named by their first CPU until topology.c numbers them. */
static int first_cpu(hwloc_obj_t o)
{
	return o ? hwloc_bitmap_first(o->cpuset) : -1;
}

static void read_cpu(struct topo_cpu *c, hwloc_topology_t topo)
{
	hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topo, (unsigned)c->cpu);
	hwloc_obj_t o = NULL;
	int kind;

	if (!pu)
		return;
	c->llc = first_cpu(last_level_cache(pu));
	c->package = first_cpu(hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_PACKAGE, pu));
	c->core = first_cpu(hwloc_get_ancestor_obj_by_type(topo, HWLOC_OBJ_CORE, pu));
	/* Among nodes with CPUs the innermost one; the kernel gives every CPU exactly one. */
	while ((o = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE, o)))
		if (hwloc_bitmap_isset(o->cpuset, (unsigned)c->cpu) && c->node < 0)
			c->node = (int)o->os_index;
	kind = hwloc_cpukinds_get_by_cpuset(topo, pu->cpuset, 0);
	if (kind >= 0) {
		int efficiency = -1;

		if (hwloc_cpukinds_get_info(topo, (unsigned)kind, NULL, &efficiency, NULL, NULL,
					    0) == 0)
			/* -1: hwloc knows that kinds differ, not which is faster. */
			c->kind = efficiency >= 0 ? efficiency : kind;
	}
}

static int from_bitmap(struct cpumask *m, hwloc_const_bitmap_t set)
{
	int i;

	if (hwloc_bitmap_weight(set) < 0) /* an infinite set is no set of CPUs */
		return 0;
	for (i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i))
		if (cpumask_set(m, i) == -ENOMEM)
			return -ENOMEM;
	return 0;
}

/*
 * The node of a CPU, as the kernel's own lists have it: hwloc attaches a node to the packages
 * it covers, which is less exact where files contradict one another.
 */
static void read_node_list(struct topology *t, const struct root *r, struct topo_node *n)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	struct err e = ERR_INIT;

	if (root_read_cpulist(r, &m, &e, "/sys/devices/system/node/node%d/cpulist", n->node) < 0)
		return;
	cpumask_and(&m, &t->online);
	if (cpumask_copy(&n->cpus, &m) < 0)
		return;
	for (int i = 0; i < t->ncpus; i++)
		if (cpumask_test(&m, t->cpus[i].cpu))
			t->cpus[i].node = n->node;
}

static int by_node(const void *a, const void *b)
{
	const struct topo_node *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

static int read_nodes(struct topology *t, const struct root *r, hwloc_topology_t topo)
{
	int n = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE);
	hwloc_obj_t o = NULL;

	if (n <= 0)
		return 0;
	t->nodes = calloc((size_t)n, sizeof(*t->nodes));
	if (!t->nodes)
		return -ENOMEM;
	while (t->nnodes < n && (o = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE, o))) {
		struct topo_node *node = &t->nodes[t->nnodes++];

		node->node = (int)o->os_index;
		node->memory = o->attr ? o->attr->numanode.local_memory : 0;
		if (from_bitmap(&node->cpus, o->cpuset) < 0)
			return -ENOMEM;
		cpumask_and(&node->cpus, &t->online);
		read_node_list(t, r, node);
	}
	qsort(t->nodes, (size_t)t->nnodes, sizeof(*t->nodes), by_node);
	return 0;
}

int topology_read_hwloc(struct topology *t, const struct root *r, struct err *e)
{
	hwloc_topology_t topo;
	int rc = load(&topo, r, e);

	if (rc < 0)
		return rc;
	for (int i = 0; i < t->ncpus; i++)
		read_cpu(&t->cpus[i], topo);
	t->hwloc_packages = hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_PACKAGE);
	t->nkinds = hwloc_cpukinds_get_nr(topo, 0);
	if (t->nkinds < 1)
		t->nkinds = 1;
	rc = read_nodes(t, r, topo);
	if (rc == 0 && !r->real)
		rc = from_bitmap(&t->allowed, hwloc_topology_get_allowed_cpuset(topo));
	hwloc_topology_destroy(topo);
	return rc < 0 ? err_set(e, -rc, "no memory for the topology") : 0;
}
