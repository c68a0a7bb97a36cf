// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/machine/snapshot.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Folders of control groups that are looked through for cpusets, and how deep. */
#define MAX_GROUPS 2000
#define MAX_DEPTH  6

static void keep(const struct root *r, json_t *group, const char *name, const char *path)
{
	cleanup_free char *text = NULL;
	struct err absent = ERR_INIT;

	if (root_read(r, &text, &absent, "%s", path) == 0)
		json_object_set_new(group, name, json_string(text));
}

static void take_single(const struct root *r, json_t *group)
{
	keep(r, group, "online CPUs", "/sys/devices/system/cpu/online");
	keep(r, group, "clocksource",
	     "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	keep(r, group, "default interrupt affinity", "/proc/irq/default_smp_affinity");
	keep(r, group, "NUMA balancing", "/proc/sys/kernel/numa_balancing");
	keep(r, group, "watchdog", "/proc/sys/kernel/watchdog");
	keep(r, group, "transparent huge pages", "/sys/kernel/mm/transparent_hugepage/enabled");
	keep(r, group, "turbo (no_turbo)", "/sys/devices/system/cpu/intel_pstate/no_turbo");
	keep(r, group, "turbo (boost)", "/sys/devices/system/cpu/cpufreq/boost");
	keep(r, group, "SMT", "/sys/devices/system/cpu/smt/control");
}

/* Calls keep() for FOLDER/N/FILE of every numbered entry, named by what stands before N. */
static void take_numbered(const struct root *r, json_t *group, const char *folder,
			  const char *prefix, const char *file)
{
	cleanup_dir DIR *dir = root_opendir(r, "%s", folder);
	size_t n = strlen(prefix);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char path[PATH_MAX];

		if (strncmp(d->d_name, prefix, n) != 0 || !isdigit((unsigned char)d->d_name[n]))
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", folder, d->d_name, file);
		keep(r, group, d->d_name, path);
	}
}

static void take_cpusets(const struct root *r, json_t *group, const char *folder, int depth, int *seen)
{
	cleanup_dir DIR *dir = NULL;
	struct dirent *d;
	char path[PATH_MAX];

	if (depth > MAX_DEPTH || ++*seen > MAX_GROUPS)
		return;
	if (snprintf(path, sizeof(path), "%s/cpuset.cpus", folder) >= (int)sizeof(path))
		return;
	keep(r, group, folder, path);
	dir = root_opendir(r, "%s", folder);
	while (dir && (d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", folder, d->d_name) < (int)sizeof(path))
			take_cpusets(r, group, path, depth + 1, seen);
}

/* The value of "KEY:\tVALUE" in /proc/PID/status, cut out of the text. */
static char *status_value(char *text, const char *key)
{
	char *at = strstr(text, key), *end;

	if (!at)
		return NULL;
	at += strlen(key);
	at += strspn(at, ": \t");
	end = strchr(at, '\n');
	if (end)
		*end = '\0';
	return at;
}

/*
 * Masks of user processes that are narrower than the online CPUs. A kernel thread has no
 * memory of its own ("VmSize" is missing in its status), and the kernel looks after its mask.
 */
static void take_pinned(const struct root *r, json_t *group)
{
	cleanup_cpumask struct cpumask online = CPUMASK_INIT;
	cleanup_dir DIR *dir = root_opendir(r, "/proc");
	struct err e = ERR_INIT;
	struct dirent *d;

	if (root_read_cpulist(r, &online, &e, "/sys/devices/system/cpu/online") < 0)
		return;
	while (dir && (d = readdir(dir))) {
		cleanup_cpumask struct cpumask mask = CPUMASK_INIT;
		cleanup_free char *text = NULL;
		struct err gone = ERR_INIT;
		char *list, name[300];

		if (!isdigit((unsigned char)d->d_name[0]) ||
		    root_read(r, &text, &gone, "/proc/%s/status", d->d_name) < 0 ||
		    !strstr(text, "\nVmSize:"))
			continue;
		list = status_value(text, "\nCpus_allowed_list");
		if (!list || cpumask_parse(&mask, list, &gone) < 0 || cpumask_subset(&online, &mask))
			continue;
		snprintf(name, sizeof(name), "process %s", d->d_name);
		json_object_set_new(group, name, json_string(list));
	}
}

json_t *snapshot_take(const struct root *r, struct err *e)
{
	json_t *single = json_object(), *governors = json_object(), *irqs = json_object();
	json_t *cpusets = json_object(), *pinned = json_object(), *all;
	int seen = 0;

	take_single(r, single);
	take_numbered(r, governors, "/sys/devices/system/cpu", "cpu", "cpufreq/scaling_governor");
	take_numbered(r, irqs, "/proc/irq", "", "smp_affinity_list");
	take_cpusets(r, cpusets, "/sys/fs/cgroup", 0, &seen);
	take_pinned(r, pinned);
	all = json_pack("{s:o, s:o, s:o, s:o, s:o}", "machine", single, "governor", governors,
			"interrupt affinity", irqs, "cpuset", cpusets, "pinned mask", pinned);
	if (!all)
		err_set(e, ENOMEM, "no memory for a snapshot of the machine");
	return all;
}

int snapshot_compare(const json_t *before, const json_t *after,
		     void (*say)(void *arg, const char *line), void *arg)
{
	const char *group, *name;
	json_t *values, *old;
	int n = 0;

	json_object_foreach((json_t *)before, group, values) {
		json_t *now_values = json_object_get(after, group);

		json_object_foreach(values, name, old) {
			const char *was = json_string_value(old);
			const char *is = json_string_value(json_object_get(now_values, name));
			cleanup_free char *line = NULL;

			if (!was || !is || strcmp(was, is) == 0)
				continue;
			n++;
			if (asprintf(&line, "%s of %s is now \"%s\", before the run it was \"%s\"",
				     group, name, is, was) > 0)
				say(arg, line);
		}
	}
	return n;
}
