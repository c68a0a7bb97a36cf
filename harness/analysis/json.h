/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_JSON_H
#define MKSPLIT_ANALYSIS_JSON_H

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>

/* Members of an object that may be missing or of another type; object may be NULL. */

static inline const char *get_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

/* A finite number, or NaN. */
static inline double get_double(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* An integer in [min, max] into *out; -EINVAL, with *out untouched, for anything else. */
static inline int get_int(const json_t *object, const char *key, int min, int max, int *out)
{
	const json_t *v = json_object_get(object, key);

	if (!json_is_integer(v) || json_integer_value(v) < min || json_integer_value(v) > max)
		return -EINVAL;
	*out = json_integer_value(v);
	return 0;
}

static inline bool get_bool(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

#endif
