// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/catalog.h"
#include "harness/plan/load.h"
#include "harness/plan/tasks.h"

#define MAX_TESTS  1000
#define MAX_PARAMS 32

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for a plan");
}

static const struct {
	const char *name;
	int mode;
} modes[] = {{"processes", MODE_PROCESSES}, {"threads", MODE_THREADS}};

static int read_modes(const struct at *at, const json_t *v, void *to, struct err *e)
{
	int *bits = to;
	size_t n;
	int rc = read_array(at, v, sizeof(modes) / sizeof(modes[0]), &n, e);

	if (rc < 0)
		return rc;
	*bits = 0;
	for (size_t i = 0; i < n; i++) {
		const char *name = json_string_value(json_array_get(v, i));
		struct at here = {.up = at, .index = i};
		int mode = 0;

		for (size_t k = 0; name && k < sizeof(modes) / sizeof(modes[0]); k++)
			if (strcmp(name, modes[k].name) == 0)
				mode = modes[k].mode;
		if (!mode || *bits & mode)
			return at_error(&here, e, "\"processes\" or \"threads\" is expected, once");
		*bits |= mode;
	}
	return n ? 0 : at_error(at, e, "a mode is expected");
}

static int load_params(const struct at *up, const json_t *v, struct plan_test *t, struct err *e)
{
	struct at at = {.up = up, .key = "params"};
	const char *key;
	json_t *value;

	if (!v)
		return 0;
	if (!json_is_object(v))
		return at_error(&at, e, "an object { \"NAME\": VALUE } is expected");
	if (json_object_size(v) > MAX_PARAMS)
		return at_error(&at, e, "more than %d parameters", MAX_PARAMS);
	t->params = calloc(json_object_size(v) + 1, sizeof(*t->params));
	if (!t->params)
		return no_memory(e);
	json_object_foreach((json_t *)v, key, value) {
		struct at here = {.up = &at, .key = key};
		struct plan_param *p = &t->params[t->nparams++];
		char number[32];
		json_t *name = json_string(key);
		int rc = name ? read_name(&here, name, &p->name, e) : no_memory(e);

		json_decref(name);
		if (rc < 0)
			return rc;
		if (json_is_integer(value)) {
			snprintf(number, sizeof(number), "%lld",
				 (long long)json_integer_value(value));
			p->value = strdup(number);
			if (!p->value)
				return no_memory(e);
			continue;
		}
		/* A fraction goes as a string, so that its digits arrive as they stand. */
		if (!json_is_string(value))
			return at_error(&here, e, "a string or a whole number is expected");
		rc = read_string(&here, value, &p->value, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Family and the modes it can run in, from the catalog; without one, the plan is believed. */
static int resolve_test(const struct loader *l, const struct at *at, struct plan_test *t,
			struct err *e)
{
	struct at name = {.up = at, .key = "test"};
	const struct catalog_test *c = catalog_find(l->c, t->family, t->test);

	if (!l->c) {
		if (!t->family)
			t->family = strdup("scale");
		return t->family ? 0 : no_memory(e);
	}
	if (!c)
		return at_error(&name, e, "there is no test \"%s\" (mksplit list tests)", t->test);
	if (!t->family) {
		t->family = strdup(c->family);
		if (!t->family)
			return no_memory(e);
	}
	if (t->modes & ~c->modes) {
		struct at at_modes = {.up = at, .key = "modes"};

		return at_error(&at_modes, e, "%s does not run as %s", t->test,
				mode_name(t->modes & ~c->modes & MODE_THREADS ? MODE_THREADS
									      : MODE_PROCESSES));
	}
	return 0;
}

static int load_test(const struct loader *l, const struct at *at, const json_t *v,
		     struct plan_test *t, struct err *e)
{
	static const struct field fields[] = {
		{"test", read_name, offsetof(struct plan_test, test), true},
		{"family", read_name, offsetof(struct plan_test, family)},
		{"variant", read_name, offsetof(struct plan_test, variant)},
		{"control", read_bool, offsetof(struct plan_test, control)},
		{"primary", read_bool, offsetof(struct plan_test, primary)},
		{"modes", read_modes, offsetof(struct plan_test, modes)},
		{"params"},
		{"tasks"},
	};
	struct at variant = {.up = at, .key = "variant"};
	int rc;

	t->modes = MODE_PROCESSES;
	rc = read_object(at, v, fields, sizeof(fields) / sizeof(fields[0]), t, e);
	if (rc == 0)
		rc = load_params(at, json_object_get(v, "params"), t, e);
	if (rc < 0)
		return rc;
	if (t->control && t->primary)
		return at_error(at, e, "a control cannot be a primary test: it must not move");
	if (t->nparams && !t->variant)
		return at_error(&variant, e, "parameters need a name to go by in the results");
	if (!t->variant)
		t->variant = strdup("");
	if (!t->variant)
		return no_memory(e);
	return resolve_test(l, at, t, e);
}

static bool same_test(const struct plan_test *a, const struct plan_test *b)
{
	return strcmp(a->family, b->family) == 0 && strcmp(a->test, b->test) == 0 &&
	       strcmp(a->variant, b->variant) == 0;
}

/* Controls run where the primary tests do: the union of their task counts. */
static int control_tasks(struct plan *p, struct plan_test *control, struct err *e)
{
	bool any_primary = false;

	for (int i = 0; i < p->ntests; i++)
		any_primary |= p->tests[i].primary;
	for (int i = 0; i < p->ntests; i++) {
		const struct plan_test *t = &p->tests[i];

		if (t->control || (any_primary && !t->primary))
			continue;
		for (int k = 0; k < t->ntasks; k++)
			if (tasks_add(&control->tasks, &control->ntasks, t->tasks[k]) < 0)
				return no_memory(e);
	}
	return 0;
}

static int load_tasks(const struct loader *l, const struct at *list, const json_t *tests,
		      struct err *e)
{
	const json_t *common = json_object_get(l->plan, "tasks");
	struct at common_at = {.up = l->root, .key = "tasks"};
	struct plan *p = l->p;

	for (int i = 0; i < p->ntests; i++) {
		struct plan_test *t = &p->tests[i];
		const json_t *own = json_object_get(json_array_get(tests, (size_t)i), "tasks");
		struct at at = {.up = list, .index = (size_t)i};
		struct at own_at = {.up = &at, .key = "tasks"};
		int rc;

		if (t->control && !own)
			continue;
		rc = tasks_read(l, own ? &own_at : &common_at, own ? own : common, &t->tasks,
				&t->ntasks, e);
		if (rc < 0)
			return rc;
	}
	for (int i = 0; i < p->ntests; i++) {
		struct plan_test *t = &p->tests[i];
		int rc = t->ntasks ? 0 : control_tasks(p, t, e);

		if (rc == 0 && t->ntasks == 0) /* nothing but controls */
			rc = tasks_read(l, &common_at, common, &t->tasks, &t->ntasks, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int load_tests(const struct loader *l, struct err *e)
{
	struct at list = {.up = l->root, .key = "tests"};
	json_t *tests = json_object_get(l->plan, "tests");
	struct plan *p = l->p;
	size_t n;
	int rc = read_array(&list, tests, MAX_TESTS, &n, e);

	if (rc < 0)
		return rc;
	if (n == 0)
		return at_error(&list, e, "a plan needs a test");
	p->tests = calloc(n, sizeof(*p->tests));
	if (!p->tests)
		return no_memory(e);
	for (size_t i = 0; i < n; i++) {
		struct at at = {.up = &list, .index = i};

		p->ntests++;
		rc = load_test(l, &at, json_array_get(tests, i), &p->tests[i], e);
		if (rc < 0)
			return rc;
		for (size_t k = 0; k < i; k++)
			if (same_test(&p->tests[k], &p->tests[i]))
				return at_error(&at, e,
						"test \"%s\" appears twice; give each a "
						"\"variant\" of its own",
						p->tests[i].test);
	}
	rc = load_tasks(l, &list, tests, e);
	return rc < 0 ? rc : needs_check(l, &list, e);
}
