/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_BLOB_H
#define MKSPLIT_SIM_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "sim/buf.h"

/*
 * Flattened device trees, read and written (docs/mklinux-abi.md, appendix A). mksim has its
 * own code for this on purpose: it judges what a client wrote, so it must not share a
 * mistake with it.
 */

/* A blob that was checked as a whole: every token, name and offset lies inside. */
struct blob {
	const uint8_t *data;
	size_t size;
	uint32_t structure, structure_size, strings, strings_size;
};

/* What the kernel's header check looks at: magic, version, offsets within totalsize. */
int blob_check_header(const void *data, size_t len, uint32_t *totalsize, struct err *e);

/* Checks all of it. The data is borrowed. Returns 0 or -EINVAL with the first fault found. */
int blob_open(struct blob *b, const void *data, size_t len, struct err *e);

/* Nodes and properties are offsets into the blob; -1 is none. */
int blob_root(const struct blob *b);
int blob_child(const struct blob *b, int node);
int blob_next(const struct blob *b, int node);
const char *blob_name(const struct blob *b, int node);

int blob_first_property(const struct blob *b, int node);
int blob_next_property(const struct blob *b, int property);
const char *blob_property(const struct blob *b, int property, const void **value, uint32_t *len);

/* The named property's value inside the blob, or NULL; *len is set only when it is there. */
const void *blob_get(const struct blob *b, int node, const char *name, uint32_t *len);

/* A property that is one NUL-terminated string, or NULL. */
const char *blob_string(const struct blob *b, int node, const char *name);

/*
 * A child as libfdt finds it: "name" is also found as "name@1". The first one that
 * matches, or -1.
 */
int blob_find(const struct blob *b, int node, const char *name);

uint32_t blob_u32(const void *p);
uint64_t blob_u64(const void *p);

/* The tree as text, much as dtc writes it: for the log. */
void blob_print(const struct blob *b, struct buf *out);

/* The writer: nodes are begun and ended, properties come before the children. */
struct blob_writer {
	struct buf structure, strings;
};

void blob_begin(struct blob_writer *w, const char *name);
void blob_end(struct blob_writer *w);
void blob_put(struct blob_writer *w, const char *name, const void *value, size_t len);
void blob_put_string(struct blob_writer *w, const char *name, const char *value);
void blob_put_u32(struct blob_writer *w, const char *name, uint32_t value);
void blob_put_u64s(struct blob_writer *w, const char *name, const uint64_t *values, size_t n);

/* Ends the blob in *out and frees the writer's parts. Returns 0 or -ENOMEM. */
int blob_finish(struct blob_writer *w, struct buf *out);

#endif
