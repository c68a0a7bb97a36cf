// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/cmd/machine_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *phys_json(const struct topology *t, const int *cpus, int n)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++) {
		const struct topo_cpu *c = topology_cpu(t, cpus[i]);

		json_array_append_new(list,
				      c && c->phys.v >= 0 ? json_integer(c->phys.v) : json_null());
	}
	return list;
}

char *cpus_text(const struct cpumask *m)
{
	char *text = cpumask_format(m);

	if (text && *text)
		return text;
	free(text);
	return strdup("none");
}

char *phys_text(const struct topology *t, const struct cpumask *m)
{
	cleanup_cpumask struct cpumask ids = CPUMASK_INIT;

	cpumask_for_each(cpu, m) {
		const struct topo_cpu *c = topology_cpu(t, cpu);

		/* Ids beyond what a set holds (MPIDR) are not worth a list to read. */
		if (!c || c->phys.v < 0 || c->phys.v >= CPUMASK_LIMIT ||
		    cpumask_set(&ids, (int)c->phys.v) < 0)
			return strdup("?");
	}
	return cpus_text(&ids);
}

static const char *plural(int n)
{
	return n == 1 ? "" : "s";
}

char *machine_text(const struct topology *t)
{
	char *text = NULL;

	if (asprintf(&text,
		     "%s%s%d package%s, %d NUMA node%s, %d last-level cache%s, %d core%s, %d CPU%s",
		     t->model, *t->model ? ": " : "", t->npackages, plural(t->npackages), t->nnodes,
		     plural(t->nnodes), t->nllcs, plural(t->nllcs), t->ncores, plural(t->ncores),
		     t->ncpus, plural(t->ncpus)) < 0)
		return NULL;
	return text;
}

char *draw_cores(const struct core_drawing *d)
{
	const struct topology *t = d->t;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (int i = 0; i < t->ncpus;) {
		cleanup_cpumask struct cpumask core = CPUMASK_INIT;
		const struct topo_cpu *c = &t->cpus[i], *before = i ? &t->cpus[i - 1] : NULL;

		if (before && before->package != c->package)
			fputs("  ", f);
		else if (before && (before->llc != c->llc || before->node != c->node))
			fputc('|', f);
		for (; i < t->ncpus && t->cpus[i].core == c->core; i++)
			cpumask_set(&core, t->cpus[i].cpu);
		fputc(d->mark(&core, d->arg), f);
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
