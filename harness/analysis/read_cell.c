// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/analysis/json.h"
#include "harness/analysis/reader.h"

static int status_of(const char *name)
{
	for (int s = 0; s < CELL_STATUSES; s++)
		if (strcmp(name, cell_status_name(s)) == 0)
			return s;
	return -1;
}

/* Finds the test, or adds it: a reader does not insist that the run event named it. */
static int test_of(struct reader *r, const json_t *o)
{
	struct model *m = r->m;
	const char *family = keep(r, get_text(o, "family"));
	const char *test = keep(r, get_text(o, "test"));
	const char *variant = keep(r, get_text(o, "variant"));
	struct mtest *t;

	if (!family || !test || !variant)
		return -ENOMEM;
	if (!test[0])
		return -EINVAL;
	/* Interned: equal strings are equal pointers. */
	for (size_t i = 0; i < m->ntests; i++)
		if (m->tests[i].test == test && m->tests[i].variant == variant &&
		    m->tests[i].family == family)
			return i;
	t = push(&m->tests, &m->ntests);
	if (!t)
		return -ENOMEM;
	*t = (struct mtest){.family = family,
			    .test = test,
			    .variant = variant,
			    .control = get_bool(o, "control")};
	return m->ntests - 1;
}

static int metric_of(struct reader *r, const json_t *o)
{
	struct model *m = r->m;
	struct mmetric x = {.name = keep(r, get_text(o, "name")),
			    .unit = keep(r, get_text(o, "unit")),
			    .kind = keep(r, get_text(o, "kind")),
			    .combine = keep(r, get_text(o, "combine")),
			    .less_is_better = strcmp(get_text(o, "better"), "less") == 0};
	struct mmetric *at;

	if (!x.name || !x.unit || !x.kind || !x.combine)
		return -ENOMEM;
	for (size_t i = 0; i < m->nmetrics; i++)
		if (m->metrics[i].name == x.name && m->metrics[i].unit == x.unit &&
		    m->metrics[i].kind == x.kind && m->metrics[i].combine == x.combine &&
		    m->metrics[i].less_is_better == x.less_is_better)
			return i;
	at = push(&m->metrics, &m->nmetrics);
	if (!at)
		return -ENOMEM;
	*at = x;
	return m->nmetrics - 1;
}

static size_t partition_at(const struct marm *a, const char *name, size_t otherwise)
{
	for (size_t i = 0; i < a->npartitions; i++)
		if (strcmp(a->partitions[i].name, name) == 0)
			return i;
	return otherwise;
}

/* The arm's samples: those of its partitions, added one by one. */
static int add_samples(struct mmeasure *x, const json_t *partitions)
{
	size_t shortest = SIZE_MAX, n = json_array_size(partitions);

	for (size_t i = 0; i < n; i++) {
		size_t have =
			json_array_size(json_object_get(json_array_get(partitions, i), "samples"));

		shortest = have < shortest ? have : shortest;
	}
	if (n == 0 || shortest == 0)
		return 0;
	x->samples = calloc(shortest, sizeof(*x->samples));
	if (!x->samples)
		return -ENOMEM;
	x->nsamples = shortest;
	for (size_t i = 0; i < n; i++) {
		const json_t *s = json_object_get(json_array_get(partitions, i), "samples");

		for (size_t k = 0; k < shortest; k++) {
			const json_t *v = json_array_get(s, k);

			x->samples[k] += json_is_number(v) ? json_number_value(v) : NAN;
		}
	}
	return 0;
}

static int read_measure(struct reader *r, struct mcell *c, const json_t *o)
{
	const struct marm *arm = &r->m->arms[c->arm];
	const json_t *partitions = json_object_get(o, "partitions");
	int metric = metric_of(r, o);
	struct mmeasure *x;

	if (metric < 0)
		return metric;
	x = push(&c->measures, &c->nmeasures);
	if (!x)
		return -ENOMEM;
	*x = (struct mmeasure){.metric = metric, .value = get_double(o, "value")};
	x->parts = calloc(arm->npartitions ? arm->npartitions : 1, sizeof(*x->parts));
	if (!x->parts)
		return -ENOMEM;
	x->nparts = arm->npartitions;
	for (size_t i = 0; i < x->nparts; i++)
		x->parts[i] = NAN;
	for (size_t i = 0; i < json_array_size(partitions); i++) {
		const json_t *p = json_array_get(partitions, i);
		size_t at = partition_at(arm, get_text(p, "name"), i);

		if (at < x->nparts)
			x->parts[at] = get_double(p, "value");
	}
	if (strcmp(r->m->metrics[metric].combine, "sum") != 0)
		return 0;
	return add_samples(x, partitions);
}

static int read_flags(struct reader *r, struct mcell *c, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		struct mflag *f = push(&c->flags, &c->nflags);

		if (!f)
			return -ENOMEM;
		*f = (struct mflag){.name = keep(r, get_text(o, "name")),
				    .partition = keep(r, get_text(o, "partition")),
				    .text = keep(r, get_text(o, "text")),
				    .value = get_double(o, "value")};
		if (!f->name || !f->partition || !f->text)
			return -ENOMEM;
	}
	return 0;
}

static bool place_known(const struct model *m, int arm, int tasks)
{
	for (size_t i = 0; i < m->nplaces; i++)
		if (m->places[i].arm == arm && m->places[i].tasks == tasks)
			return true;
	return false;
}

/* CPUs and counts of the tasks of all partitions. */
static int read_tasks(struct reader *r, struct mcell *c, const json_t *partitions)
{
	bool want_place = !place_known(r->m, c->arm, c->tasks);
	struct mplace place = {.arm = c->arm, .tasks = c->tasks};
	double least = INFINITY, most = 0, busy = 0;
	struct mplace *at;

	for (size_t i = 0; i < json_array_size(partitions); i++) {
		const json_t *tasks = json_object_get(json_array_get(partitions, i), "tasks");

		for (size_t k = 0; k < json_array_size(tasks); k++) {
			const json_t *t = json_array_get(tasks, k);
			double count = get_double(t, "count");
			double wall = get_double(t, "wall_ns");
			int *cpu;

			/* A missing count makes the spread unknown, not small. */
			least = isnan(count) ? NAN : fmin(least, count);
			most = fmax(most, count);
			busy += wall > 0 ? get_double(t, "cpu_ns") / wall : NAN;
			if (!want_place)
				continue;
			cpu = push(&place.cpus, &place.ncpus);
			if (!cpu) {
				free(place.cpus);
				return -ENOMEM;
			}
			*cpu = -1;
			get_int(t, "cpu", 0, CPUS_MAX, cpu);
		}
	}
	c->busy = busy > 0 ? busy : NAN;
	c->task_spread = least > 0 && isfinite(least) ? most / least : NAN;
	if (place.ncpus == 0)
		return 0;
	at = push(&r->m->places, &r->m->nplaces);
	if (!at) {
		free(place.cpus);
		return -ENOMEM;
	}
	*at = place;
	return 0;
}

static int fill_cell(struct reader *r, struct mcell *c, const json_t *event)
{
	const json_t *metrics = json_object_get(event, "metrics");
	int ret;

	c->key = keep(r, get_text(event, "key"));
	c->reason = keep(r, get_text(event, "reason"));
	if (!c->key || !c->reason)
		return -ENOMEM;
	ret = read_flags(r, c, json_object_get(event, "flags"));
	if (ret < 0)
		return ret;
	/* Whatever else a cell says, only these two carry numbers. */
	if (c->status != CELL_OK && c->status != CELL_FLAGGED)
		return 0;
	for (size_t i = 0; i < json_array_size(metrics); i++) {
		ret = read_measure(r, c, json_array_get(metrics, i));
		if (ret < 0)
			return ret;
	}
	return read_tasks(r, c, json_object_get(event, "partitions"));
}

int read_cell(struct reader *r, const json_t *event)
{
	int status = status_of(get_text(event, "status"));
	struct mcell c = {.arm = model_arm(r->m, get_text(event, "arm")),
			  .threads = strcmp(get_text(event, "mode"), "threads") == 0,
			  .anchor = get_bool(event, "anchor"),
			  .status = status,
			  .utc = r->utc,
			  .task_spread = NAN,
			  .busy = NAN};
	struct mcell *at;

	if (status < 0 || c.arm < 0 || get_int(event, "block", 0, BLOCKS_MAX, &c.block) < 0 ||
	    get_int(event, "tasks", 1, TASK_COUNT_MAX, &c.tasks) < 0)
		return -EINVAL;
	get_int(event, "position", 0, 1000, &c.position);
	get_int(event, "repetition", 0, 1000000, &c.repetition);
	get_int(event, "attempt", 0, 1000, &c.attempt);
	c.seconds = get_double(json_object_get(event, "seconds"), "total");
	c.test = test_of(r, event);
	if (c.test < 0)
		return c.test;
	at = push(&r->m->cells, &r->m->ncells);
	if (!at)
		return -ENOMEM;
	/* In the model before it is filled, so that an error on the way leaks nothing. */
	c.key = c.reason = "";
	*at = c;
	return fill_cell(r, at, event);
}

struct keyed {
	const char *key;
	size_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void drop_measures(struct mcell *c)
{
	for (size_t k = 0; k < c->nmeasures; k++) {
		free(c->measures[k].parts);
		free(c->measures[k].samples);
	}
	free(c->measures);
	free(c->flags);
}

int keep_last_attempts(struct model *m)
{
	cleanup_free struct keyed *order = calloc(m->ncells ? m->ncells : 1, sizeof(*order));
	size_t kept = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < m->ncells; i++) {
		order[i] = (struct keyed){m->cells[i].key, i};
		m->invalid_attempts += m->cells[i].status == CELL_INVALID;
	}
	qsort(order, m->ncells, sizeof(*order), by_key);
	for (size_t i = 0; i + 1 < m->ncells; i++) {
		/* Cells without a key cannot be told to be attempts at the same one. */
		if (order[i].key == order[i + 1].key && order[i].key[0]) {
			drop_measures(&m->cells[order[i].at]);
			m->cells[order[i].at].key = NULL;
		}
	}
	for (size_t i = 0; i < m->ncells; i++)
		if (m->cells[i].key)
			m->cells[kept++] = m->cells[i];
	m->ncells = kept;
	for (size_t i = 0; i < m->ncells; i++)
		m->by_status[m->cells[i].status]++;
	return 0;
}
