// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/io.h"

#define ATTRIBUTE_MAX 65536 /* a list of 8192 single CPUs has 40 KB */
#define CACHE_INDICES 16 /* Linux numbers a handful of caches per CPU */

/* The text of an attribute, or NULL where there is none; the caller frees. */
__attribute__((format(printf, 2, 3))) static char *attribute(const char *prefix, const char *fmt, ...)
{
	struct err e = ERR_INIT;
	char path[PATH_MAX];
	char *text = NULL;
	size_t len;
	va_list ap;

	len = snprintf(path, sizeof(path), "%s/sys/devices/system/", prefix);
	if (len >= sizeof(path))
		return NULL;
	va_start(ap, fmt);
	vsnprintf(path + len, sizeof(path) - len, fmt, ap);
	va_end(ap);
	return read_file_at(AT_FDCWD, path, ATTRIBUTE_MAX, &text, NULL, &e) == 0 ? text : NULL;
}

/* An attribute that is a list. Returns 0 or -ENOENT. */
static int list(struct cpumask *m, const char *text)
{
	struct err e = ERR_INIT;

	return text && cpumask_parse(m, text, &e) == 0 ? 0 : -ENOENT;
}

static int number(const char *text, int fallback)
{
	char *end;
	long v;

	if (!text)
		return fallback;
	v = strtol(text, &end, 10);
	return end == text || v < 0 || v > INT_MAX ? fallback : (int)v;
}

static void read_core(const char *prefix, struct topo_cpu *c)
{
	cleanup_free char *siblings =
		attribute(prefix, "cpu/cpu%d/topology/thread_siblings_list", c->cpu);
	cleanup_free char *package =
		attribute(prefix, "cpu/cpu%d/topology/physical_package_id", c->cpu);
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;

	c->package = number(package, 0);
	c->core = c->cpu;
	c->thread = 0;
	if (list(&m, siblings) < 0 || !cpumask_test(&m, c->cpu))
		return;
	c->core = cpumask_next(&m, 0);
	for (int i = c->core; i >= 0 && i < c->cpu; i = cpumask_next(&m, i + 1))
		c->thread++;
}

/* The unified or data cache of the highest level. */
static void read_llc(const char *prefix, struct topo_cpu *c)
{
	int highest = 0;

	c->llc = 0;
	for (int i = 0; i < CACHE_INDICES; i++) {
		cleanup_free char *level =
			attribute(prefix, "cpu/cpu%d/cache/index%d/level", c->cpu, i);
		cleanup_free char *shared =
			attribute(prefix, "cpu/cpu%d/cache/index%d/shared_cpu_list", c->cpu, i);
		cleanup_cpumask struct cpumask m = CPUMASK_INIT;

		if (!level)
			break;
		if (number(level, 0) < highest || list(&m, shared) < 0)
			continue;
		highest = number(level, 0);
		c->llc = cpumask_next(&m, 0);
	}
}

static void read_nodes(const char *prefix, struct topology *t)
{
	cleanup_free char *online = attribute(prefix, "node/online");
	cleanup_cpumask struct cpumask nodes = CPUMASK_INIT;

	if (list(&nodes, online) < 0)
		return;
	t->numa = true;
	cpumask_for_each(node, &nodes) {
		cleanup_free char *text = attribute(prefix, "node/node%d/cpulist", node);
		cleanup_cpumask struct cpumask cpus = CPUMASK_INIT;

		if (list(&cpus, text) < 0)
			continue;
		for (int i = 0; i < t->n; i++)
			if (cpumask_test(&cpus, t->cpus[i].cpu))
				t->cpus[i].node = node;
	}
}

static int order(const void *pa, const void *pb)
{
	const struct topo_cpu *a = pa, *b = pb;
	const int keys[][2] = {
		{a->thread, b->thread}, {a->package, b->package}, {a->node, b->node},
		{a->llc, b->llc},	{a->core, b->core},	  {a->cpu, b->cpu},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

int topology_read(struct topology *t, const char *prefix, const struct cpumask *allowed,
		  struct err *e)
{
	cleanup_free char *text = attribute(prefix, "cpu/online");
	cleanup_cpumask struct cpumask online = CPUMASK_INIT;

	*t = TOPOLOGY_INIT;
	if (list(&online, text) < 0) {
		if (allowed && cpumask_copy(&online, allowed) < 0)
			return err_set(e, ENOMEM, "no memory");
	} else if (allowed) {
		cpumask_and(&online, allowed);
	}
	t->cpus = calloc(cpumask_weight(&online) + 1, sizeof(*t->cpus));
	if (!t->cpus)
		return err_set(e, ENOMEM, "no memory");
	cpumask_for_each(cpu, &online) {
		t->cpus[t->n] = (struct topo_cpu){.cpu = cpu};
		read_core(prefix, &t->cpus[t->n]);
		read_llc(prefix, &t->cpus[t->n]);
		t->n++;
	}
	if (t->n == 0) {
		topology_free(t);
		return err_set(e, ENOENT, "%s/sys/devices/system/cpu/online: no usable CPU", prefix);
	}
	read_nodes(prefix, t);
	qsort(t->cpus, t->n, sizeof(*t->cpus), order);
	return 0;
}

void topology_free(struct topology *t)
{
	free(t->cpus);
	*t = TOPOLOGY_INIT;
}

const struct topo_cpu *topology_cpu(const struct topology *t, int cpu)
{
	for (int i = 0; i < t->n; i++)
		if (t->cpus[i].cpu == cpu)
			return &t->cpus[i];
	return NULL;
}

const char *tier_name(enum tier tier)
{
	static const char *const names[] = {"T0", "T1", "T2", "T3"};

	return names[tier];
}

static enum tier tier_of(const struct topology *t, const struct topo_cpu *a, const struct topo_cpu *b)
{
	if (a->cpu == b->cpu)
		return TIER_T0;
	if (a->core == b->core)
		return TIER_T1;
	if (t->numa ? a->node != b->node : a->package != b->package)
		return TIER_T3;
	return TIER_T2;
}

int topology_tier(const struct topology *t, int a, int b)
{
	const struct topo_cpu *ca = topology_cpu(t, a), *cb = topology_cpu(t, b);

	return ca && cb ? (int)tier_of(t, ca, cb) : -ENOENT;
}

int topology_pair(const struct topology *t, enum tier tier, int *a, int *b)
{
	for (int i = 0; i < t->n; i++)
		for (int k = i; k < t->n; k++)
			if (tier_of(t, &t->cpus[i], &t->cpus[k]) == tier) {
				*a = t->cpus[i].cpu;
				*b = t->cpus[k].cpu;
				return 0;
			}
	return -ENOENT;
}

int topology_remote_node(const struct topology *t, int cpu)
{
	const struct topo_cpu *c = topology_cpu(t, cpu);

	for (int i = 0; c && i < t->n; i++)
		if (t->cpus[i].node != c->node)
			return t->cpus[i].node;
	return -1;
}
