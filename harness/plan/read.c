// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/plan/read.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME  64
#define MAX_COUNT 100000

static void print_path(FILE *f, const struct at *at)
{
	if (at->up)
		print_path(f, at->up);
	if (!at->key)
		fprintf(f, "[%zu]", at->index);
	else if (!at->up)
		fprintf(f, "%s: ", at->key);
	else
		fprintf(f, "%s%.*s", at->up->up ? "." : "", MAX_NAME, at->key);
}

int at_wrap(const struct at *at, struct err *e)
{
	char path[400] = "";
	FILE *f = fmemopen(path, sizeof(path), "w");

	if (f) {
		print_path(f, at);
		fclose(f);
	}
	path[sizeof(path) - 1] = '\0';
	if (at->up)
		err_wrap(e, "%s", path);
	else
		err_wrap(e, "%s", at->key);
	if (e->code != -ENOMEM)
		e->exit = EXIT_USAGE;
	return e->code;
}

int at_error(const struct at *at, struct err *e, const char *fmt, ...)
{
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_usage(e, "%s", text);
	return at_wrap(at, e);
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for a plan");
}

static const struct field *find_field(const struct field *fields, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

static int unknown_key(const struct at *at, const char *key, const struct field *fields, size_t n,
		       struct err *e)
{
	char known[600] = "";
	size_t len = 0;

	for (size_t i = 0; i < n && len < sizeof(known); i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "",
					fields[i].key);
	return at_error(at, e, "unknown key (known here: %s)", known);
}

int read_object(const struct at *at, const json_t *object, const struct field *fields,
		size_t nfields, void *to, struct err *e)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return at_error(at, e, "an object { } is expected");
	json_object_foreach((json_t *)object, key, value) {
		struct at here = {.up = at, .key = key};
		const struct field *f = find_field(fields, nfields, key);
		int rc;

		if (!f)
			return unknown_key(&here, key, fields, nfields, e);
		if (!f->read)
			continue;
		rc = f->read(&here, value, (char *)to + f->offset, e);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < nfields; i++)
		if (fields[i].required && !json_object_get(object, fields[i].key))
			return at_error(at, e, "\"%s\" is missing", fields[i].key);
	return 0;
}

int read_string(const struct at *at, const json_t *v, void *to, struct err *e)
{
	char *copy;

	if (!json_is_string(v))
		return at_error(at, e, "a string is expected");
	if (strlen(json_string_value(v)) != json_string_length(v))
		return at_error(at, e, "a string must not contain a NUL");
	copy = strdup(json_string_value(v));
	if (!copy)
		return no_memory(e);
	free(*(char **)to);
	*(char **)to = copy;
	return 0;
}

/* Names become parts of file names and of cell keys. */
int read_name(const struct at *at, const json_t *v, void *to, struct err *e)
{
	const char *s = json_string_value(v);

	if (!s)
		return at_error(at, e, "a string is expected");
	if (!isalnum((unsigned char)*s) || strlen(s) > MAX_NAME ||
	    strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
		    json_string_length(v))
		return at_error(at, e,
				"a name has 1 to %d characters of a-z A-Z 0-9 . _ - and begins "
				"with a letter or digit",
				MAX_NAME);
	return read_string(at, v, to, e);
}

int read_bool(const struct at *at, const json_t *v, void *to, struct err *e)
{
	if (!json_is_boolean(v))
		return at_error(at, e, "true or false is expected");
	*(bool *)to = json_is_true(v);
	return 0;
}

/*
 * A decimal number with a unit from a table. Own digits rather than strtod(), which follows the
 * locale, knows "inf" and hexadecimal, and takes white space.
 */
struct unit {
	const char *name;
	double factor;
};

static int parse_unit(const char *text, const struct unit *units, size_t n, double *value)
{
	double v = 0, place = 1;
	const char *p = text;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++)
		v = v * 10 + (*p - '0');
	if (*p == '.') {
		p++;
		if (!isdigit((unsigned char)*p))
			return -EINVAL;
		for (; isdigit((unsigned char)*p); p++) {
			place /= 10;
			v += (*p - '0') * place;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (strcmp(p, units[i].name) == 0) {
			*value = v * units[i].factor;
			return 0;
		}
	return -EINVAL;
}

int parse_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{"", 1}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40}};
	double v;

	/* No machine has more than 2^62 bytes, and a double counts them well enough. */
	if (parse_unit(text, units, sizeof(units) / sizeof(units[0]), &v) < 0 || v > 0x1p62)
		return -EINVAL;
	*bytes = (uint64_t)v;
	return 0;
}

int parse_time(const char *text, int64_t *ns)
{
	static const struct unit units[] = {{"ns", 1},	{"us", 1e3}, {"ms", 1e6},
					    {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
	double v;

	/* A week bounds every time a plan can sensibly name. */
	if (parse_unit(text, units, sizeof(units) / sizeof(units[0]), &v) < 0 || v > 7 * 24 * 3600e9)
		return -EINVAL;
	*ns = (int64_t)(v + 0.5);
	return 0;
}

int parse_share(const char *text, double *share)
{
	static const struct unit units[] = {{"%", 0.01}, {"", 1}};
	double v;

	if (parse_unit(text, units, sizeof(units) / sizeof(units[0]), &v) < 0 || v > 1)
		return -EINVAL;
	*share = v;
	return 0;
}

int read_size(const struct at *at, const json_t *v, void *to, struct err *e)
{
	if (json_is_integer(v) && json_integer_value(v) >= 0) {
		*(uint64_t *)to = (uint64_t)json_integer_value(v);
		return 0;
	}
	if (!json_is_string(v) || parse_size(json_string_value(v), to) < 0)
		return at_error(at, e, "a size is expected, such as \"512M\" (K M G T)");
	return 0;
}

int read_time(const struct at *at, const json_t *v, void *to, struct err *e)
{
	if (!json_is_string(v) || parse_time(json_string_value(v), to) < 0)
		return at_error(at, e, "a time is expected, such as \"200ms\" (ns us ms s m h)");
	return 0;
}

int read_share(const struct at *at, const json_t *v, void *to, struct err *e)
{
	if (json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) <= 1) {
		*(double *)to = json_number_value(v);
		return 0;
	}
	if (!json_is_string(v) || parse_share(json_string_value(v), to) < 0)
		return at_error(at, e, "a share is expected, such as \"3%%\"");
	return 0;
}

int read_count(const struct at *at, const json_t *v, void *to, struct err *e)
{
	if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > MAX_COUNT)
		return at_error(at, e, "a whole number from 1 to %d is expected", MAX_COUNT);
	*(int *)to = (int)json_integer_value(v);
	return 0;
}

int read_array(const struct at *at, const json_t *v, size_t max, size_t *n, struct err *e)
{
	if (!json_is_array(v))
		return at_error(at, e, "an array [ ] is expected");
	if (json_array_size(v) > max)
		return at_error(at, e, "more than %zu elements", max);
	*n = json_array_size(v);
	return 0;
}
