// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "bench/test.h"

const struct family *const families[] = {
	&scale_family,
	&boundary_family,
	NULL,
};

const struct family *find_family(const char *name)
{
	for (const struct family *const *f = families; *f; f++)
		if (strcmp((*f)->name, name) == 0)
			return *f;
	return NULL;
}

const struct test_info *find_test(const struct family *f, const char *name)
{
	const struct test_info *info;

	for (size_t i = 0; (info = f->info(i)); i++)
		if (strcmp(info->name, name) == 0)
			return info;
	return NULL;
}

const char *cell_param(const struct cell *c, const char *name, const char *fallback)
{
	for (int i = 0; i < c->nparams; i++)
		if (strcmp(c->params[i].name, name) == 0)
			return c->params[i].value;
	return fallback;
}

const char *role_name(enum test_role role)
{
	static const char *const names[] = {
		[ROLE_CONTROL] = "control", [ROLE_CONTROL_USER] = "control (user)",
		[ROLE_EFFECT] = "effect",   [ROLE_UNKNOWN] = "unknown",
		[ROLE_MACHINE] = "machine",
	};

	return names[role];
}

const char *mode_name(enum test_mode mode)
{
	return mode == MODE_THREADS ? "threads" : "processes";
}
