// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/blob.h"

#include <errno.h>
#include <string.h>

#define MAGIC	    0xd00dfeedu
#define HEADER_SIZE 40
/* A tree of the ABI is six levels deep; a bound keeps a hostile blob from deep walks. */
#define MAX_DEPTH 32

enum token {
	BEGIN_NODE = 1,
	END_NODE = 2,
	PROP = 3,
	NOP = 4,
	END = 9
};

uint32_t blob_u32(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

uint64_t blob_u64(const void *p)
{
	return (uint64_t)blob_u32(p) << 32 | blob_u32((const uint8_t *)p + 4);
}

static uint32_t pad4(uint32_t n)
{
	return (n + 3) & ~UINT32_C(3);
}

int blob_check_header(const void *data, size_t len, uint32_t *totalsize, struct err *e)
{
	const uint8_t *p = data;
	uint32_t total, structure, strings, reserved, version, compatible;

	if (len < HEADER_SIZE)
		return err_set(e, EINVAL, "blob of %zu bytes has no room for a header", len);
	if (blob_u32(p) != MAGIC)
		return err_set(e, EINVAL, "blob has magic 0x%08x", blob_u32(p));
	total = blob_u32(p + 4);
	structure = blob_u32(p + 8);
	strings = blob_u32(p + 12);
	reserved = blob_u32(p + 16);
	version = blob_u32(p + 20);
	compatible = blob_u32(p + 24);
	if (version < 16 || compatible > 17)
		return err_set(e, EINVAL, "blob has version %u (%u)", version, compatible);
	if (total < HEADER_SIZE || total > INT32_MAX)
		return err_set(e, EINVAL, "blob has totalsize %u", total);
	if (structure > total || strings > total || reserved > total || structure % 4 || reserved % 8)
		return err_set(e, EINVAL, "blob has a block outside of its %u bytes", total);
	*totalsize = total;
	return 0;
}

static const char *string_at(const struct blob *b, uint32_t offset)
{
	const char *s = (const char *)b->data + b->strings + offset;

	if (offset >= b->strings_size || !memchr(s, '\0', b->strings_size - offset))
		return NULL;
	return s;
}

/* The token at *at (relative to the structure block) and, in *next, the one behind it. */
static int step(const struct blob *b, uint32_t at, uint32_t *next, struct err *e)
{
	const uint8_t *p = b->data + b->structure + at;
	uint32_t left = b->structure_size - at, len;
	const uint8_t *nul;

	if (at > b->structure_size || left < 4)
		return err_set(e, EINVAL, "structure block ends inside of the tree");
	switch (blob_u32(p)) {
	case BEGIN_NODE:
		nul = memchr(p + 4, '\0', left - 4);
		if (!nul)
			return err_set(e, EINVAL, "node name at %u has no end", at);
		*next = at + 4 + pad4(nul - (p + 4) + 1);
		break;
	case PROP:
		if (left < 12)
			return err_set(e, EINVAL, "property at %u is cut", at);
		len = blob_u32(p + 4);
		if (len > left - 12)
			return err_set(e, EINVAL, "property at %u has length %u", at, len);
		if (!string_at(b, blob_u32(p + 8)))
			return err_set(e, EINVAL, "property at %u has no name", at);
		*next = at + 12 + pad4(len);
		break;
	case END_NODE:
	case NOP:
	case END:
		*next = at + 4;
		break;
	default:
		return err_set(e, EINVAL, "token %u at %u is unknown", blob_u32(p), at);
	}
	if (*next > b->structure_size)
		return err_set(e, EINVAL, "structure block ends inside of a token");
	return blob_u32(p);
}

int blob_open(struct blob *b, const void *data, size_t len, struct err *e)
{
	uint32_t total, version, at = 0, next = 0;
	int depth = 0, token;
	bool seen_root = false;

	*b = (struct blob){.data = data, .size = len};
	if (blob_check_header(data, len, &total, e) < 0)
		return e->code;
	if (total > len)
		return err_set(e, EINVAL, "blob says it has %u bytes and has %zu", total, len);
	b->size = total;
	b->structure = blob_u32(b->data + 8);
	b->strings = blob_u32(b->data + 12);
	b->strings_size = blob_u32(b->data + 32);
	version = blob_u32(b->data + 20);
	b->structure_size = version >= 17 ? blob_u32(b->data + 36) : total - b->structure;
	if (b->strings_size > total - b->strings || b->structure_size > total - b->structure)
		return err_set(e, EINVAL, "blob has a block longer than its %u bytes", total);

	for (;; at = next) {
		token = step(b, at, &next, e);
		if (token < 0)
			return token;
		if (token == END)
			break;
		if (token == BEGIN_NODE) {
			if (depth == 0 && seen_root)
				return err_set(e, EINVAL, "blob has a second root");
			seen_root = true;
			if (++depth > MAX_DEPTH)
				return err_set(e, EINVAL, "blob is more than %d levels deep",
					       MAX_DEPTH);
		} else if (token == END_NODE) {
			if (--depth < 0)
				return err_set(e, EINVAL, "blob ends a node that it did not begin");
		} else if (token == PROP && depth == 0) {
			return err_set(e, EINVAL, "blob has a property outside of any node");
		}
	}
	if (depth != 0 || !seen_root)
		return err_set(e, EINVAL, "blob ends inside of the tree");
	return 0;
}

/* Behind blob_open() no step can fail. */
static int walk(const struct blob *b, int *at)
{
	struct err unused = ERR_INIT;
	uint32_t next;
	int token = step(b, *at, &next, &unused);

	if (token < 0)
		return END;
	*at = next;
	return token;
}

static int token_at(const struct blob *b, int at)
{
	return blob_u32(b->data + b->structure + at);
}

/* From at, inside of a node: the next child's or the next property's offset, or -1. */
static int scan(const struct blob *b, int at, int wanted)
{
	int depth = 0;

	for (;;) {
		int here = at, token = walk(b, &at);

		if (token == END || (token == END_NODE && depth == 0))
			return -1;
		if (token == wanted && depth == 0)
			return here;
		if (token == BEGIN_NODE)
			depth++;
		else if (token == END_NODE)
			depth--;
	}
}

int blob_root(const struct blob *b)
{
	return scan(b, 0, BEGIN_NODE);
}

int blob_child(const struct blob *b, int node)
{
	walk(b, &node);
	return scan(b, node, BEGIN_NODE);
}

int blob_next(const struct blob *b, int node)
{
	int depth = 0;

	do {
		int token = walk(b, &node);

		if (token == END)
			return -1;
		if (token == BEGIN_NODE)
			depth++;
		else if (token == END_NODE)
			depth--;
	} while (depth > 0);
	return scan(b, node, BEGIN_NODE);
}

const char *blob_name(const struct blob *b, int node)
{
	return (const char *)b->data + b->structure + node + 4;
}

int blob_first_property(const struct blob *b, int node)
{
	walk(b, &node);
	return scan(b, node, PROP);
}

int blob_next_property(const struct blob *b, int property)
{
	walk(b, &property);
	return scan(b, property, PROP);
}

const char *blob_property(const struct blob *b, int property, const void **value, uint32_t *len)
{
	const uint8_t *p = b->data + b->structure + property;

	*len = blob_u32(p + 4);
	*value = p + 12;
	return string_at(b, blob_u32(p + 8));
}

const void *blob_get(const struct blob *b, int node, const char *name, uint32_t *len)
{
	for (int p = blob_first_property(b, node); p >= 0; p = blob_next_property(b, p)) {
		const void *value;
		uint32_t n;

		if (strcmp(blob_property(b, p, &value, &n), name) == 0) {
			*len = n;
			return value;
		}
	}
	return NULL;
}

const char *blob_string(const struct blob *b, int node, const char *name)
{
	uint32_t len;
	const char *s = blob_get(b, node, name, &len);

	return s && len && memchr(s, '\0', len) ? s : NULL;
}

int blob_find(const struct blob *b, int node, const char *name)
{
	size_t len = strlen(name);
	bool unit = strchr(name, '@');

	for (int c = blob_child(b, node); c >= 0; c = blob_next(b, c)) {
		const char *n = blob_name(b, c);

		if (strncmp(n, name, len) == 0 && (n[len] == '\0' || (!unit && n[len] == '@')))
			return c;
	}
	return -1;
}

static bool printable(const char *value, uint32_t len)
{
	if (!len || value[len - 1] != '\0' || value[0] == '\0')
		return false;
	for (uint32_t i = 0; i + 1 < len; i++)
		if (value[i] && (value[i] < ' ' || value[i] > '~' || value[i] == '"'))
			return false;
	return true;
}

static void print_value(const void *value, uint32_t len, struct buf *out)
{
	const uint8_t *p = value;

	if (printable(value, len)) {
		for (uint32_t at = 0; at < len; at += strlen((const char *)p + at) + 1)
			buf_printf(out, "%s\"%s\"", at ? ", " : "", (const char *)p + at);
	} else if (len % 8 == 0) {
		for (uint32_t i = 0; i < len; i += 8)
			buf_printf(out, "%s%s0x%llx", i ? " " : "", i ? "" : "/bits/ 64 <",
				   (unsigned long long)blob_u64(p + i));
		buf_str(out, ">");
	} else if (len % 4 == 0) {
		for (uint32_t i = 0; i < len; i += 4)
			buf_printf(out, "%s0x%x", i ? " " : "<", blob_u32(p + i));
		buf_str(out, ">");
	} else {
		for (uint32_t i = 0; i < len; i++)
			buf_printf(out, "%s%02x", i ? " " : "[", p[i]);
		buf_str(out, "]");
	}
}

void blob_print(const struct blob *b, struct buf *out)
{
	int at = 0, depth = 0, token;

	for (;;) {
		int here = at;
		const void *value;
		uint32_t len;
		const char *name;

		token = token_at(b, at);
		walk(b, &at);
		switch (token) {
		case BEGIN_NODE:
			name = blob_name(b, here);
			buf_printf(out, "%*s%s {\n", depth++ * 2, "", *name ? name : "/");
			break;
		case END_NODE:
			buf_printf(out, "%*s};\n", --depth * 2, "");
			break;
		case PROP:
			name = blob_property(b, here, &value, &len);
			buf_printf(out, "%*s%s", depth * 2, "", name);
			if (len) {
				buf_str(out, " = ");
				print_value(value, len, out);
			}
			buf_str(out, ";\n");
			break;
		case END:
			return;
		}
	}
}

static void put_u32(struct buf *out, uint32_t v)
{
	uint8_t bytes[4] = {v >> 24, v >> 16, v >> 8, v};

	buf_add(out, bytes, sizeof(bytes));
}

static void put_padding(struct buf *out)
{
	while (out->len % 4 && !out->failed)
		buf_add(out, "", 1);
}

void blob_begin(struct blob_writer *w, const char *name)
{
	put_u32(&w->structure, BEGIN_NODE);
	buf_add(&w->structure, name, strlen(name) + 1);
	put_padding(&w->structure);
}

void blob_end(struct blob_writer *w)
{
	put_u32(&w->structure, END_NODE);
}

void blob_put(struct blob_writer *w, const char *name, const void *value, size_t len)
{
	size_t at = 0;

	while (at < w->strings.len && strcmp(w->strings.data + at, name) != 0)
		at += strlen(w->strings.data + at) + 1;
	if (at == w->strings.len)
		buf_add(&w->strings, name, strlen(name) + 1);
	put_u32(&w->structure, PROP);
	put_u32(&w->structure, len);
	put_u32(&w->structure, at);
	buf_add(&w->structure, value, len);
	put_padding(&w->structure);
}

void blob_put_string(struct blob_writer *w, const char *name, const char *value)
{
	blob_put(w, name, value, strlen(value) + 1);
}

void blob_put_u32(struct blob_writer *w, const char *name, uint32_t value)
{
	uint8_t bytes[4] = {value >> 24, value >> 16, value >> 8, value};

	blob_put(w, name, bytes, sizeof(bytes));
}

void blob_put_u64s(struct blob_writer *w, const char *name, const uint64_t *values, size_t n)
{
	cleanup_buf struct buf v = BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		put_u32(&v, values[i] >> 32);
		put_u32(&v, values[i]);
	}
	if (v.failed)
		w->structure.failed = true;
	blob_put(w, name, v.data, v.len);
}

int blob_finish(struct blob_writer *w, struct buf *out)
{
	enum {
		RESERVED_SIZE = 16
	};
	static const char zeros[RESERVED_SIZE];
	uint32_t structure = HEADER_SIZE + RESERVED_SIZE;
	bool failed;

	put_u32(&w->structure, END);
	*out = BUF_INIT;
	put_u32(out, MAGIC);
	put_u32(out, structure + w->structure.len + w->strings.len);
	put_u32(out, structure);
	put_u32(out, structure + w->structure.len);
	put_u32(out, HEADER_SIZE);
	put_u32(out, 17);
	put_u32(out, 16);
	put_u32(out, 0);
	put_u32(out, w->strings.len);
	put_u32(out, w->structure.len);
	buf_add(out, zeros, sizeof(zeros));
	buf_add(out, w->structure.data, w->structure.len);
	buf_add(out, w->strings.data, w->strings.len);
	failed = out->failed || w->structure.failed || w->strings.failed;
	buf_free(&w->structure);
	buf_free(&w->strings);
	if (failed)
		buf_free(out);
	return failed ? -ENOMEM : 0;
}
