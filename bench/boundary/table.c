// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/boundary/boundary.h"

const struct boundary_test *const boundary_tests[] = {
	&memlat_test, &membw_test,  &pingpong_test, &atomics_test, &lock_test,
	&ipc_test,    &wakeup_test, &tlbshoot_test, NULL,
};

const struct boundary_test *find_boundary_test(const char *name)
{
	for (const struct boundary_test *const *t = boundary_tests; *t; t++)
		if (strcmp((*t)->name, name) == 0)
			return *t;
	return NULL;
}

void emit(struct sink *s, const struct row *row)
{
	if (!row->extra || s->extended)
		s->row(s->arg, row, s->repeat);
}

void note(struct sink *s, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->note(s->arg, text);
}
