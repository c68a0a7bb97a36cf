// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/cmd/care.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/machine/check.h"

error_t care_parse(struct care *c, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case CARE_OPT_TUNE:
		c->tune = true;
		return 0;
	case CARE_OPT_IGNORE:
		if (!machine_check_known(arg) && strcmp(arg, "sleep") != 0)
			argp_error(state, "--ignore: there is no check \"%s\"; see mksplit doctor",
				   arg);
		if (c->nignore == CARE_IGNORE_MAX)
			argp_error(state, "--ignore: more than %d", CARE_IGNORE_MAX);
		c->ignore[c->nignore++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void say(void *arg, const char *line)
{
	struct care *c = arg;
	struct err e = ERR_INIT;

	if (!c->quiet)
		fprintf(stderr, "Note: %s\n", line);
	/* A note that cannot be stored is no reason to stop: the next cell's event will say so. */
	if (c->store)
		store_event(c->store, json_pack("{s:s, s:s}", "event", "note", "text", line), &e);
}

int care_begin(struct care *c, const struct root *r, const struct topology *t, const struct plan *p,
	       struct err *e)
{
	for (int i = 0; i < p->nignore && c->nignore < CARE_IGNORE_MAX; i++)
		c->ignore[c->nignore++] = p->ignore[i];
	return guard_begin(&c->guard, r, t, c->ignore, c->nignore, say, c, e);
}

int care_tune(struct care *c, const struct topology *t, const struct plan *p, struct journal *j,
	      struct err *e)
{
	cleanup_cpumask struct cpumask measured = CPUMASK_INIT;
	json_t *wish = c->tune ? tuning_default() : json_object();
	int rc = 0;

	if (!wish || (p->tune && json_object_update(wish, p->tune) < 0))
		rc = err_set(e, ENOMEM, "no memory for tuning");
	for (int i = 0; i < p->ngroups && rc == 0; i++)
		if (cpumask_or(&measured, &p->groups[i].usable) < 0)
			rc = err_set(e, ENOMEM, "no memory for tuning");
	if (rc == 0)
		rc = tuning_apply(&c->tuning, wish, c->guard.root, t, &measured, j, say, c, e);
	json_decref(wish);
	return rc;
}

void care_end(struct care *c)
{
	tuning_release(&c->tuning);
	guard_end(&c->guard);
}
