// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/plan/vary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

enum {
	VARIATIONS_MAX = 16
};

/* The kernel of partitions that name none, as the reader of arms has it. */
#define USUAL_KERNEL "stock"

struct variation {
	char *name, *append, *memory_per_cpu;
};

static void free_variation(struct variation *v)
{
	free(v->name);
	free(v->append);
	free(v->memory_per_cpu);
}

static const struct field fields[] = {
	{"name", read_name, offsetof(struct variation, name), true},
	{"append", read_string, offsetof(struct variation, append)},
	{"memory_per_cpu", read_string, offsetof(struct variation, memory_per_cpu)},
};

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for a plan");
}

/* Backends whose kernels are the plan's to choose. */
static bool has_own_kernels(const json_t *arm)
{
	const char *backend = json_string_value(json_object_get(arm, "backend"));
	const json_t *partitions = json_object_get(arm, "partitions");

	if (!backend || (strcmp(backend, "qemu") != 0 && strcmp(backend, "mklinux") != 0))
		return false;
	for (size_t i = 0; i < json_array_size(partitions); i++)
		if (json_is_true(json_object_get(json_array_get(partitions, i), "host")))
			return false;
	return json_array_size(partitions) > 0;
}

static int set_joined(json_t *o, const char *key, const char *a, const char *between, const char *b,
		      struct err *e)
{
	cleanup_free char *text = NULL;

	if (asprintf(&text, "%s%s%s", a, between, b) < 0) {
		text = NULL;
		return no_memory(e);
	}
	return json_object_set_new(o, key, json_string(text)) < 0 ? no_memory(e) : 0;
}

/*
 * A partition may leave its kernel out while there is only one: it is named before a second one
 * comes. What is wrong with it is for the reader of arms to say.
 */
static int name_kernels(json_t *plan, json_t *arms, struct err *e)
{
	json_t *kernels = json_object_get(plan, "kernels");
	const char *only = USUAL_KERNEL;

	if (!kernels) {
		kernels = json_object();
		if (json_object_set_new(plan, "kernels", kernels) < 0)
			return no_memory(e);
	}
	if (!json_is_object(kernels) || json_object_size(kernels) > 1)
		return 0;
	if (json_object_size(kernels) == 0 &&
	    json_object_set_new(kernels, USUAL_KERNEL, json_object()) < 0)
		return no_memory(e);
	only = json_object_iter_key(json_object_iter(kernels));
	for (size_t i = 0; i < json_array_size(arms); i++) {
		json_t *partitions = json_object_get(json_array_get(arms, i), "partitions");

		if (!has_own_kernels(json_array_get(arms, i)))
			continue;
		for (size_t k = 0; k < json_array_size(partitions); k++) {
			json_t *p = json_array_get(partitions, k);

			if (json_is_object(p) && !json_object_get(p, "kernel") &&
			    json_object_set_new(p, "kernel", json_string(only)) < 0)
				return no_memory(e);
		}
	}
	return 0;
}

/* The partition's kernel becomes KERNEL.NAME, which has more on its command line. */
static int change_kernel(json_t *plan, json_t *partition, const struct variation *v, struct err *e)
{
	json_t *kernels = json_object_get(plan, "kernels");
	const char *name = json_string_value(json_object_get(partition, "kernel"));
	json_t *kernel = name ? json_object_get(kernels, name) : NULL, *changed;
	const char *append = json_string_value(json_object_get(kernel, "append"));
	int rc;

	/* Unknown kernels are found, and named, by the reader of arms. */
	if (!json_is_object(kernel))
		return 0;
	rc = set_joined(partition, "kernel", name, ".", v->name, e);
	name = json_string_value(json_object_get(partition, "kernel"));
	if (rc < 0 || json_object_get(kernels, name))
		return rc;
	changed = json_deep_copy(kernel);
	if (json_object_set_new(kernels, name, changed) < 0)
		return no_memory(e);
	return set_joined(changed, "append", append ? append : "", append && append[0] ? " " : "",
			  v->append, e);
}

static int change_partition(json_t *plan, json_t *partition, const struct variation *v, struct err *e)
{
	if (!json_is_object(partition))
		return 0;
	if (v->append)
		return change_kernel(plan, partition, v, e);
	json_object_del(partition, "memory");
	return json_object_set_new(partition, "memory_per_cpu", json_string(v->memory_per_cpu)) < 0
		       ? no_memory(e)
		       : 0;
}

static int add_arm(json_t *plan, json_t *arms, const json_t *arm, const struct variation *v,
		   struct err *e)
{
	const char *name = json_string_value(json_object_get(arm, "name"));
	json_t *copy = json_deep_copy(arm), *partitions = json_object_get(copy, "partitions");
	int rc;

	if (json_array_append_new(arms, copy) < 0)
		return no_memory(e);
	rc = set_joined(copy, "name", name, ".", v->name, e);
	if (rc == 0 && json_object_set_new(copy, "varies",
					   json_pack("{s:s,s:s,s:s}", "base", name, "setting",
						     v->append ? "append" : "memory_per_cpu", "value",
						     v->append ? v->append : v->memory_per_cpu)) < 0)
		rc = no_memory(e);
	for (size_t i = 0; i < json_array_size(partitions) && rc == 0; i++)
		rc = change_partition(plan, json_array_get(partitions, i), v, e);
	return rc;
}

static const json_t *arm_named(const json_t *arms, size_t narms, const char *name)
{
	for (size_t i = 0; name && i < narms; i++) {
		const json_t *arm = json_array_get(arms, i);
		const char *other = json_string_value(json_object_get(arm, "name"));

		if (other && strcmp(other, name) == 0)
			return arm;
	}
	return NULL;
}

/* Without a list the first arm is the base of all others: said before there are more of them. */
static int name_compares(json_t *plan, const json_t *arms, struct err *e)
{
	json_t *compares = json_array();
	const json_t *base = json_object_get(json_array_get(arms, 0), "name");

	if (json_object_set_new(plan, "compare", compares) < 0)
		return no_memory(e);
	for (size_t i = 1; i < json_array_size(arms); i++) {
		json_t *with = json_object_get(json_array_get(arms, i), "name");

		if (base && with &&
		    json_array_append_new(compares,
					  json_pack("{s:O,s:O}", "base", base, "with", with)) < 0)
			return no_memory(e);
	}
	return 0;
}

static int add_compares(json_t *compares, size_t n, const json_t *arms, size_t narms,
			const struct variation *v, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		const json_t *c = json_array_get(compares, i);
		const char *base = json_string_value(json_object_get(c, "base"));
		const char *with = json_string_value(json_object_get(c, "with"));
		const json_t *base_arm = arm_named(arms, narms, base);
		const json_t *with_arm = arm_named(arms, narms, with);
		json_t *copy;
		int rc;

		if (!base_arm || !with_arm || !has_own_kernels(base_arm) ||
		    !has_own_kernels(with_arm))
			continue;
		copy = json_deep_copy(c);
		if (json_array_append_new(compares, copy) < 0)
			return no_memory(e);
		rc = set_joined(copy, "base", base, ".", v->name, e);
		if (rc == 0)
			rc = set_joined(copy, "with", with, ".", v->name, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int apply(json_t *plan, const struct at *at, const struct variation *v, size_t narms,
		 size_t ncompares, struct err *e)
{
	json_t *arms = json_object_get(plan, "arms");
	bool any = false;

	if (!v->append == !v->memory_per_cpu)
		return at_error(at, e, "either \"append\" or \"memory_per_cpu\" is expected");
	for (size_t i = 0; i < narms; i++) {
		const json_t *arm = json_array_get(arms, i);
		int rc;

		if (!has_own_kernels(arm) || !json_is_string(json_object_get(arm, "name")))
			continue;
		any = true;
		rc = add_arm(plan, arms, arm, v, e);
		if (rc < 0)
			return rc;
	}
	if (!any)
		return at_error(at, e, "no arm has kernels of its own that could be changed");
	return add_compares(json_object_get(plan, "compare"), ncompares, arms, narms, v, e);
}

int plan_vary(json_t *plan, const struct at *root, struct err *e)
{
	struct at list = {.up = root, .key = "vary"};
	json_t *vary = json_object_get(plan, "vary"), *arms = json_object_get(plan, "arms");
	size_t narms = json_array_size(arms), ncompares, n;
	int rc;

	/* Arms that are no list are refused later, where the message is better. */
	if (!vary || !json_is_array(arms))
		return 0;
	rc = read_array(&list, vary, VARIATIONS_MAX, &n, e);
	if (rc == 0)
		rc = name_kernels(plan, arms, e);
	if (rc == 0 && !json_object_get(plan, "compare"))
		rc = name_compares(plan, arms, e);
	ncompares = json_array_size(json_object_get(plan, "compare"));
	for (size_t i = 0; i < n && rc == 0; i++) {
		cleanup(free_variation) struct variation v = {0};
		struct at here = {.up = &list, .index = i};

		rc = read_object(&here, json_array_get(vary, i), fields,
				 sizeof(fields) / sizeof(fields[0]), &v, e);
		if (rc == 0)
			rc = apply(plan, &here, &v, narms, ncompares, e);
	}
	return rc;
}
