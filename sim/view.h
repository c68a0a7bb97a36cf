/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_VIEW_H
#define MKSPLIT_SIM_VIEW_H

#include "sim/vfs.h"

/*
 * How one kernel sees the machine: the host's view has the machine's CPU numbers, the view
 * of an instance the numbers that its kernel gave at boot (i->slots).
 */
struct view {
	struct sim *sim;
	struct instance *instance; /* NULL: the host */
};

/* Number of possible CPUs; the machine's CPU behind a number, or -1; the reverse, or -1. */
int view_possible(const struct view *w);
int view_machine_cpu(const struct view *w, int number);
int view_number(const struct view *w, int cpu);
bool view_online(const struct view *w, int number);
bool view_present(const struct view *w, int number);
int view_online_mask(const struct view *w, struct cpumask *m);
/* The NUMA node that the kernel would say; an instance knows only node 0. */
int view_node(const struct view *w, int number);

/* The parts of view_render(): paths below /sys/devices/system/cpu and .../node. */
void view_cpu(const struct view *w, const char *path, struct vnode *v);
void view_nodes(const struct view *w, const char *path, struct vnode *v);
/* /proc/cpuinfo, meminfo, stat, iomem */
void view_cpuinfo(const struct view *w, struct vnode *v);
void view_meminfo(const struct view *w, struct vnode *v);
void view_stat(const struct view *w, struct vnode *v);
void view_iomem(const struct view *w, pid_t caller, struct vnode *v);
void view_mounts(const struct view *w, pid_t caller, struct vnode *v);
void view_filesystems(const struct view *w, struct vnode *v);
void view_config(const struct view *w, struct vnode *v);

/* Bytes of memory that the kernel has, of one node (index) of the host or all. */
uint64_t view_memory(const struct view *w, int index);

/* Whether a thread has a capability (of the initial user namespace's numbering). */
bool task_capable(pid_t tid, int capability);

#endif
