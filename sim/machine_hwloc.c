// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <hwloc.h>
#include <stdarg.h>
#include <string.h>

#include "sim/buf.h"
#include "sim/machine.h"

/*
 * Physical ids of a machine that does not say its own, in the shape of x2APIC ids: thread,
 * core and package are fields of fixed width. Machines with one thread a core keep the
 * thread bit, and packages start at multiples of 128, as the worked example of
 * docs/mklinux-abi.md section 15 and many two-package machines have it.
 */
enum {
	MIN_PACKAGE_SHIFT = 7
};

static int bits_for(unsigned count)
{
	int bits = 0;

	while ((1u << bits) < count)
		bits++;
	return bits;
}

struct shape {
	hwloc_topology_t topology;
	int thread_bits, package_shift;
};

static void cleanup_shape(struct shape *s)
{
	if (s->topology)
		hwloc_topology_destroy(s->topology);
}

static unsigned most_below(hwloc_topology_t t, hwloc_obj_type_t parent, hwloc_obj_type_t child)
{
	unsigned most = 1;

	for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(t, parent, o));) {
		int n = hwloc_get_nbobjs_inside_cpuset_by_type(t, o->cpuset, child);

		if (n > 0 && (unsigned)n > most)
			most = n;
	}
	return most;
}

static int load(struct shape *s, const char *spec, bool xml, struct err *e)
{
	unsigned threads, cores;

	if (hwloc_topology_init(&s->topology) < 0)
		return err_set(e, ENOMEM, "hwloc cannot start");
	hwloc_topology_set_all_types_filter(s->topology, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_io_types_filter(s->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	if ((xml ? hwloc_topology_set_xml(s->topology, spec)
		 : hwloc_topology_set_synthetic(s->topology, spec)) < 0 ||
	    hwloc_topology_load(s->topology) < 0)
		return err_usage(e,
				 "topology %s: neither a file nor a folder nor hwloc's synthetic "
				 "syntax",
				 spec);
	threads = most_below(s->topology, HWLOC_OBJ_CORE, HWLOC_OBJ_PU);
	cores = most_below(s->topology, HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE);
	s->thread_bits = bits_for(threads);
	if (s->thread_bits < 1)
		s->thread_bits = 1;
	s->package_shift = bits_for(cores) + s->thread_bits;
	if (s->package_shift < MIN_PACKAGE_SHIFT)
		s->package_shift = MIN_PACKAGE_SHIFT;
	return 0;
}

/* Position of obj among its kind inside of parent (anywhere when parent is NULL). */
static int rank_in(hwloc_topology_t t, hwloc_obj_t parent, hwloc_obj_t obj)
{
	int rank = 0;

	if (!obj)
		return 0;
	if (!parent)
		return obj->logical_index;
	for (hwloc_obj_t o = NULL;
	     (o = hwloc_get_next_obj_inside_cpuset_by_depth(t, parent->cpuset, obj->depth, o));
	     rank++)
		if (o == obj)
			return rank;
	return 0;
}

static void mask_of(hwloc_const_cpuset_t set, struct cpumask *m)
{
	unsigned i;

	hwloc_bitmap_foreach_begin(i, set) cpumask_set(m, i);
	hwloc_bitmap_foreach_end();
}

static int put(struct machine *m, int cpu, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static int put(struct machine *m, int cpu, const char *name, const char *fmt, ...)
{
	char path[128], text[256];
	va_list ap;

	snprintf(path, sizeof(path), "cpu/cpu%d/%s", cpu, name);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return store_put(&m->sys, path, text, false);
}

static int put_mask(struct machine *m, int cpu, const char *list, const char *map,
		    hwloc_const_cpuset_t set)
{
	cleanup_cpumask struct cpumask mask = CPUMASK_INIT;
	cleanup_free char *l = NULL, *b = NULL;
	cleanup_buf struct buf text = BUF_INIT;
	char path[128];

	mask_of(set, &mask);
	l = cpumask_format(&mask);
	b = format_cpumap(&mask, m->ncpus);
	if (!l || !b)
		return -ENOMEM;
	buf_printf(&text, "%s\n", l);
	snprintf(path, sizeof(path), "cpu/cpu%d/%s", cpu, list);
	if (text.failed || store_put(&m->sys, path, text.data, false) < 0)
		return -ENOMEM;
	text.len = 0;
	buf_printf(&text, "%s\n", b);
	snprintf(path, sizeof(path), "cpu/cpu%d/%s", cpu, map);
	return text.failed ? -ENOMEM : store_put(&m->sys, path, text.data, false);
}

static int put_caches(struct machine *m, int cpu, hwloc_obj_t pu)
{
	int index = 0, ret = 0;

	for (hwloc_obj_t o = pu->parent; o; o = o->parent) {
		const union hwloc_obj_attr_u *a = o->attr;
		char list[80], map[80], name[80];

		if (!hwloc_obj_type_is_cache(o->type))
			continue;
#define FILE_OF(file) (snprintf(name, sizeof(name), "cache/index%d/" file, index), name)
		ret |= put(m, cpu, FILE_OF("level"), "%u\n", a->cache.depth);
		ret |= put(m, cpu, FILE_OF("type"), "%s\n",
			   a->cache.type == HWLOC_OBJ_CACHE_UNIFIED ? "Unified"
			   : a->cache.type == HWLOC_OBJ_CACHE_DATA  ? "Data"
								    : "Instruction");
		ret |= put(m, cpu, FILE_OF("size"), "%lluK\n",
			   (unsigned long long)a->cache.size / 1024);
		ret |= put(m, cpu, FILE_OF("coherency_line_size"), "%u\n",
			   a->cache.linesize ? a->cache.linesize : 64);
		ret |= put(m, cpu, FILE_OF("id"), "%u\n", o->logical_index);
#undef FILE_OF
		snprintf(list, sizeof(list), "cache/index%d/shared_cpu_list", index);
		snprintf(map, sizeof(map), "cache/index%d/shared_cpu_map", index);
		ret |= put_mask(m, cpu, list, map, o->cpuset);
		index++;
	}
	return ret ? -ENOMEM : 0;
}

static int put_topology(struct machine *m, int cpu, const struct machine_cpu *c,
			hwloc_const_cpuset_t core, hwloc_const_cpuset_t package)
{
	int ret = 0;

	ret |= put(m, cpu, "topology/physical_package_id", "%d\n", c->package);
	ret |= put(m, cpu, "topology/core_id", "%d\n", c->core);
	ret |= put(m, cpu, "topology/die_id", "0\n");
	ret |= put_mask(m, cpu, "topology/thread_siblings_list", "topology/thread_siblings", core);
	ret |= put_mask(m, cpu, "topology/core_cpus_list", "topology/core_cpus", core);
	ret |= put_mask(m, cpu, "topology/core_siblings_list", "topology/core_siblings", package);
	ret |= put_mask(m, cpu, "topology/package_cpus_list", "topology/package_cpus", package);
	return ret ? -ENOMEM : 0;
}

static int cpu_info(struct machine_cpu *c, int siblings, int cores)
{
	/* A processor whose name says what it is; the flags a client looks for are there. */
	if (asprintf(&c->info,
		     "vendor_id\t: GenuineIntel\n"
		     "cpu family\t: 6\n"
		     "model\t\t: 143\n"
		     "model name\t: mksim simulated CPU\n"
		     "stepping\t: 8\n"
		     "cpu MHz\t\t: 2000.000\n"
		     "cache size\t: 32768 KB\n"
		     "physical id\t: %d\n"
		     "siblings\t: %d\n"
		     "core id\t\t: %d\n"
		     "cpu cores\t: %d\n"
		     "initial apicid\t: %llu\n"
		     "fpu\t\t: yes\n"
		     "flags\t\t: fpu tsc msr apic sep cmov mmx fxsr sse sse2 ht syscall nx rdtscp "
		     "lm "
		     "constant_tsc nonstop_tsc cpuid monitor x2apic tsc_deadline_timer hypervisor "
		     "tsc_adjust\n"
		     "bogomips\t: 4000.00\n"
		     "address sizes\t: 46 bits physical, 48 bits virtual\n",
		     c->package, siblings, c->core, cores, (unsigned long long)c->phys) < 0) {
		c->info = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int add_cpus(struct machine *m, const struct shape *s)
{
	hwloc_topology_t t = s->topology;

	for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu));) {
		struct machine_cpu *c = &m->cpus[pu->os_index];
		hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_CORE, pu);
		hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, pu);
		hwloc_const_cpuset_t core_set = core ? core->cpuset : pu->cpuset;
		hwloc_const_cpuset_t package_set =
			package ? package->cpuset : hwloc_get_root_obj(t)->cpuset;
		int thread = rank_in(t, core ? core : pu, pu);
		int node = hwloc_bitmap_first(pu->nodeset);

		c->present = c->online = true;
		c->package = package ? (int)package->logical_index : 0;
		c->core = rank_in(t, package, core ? core : pu);
		c->phys = (uint64_t)c->package << s->package_shift | c->core << s->thread_bits |
			  thread;
		c->node = node;
		if (cpu_info(c, hwloc_bitmap_weight(package_set),
			     hwloc_get_nbobjs_inside_cpuset_by_type(t, package_set, HWLOC_OBJ_CORE)) <
			    0 ||
		    put_topology(m, pu->os_index, c, core_set, package_set) < 0 ||
		    put_caches(m, pu->os_index, pu) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Distances in the kernel's unit: what XML says, else near and far. */
static int put_distances(struct machine *m, hwloc_topology_t t)
{
	struct hwloc_distances_s *d = NULL;
	unsigned n = 1;
	bool given;

	given = hwloc_distances_get_by_type(t, HWLOC_OBJ_NUMANODE, &n, &d,
					    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) == 0 &&
		n == 1 && d->nbobjs == (unsigned)m->nnodes;
	for (int i = 0; i < m->nnodes; i++) {
		cleanup_buf struct buf row = BUF_INIT;
		char path[64];

		for (int j = 0; j < m->nnodes; j++)
			buf_printf(&row, "%s%llu", j ? " " : "",
				   given    ? (unsigned long long)d->values[i * d->nbobjs + j]
				   : i == j ? 10ull
					    : 21ull);
		buf_str(&row, "\n");
		snprintf(path, sizeof(path), "node/node%d/distance", m->nodes[i].node);
		if (row.failed || store_put(&m->sys, path, row.data, false) < 0)
			return -ENOMEM;
	}
	if (d)
		hwloc_distances_release(t, d);
	return 0;
}

static int add_nodes(struct machine *m, hwloc_topology_t t, bool sizes_given,
		     const struct machine_options *o)
{
	int n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);

	m->nodes = calloc(n, sizeof(*m->nodes));
	if (!m->nodes)
		return -ENOMEM;
	/* Linux's numbers ascend; the objects are in topology order. */
	for (hwloc_obj_t node = NULL;
	     (node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node));) {
		int at = m->nnodes++;

		for (; at > 0 && m->nodes[at - 1].node > (int)node->os_index; at--)
			m->nodes[at] = m->nodes[at - 1];
		m->nodes[at] = (struct machine_node){.node = node->os_index};
		m->nodes[at].memory =
			sizes_given ? node->attr->numanode.local_memory : o->node_memory;
	}
	return put_distances(m, t);
}

int machine_from_hwloc(struct machine *m, const char *spec, bool xml,
		       const struct machine_options *o, struct err *e)
{
	cleanup(cleanup_shape) struct shape s = {0};
	hwloc_obj_t root;
	int last;

	if (load(&s, spec, xml, e) < 0)
		return e->code;
	root = hwloc_get_root_obj(s.topology);
	last = hwloc_bitmap_last(root->complete_cpuset);
	if (last < 0 || last >= 8192)
		return err_usage(e, "topology %s: its highest CPU has number %d", spec, last);
	m->ncpus = last + 1;
	m->cpus = calloc(m->ncpus, sizeof(*m->cpus));
	if (!m->cpus || add_cpus(m, &s) < 0 ||
	    add_nodes(m, s.topology, xml || strstr(spec, "memory="), o) < 0 ||
	    asprintf(&m->what, "%s: %d CPUs, %d packages, %d nodes", spec,
		     hwloc_get_nbobjs_by_type(s.topology, HWLOC_OBJ_PU),
		     hwloc_get_nbobjs_by_type(s.topology, HWLOC_OBJ_PACKAGE), m->nnodes) < 0)
		return err_set(e, ENOMEM, "topology %s: no memory", spec);
	return 0;
}
