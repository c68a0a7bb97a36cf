// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/cmd/doctor_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/machine_args.h"

static void print_checks(const struct check_results *c, FILE *f)
{
	for (int i = 0; i < c->n; i++) {
		const struct check_result *r = &c->v[i];

		fprintf(f, "  %-4s  %-20s %s\n", check_status_name(r->status), r->name, r->value);
		if (r->advice && (r->status == CHECK_WARN || r->status == CHECK_FAIL))
			fprintf(f, "        %-20s -> %s\n", "", r->advice);
	}
}

static int in_package(const struct topology *t, int package, struct cpumask *cpus)
{
	for (int i = 0; i < t->ncpus; i++)
		if (t->cpus[i].package == package && cpumask_set(cpus, t->cpus[i].cpu) < 0)
			return -ENOMEM;
	return 0;
}

static void print_topology(const struct topology *t, FILE *f)
{
	for (int p = 0; p < t->npackages; p++) {
		cleanup_cpumask struct cpumask cpus = CPUMASK_INIT;
		cleanup_free char *list = NULL, *phys = NULL;

		if (in_package(t, p, &cpus) < 0)
			return;
		list = cpus_text(&cpus);
		phys = phys_text(t, &cpus);
		fprintf(f, "  package %-3d CPUs %s (physical %s)\n", p, list, phys);
	}
	for (int i = 0; i < t->nnodes; i++) {
		cleanup_free char *list = cpus_text(&t->nodes[i].cpus);

		fprintf(f, "  node %-6d CPUs %s, %llu MiB\n", t->nodes[i].node, list,
			(unsigned long long)t->nodes[i].memory >> 20);
	}
}

static const struct check_result *first_failure(const struct check_results *c)
{
	for (int i = 0; i < c->n; i++)
		if (c->v[i].status == CHECK_FAIL)
			return &c->v[i];
	return NULL;
}

/* "emulated: ratios are no evidence", for natures from which no verdict follows. */
static const char *reservation(enum nature n)
{
	return n == NATURE_EMULATED || n == NATURE_SIMULATED ? ", no verdicts" : "";
}

char *doctor_verdict(const struct doctor_view *v)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	const struct check_result *refused = check_refusal(&v->checks, NULL, 0);
	int ready = 0;

	if (!f)
		return NULL;
	for (int i = 0; i < v->nbackends; i++)
		if (v->backends[i].ready)
			fprintf(f, "%s%s (%s%s)", ready++ ? ", " : "Plans can run with ",
				v->backends[i].ops->name, nature_name(v->backends[i].nature),
				reservation(v->backends[i].nature));
	if (!ready)
		fputs(v->nbackends ? "No plan can run here"
				   : "This is a dump: plans can be looked at, not run",
		      f);
	for (int i = 0; i < v->nbackends; i++) {
		const struct backend_report *b = &v->backends[i];
		const struct check_result *why = first_failure(&b->checks);

		if (!b->ready)
			fprintf(f, "; not with %s: %s", b->ops->name, why ? why->value : b->error);
	}
	fputc('.', f);
	if (refused)
		fprintf(f, " What stops every run now: %s%s%s.", refused->value,
			machine_check_known(refused->name) ? "; or --ignore " : "",
			machine_check_known(refused->name) ? refused->name : "");
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

int doctor_print_text(const struct doctor_view *v, FILE *f)
{
	cleanup_free char *machine = machine_text(v->t), *verdict = doctor_verdict(v);

	fprintf(f, "%s\n", machine ? machine : "");
	print_topology(v->t, f);
	fputs("\nMachine\n", f);
	print_checks(&v->checks, f);
	for (int i = 0; i < v->nbackends; i++) {
		const struct backend_report *b = &v->backends[i];

		fprintf(f, "\nBackend %s: %s\n", b->ops->name, b->ops->summary);
		print_checks(&b->checks, f);
		if (*b->error)
			fprintf(f, "  fail  %s\n", b->error);
	}
	fprintf(f, "\n%s\n", verdict ? verdict : "");
	return ferror(f) ? -EIO : 0;
}

static json_t *checks_json(const struct check_results *c)
{
	json_t *list = json_array();

	for (int i = 0; i < c->n; i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:s?}", "name", c->v[i].name,
						"status", check_status_name(c->v[i].status),
						"value", c->v[i].value, "advice", c->v[i].advice));
	return list;
}

static json_t *topology_json(const struct topology *t)
{
	json_t *cpus = json_array(), *nodes = json_array();

	for (int i = 0; i < t->ncpus; i++) {
		const struct topo_cpu *c = &t->cpus[i];

		json_array_append_new(
			cpus,
			json_pack("{s:i, s:o, s:i, s:i, s:i, s:i, s:i, s:i}", "cpu", c->cpu, "phys",
				  c->phys.v >= 0 ? json_integer(c->phys.v) : json_null(), "package",
				  c->package, "node", c->node, "llc", c->llc, "core", c->core,
				  "smt", c->smt, "kind", c->kind));
	}
	for (int i = 0; i < t->nnodes; i++)
		json_array_append_new(nodes, json_pack("{s:i, s:o, s:I}", "node", t->nodes[i].node,
						       "cpus", cpus_json(&t->nodes[i].cpus),
						       "memory", (json_int_t)t->nodes[i].memory));
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f}",
			 "cpu_model", t->model, "arch", t->arch, "packages", t->npackages, "llcs",
			 t->nllcs, "cores", t->ncores, "kinds", t->nkinds, "cpus", cpus, "nodes",
			 nodes, "online", cpus_json(&t->online), "offline", cpus_json(&t->offline),
			 "allowed", cpus_json(&t->allowed), "isolated", cpus_json(&t->isolated),
			 "nohz_full", cpus_json(&t->nohz_full), "quota", t->quota);
}

int doctor_print_json(const struct doctor_view *v, FILE *f)
{
	cleanup_free char *verdict = doctor_verdict(v);
	json_t *list = json_array(), *all;
	int rc;

	for (int i = 0; i < v->nbackends; i++) {
		const struct backend_report *b = &v->backends[i];

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:b, s:o, s:s}", "name",
						b->ops->name, "summary", b->ops->summary, "nature",
						nature_name(b->nature), "ready", b->ready, "checks",
						checks_json(&b->checks), "error", b->error));
	}
	all = json_pack("{s:o, s:o, s:o, s:s}", "machine", topology_json(v->t), "checks",
			checks_json(&v->checks), "backends", list, "verdict", verdict ? verdict : "");
	if (!all)
		return -ENOMEM;
	rc = json_dumpf(all, f, JSON_INDENT(1)) < 0 || fputc('\n', f) == EOF ? -EIO : 0;
	json_decref(all);
	return rc;
}
