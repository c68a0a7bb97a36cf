// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/machine_args.h"
#include "harness/cmd/plan_print.h"

static json_t *phys_of(const struct cpumask *m, const struct topology *t)
{
	json_t *list = json_array();

	cpumask_for_each(cpu, m) {
		const struct topo_cpu *c = topology_cpu(t, cpu);

		json_array_append_new(list,
				      c && c->phys.v >= 0 ? json_integer(c->phys.v) : json_null());
	}
	return list;
}

static json_t *partition_json(const struct plan_view *v, const struct plan_partition *part)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:I, s:b, s:s?}", "name", part->name, "cpus",
			 cpus_json(&part->cpus), "phys", phys_of(&part->cpus, v->t), "nodes",
			 cpus_json(&part->nodes), "memory", (json_int_t)part->memory, "host",
			 part->host, "kernel",
			 part->kernel >= 0 ? v->p->kernels[part->kernel].name : NULL);
}

static json_t *arms_json(const struct plan_view *v)
{
	json_t *list = json_array();

	for (int i = 0; i < v->p->narms; i++) {
		const struct plan_arm *a = &v->p->arms[i];
		json_t *partitions = json_array();

		for (int k = 0; k < a->npartitions; k++)
			json_array_append_new(partitions, partition_json(v, &a->partitions[k]));
		json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:O}", "name", a->name,
						      "backend", a->backend, "partitions", partitions,
						      "steps", json_array_get(v->steps, (size_t)i)));
	}
	return list;
}

static json_t *placement_json(const struct plan_view *v, const struct cell *c)
{
	const struct plan_arm *a = &v->p->arms[c->arm];
	const struct placement *pl = c->placement;
	json_t *cpus = json_array(), *counts = json_object();

	for (int i = 0; i < pl->ntasks; i++)
		json_array_append_new(cpus, json_integer(pl->cpus[i]));
	for (int i = 0; i < a->npartitions; i++)
		json_object_set_new(counts, a->partitions[i].name, json_integer(pl->counts[i]));
	return json_pack("{s:s, s:i, s:b, s:o, s:o, s:o}", "arm", a->name, "tasks", pl->ntasks,
			 "anchor", c->anchor, "cpus", cpus, "phys",
			 phys_json(v->t, pl->cpus, pl->ntasks), "counts", counts);
}

/* Each placement once, in the order in which cells first use it. */
static json_t *placements_json(const struct plan_view *v)
{
	cleanup_free char *seen = calloc((size_t)v->s->nplacements + 1, 1);
	json_t *list = json_array();

	for (int i = 0; seen && i < v->s->nboots; i++)
		for (int k = 0; k < v->s->boots[i].ncells; k++) {
			const struct cell *c = &v->s->boots[i].cells[k];
			char *mark = &seen[c->placement - v->s->placements];

			if (!*mark)
				json_array_append_new(list, placement_json(v, c));
			*mark = 1;
		}
	return list;
}

static json_t *boots_json(const struct plan_view *v)
{
	json_t *list = json_array();

	for (int i = 0; i < v->s->nboots; i++) {
		const struct boot *b = &v->s->boots[i];
		json_t *cells = json_array();

		for (int k = 0; k < b->ncells; k++) {
			cleanup_free char *key = cell_key(v->p, &b->cells[k]);

			json_array_append_new(cells, json_pack("{s:s, s:b}", "key", key ? key : "",
							       "anchor", b->cells[k].anchor));
		}
		json_array_append_new(list, json_pack("{s:i, s:s, s:o}", "block", b->block, "arm",
						      v->p->arms[b->arm].name, "cells", cells));
	}
	return list;
}

int plan_print_json(const struct plan_view *v, FILE *f)
{
	const struct topology *t = v->t;
	json_t *warnings = json_array(), *all;
	char seed[32];
	int rc;

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)v->p->seed);
	for (int i = 0; i < v->p->nwarnings; i++)
		json_array_append_new(warnings, json_string(v->p->warnings[i]));
	all = json_pack("{s:s, s:s, s:s, s:b, s:{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:o}, s:o, "
			"s:o, s:o, s:o, "
			"s:o, s:i, s:i, s:f}",
			"plan", v->p->name, "description", v->p->description, "seed", seed, "quick",
			v->p->quick, "machine", "cpu_model", t->model, "arch", t->arch, "packages",
			t->npackages, "nodes", t->nnodes, "llcs", t->nllcs, "cores", t->ncores,
			"cpus", t->ncpus, "allowed", cpus_json(&t->allowed), "quiet",
			cpus_json(&v->p->quiet), "warnings", warnings, "arms", arms_json(v),
			"placements", placements_json(v), "boots", boots_json(v), "blocks",
			v->p->blocks, "cells", v->s->ncells, "seconds", v->s->seconds);
	if (!all)
		return -ENOMEM;
	rc = json_dumpf(all, f, JSON_INDENT(1)) < 0 || fputc('\n', f) == EOF ? -EIO : 0;
	json_decref(all);
	return rc;
}
