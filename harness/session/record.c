// SPDX-License-Identifier: GPL-2.0-or-later
/* The events of a session as docs/results.md defines them. */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/utsname.h>

#include <sha256.h>

#include "config.h"
#include "harness/session/internal.h"

static const char *const status_names[] = {"ok",      "flagged",     "failed",
					   "skipped", "unavailable", "invalid"};

const char *cell_end_name(enum cell_end s)
{
	return status_names[s];
}

static json_t *counts_json(const uint64_t *counts, int n)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(list, json_integer(counts[i]));
	return list;
}

/* What a task counted in all windows of the first metric that has samples. */
static json_t *task_count(const struct result *r, int task)
{
	const struct result_sample *first = NULL, *last = NULL;

	for (int i = 0; i < r->nsamples; i++) {
		if (r->samples[i].metric != r->samples[0].metric)
			continue;
		if (!first)
			first = &r->samples[i];
		last = &r->samples[i];
	}
	return first ? json_integer(last->counts[task] - first->counts[task]) : json_null();
}

static json_t *tasks_json(const struct attempt *a, const struct part *p)
{
	json_t *list = json_array();

	for (int i = 0; i < p->result.ntasks && i < p->ntasks; i++) {
		const struct result_task *t = &p->result.tasks[i];
		int cpu = a->cell->placement->cpus[p->first_task + i];
		const struct topo_cpu *topo = topology_cpu(a->up->s->env->topology, cpu);

		json_array_append_new(
			list,
			json_pack("{s:i,s:i,s:i,s:I,s:i,s:I,s:I,s:I,s:I,s:o}", "n", i, "cpu", cpu,
				  "agent_cpu", t->cpu_after, "phys",
				  (json_int_t)(topo ? topo->phys.v : -1), "node", t->node, "cpu_ns",
				  (json_int_t)t->cpu_ns, "wall_ns", (json_int_t)t->wall_ns,
				  "involuntary", (json_int_t)t->involuntary, "voluntary",
				  (json_int_t)t->voluntary, "count", task_count(&p->result, i)));
	}
	return list;
}

static json_t *samples_json(const struct result *r)
{
	json_t *list = json_array();

	for (int i = 0; i < r->nsamples; i++) {
		const struct result_sample *s = &r->samples[i];
		json_t *one = json_pack("{s:I,s:I,s:o}", "before", (json_int_t)s->before, "after",
					(json_int_t)s->after, "counts",
					counts_json(s->counts, r->ntasks));

		if (s->metric != r->samples[0].metric)
			json_object_set_new(one, "metric", json_integer(s->metric));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *values_json(const struct result *r)
{
	json_t *list = json_array();

	for (int i = 0; i < r->nvalues; i++) {
		const char *name = "";
		json_t *one;

		for (int m = 0; m < r->nmetrics; m++)
			if (r->metrics[m].id == r->values[i].metric)
				name = r->metrics[m].name;
		one = json_copy(r->values[i].more);
		json_object_set_new(one, "metric", json_string(name));
		json_object_set_new(one, "v", json_real(r->values[i].v));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *part_json(const struct attempt *a, const struct part *p)
{
	const struct result *r = &p->result;
	int64_t unsure = p->before.uncertainty_ns > p->after.uncertainty_ns
				 ? p->before.uncertainty_ns
				 : p->after.uncertainty_ns;
	struct link_stats link = {0};
	json_t *o;

	if (p->m->link)
		link_stats(p->m->link, &link);
	o = json_pack("{s:s,s:{s:I,s:I,s:f},s:{s:I,s:I},s:o,s:o,s:{s:I,s:I,s:I}}", "name",
		      p->m->partition->name, "clock", "offset_ns", (json_int_t)p->before.offset_ns,
		      "uncertainty_ns", (json_int_t)unsure, "rate_error", p->rate_error, "cover",
		      "from", (json_int_t)r->cover_from, "to", (json_int_t)r->cover_to, "tasks",
		      tasks_json(a, p), "samples", samples_json(r), "link", "damaged",
		      (json_int_t)link.damaged, "repeated", (json_int_t)link.repeated,
		      "noise_bytes", (json_int_t)link.noise_bytes);
	if (r->nvalues)
		json_object_set_new(o, "values", values_json(r));
	json_object_set(o, "notes", r->notes);
	return o;
}

static json_t *cell_head(const struct plan *plan, const struct cell *c, int attempt,
			 enum cell_end status, const char *reason, json_t *flags)
{
	const struct plan_test *t = &plan->tests[c->test];
	char *key = cell_key(plan, c);
	json_t *o =
		json_pack("{s:s,s:s?,s:i,s:i,s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:i,s:b,s:b,s:s,s:o,s:s}",
			  "event", "cell", "key", key, "attempt", attempt, "block", c->block, "arm",
			  plan->arms[c->arm].name, "family", t->family, "test", t->test, "variant",
			  t->variant, "mode", c->mode == MODE_THREADS ? "threads" : "processes",
			  "tasks", c->tasks, "position", c->position, "repetition", c->repetition,
			  "anchor", c->anchor, "control", t->control, "status", status_names[status],
			  "flags", flags ? flags : json_array(), "reason", reason);

	free(key);
	return o;
}

/* A message may quote what a partition said: printable ASCII only, as JSON wants UTF-8. */
static void make_plain(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text);
	for (char *c = out; *c; c++)
		if ((*c < 0x20 && *c != '\n') || *c > 0x7e)
			*c = '?';
}

json_t *attempt_event(const struct attempt *a, enum cell_end status, const char *reason, json_t *flags)
{
	char plain[sizeof((struct err){0}.text)];
	json_t *o, *parts = json_array();
	double rest = a->total - a->prepare - a->measure;

	make_plain(plain, sizeof(plain), reason);
	o = cell_head(a->up->s->env->plan, a->cell, a->number, status, plain, flags);
	json_object_set_new(o, "seconds",
			    json_pack("{s:f,s:f,s:f,s:f}", "total", a->total, "prepare", a->prepare,
				      "measure", a->measure, "rest", rest > 0 ? rest : 0.0));
	if (status == END_OK || status == END_FLAGGED)
		json_object_set_new(o, "metrics", attempt_metrics(a));
	for (int i = 0; i < a->n; i++)
		if (a->parts[i].have_result)
			json_array_append_new(parts, part_json(a, &a->parts[i]));
	json_object_set_new(o, "partitions", parts);
	return o;
}

int cell_skip(struct session *s, const struct cell *c, enum cell_end status, const char *reason,
	      struct err *e)
{
	char plain[sizeof((struct err){0}.text)];

	make_plain(plain, sizeof(plain), reason);
	return store_event(s->env->store, cell_head(s->env->plan, c, 0, status, plain, NULL), e);
}

static json_t *topology_json(const struct topology *t)
{
	return json_pack("{s:i,s:i,s:i,s:i,s:i}", "packages", t->npackages, "nodes", t->nnodes,
			 "llcs", t->nllcs, "cores", t->ncores, "cpus", t->ncpus);
}

static json_t *cpu_table(const struct topology *t)
{
	json_t *list = json_array();

	for (int i = 0; i < t->ncpus; i++) {
		const struct topo_cpu *c = &t->cpus[i];

		json_array_append_new(list,
				      json_pack("{s:i,s:I,s:i,s:i,s:i,s:i,s:i,s:i}", "cpu", c->cpu,
						"phys", (json_int_t)c->phys.v, "package",
						c->package, "node", c->node, "llc", c->llc, "core",
						c->core, "smt", c->smt, "kind", c->kind));
	}
	return list;
}

/* Every kernel of a fresh arm boots anew in each block: not where the running one takes part. */
static bool is_fresh(const struct plan_arm *arm)
{
	if (strcmp(arm->backend, "host") == 0)
		return false;
	for (int i = 0; i < arm->npartitions; i++)
		if (arm->partitions[i].host)
			return false;
	return true;
}

static json_t *arm_json(const struct session *s, int n)
{
	const struct plan_arm *arm = &s->env->plan->arms[n];
	struct backend *b = s->backends[n];
	json_t *parts = json_array(), *o;

	for (int i = 0; i < arm->npartitions; i++) {
		const struct plan_partition *p = &arm->partitions[i];

		json_array_append_new(parts, json_pack("{s:s,s:o,s:b,s:I}", "name", p->name, "cpus",
						       cpus_json(&p->cpus), "host", p->host,
						       "memory", (json_int_t)p->memory));
	}
	o = json_pack("{s:s,s:s,s:s,s:b,s:o}", "name", arm->name, "backend", arm->backend,
			 "nature", nature_name(b->ops->nature(b)), "fresh", is_fresh(arm),
			 "partitions", parts);
	/* base, setting and value, where the arm is another one with one setting changed. */
	json_object_update(o, arm->varies);
	return o;
}

static json_t *test_json(const struct plan_test *t)
{
	json_t *modes = json_array(), *tasks = json_array();

	if (t->modes & MODE_PROCESSES)
		json_array_append_new(modes, json_string("processes"));
	if (t->modes & MODE_THREADS)
		json_array_append_new(modes, json_string("threads"));
	for (int i = 0; i < t->ntasks; i++)
		json_array_append_new(tasks, json_integer(t->tasks[i]));
	return json_pack("{s:s,s:s,s:s,s:b,s:b,s:o,s:o}", "family", t->family, "test", t->test,
			 "variant", t->variant, "control", t->control, "primary", t->primary,
			 "modes", modes, "tasks", tasks);
}

static json_t *compare_json(const struct plan *p, const struct plan_compare *c)
{
	json_t *names = json_array();

	for (int i = 0; i < c->ndifferences; i++)
		json_array_append_new(names, json_string(c->differences[i]));
	return json_pack("{s:s,s:s,s:o}", "base", p->arms[c->base].name, "with",
			 p->arms[c->with].name, "differences", names);
}

json_t *run_event(const struct session *s)
{
	const struct plan *p = s->env->plan;
	const struct topology *t = s->env->topology;
	json_t *arms = json_array(), *tests = json_array(), *compares = json_array(), *o;
	char sum[SHA256_DIGEST_STRING_LENGTH], seed[24];
	struct utsname uts;

	uname(&uts);
	SHA256Data((const uint8_t *)p->text, strlen(p->text), sum);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)p->seed);
	for (int i = 0; i < p->narms; i++)
		json_array_append_new(arms, arm_json(s, i));
	for (int i = 0; i < p->ntests; i++)
		json_array_append_new(tests, test_json(&p->tests[i]));
	for (int i = 0; i < p->ncompares; i++)
		json_array_append_new(compares, compare_json(p, &p->compares[i]));
	o = json_pack("{s:s,s:i,s:s,s:s,s:s,s:s,s:b,s:b,s:s,s:s,s:s,s:s}", "event", "run", "format",
		      1, "version", MKSPLIT_VERSION, "plan", p->name, "plan_sha256", sum, "seed",
		      seed, "quick", p->quick, "resumed", s->env->resumed, "hostname", uts.nodename,
		      "kernel", uts.release, "cpu_model", t->model, "arch", t->arch);
	json_object_set_new(o, "topology", topology_json(t));
	json_object_set_new(o, "cpus", cpu_table(t));
	json_object_set_new(o, "quiet", cpus_json(&p->quiet));
	json_object_set_new(o, "margin", json_real(p->margin));
	json_object_set_new(o, "blocks", json_integer(p->blocks));
	json_object_set_new(o, "repetitions", json_integer(p->repetitions));
	json_object_set_new(o, "samples", json_integer(p->samples));
	json_object_set_new(o, "interval_ns", json_integer(p->interval_ns));
	json_object_set_new(o, "warmup_ns", json_integer(p->warmup_ns));
	json_object_set_new(o, "guard_ns", json_integer(p->guard_ns));
	json_object_set_new(o, "cells", json_integer(s->env->schedule->ncells));
	json_object_set_new(o, "arms", arms);
	json_object_set_new(o, "tests", tests);
	json_object_set_new(o, "compare", compares);
	return o;
}
