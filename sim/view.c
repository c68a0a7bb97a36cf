// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/view.h"

#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "common/io.h"

int view_possible(const struct view *w)
{
	return w->instance ? w->instance->nslots : w->sim->machine.ncpus;
}

int view_machine_cpu(const struct view *w, int number)
{
	if (number < 0 || number >= view_possible(w))
		return -1;
	return w->instance ? w->instance->slots[number] : number;
}

int view_number(const struct view *w, int cpu)
{
	if (!w->instance)
		return cpu;
	for (int k = 0; k < w->instance->nslots; k++)
		if (w->instance->slots[k] == cpu)
			return k;
	return -1;
}

bool view_online(const struct view *w, int number)
{
	int cpu = view_machine_cpu(w, number);

	if (cpu < 0)
		return false;
	if (!w->instance)
		return w->sim->cpus[cpu].online;
	return w->sim->cpus[cpu].instance == w->instance &&
	       clock_ns() >= w->sim->cpus[cpu].visible_at;
}

bool view_present(const struct view *w, int number)
{
	if (w->instance)
		return view_online(w, number);
	return view_machine_cpu(w, number) >= 0 && w->sim->cpus[number].present;
}

int view_online_mask(const struct view *w, struct cpumask *m)
{
	for (int k = 0; k < view_possible(w); k++)
		if (view_online(w, k) && cpumask_set(m, k) < 0)
			return -ENOMEM;
	return 0;
}

int view_node(const struct view *w, int number)
{
	int cpu = view_machine_cpu(w, number);

	if (w->instance || cpu < 0)
		return 0; /* a spawn kernel switches NUMA off */
	return w->sim->machine.cpus[cpu].node;
}

uint64_t view_memory(const struct view *w, int index)
{
	uint64_t sum = 0;

	if (w->instance)
		return instance_memory(w->instance);
	for (int k = 0; k < w->sim->machine.nnodes; k++)
		if (index < 0 || index == k)
			sum += w->sim->machine.nodes[k].memory;
	return sum;
}

bool task_capable(pid_t tid, int capability)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char path[64];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (read_file_at(-1, path, 65536, &text, NULL, &e) < 0)
		return false;
	line = strstr(text, "\nCapEff:");
	return line && strtoull(line + 8, NULL, 16) >> capability & 1;
}

static void number_file(struct vnode *v, long long n)
{
	vnode_file(v, 0644);
	buf_printf(&v->text, "%lld\n", n);
}

/* /sys/bus/cpu/devices and /sys/bus/node/devices: links to the real places. */
static void bus(const struct view *w, const char *path, struct vnode *v)
{
	const char *what = strncmp(path, "bus-cpu", 7) == 0 ? "cpu" : "node";
	const char *name = strchr(path, '/');

	if (!name) {
		struct vnode below = {0};

		vnode_dir(v, 0755);
		if (*what == 'c')
			view_cpu(w, NULL, &below);
		else
			view_nodes(w, NULL, &below);
		for (size_t at = 0; at < below.text.len; at += strlen(below.text.data + at) + 1) {
			const char *n = below.text.data + at;
			size_t len = strlen(what);

			if (strncmp(n, what, len) == 0 && n[len] >= '0' && n[len] <= '9')
				vnode_name(v, "%s", n);
		}
		buf_free(&below.text);
		return;
	}
	vnode_link(v, "../../../devices/system/%s%s", what, name);
}

struct file {
	const char *name;
	void (*render)(const struct view *w, struct vnode *v);
	bool host_only;
};

static void version(const struct view *w, struct vnode *v)
{
	vnode_file(v, 0444);
	buf_printf(&v->text, "Linux version %s (mksim) #1 SMP PREEMPT_DYNAMIC simulated\n",
		   abi_release(w->sim->options.abi));
}

static void osrelease(const struct view *w, struct vnode *v)
{
	vnode_file(v, 0444);
	buf_printf(&v->text, "%s\n", abi_release(w->sim->options.abi));
}

static void block_size(const struct view *w, struct vnode *v)
{
	vnode_file(v, 0444);
	buf_printf(&v->text, "%llx\n", (unsigned long long)w->sim->machine.block_size);
}

static void load_disabled(const struct view *w, struct vnode *v)
{
	number_file(v, w->sim->load_disabled);
}

static void load_limit(const struct view *w, struct vnode *v)
{
	number_file(v, w->sim->load_limit);
}

static void cmdline(const struct view *w, struct vnode *v)
{
	vnode_file(v, 0444);
	buf_printf(&v->text, "%s\n",
		   w->instance ? w->instance->image ? w->instance->image->cmdline : ""
			       : "BOOT_IMAGE=/boot/vmlinuz-mksim ro");
}

static void device(const struct view *w, struct vnode *v)
{
	vnode_file(v, 0600);
}

static const struct file files[] = {
	{"cpuinfo", view_cpuinfo, false},
	{"meminfo", view_meminfo, false},
	{"stat", view_stat, false},
	{"cmdline", cmdline, false},
	{"version", version, false},
	{"osrelease", osrelease, false},
	{"filesystems", view_filesystems, false},
	{"config.gz", view_config, false},
	{"block_size_bytes", block_size, false},
	{"kexec_load_disabled", load_disabled, true},
	{"kexec_load_limit_reboot", load_limit, true},
	{"mktty", device, true},
	{"kmsg", device, true},
};

void view_render(struct sim *s, struct instance *i, const char *path, pid_t caller, struct vnode *v)
{
	struct view w = {s, i};

	if (!path) {
		vnode_dir(v, 0755);
		for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++)
			if (!i || !files[k].host_only)
				vnode_name(v, "%s", files[k].name);
		vnode_name(v, "cpu");
		vnode_name(v, "node");
		vnode_name(v, "bus-cpu");
		vnode_name(v, "bus-node");
		vnode_name(v, "iomem");
		vnode_name(v, "mounts");
	} else if (strcmp(path, "cpu") == 0 || strncmp(path, "cpu/", 4) == 0) {
		view_cpu(&w, path[3] ? path + 4 : NULL, v);
	} else if (strcmp(path, "node") == 0 || strncmp(path, "node/", 5) == 0) {
		view_nodes(&w, path[4] ? path + 5 : NULL, v);
	} else if (strncmp(path, "bus-cpu", 7) == 0 || strncmp(path, "bus-node", 8) == 0) {
		bus(&w, path, v);
	} else if (strcmp(path, "iomem") == 0) {
		view_iomem(&w, caller, v);
	} else if (strcmp(path, "mounts") == 0) {
		view_mounts(&w, caller, v);
	} else {
		for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++)
			if (strcmp(files[k].name, path) == 0 && (!i || !files[k].host_only))
				files[k].render(&w, v);
	}
}

static int write_online(struct sim *s, int cpu, const char *text)
{
	struct sim_cpu *c;
	bool online = *text == '1';

	if (cpu <= 0 || cpu >= s->machine.ncpus || (*text != '0' && *text != '1'))
		return -EINVAL;
	c = &s->cpus[cpu];
	if (!c->present) /* it belongs to the pool */
		return -EINVAL;
	c->online = online;
	log_line(&s->log, "CPU %d %s", cpu, online ? "online" : "offline");
	return 0;
}

int view_write(struct sim *s, struct instance *i, const char *path, const char *text)
{
	const struct store_entry *entry;
	char rest;
	int cpu;

	if (!i && sscanf(path, "cpu/cpu%d/onlin%c", &cpu, &rest) == 2)
		return write_online(s, cpu, text);
	if (!i && strcmp(path, "kexec_load_disabled") == 0) {
		if (*text != '1') /* once set it cannot be cleared */
			return -EINVAL;
		s->load_disabled = true;
		return 0;
	}
	entry = i ? NULL : store_get(&s->machine.sys, path);
	if (!entry || entry->link)
		return -EACCES;
	log_line(&s->log, "write to %s: %.*s", path, (int)strcspn(text, "\n"), text);
	return store_set(&s->machine.sys, path, text);
}
