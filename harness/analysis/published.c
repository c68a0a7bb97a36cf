// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/published.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "common/io.h"
#include "harness/analysis/intern.h"
#include "harness/analysis/json.h"
#include "harness/analysis/reader.h"

#define FILE_MAX_BYTES ((size_t)16 << 20)

static const char *text(struct published *p, const json_t *o, const char *key)
{
	return intern(p->strings, get_text(o, key));
}

static int read_rows(struct published *p, const char *id, const json_t *tests)
{
	const char *name;
	json_t *o;

	json_object_foreach((json_t *)tests, name, o) {
		struct pub_row *r = push(&p->rows, &p->nrows);

		if (!r)
			return -ENOMEM;
		*r = (struct pub_row){.comparison = id,
				      .test = intern(p->strings, name),
				      .role = text(p, o, "role"),
				      .class_name = text(p, o, "class"),
				      .shared_state = text(p, o, "shared_state"),
				      .ratio = get_double(o, "ratio"),
				      .single = get_double(o, "single"),
				      .split = get_double(o, "split")};
		if (!r->test || !r->role || !r->class_name || !r->shared_state)
			return -ENOMEM;
	}
	return 0;
}

static int read_comparison(struct published *p, const json_t *o)
{
	const json_t *arms = json_object_get(o, "arms");
	const json_t *single = json_object_get(arms, "single");
	const json_t *split = json_object_get(arms, "split");
	struct pub_comparison *c = push(&p->comparisons, &p->ncomparisons);

	if (!c)
		return -ENOMEM;
	*c = (struct pub_comparison){
		.id = text(p, o, "id"), .machine = text(p, o, "machine"), .lsm = text(p, o, "lsm")};
	if (!c->id || !c->machine || !c->lsm)
		return -ENOMEM;
	/* An experiment over several task counts has an array here: 0, it is a curve. */
	get_int(o, "tasks", 1, 65536, &c->tasks);
	get_int(o, "sockets_used", 1, 65536, &c->sockets);
	get_int(single, "cores_online_per_kernel", 1, 65536, &c->online);
	c->simultaneous = !json_is_false(json_object_get(split, "concurrent"));
	return read_rows(p, c->id, json_object_get(o, "tests"));
}

static int read_curve(struct published *p, const json_t *o)
{
	const json_t *points = json_object_get(o, "points");
	struct pub_curve *c = push(&p->curves, &p->ncurves);

	if (!c)
		return -ENOMEM;
	*c = (struct pub_curve){.id = text(p, o, "id"),
				.machine = text(p, o, "machine"),
				.test = text(p, o, "test"),
				.arm = text(p, o, "arm"),
				.unit = text(p, o, "unit"),
				.threads = strcmp(get_text(o, "mode"), "threads") == 0};
	if (!c->id || !c->machine || !c->test || !c->arm || !c->unit)
		return -ENOMEM;
	c->speedup = strcmp(c->unit, "x") == 0;
	for (size_t i = 0; i < json_array_size(points); i++) {
		const json_t *pair = json_array_get(points, i);
		double tasks = json_number_value(json_array_get(pair, 0));
		double rate = json_number_value(json_array_get(pair, 1));
		struct point *at;

		if (!(tasks >= 1 && tasks < 1e9 && rate > 0))
			return -EINVAL;
		at = push(&c->points, &c->n);
		if (!at)
			return -ENOMEM;
		*at = (struct point){tasks, rate};
	}
	return 0;
}

static int read_machine(struct published *p, const json_t *o)
{
	struct pub_machine *m = push(&p->machines, &p->nmachines);

	if (!m)
		return -ENOMEM;
	*m = (struct pub_machine){.id = text(p, o, "id"),
				  .cpu = text(p, o, "cpu"),
				  .kernel = text(p, o, "kernel"),
				  .smt = get_bool(o, "smt")};
	get_int(o, "sockets", 1, 1024, &m->sockets);
	get_int(o, "cores_per_socket", 1, 65536, &m->cores_per_socket);
	return m->id && m->cpu && m->kernel ? 0 : -ENOMEM;
}

static int read_list(struct published *p, const json_t *list,
		     int (*read)(struct published *, const json_t *))
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		int ret = read(p, json_array_get(list, i));

		if (ret < 0)
			return ret;
	}
	return 0;
}

static int read_published(struct published *p, const json_t *root)
{
	int format, ret;

	if (get_int(root, "format", 1, 1, &format) < 0)
		return -EINVAL;
	ret = read_list(p, json_object_get(root, "comparisons"), read_comparison);
	if (ret == 0)
		ret = read_list(p, json_object_get(root, "curves"), read_curve);
	if (ret == 0)
		ret = read_list(p, json_object_get(root, "machines"), read_machine);
	return ret;
}

int published_read(struct published **out, const char *path, struct err *e)
{
	cleanup_published struct published *p = calloc(1, sizeof(*p));
	cleanup_free char *data = NULL;
	json_error_t where;
	json_t *root;
	size_t len;
	int ret;

	if (!p || !(p->strings = intern_new()))
		return err_set(e, ENOMEM, "no memory");
	ret = read_file_at(AT_FDCWD, path, FILE_MAX_BYTES, &data, &len, e);
	if (ret < 0)
		return ret;
	root = json_loadb(data, len, 0, &where);
	if (!root)
		return err_set(e, EINVAL, "%s: line %d: %s", path, where.line, where.text);
	ret = read_published(p, root);
	json_decref(root);
	if (ret < 0)
		return err_set(e, ret, "%s: not a set of published figures of format 1", path);
	*out = take_ptr(p);
	return 0;
}

void published_free(struct published *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->ncurves; i++)
		free(p->curves[i].points);
	free(p->curves);
	free(p->rows);
	free(p->comparisons);
	free(p->machines);
	intern_free(p->strings);
	free(p);
}

const struct pub_comparison *published_comparison(const struct published *p, const char *id)
{
	for (size_t i = 0; i < p->ncomparisons; i++)
		if (strcmp(p->comparisons[i].id, id) == 0)
			return &p->comparisons[i];
	return NULL;
}

const struct pub_machine *published_machine(const struct published *p, const char *id)
{
	for (size_t i = 0; i < p->nmachines; i++)
		if (strcmp(p->machines[i].id, id) == 0)
			return &p->machines[i];
	return NULL;
}

const struct pub_row *published_row(const struct published *p, const char *test, int sockets)
{
	for (size_t i = 0; i < p->nrows; i++) {
		const struct pub_row *r = &p->rows[i];
		const struct pub_comparison *c = published_comparison(p, r->comparison);

		if (strcmp(r->test, test) != 0 || isnan(r->ratio) || !c || c->sockets != sockets ||
		    strstr(c->lsm, "disabled"))
			continue;
		return r;
	}
	return NULL;
}

const struct pub_curve *published_curve(const struct published *p, const char *test,
					const char *arm, bool threads, const char *machine)
{
	for (size_t i = 0; i < p->ncurves; i++) {
		const struct pub_curve *c = &p->curves[i];

		if (!c->speedup && c->threads == threads && strcmp(c->test, test) == 0 &&
		    strcmp(c->arm, arm) == 0 && strcmp(c->machine, machine) == 0)
			return c;
	}
	return NULL;
}
