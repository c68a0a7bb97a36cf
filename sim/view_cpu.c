// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "sim/view.h"

/* /sys/devices/system/cpu and /sys/devices/system/node as a kernel shows them now. */

static void list_file(const struct view *w, struct vnode *v,
		      bool (*member)(const struct view *w, int number))
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	cleanup_free char *text = NULL;

	vnode_file(v, 0444);
	for (int k = 0; k < view_possible(w); k++)
		if (member(w, k))
			cpumask_set(&m, k);
	text = cpumask_format(&m);
	buf_printf(&v->text, "%s\n", text ? text : "");
}

static bool is_possible(const struct view *w, int number)
{
	return true;
}

static bool is_offline(const struct view *w, int number)
{
	return !view_online(w, number);
}

static bool exists(const struct view *w, int number)
{
	int cpu = view_machine_cpu(w, number);

	return cpu >= 0 && w->sim->machine.cpus[cpu].present &&
	       (!w->instance || view_online(w, number));
}

/* What the kernel takes away from a CPU's folder while it is offline. */
static bool gone_when_offline(const char *name)
{
	static const char *const names[] = {"topology",		"cache",    "cpufreq", "cpuidle",
					    "thermal_throttle", "microcode"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_set_file(const char *path, bool *list)
{
	static const char *const ends[] = {"_siblings",	     "_cpus",	   "shared_cpu_map",
					   "_siblings_list", "_cpus_list", "shared_cpu_list"};
	const char *name = strrchr(path, '/');

	if (!name)
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t len = strlen(name), n = strlen(ends[i]);

		if (len > n && strcmp(name + len - n, ends[i]) == 0) {
			*list = strcmp(name + len - 4, "list") == 0;
			return true;
		}
	}
	return false;
}

/* A set of CPUs of the machine, as this kernel counts them and only those online. */
static void put_set(const struct view *w, const struct cpumask *machine, bool list, struct vnode *v)
{
	cleanup_cpumask struct cpumask seen = CPUMASK_INIT;
	cleanup_free char *text = NULL;

	cpumask_for_each(cpu, machine) {
		int number = view_number(w, cpu);

		if (number >= 0 && view_online(w, number))
			cpumask_set(&seen, number);
	}
	text = list ? cpumask_format(&seen) : format_cpumap(&seen, view_possible(w));
	buf_printf(&v->text, "%s\n", text ? text : "");
}

static void put_static(const struct view *w, const struct store_entry *f, struct vnode *v)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	struct err e = ERR_INIT;
	bool list;

	vnode_file(v, strstr(f->path, "freq/") || strstr(f->path, "pstate/") ? 0644 : 0444);
	if (!is_set_file(f->path, &list)) {
		buf_str(&v->text, f->text);
		return;
	}
	if ((list ? cpumask_parse(&m, f->text, &e) : parse_cpumap(&m, f->text)) == 0)
		put_set(w, &m, list, v);
}

/* The names directly below a folder of the store that are not yet listed. */
static void list_static(const struct store *s, const char *folder, struct vnode *v,
			bool (*skip)(const char *name))
{
	size_t len = strlen(folder), last = 0;
	char name[256] = "";

	for (size_t k = store_first_below(s, folder); k < s->n; k++) {
		const char *p = s->v[k].path;
		size_t n;

		if (strncmp(p, folder, len) != 0 || p[len] != '/')
			break;
		p += len + 1;
		n = strcspn(p, "/");
		if (n >= sizeof(name) || (last == n && strncmp(name, p, n) == 0))
			continue;
		memcpy(name, p, n);
		name[n] = '\0';
		last = n;
		if (!skip || !skip(name))
			vnode_name(v, "%s", name);
	}
}

static bool generated_in_cpu(const char *name)
{
	return strncmp(name, "node", 4) == 0 || strcmp(name, "online") == 0 ||
	       strcmp(name, "subsystem") == 0;
}

static bool generated_or_gone(const char *name)
{
	return generated_in_cpu(name) || gone_when_offline(name);
}

static void one_cpu(const struct view *w, int number, const char *rest, struct vnode *v)
{
	int cpu = view_machine_cpu(w, number), node = view_node(w, number);
	const struct store *s = &w->sim->machine.sys;
	const struct store_entry *f;
	char path[300], link[32];

	snprintf(link, sizeof(link), "node%d", node);
	if (!rest) {
		vnode_dir(v, 0755);
		if (number != 0)
			vnode_name(v, "online");
		if (node >= 0)
			vnode_name(v, "%s", link);
		vnode_name(v, "subsystem");
		snprintf(path, sizeof(path), "cpu/cpu%d", cpu);
		list_static(s, path, v,
			    view_online(w, number) ? generated_in_cpu : generated_or_gone);
		return;
	}
	if (strcmp(rest, "online") == 0) {
		if (number == 0)
			return;
		vnode_file(v, 0644);
		buf_printf(&v->text, "%d\n", view_online(w, number));
		return;
	}
	if (strcmp(rest, "subsystem") == 0) {
		vnode_link(v, "../../../../bus/cpu");
		return;
	}
	if (strcmp(rest, link) == 0) {
		vnode_link(v, "../../node/%s", link);
		return;
	}
	if (generated_in_cpu(rest) || (!view_online(w, number) && gone_when_offline(rest)))
		return;
	snprintf(path, sizeof(path), "cpu/cpu%d/%s", cpu, rest);
	f = store_get(s, path);
	if (f && f->link)
		vnode_link(v, "%s", f->text);
	else if (f)
		put_static(w, f, v);
	else if (store_has_folder(s, path)) {
		vnode_dir(v, 0755);
		list_static(s, path, v, NULL);
	}
}

static const struct {
	const char *name;
	bool (*member)(const struct view *w, int number);
} cpu_lists[] = {
	{"online", view_online},
	{"offline", is_offline},
	{"present", view_present},
	{"possible", is_possible},
};

static bool is_cpu_folder(const char *name)
{
	return strncmp(name, "cpu", 3) == 0 && name[3] >= '0' && name[3] <= '9';
}

static bool generated_in_root(const char *name)
{
	for (size_t k = 0; k < sizeof(cpu_lists) / sizeof(*cpu_lists); k++)
		if (strcmp(name, cpu_lists[k].name) == 0)
			return true;
	return is_cpu_folder(name) || strcmp(name, "kernel_max") == 0;
}

void view_cpu(const struct view *w, const char *path, struct vnode *v)
{
	const struct store *s = &w->sim->machine.sys;
	const struct store_entry *f;
	char full[300];

	if (!path) {
		vnode_dir(v, 0755);
		for (size_t k = 0; k < sizeof(cpu_lists) / sizeof(*cpu_lists); k++)
			vnode_name(v, "%s", cpu_lists[k].name);
		vnode_name(v, "kernel_max");
		for (int k = 0; k < view_possible(w); k++)
			if (exists(w, k))
				vnode_name(v, "cpu%d", k);
		if (!w->instance)
			list_static(s, "cpu", v, generated_in_root);
		return;
	}
	for (size_t k = 0; k < sizeof(cpu_lists) / sizeof(*cpu_lists); k++) {
		if (strcmp(path, cpu_lists[k].name) == 0) {
			list_file(w, v, cpu_lists[k].member);
			return;
		}
	}
	if (strcmp(path, "kernel_max") == 0) {
		vnode_file(v, 0444);
		buf_str(&v->text, "8191\n");
	} else if (is_cpu_folder(path)) {
		char *end;
		long number = strtol(path + 3, &end, 10);

		if (number < view_possible(w) && exists(w, (int)number) &&
		    (*end == '\0' || *end == '/'))
			one_cpu(w, (int)number, *end ? end + 1 : NULL, v);
	} else if (!w->instance) {
		snprintf(full, sizeof(full), "cpu/%s", path);
		f = store_get(s, full);
		if (f && f->link)
			vnode_link(v, "%s", f->text);
		else if (f)
			put_static(w, f, v);
		else if (store_has_folder(s, full)) {
			vnode_dir(v, 0755);
			list_static(s, full, v, NULL);
		}
	}
}
