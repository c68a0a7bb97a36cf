// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/cmd/plan_steps.h"

#include "harness/backend/backend.h"

static json_t *failed(const char *why)
{
	return json_pack("{s:s}", "error", why);
}

static json_t *steps_json(const struct plan_arm *a, const struct steps *steps)
{
	json_t *list = json_array();

	for (int i = 0; i < steps->n; i++) {
		const struct step *s = &steps->v[i];

		json_array_append_new(
			list, json_pack("{s:i, s:s, s:s?, s:s, s:f, s:O?}", "number", s->number,
					"kind", s->kind, "partition",
					s->partition >= 0 ? a->partitions[s->partition].name : NULL,
					"what", s->what, "seconds", s->expected_s, "blob", s->blob));
	}
	return list;
}

static json_t *arm_steps(const struct plan *p, const struct plan_arm *a, const struct backend_env *env)
{
	const struct backend_ops *ops = backend_find(a->backend);
	struct layout none = {0}, want = {.arm = a};
	struct steps steps = {0};
	struct backend *b = NULL;
	struct err e = ERR_INIT;
	json_t *result;

	if (!ops)
		return failed("this program was built without the backend");
	if (backend_open(&b, ops, env, &e) < 0)
		return failed(e.text);
	result = ops->plan(b, &none, &want, &steps, &e) < 0 ? failed(e.text) : steps_json(a, &steps);
	steps_free(&steps);
	backend_close(&b);
	return result;
}

json_t *plan_steps(const struct plan *p, const struct topology *t, const struct root *r,
		   const char *bench)
{
	struct backend_env env = {.root = r,
				  .topology = t,
				  .plan = p,
				  .bench = bench,
				  .run_dir = "/run/mksplit",
				  .token = "TOKEN"};
	json_t *list = json_array();

	for (int i = 0; list && i < p->narms; i++)
		json_array_append_new(list, arm_steps(p, &p->arms[i], &env));
	return list;
}
