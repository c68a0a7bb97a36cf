// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "sim/view.h"

/* /sys/devices/system/node. A spawn kernel has one node, whatever its memory's place. */

static int node_count(const struct view *w)
{
	return w->instance ? 1 : w->sim->machine.nnodes;
}

static int node_number(const struct view *w, int index)
{
	return w->instance ? 0 : w->sim->machine.nodes[index].node;
}

static void node_cpus(const struct view *w, int node, struct cpumask *m)
{
	for (int k = 0; k < view_possible(w); k++)
		if (view_online(w, k) && view_node(w, k) == node)
			cpumask_set(m, k);
}

static void put_nodes(const struct view *w, struct vnode *v, bool (*member)(const struct view *, int))
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	cleanup_free char *text = NULL;

	vnode_file(v, 0444);
	for (int k = 0; k < node_count(w); k++)
		if (member(w, k))
			cpumask_set(&m, node_number(w, k));
	text = cpumask_format(&m);
	buf_printf(&v->text, "%s\n", text ? text : "");
}

static bool any_node(const struct view *w, int index)
{
	return true;
}

static bool has_memory(const struct view *w, int index)
{
	return view_memory(w, index) > 0;
}

static bool has_cpu(const struct view *w, int index)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;

	node_cpus(w, node_number(w, index), &m);
	return cpumask_weight(&m) > 0;
}

static const struct {
	const char *name;
	bool (*member)(const struct view *w, int index);
} lists[] = {
	{"online", any_node},	    {"possible", any_node},
	{"has_memory", has_memory}, {"has_normal_memory", has_memory},
	{"has_cpu", has_cpu},
};

static void meminfo(const struct view *w, int index, struct vnode *v)
{
	uint64_t total = view_memory(w, index);
	uint64_t available = w->instance ? total / 10 * 9 : node_free(w->sim, index);
	int node = node_number(w, index);

	vnode_file(v, 0444);
	buf_printf(&v->text,
		   "Node %d MemTotal:       %8llu kB\n"
		   "Node %d MemFree:        %8llu kB\n"
		   "Node %d MemUsed:        %8llu kB\n",
		   node, (unsigned long long)total / 1024, node, (unsigned long long)available / 1024,
		   node, (unsigned long long)(total - available) / 1024);
	buf_printf(&v->text,
		   "Node %d HugePages_Total:     0\nNode %d HugePages_Free:      0\n"
		   "Node %d HugePages_Surp:      0\n",
		   node, node, node);
}

static void one_node(const struct view *w, int index, const char *rest, struct vnode *v)
{
	cleanup_cpumask struct cpumask cpus = CPUMASK_INIT;
	cleanup_free char *text = NULL;
	int node = node_number(w, index), number;
	const struct store_entry *f;
	char path[128], more;

	node_cpus(w, node, &cpus);
	if (!rest) {
		vnode_dir(v, 0755);
		vnode_name(v, "cpulist");
		vnode_name(v, "cpumap");
		vnode_name(v, "distance");
		vnode_name(v, "meminfo");
		cpumask_for_each(cpu, &cpus)
			vnode_name(v, "cpu%d", cpu);
	} else if (strcmp(rest, "cpulist") == 0 || strcmp(rest, "cpumap") == 0) {
		vnode_file(v, 0444);
		text = rest[3] == 'l' ? cpumask_format(&cpus)
				      : format_cpumap(&cpus, view_possible(w));
		buf_printf(&v->text, "%s\n", text ? text : "");
	} else if (strcmp(rest, "meminfo") == 0) {
		meminfo(w, index, v);
	} else if (strcmp(rest, "distance") == 0) {
		snprintf(path, sizeof(path), "node/node%d/distance", node);
		f = w->instance ? NULL : store_get(&w->sim->machine.sys, path);
		vnode_file(v, 0444);
		buf_str(&v->text, f ? f->text : "10\n");
	} else if (sscanf(rest, "cpu%d%c", &number, &more) == 1 && cpumask_test(&cpus, number)) {
		vnode_link(v, "../../cpu/cpu%d", number);
	}
}

void view_nodes(const struct view *w, const char *path, struct vnode *v)
{
	if (!path) {
		vnode_dir(v, 0755);
		for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
			vnode_name(v, "%s", lists[k].name);
		for (int k = 0; k < node_count(w); k++)
			vnode_name(v, "node%d", node_number(w, k));
		return;
	}
	for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++) {
		if (strcmp(path, lists[k].name) == 0) {
			put_nodes(w, v, lists[k].member);
			return;
		}
	}
	if (strncmp(path, "node", 4) == 0 && path[4] >= '0' && path[4] <= '9') {
		char *end;
		long node = strtol(path + 4, &end, 10);

		for (int k = 0; k < node_count(w); k++)
			if (node_number(w, k) == node && (*end == '\0' || *end == '/'))
				one_node(w, k, *end ? end + 1 : NULL, v);
	}
}
