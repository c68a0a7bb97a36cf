// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/machine/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/internal.h"

#define CPU_DIR "/sys/devices/system/cpu"

void topology_free(struct topology *t)
{
	struct cpumask *masks[] = {&t->online,	 &t->possible,	&t->present, &t->offline,
				   &t->isolated, &t->nohz_full, &t->allowed};

	for (int i = 0; i < t->nnodes; i++)
		cpumask_free(&t->nodes[i].cpus);
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		cpumask_free(masks[i]);
	free(t->nodes);
	free(t->cpus);
	free(t->rank);
	*t = (struct topology){0};
}

int topology_rank(const struct topology *t, int cpu)
{
	return cpu >= 0 && cpu < t->nrank ? t->rank[cpu] : -1;
}

const struct topo_cpu *topology_cpu(const struct topology *t, int cpu)
{
	int rank = topology_rank(t, cpu);

	return rank < 0 ? NULL : &t->cpus[rank];
}

int topology_logical(const struct topology *t, struct phys_id id)
{
	if (id.v < 0)
		return -1;
	for (int i = 0; i < t->ncpus; i++)
		if (t->cpus[i].phys.v == id.v)
			return t->cpus[i].cpu;
	return -1;
}

/* A list that a machine need not have: empty then. */
static int optional_list(const struct root *r, const char *name, struct cpumask *m, struct err *e)
{
	struct err ignored = ERR_INIT;
	int rc = root_read_cpulist(r, m, &ignored, CPU_DIR "/%s", name);

	if (rc < 0 && rc != -ENOENT) {
		*e = ignored;
		return rc;
	}
	return 0;
}

static int read_lists(struct topology *t, const struct root *r, struct err *e)
{
	int rc = root_read_cpulist(r, &t->online, e, CPU_DIR "/online");

	if (rc == 0)
		rc = optional_list(r, "possible", &t->possible, e);
	if (rc == 0)
		rc = optional_list(r, "present", &t->present, e);
	if (rc == 0)
		rc = optional_list(r, "isolated", &t->isolated, e);
	if (rc == 0)
		rc = optional_list(r, "nohz_full", &t->nohz_full, e);
	if (rc < 0)
		return rc;
	if (cpumask_weight(&t->online) == 0)
		return err_set(e, EINVAL, "%s%s/online names no CPU", r->path, CPU_DIR);
	if (cpumask_or(&t->present, &t->online) < 0 || cpumask_or(&t->possible, &t->present) < 0 ||
	    cpumask_copy(&t->offline, &t->present) < 0)
		return err_set(e, ENOMEM, "no memory for CPU sets");
	/*
	 * Not the file "offline", which counts possible CPUs that were never there
	 * (Documentation/admin-guide/cputopology.rst of the kernel).
	 */
	cpumask_andnot(&t->offline, &t->online);
	return 0;
}

static int list_cpus(struct topology *t, struct err *e)
{
	int n = cpumask_weight(&t->online);

	t->cpus = calloc((size_t)n, sizeof(*t->cpus));
	if (!t->cpus)
		return err_set(e, ENOMEM, "no memory for %d CPUs", n);
	cpumask_for_each(cpu, &t->online)
		t->cpus[t->ncpus++] = (struct topo_cpu){
			.cpu = cpu,
			.phys = {-1},
			.package = -1,
			.node = -1,
			.llc = -1,
			.core = -1,
		};
	return 0;
}

/*
 * The first CPU of the set that a CPU shares a thing with, as a name for the thing; -1 where
 * there is no such list, or a broken one without the CPU itself.
 */
static int first_sibling(const struct root *r, int cpu, const char *file)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	struct err e = ERR_INIT;

	if (root_read_cpulist(r, &m, &e, CPU_DIR "/cpu%d/%s", cpu, file) < 0)
		return -1;
	return cpumask_test(&m, cpu) ? cpumask_next(&m, 0) : -1;
}

/* The data cache of the highest level that the kernel lists for a CPU. */
static int first_llc_sibling(const struct root *r, int cpu)
{
	long long highest = 0;
	int found = -1;

	for (int i = 0;; i++) {
		cleanup_free char *type = NULL;
		char file[64];
		struct err e = ERR_INIT;
		long long level;
		int first;

		if (root_read_number(r, &level, &e, CPU_DIR "/cpu%d/cache/index%d/level", cpu, i) < 0 ||
		    root_read(r, &type, &e, CPU_DIR "/cpu%d/cache/index%d/type", cpu, i) < 0)
			return found;
		if (level <= highest || strcmp(type, "Instruction") == 0)
			continue;
		snprintf(file, sizeof(file), "cache/index%d/shared_cpu_list", i);
		first = first_sibling(r, cpu, file);
		if (first >= 0) {
			highest = level;
			found = first;
		}
	}
}

/*
 * Sibling lists rather than core_id and physical_package_id: the former repeats over packages
 * and clusters, the latter is -1 on some machines. The kernel renamed the files in 5.3 and
 * kept the old names beside the new ones. What it does not list stays as hwloc has it.
 */
static void read_siblings(struct topology *t, const struct root *r)
{
	for (int i = 0; i < t->ncpus; i++) {
		struct topo_cpu *c = &t->cpus[i];
		int core = first_sibling(r, c->cpu, "topology/core_cpus_list");
		int package = first_sibling(r, c->cpu, "topology/package_cpus_list");
		int llc = first_llc_sibling(r, c->cpu);

		if (core < 0)
			core = first_sibling(r, c->cpu, "topology/thread_siblings_list");
		if (package < 0)
			package = first_sibling(r, c->cpu, "topology/core_siblings_list");
		if (core >= 0)
			c->core = core;
		if (package >= 0)
			c->package = package;
		if (llc >= 0)
			c->llc = llc;
		/* A CPU of which nothing is known is a core of its own. */
		if (c->core < 0)
			c->core = c->cpu;
	}
}

static int cmp(int a, int b)
{
	return (a > b) - (a < b);
}

static int by_topology(const void *a, const void *b)
{
	const struct topo_cpu *x = a, *y = b;
	int order = cmp(x->package, y->package);

	if (!order)
		order = cmp(x->node, y->node);
	if (!order)
		order = cmp(x->llc, y->llc);
	if (!order)
		order = cmp(x->core, y->core);
	return order ? order : cmp(x->cpu, y->cpu);
}

/*
 * Replaces the names of things (first CPU, hwloc's number) by numbers counted from 0 in
 * the order in which they appear. The field is found by its offset in struct topo_cpu.
 */
static int number(struct topology *t, size_t offset)
{
	int n = 0;

	for (int i = 0; i < t->ncpus; i++) {
		int *now = (int *)((char *)&t->cpus[i] + offset);
		int old = *now;

		if (old < 0)
			continue;
		/* -2 and below: already numbered, as -2 - number. */
		for (int k = i; k < t->ncpus; k++) {
			int *other = (int *)((char *)&t->cpus[k] + offset);

			if (*other == old)
				*other = -2 - n;
		}
		n++;
	}
	for (int i = 0; i < t->ncpus; i++) {
		int *now = (int *)((char *)&t->cpus[i] + offset);

		if (*now <= -2)
			*now = -2 - *now;
	}
	return n;
}

static int order_cpus(struct topology *t, struct err *e)
{
	qsort(t->cpus, (size_t)t->ncpus, sizeof(*t->cpus), by_topology);
	t->npackages = number(t, offsetof(struct topo_cpu, package));
	t->nllcs = number(t, offsetof(struct topo_cpu, llc));
	t->ncores = number(t, offsetof(struct topo_cpu, core));

	t->nrank = cpumask_weight(&t->online) ? t->cpus[0].cpu + 1 : 0;
	for (int i = 0; i < t->ncpus; i++)
		if (t->cpus[i].cpu >= t->nrank)
			t->nrank = t->cpus[i].cpu + 1;
	t->rank = calloc((size_t)t->nrank, sizeof(*t->rank));
	if (!t->rank)
		return err_set(e, ENOMEM, "no memory for %d CPUs", t->nrank);
	for (int i = 0; i < t->nrank; i++)
		t->rank[i] = -1;
	for (int i = 0; i < t->ncpus; i++) {
		struct topo_cpu *c = &t->cpus[i];

		t->rank[c->cpu] = i;
		/* Threads of a core are neighbours, but for machines whose nodes cut cores. */
		c->smt = 0;
		for (int k = i - 1; k >= 0 && t->cpus[k].core == c->core; k--)
			c->smt++;
	}
	return 0;
}

static int read_allowed(struct topology *t, const struct root *r, struct err *e)
{
	int rc;

	if (r->real) {
		rc = cpumask_get_affinity(&t->allowed, 0, e);
		if (rc < 0)
			return rc;
	}
	/* Under a dump hwloc has filled it in, unless the dump says nothing. */
	cpumask_and(&t->allowed, &t->online);
	if (cpumask_weight(&t->allowed) == 0 && cpumask_copy(&t->allowed, &t->online) < 0)
		return err_set(e, ENOMEM, "no memory for CPU sets");
	return 0;
}

int topology_read(struct topology *t, const struct root *r, struct err *e)
{
	int rc;

	*t = (struct topology){0};
	rc = read_lists(t, r, e);
	if (rc == 0)
		rc = list_cpus(t, e);
	if (rc == 0)
		rc = topology_read_hwloc(t, r, e);
	if (rc == 0) {
		read_siblings(t, r);
		rc = order_cpus(t, e);
	}
	if (rc == 0)
		rc = topology_read_phys(t, r, e);
	if (rc == 0)
		rc = read_allowed(t, r, e);
	if (rc < 0)
		return err_wrap(e, "cannot read the topology of %s",
				r->real ? "this machine" : r->path);
	t->quota = topology_read_quota(r);
	return 0;
}
