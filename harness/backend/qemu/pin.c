// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "harness/backend/qemu/pin.h"

/* Moves a thread and reads back where it may run. */
static int move(pid_t tid, const struct cpumask *to, struct err *e)
{
	cleanup_cpumask struct cpumask now = CPUMASK_INIT;
	int ret = cpumask_set_affinity(to, tid, e);

	if (ret == 0)
		ret = cpumask_get_affinity(&now, tid, e);
	if (ret == 0 && !cpumask_equal(&now, to)) {
		cleanup_free char *want = cpumask_format(to), *is = cpumask_format(&now);

		return err_set(e, EIO,
			       "thread %d was put on CPUs %s and is on %s: a cpuset is in the way",
			       (int)tid, want ? want : "?", is ? is : "?");
	}
	return ret;
}

static int move_vcpus(const struct guest *g, json_t *vcpus, struct err *e)
{
	size_t i;
	json_t *v;

	if ((int)json_array_size(vcpus) != g->ncpus)
		return err_set(e, EPROTO, "QEMU has %zu virtual CPUs instead of %d",
			       json_array_size(vcpus), g->ncpus);
	json_array_foreach(vcpus, i, v) {
		cleanup_cpumask struct cpumask one = CPUMASK_INIT;
		json_int_t index = json_integer_value(json_object_get(v, "cpu-index"));
		pid_t tid = (pid_t)json_integer_value(json_object_get(v, "thread-id"));
		int ret;

		if (index < 0 || index >= g->ncpus || tid <= 0)
			return err_set(e, EPROTO, "QEMU names a virtual CPU that cannot be");
		ret = cpumask_set(&one, g->cpus[index]);
		if (ret < 0)
			return err_set(e, ret, "no memory");
		ret = move(tid, &one, e);
		if (ret < 0)
			return err_wrap(e, "virtual CPU %d", (int)index);
	}
	return 0;
}

static bool is_vcpu(json_t *vcpus, pid_t tid)
{
	size_t i;
	json_t *v;

	json_array_foreach(vcpus, i, v)
		if (json_integer_value(json_object_get(v, "thread-id")) == tid)
			return true;
	return false;
}

/* Everything else of QEMU: its main loop, and threads for I/O. */
static int move_others(const struct guest *g, json_t *vcpus, const struct cpumask *to, struct err *e)
{
	cleanup_dir DIR *tasks = NULL;
	struct dirent *d;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)g->process.pid);
	tasks = opendir(path);
	if (!tasks)
		return err_sys(e, "%s", path);
	while ((d = readdir(tasks))) {
		pid_t tid = atoi(d->d_name);
		int ret;

		if (!isdigit((unsigned char)d->d_name[0]) || is_vcpu(vcpus, tid))
			continue;
		ret = move(tid, to, e);
		/* A worker may end between the reading and the moving. */
		if (ret < 0 && ret != -ESRCH)
			return err_wrap(e, "QEMU's thread %d", (int)tid);
	}
	return 0;
}

int guest_pin(const struct guest *g, const struct cpumask *quiet, struct err *e)
{
	const struct cpumask *rest = cpumask_weight(quiet) ? quiet : &g->partition->cpus;
	json_t *vcpus = NULL;
	int ret = qmp_do(g->qmp, "query-cpus-fast", NULL, &vcpus, e);

	if (ret == 0)
		ret = move_vcpus(g, vcpus, e);
	if (ret == 0)
		ret = move_others(g, vcpus, rest, e);
	json_decref(vcpus);
	return ret;
}
