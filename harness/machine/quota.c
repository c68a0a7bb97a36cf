// SPDX-License-Identifier: GPL-2.0-or-later
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/internal.h"

/*
 * CPU bandwidth limits of the control groups of this process, the tightest of its ancestors:
 * "cpu.max" of the unified hierarchy ("MAX PERIOD" in us, Documentation/admin-guide/cgroup-v2.rst),
 * cpu.cfs_quota_us and cpu.cfs_period_us of the old one (Documentation/scheduler/sched-bwc.rst).
 */

static double tighter(double now, double quota)
{
	return quota > 0 && (now == 0 || quota < now) ? quota : now;
}

static double read_max(const struct root *r, const char *dir)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	long long max, period;

	if (root_read(r, &text, &e, "%s/cpu.max", dir) < 0)
		return 0;
	/* "max PERIOD" is no limit. */
	if (sscanf(text, "%lld %lld", &max, &period) != 2 || max <= 0 || period <= 0)
		return 0;
	return (double)max / (double)period;
}

static double read_cfs(const struct root *r, const char *dir)
{
	struct err e = ERR_INIT;
	long long max, period;

	if (root_read_number(r, &max, &e, "%s/cpu.cfs_quota_us", dir) < 0 ||
	    root_read_number(r, &period, &e, "%s/cpu.cfs_period_us", dir) < 0 || max <= 0 ||
	    period <= 0)
		return 0;
	return (double)max / (double)period;
}

/* Walks from the group up to the hierarchy's root. */
static double walk(const struct root *r, const char *mount, const char *group,
		   double (*read_one)(const struct root *r, const char *dir))
{
	char dir[PATH_MAX];
	double quota = 0;
	size_t base = strlen(mount);

	if (snprintf(dir, sizeof(dir), "%s%s", mount, group) >= (int)sizeof(dir))
		return 0;
	for (;;) {
		char *slash;

		quota = tighter(quota, read_one(r, dir));
		slash = strrchr(dir, '/');
		if (strlen(dir) <= base || !slash)
			return quota;
		*slash = '\0';
	}
}

static bool has_controller(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; (p = strstr(p, name)); p += n)
		if ((p == list || p[-1] == ',') && (p[n] == '\0' || p[n] == ','))
			return true;
	return false;
}

double topology_read_quota(const struct root *r)
{
	static const char *const unified[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	static const char *const legacy[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char *save = NULL;
	double quota = 0;

	if (root_read(r, &text, &e, "/proc/self/cgroup") < 0)
		return 0;
	/* Lines "ID:CONTROLLERS:/GROUP", with empty controllers for the unified hierarchy. */
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group)
			continue;
		controllers++;
		*group++ = '\0';
		for (size_t i = 0; i < 2; i++) {
			if (!*controllers)
				quota = tighter(quota, walk(r, unified[i], group, read_max));
			else if (has_controller(controllers, "cpu"))
				quota = tighter(quota, walk(r, legacy[i], group, read_cfs));
		}
	}
	return quota;
}
