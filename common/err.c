// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int negative(int code)
{
	if (code == 0)
		return -EIO; /* a failure without an errno is still a failure */
	return code < 0 ? code : -code;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	e->code = negative(code);
	e->exit = EXIT_FAILURE;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return e->code;
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int saved = errno;
	size_t len;
	va_list ap;

	e->code = negative(saved);
	e->exit = EXIT_FAILURE;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	len = strlen(e->text);
	snprintf(e->text + len, sizeof(e->text) - len, ": %s", strerror(saved));
	return e->code;
}

int err_usage(struct err *e, const char *fmt, ...)
{
	va_list ap;

	e->code = -EINVAL;
	e->exit = EXIT_USAGE;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return e->code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char context[sizeof(e->text)];
	char old[sizeof(e->text)];
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	memcpy(old, e->text, sizeof(old));
	len = strlen(context);
	memcpy(e->text, context, len + 1);
	snprintf(e->text + len, sizeof(e->text) - len, ": %s", old);
	return e->code;
}
