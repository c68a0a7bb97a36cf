// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "harness/analysis/json.h"
#include "harness/analysis/reader.h"
#include "harness/analysis/verdict.h"

int read_ints(const json_t *list, int min, int max, int **out, size_t *n)
{
	size_t size = json_array_size(list);
	cleanup_free int *v = NULL;

	*out = NULL;
	*n = 0;
	if (size == 0)
		return 0;
	v = calloc(size, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++) {
		const json_t *x = json_array_get(list, i);

		if (!json_is_integer(x) || json_integer_value(x) < min || json_integer_value(x) > max)
			return -EINVAL;
		v[i] = json_integer_value(x);
	}
	*out = take_ptr(v);
	*n = size;
	return 0;
}

static enum nature nature_of(const char *name)
{
	for (int n = 0; n < NATURE_UNKNOWN; n++)
		if (strcmp(name, nature_name(n)) == 0)
			return n;
	return NATURE_UNKNOWN;
}

static int read_cpus(struct reader *r, const json_t *run)
{
	const json_t *list = json_object_get(run, "cpus");
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n; i++) {
		const json_t *o = json_array_get(list, i);
		struct mcpu c = {.package = -1, .node = -1, .llc = -1, .core = -1, .smt = 0};
		const json_t *phys = json_object_get(o, "phys");
		struct mcpu *at;

		if (get_int(o, "cpu", 0, CPUS_MAX, &c.cpu) < 0)
			return -EINVAL;
		c.phys = json_is_integer(phys) ? json_integer_value(phys) : -1;
		get_int(o, "package", -1, CPUS_MAX, &c.package);
		get_int(o, "node", -1, CPUS_MAX, &c.node);
		get_int(o, "llc", -1, CPUS_MAX, &c.llc);
		get_int(o, "core", -1, CPUS_MAX, &c.core);
		get_int(o, "smt", 0, CPUS_MAX, &c.smt);
		at = push(&r->m->cpus, &r->m->ncpus);
		if (!at)
			return -ENOMEM;
		*at = c;
	}
	return 0;
}

static int read_partition(struct reader *r, struct marm *a, const json_t *o)
{
	struct mpartition *p = push(&a->partitions, &a->npartitions);
	double memory = get_double(o, "memory");

	if (!p)
		return -ENOMEM;
	*p = (struct mpartition){.name = keep(r, get_text(o, "name")),
				 .host = get_bool(o, "host"),
				 .memory = memory > 0 ? memory : 0};
	if (!p->name)
		return -ENOMEM;
	return read_ints(json_object_get(o, "cpus"), 0, CPUS_MAX, &p->cpus, &p->ncpus);
}

static int read_arms(struct reader *r, const json_t *run)
{
	const json_t *list = json_object_get(run, "arms");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		const json_t *partitions = json_object_get(o, "partitions");
		struct marm *a = push(&r->m->arms, &r->m->narms);

		if (!a)
			return -ENOMEM;
		*a = (struct marm){.name = keep(r, get_text(o, "name")),
				   .backend = keep(r, get_text(o, "backend")),
				   .nature = nature_of(get_text(o, "nature")),
				   .fresh = get_bool(o, "fresh"),
				   .setting = keep(r, get_text(o, "setting")),
				   .value = keep(r, get_text(o, "value")),
				   .base = keep(r, get_text(o, "base"))};
		if (!a->name || !a->backend || !a->setting || !a->value || !a->base)
			return -ENOMEM;
		for (size_t k = 0; k < json_array_size(partitions); k++) {
			int ret = read_partition(r, a, json_array_get(partitions, k));

			if (ret < 0)
				return ret;
		}
	}
	return r->m->narms ? 0 : -EINVAL;
}

static int read_tests(struct reader *r, const json_t *run)
{
	const json_t *list = json_object_get(run, "tests");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		struct mtest *t = push(&r->m->tests, &r->m->ntests);

		if (!t)
			return -ENOMEM;
		*t = (struct mtest){.family = keep(r, get_text(o, "family")),
				    .test = keep(r, get_text(o, "test")),
				    .variant = keep(r, get_text(o, "variant")),
				    .control = get_bool(o, "control"),
				    .primary = get_bool(o, "primary")};
		if (!t->family || !t->test || !t->variant)
			return -ENOMEM;
	}
	return 0;
}

static int read_compares(struct reader *r, const json_t *run)
{
	const json_t *list = json_object_get(run, "compare");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		const json_t *names = json_object_get(o, "differences");
		struct mcompare c = {.base = model_arm(r->m, get_text(o, "base")),
				     .with = model_arm(r->m, get_text(o, "with"))};
		struct mcompare *at;

		if (c.base < 0 || c.with < 0)
			return -EINVAL;
		at = push(&r->m->compares, &r->m->ncompares);
		if (!at)
			return -ENOMEM;
		*at = c;
		for (size_t k = 0; k < json_array_size(names); k++) {
			const char *name = json_string_value(json_array_get(names, k));
			const char **slot = push(&at->differences, &at->ndifferences);

			if (!slot)
				return -ENOMEM;
			*slot = keep(r, name ? name : "");
			if (!*slot)
				return -ENOMEM;
		}
	}
	return 0;
}

static int read_head(struct reader *r, const json_t *run)
{
	struct model *m = r->m;
	const json_t *topology = json_object_get(run, "topology");
	const struct {
		const char **to;
		const char *key;
	} texts[] = {
		{&m->plan, "plan"},	  {&m->plan_sha256, "plan_sha256"},
		{&m->version, "version"}, {&m->hostname, "hostname"},
		{&m->kernel, "kernel"},	  {&m->cpu_model, "cpu_model"},
		{&m->arch, "arch"},	  {&m->seed, "seed"},
	};
	double margin = get_double(run, "margin");

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		*texts[i].to = keep(r, get_text(run, texts[i].key));
		if (!*texts[i].to)
			return -ENOMEM;
	}
	m->quick = get_bool(run, "quick");
	m->margin = margin > 0 && margin < 0.5 ? margin : DEFAULT_MARGIN;
	m->interval = get_double(run, "interval_ns") / 1e9;
	m->warmup = get_double(run, "warmup_ns") / 1e9;
	get_int(run, "blocks", 1, BLOCKS_MAX, &m->planned_blocks);
	get_int(run, "samples", 1, BLOCKS_MAX, &m->planned_samples);
	get_int(topology, "packages", 0, CPUS_MAX, &m->packages);
	get_int(topology, "nodes", 0, CPUS_MAX, &m->nodes);
	get_int(topology, "llcs", 0, CPUS_MAX, &m->llcs);
	get_int(topology, "cores", 0, CPUS_MAX, &m->cores);
	return 0;
}

int read_run(struct reader *r, const json_t *event)
{
	struct model *m = r->m;
	int (*const parts[])(struct reader *, const json_t *) = {read_head, read_cpus, read_arms,
								 read_tests, read_compares};

	if (!format_readable(event))
		return -ENOTSUP;
	/* A run that is gone on with repeats its description: the first one counts. */
	if (r->have_run) {
		m->resumed++;
		m->ended = false;
		return 0;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int ret = parts[i](r, event);

		if (ret < 0)
			return ret;
	}
	r->have_run = true;
	return read_ints(json_object_get(event, "quiet"), 0, CPUS_MAX, &m->quiet, &m->nquiet);
}
