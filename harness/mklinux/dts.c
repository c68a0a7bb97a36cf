// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/dts.h"

#include <ctype.h>
#include <inttypes.h>
#include <libfdt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "harness/mklinux/tree.h"

static void indent(FILE *f, int depth)
{
	for (int i = 0; i < depth; i++)
		fputc('\t', f);
}

static bool is_text(const char *v, int len)
{
	if (len < 2 || v[len - 1] != '\0')
		return false;
	for (int i = 0; i < len - 1; i++)
		if (!isprint((unsigned char)v[i]) || v[i] == '"' || v[i] == '\\')
			return false;
	return true;
}

/* Which properties of this ABI hold 64-bit numbers: it has no other way to tell. */
static bool is_wide(const char *name)
{
	return strcmp(name, "cpus") == 0 || strcmp(name, "cpus-available") == 0 ||
	       strcmp(name, "reg") == 0 || strcmp(name, "size") == 0 ||
	       strcmp(name, "memory-bytes") == 0 || strcmp(name, "memory-base") == 0;
}

static void put_value(FILE *f, const char *name, const char *v, int len)
{
	if (len == 0)
		return;
	if (is_text(v, len)) {
		fprintf(f, " = \"%s\"", v);
	} else if (len % 8 == 0 && is_wide(name)) {
		bool hex = strcmp(name, "cpus") != 0 && strcmp(name, "cpus-available") != 0;

		fputs(" = /bits/ 64 <", f);
		for (int i = 0; i < len; i += 8)
			fprintf(f, hex ? "%s0x%" PRIx64 : "%s%" PRIu64, i ? " " : "",
				(uint64_t)fdt64_ld((const void *)(v + i)));
		fputc('>', f);
	} else if (len % 4 == 0) {
		fputs(" = <", f);
		for (int i = 0; i < len; i += 4)
			fprintf(f, "%s%" PRIu32, i ? " " : "", fdt32_ld((const void *)(v + i)));
		fputc('>', f);
	} else {
		fputs(" = [", f);
		for (int i = 0; i < len; i++)
			fprintf(f, "%s%02x", i ? " " : "", (unsigned char)v[i]);
		fputc(']', f);
	}
}

static void put_node(FILE *f, const void *fdt, int node, int depth)
{
	const char *name = fdt_get_name(fdt, node, NULL);
	int offset, child, len;

	indent(f, depth);
	fprintf(f, "%s {\n", depth == 0 ? "/" : name);
	fdt_for_each_property_offset(offset, fdt, node) {
		const char *property = NULL;
		const char *v = fdt_getprop_by_offset(fdt, offset, &property, &len);

		if (!v || !property)
			continue;
		indent(f, depth + 1);
		fputs(property, f);
		put_value(f, property, v, len);
		fputs(";\n", f);
	}
	fdt_for_each_subnode(child, fdt, node) {
		put_node(f, fdt, child, depth + 1);
	}
	indent(f, depth);
	fputs("};\n", f);
}

char *dts_of(const void *blob, size_t len)
{
	cleanup_free char *text = NULL;
	size_t size = 0;
	FILE *f;

	if (mk_tree_check(blob, len))
		return NULL;
	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	fputs("/dts-v1/;\n\n", f);
	put_node(f, blob, 0, 0);
	return fclose(f) ? NULL : take_ptr(text);
}

char *hex_of(const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = data;
	char *hex = malloc(2 * len + 1);

	for (size_t i = 0; hex && i < len; i++) {
		hex[2 * i] = digits[p[i] >> 4];
		hex[2 * i + 1] = digits[p[i] & 15];
	}
	if (hex)
		hex[2 * len] = '\0';
	return hex;
}
