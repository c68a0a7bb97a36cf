/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_READ_H
#define MKSPLIT_PLAN_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Reading JSON by tables of fields. A `struct at` says where in the document one is, for
 * messages: frames on the stack, the root's key is the file's name.
 */
struct at {
	const struct at *up;
	const char *key; /* NULL: an element of an array */
	size_t index;
};

/* "demo.json: arms[1].name: MESSAGE", as the user's error. Returns -EINVAL. */
int at_error(const struct at *at, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts the place in front of a message that is already there, and makes it the user's. */
int at_wrap(const struct at *at, struct err *e);

struct field {
	const char *key;
	/* Stores what it reads at `to`, the struct's address plus offset. */
	int (*read)(const struct at *at, const json_t *value, void *to, struct err *e);
	size_t offset;
	bool required;
};

/*
 * Reads the fields of an object into a struct. Keys that no field names are errors; a field
 * with a NULL reader is allowed, and left to the caller.
 */
int read_object(const struct at *at, const json_t *object, const struct field *fields,
		size_t nfields, void *to, struct err *e);

/* Readers. Strings are copied, and freed by the struct's owner. */
int read_string(const struct at *at, const json_t *v, void *to, struct err *e); /* char * */
int read_name(const struct at *at, const json_t *v, void *to, struct err *e); /* char * */
int read_bool(const struct at *at, const json_t *v, void *to, struct err *e); /* bool */
int read_size(const struct at *at, const json_t *v, void *to, struct err *e); /* uint64_t, bytes */
int read_time(const struct at *at, const json_t *v, void *to, struct err *e); /* int64_t, ns */
int read_share(const struct at *at, const json_t *v, void *to, struct err *e); /* double, 3% is 0.03 */
int read_count(const struct at *at, const json_t *v, void *to, struct err *e); /* int, 1 to 100000 */

/* Units alone, for strings from elsewhere. Return 0 or -EINVAL, without a message. */
int parse_size(const char *text, uint64_t *bytes);
int parse_time(const char *text, int64_t *ns);
int parse_share(const char *text, double *share);

/* An array of at most max elements; its length. */
int read_array(const struct at *at, const json_t *v, size_t max, size_t *n, struct err *e);

#endif
