// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/machine/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *check_status_name(enum check_status s)
{
	static const char *const names[] = {"pass", "warn", "fail", "skip"};

	return names[s];
}

int check_add(struct check_results *c, const char *name, enum check_status status,
	      const char *advice, const char *value_fmt, ...)
{
	struct check_result *more = reallocarray(c->v, (size_t)c->n + 1, sizeof(*more));
	va_list ap;
	int n;

	if (!more)
		return -ENOMEM;
	c->v = more;
	more = &c->v[c->n];
	*more = (struct check_result){.name = name, .status = status};
	if (advice) {
		more->advice = strdup(advice);
		if (!more->advice)
			return -ENOMEM;
	}
	va_start(ap, value_fmt);
	n = vasprintf(&more->value, value_fmt, ap);
	va_end(ap);
	if (n < 0) {
		free(more->advice);
		return -ENOMEM;
	}
	c->n++;
	return 0;
}

void check_results_free(struct check_results *c)
{
	for (int i = 0; i < c->n; i++) {
		free(c->v[i].value);
		free(c->v[i].advice);
	}
	free(c->v);
	*c = (struct check_results){0};
}

static const struct check_result *find(const struct check_results *c, const char *name)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->v[i].name, name) == 0)
			return &c->v[i];
	return NULL;
}

static bool prerequisite_holds(const struct machine_check *m, const struct check_results *c)
{
	const struct check_result *before = m->needs ? find(c, m->needs) : NULL;

	return !before || before->status == CHECK_PASS || before->status == CHECK_WARN;
}

int machine_checks_run(const struct check_env *env, bool guards_only, struct check_results *out,
		       struct err *e)
{
	for (int i = 0; i < nmachine_checks; i++) {
		const struct machine_check *m = &machine_checks[i];
		int rc;

		if (guards_only && !m->guards)
			continue;
		if (m->live && !env->root->real)
			rc = check_add(out, m->name, CHECK_SKIP, NULL, "not to be seen in a dump");
		else if (!prerequisite_holds(m, out))
			rc = check_add(out, m->name, CHECK_SKIP, NULL, "needs %s", m->needs);
		else
			rc = m->run(env, m, out, e);
		if (rc == -ENOMEM)
			return err_set(e, ENOMEM, "no memory for checks");
		if (rc < 0)
			return err_wrap(e, "check %s", m->name);
	}
	return 0;
}

bool machine_check_known(const char *name)
{
	for (int i = 0; i < nmachine_checks; i++)
		if (strcmp(machine_checks[i].name, name) == 0)
			return true;
	return false;
}

const struct check_result *check_refusal(const struct check_results *c, char *const *ignore,
					 int nignore)
{
	for (int i = 0; i < c->n; i++) {
		bool ignored = false;

		for (int k = 0; k < nignore; k++)
			ignored |= strcmp(ignore[k], c->v[i].name) == 0;
		if (c->v[i].status == CHECK_FAIL && !ignored)
			return &c->v[i];
	}
	return NULL;
}
