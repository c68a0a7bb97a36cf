// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/checks.h"

CHECK_FN(check_topology)
{
	const struct topology *t = env->topology;

	if (t->npackages == 0)
		return check_add(out, self->name, CHECK_WARN,
				 "sets such as package:0 cannot be used in plans",
				 "the machine does not say which package a CPU is in");
	if (t->hwloc_packages && t->hwloc_packages != t->npackages)
		return check_add(out, self->name, CHECK_WARN,
				 "some files under /sys/devices/system/cpu contradict others; the "
				 "kernel's sibling lists are believed",
				 "%d packages by the kernel's lists, %d by hwloc", t->npackages,
				 t->hwloc_packages);
	return check_add(out, self->name, CHECK_PASS, NULL,
			 "%d package%s, %d last-level cache%s, %d core%s, %d CPU%s", t->npackages,
			 t->npackages == 1 ? "" : "s", t->nllcs, t->nllcs == 1 ? "" : "s",
			 t->ncores, t->ncores == 1 ? "" : "s", t->ncpus, t->ncpus == 1 ? "" : "s");
}

/* The first thing of an inner level that lies in two of an outer one, or -1. */
static int straddles(const struct topology *t, size_t inner, size_t outer)
{
	for (int i = 0; i < t->ncpus; i++)
		for (int k = 0; k < i; k++) {
			const char *a = (const char *)&t->cpus[i], *b = (const char *)&t->cpus[k];
			int in = *(const int *)(a + inner);

			if (in >= 0 && in == *(const int *)(b + inner) &&
			    *(const int *)(a + outer) != *(const int *)(b + outer))
				return in;
		}
	return -1;
}

CHECK_FN(check_levels)
{
	static const struct {
		const char *inner, *outer;
		size_t in, out;
	} pairs[] = {
		{"NUMA node", "package", offsetof(struct topo_cpu, node),
		 offsetof(struct topo_cpu, package)},
		{"last-level cache", "package", offsetof(struct topo_cpu, llc),
		 offsetof(struct topo_cpu, package)},
		{"last-level cache", "NUMA node", offsetof(struct topo_cpu, llc),
		 offsetof(struct topo_cpu, node)},
		{"core", "last-level cache", offsetof(struct topo_cpu, core),
		 offsetof(struct topo_cpu, llc)},
	};
	const struct topology *t = env->topology;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		int thing = straddles(t, pairs[i].in, pairs[i].out);

		if (thing >= 0)
			return check_add(
				out, self->name, CHECK_WARN,
				"say in plans which one is meant: package:N, numa:N and llc:N "
				"are different sets here",
				"%s %d has CPUs in more than one %s", pairs[i].inner, thing,
				pairs[i].outer);
	}
	if (t->npackages == t->nnodes && t->nnodes == t->nllcs)
		return check_add(out, self->name, CHECK_PASS, NULL,
				 "a package is a NUMA node is a last-level cache");
	return check_add(out, self->name, CHECK_PASS, NULL,
			 "%d package%s, %d NUMA node%s, %d last-level cache%s, nested",
			 t->npackages, t->npackages == 1 ? "" : "s", t->nnodes,
			 t->nnodes == 1 ? "" : "s", t->nllcs, t->nllcs == 1 ? "" : "s");
}

CHECK_FN(check_offline)
{
	cleanup_free char *off = cpumask_format(&env->topology->offline);
	cleanup_free char *possible = cpumask_format(&env->topology->possible);

	if (!off || !possible)
		return -ENOMEM;
	if (!*off)
		return check_add(out, self->name, CHECK_PASS, NULL,
				 "all present CPUs are online (possible: %s)", possible);
	return check_add(out, self->name, CHECK_WARN,
			 "plans can use online CPUs only, and Linux does not say where an offline "
			 "one is",
			 "offline: %s (possible: %s)", off, possible);
}

CHECK_FN(check_allowed)
{
	cleanup_free char *allowed = cpumask_format(&env->topology->allowed);
	cleanup_free char *online = cpumask_format(&env->topology->online);

	if (!allowed || !online)
		return -ENOMEM;
	if (cpumask_equal(&env->topology->allowed, &env->topology->online))
		return check_add(out, self->name, CHECK_PASS, NULL, "%s", allowed);
	return check_add(out, self->name, CHECK_WARN,
			 "\"all\" in plans means the allowed CPUs; a wider affinity mask or cpuset "
			 "allows more",
			 "%s of %s (affinity mask or cpuset)", allowed, online);
}

CHECK_FN(check_quota)
{
	if (env->topology->quota == 0)
		return check_add(out, self->name, CHECK_PASS, NULL, "no limit");
	return check_add(out, self->name, CHECK_WARN,
			 "tasks will be stopped when it is used up; start mksplit outside of this "
			 "control group",
			 "%.2f CPUs' worth of time (control group)", env->topology->quota);
}

CHECK_FN(check_isolated)
{
	cleanup_free char *isolated = cpumask_format(&env->topology->isolated);
	cleanup_free char *nohz = cpumask_format(&env->topology->nohz_full);

	if (!isolated || !nohz)
		return -ENOMEM;
	if (!*isolated && !*nohz)
		return check_add(out, self->name, CHECK_PASS, NULL, "none");
	return check_add(out, self->name, CHECK_WARN,
			 "measure on CPUs of one sort: all isolated, or none",
			 "isolated: %s; nohz_full: %s", *isolated ? isolated : "none",
			 *nohz ? nohz : "none");
}

CHECK_FN(check_kinds)
{
	const struct topology *t = env->topology;
	char text[400] = "";
	size_t len = 0;

	if (t->nkinds <= 1)
		return check_add(out, self->name, CHECK_PASS, NULL, "one kind");
	for (int kind = 0; kind < t->nkinds && len < sizeof(text); kind++) {
		cleanup_cpumask struct cpumask m = CPUMASK_INIT;
		cleanup_free char *list = NULL;

		for (int i = 0; i < t->ncpus; i++)
			if (t->cpus[i].kind == kind && cpumask_set(&m, t->cpus[i].cpu) < 0)
				return -ENOMEM;
		list = cpumask_format(&m);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%skind %d: %s",
					kind ? "; " : "", kind, list ? list : "?");
	}
	return check_add(out, self->name, CHECK_WARN,
			 "use CPUs of one kind in a plan; a higher kind is faster", "%s", text);
}

CHECK_FN(check_smt)
{
	const struct topology *t = env->topology;

	if (t->ncores == t->ncpus)
		return check_add(out, self->name, CHECK_PASS, NULL, "off or not there");
	return check_add(
		out, self->name, CHECK_WARN,
		"tasks use second hardware threads only when all cores are busy; comparisons "
		"are cleaner with SMT off (/sys/devices/system/cpu/smt/control)",
		"%d CPUs on %d cores", t->ncpus, t->ncores);
}

CHECK_FN(check_phys)
{
	const struct topology *t = env->topology;
	int unknown = 0;
	int64_t highest = 0;

	for (int i = 0; i < t->ncpus; i++) {
		unknown += t->cpus[i].phys.v < 0;
		if (t->cpus[i].phys.v > highest)
			highest = t->cpus[i].phys.v;
	}
	if (unknown)
		return check_add(out, self->name, CHECK_WARN,
				 "backend mklinux needs them; the others do not",
				 "of %d CPU%s no APIC id, MPIDR or hart id is to be found", unknown,
				 unknown == 1 ? "" : "s");
	return check_add(out, self->name, CHECK_PASS, NULL, "known, up to %lld", (long long)highest);
}

CHECK_FN(check_memory_nodes)
{
	const struct topology *t = env->topology;
	cleanup_cpumask struct cpumask without = CPUMASK_INIT;
	cleanup_free char *list = NULL;

	for (int i = 0; i < t->nnodes; i++)
		if (t->nodes[i].memory == 0 && cpumask_or(&without, &t->nodes[i].cpus) < 0)
			return -ENOMEM;
	if (cpumask_weight(&without) == 0)
		return check_add(out, self->name, CHECK_PASS, NULL, "%d node%s with memory",
				 t->nnodes, t->nnodes == 1 ? "" : "s");
	list = cpumask_format(&without);
	return check_add(out, self->name, CHECK_WARN,
			 "their memory is remote; leave them out of comparisons",
			 "CPUs %s are on a node without memory", list ? list : "?");
}
