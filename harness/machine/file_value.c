// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/machine/file_value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpumask.h"

int file_value_read(const struct root *r, const char *path, char **value, struct err *e)
{
	cleanup_free char *text = NULL;
	char *open, *close;
	int rc = root_read(r, &text, e, "%s", path);

	if (rc < 0)
		return rc;
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close) {
		*close = '\0';
		memmove(text, open + 1, strlen(open + 1) + 1);
	}
	*value = take_ptr(text);
	return 0;
}

json_t *file_value_entry(const struct root *r, const char *path, const char *before, const char *set)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "root", r->path, "path", path, "before", before,
			 "set", set);
}

/* "0-1,3" and "0,1,3" are one value, if they are CPU lists. */
static bool same_value(const char *a, const char *b)
{
	cleanup_cpumask struct cpumask x = CPUMASK_INIT, y = CPUMASK_INIT;
	struct err e = ERR_INIT;

	if (strcmp(a, b) == 0)
		return true;
	return cpumask_parse(&x, a, &e) == 0 && cpumask_parse(&y, b, &e) == 0 &&
	       cpumask_equal(&x, &y);
}

static void tell(void (*say)(void *arg, const char *line), void *arg, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void tell(void (*say)(void *arg, const char *line), void *arg, const char *fmt, ...)
{
	char line[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (say)
		say(arg, line);
}

int file_value_undo(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
		    struct err *e)
{
	const char *dir, *path, *before, *set;
	cleanup_root struct root r = ROOT_INIT;
	cleanup_free char *now = NULL;
	struct err gone = ERR_INIT;
	int rc;

	if (json_unpack((json_t *)entry, "{s:s, s:s, s:s, s:s}", "root", &dir, "path", &path,
			"before", &before, "set", &set) < 0)
		return err_set(e, EINVAL, "the journal's entry of a switch is incomplete");
	rc = root_open(&r, *dir ? dir : NULL, e);
	if (rc < 0)
		return rc;
	rc = file_value_read(&r, path, &now, &gone);
	if (rc == -ENOENT) {
		tell(say, arg, "%s%s is gone; it was \"%s\" before", dir, path, before);
		return 0;
	}
	if (rc < 0) {
		*e = gone;
		return rc;
	}
	if (same_value(now, before))
		return 0;
	if (!same_value(now, set)) {
		tell(say, arg,
		     "%s%s is \"%s\", which somebody else set since (before: \"%s\", mksplit: "
		     "\"%s\"); "
		     "it stays",
		     dir, path, now, before, set);
		return 0;
	}
	return root_write(&r, before, e, "%s", path);
}
