// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include "tests/unit/dtb.h"

#include <libfdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "config.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_node(FILE *out, const void *fdt, int node)
{
	char path[512], *lines[64];
	int offset, n = 0, child;

	assert_int_equal(fdt_get_path(fdt, node, path, sizeof(path)), 0);
	fprintf(out, "%s\n", path);
	fdt_for_each_property_offset(offset, fdt, node) {
		const char *name;
		int len;
		const unsigned char *v = fdt_getprop_by_offset(fdt, offset, &name, &len);
		size_t size;
		FILE *f = open_memstream(&lines[n], &size);

		assert_non_null(v);
		assert_in_range(n, 0, 63);
		fprintf(f, "%s/%s =", path, name);
		for (int i = 0; i < len; i++)
			fprintf(f, " %02x", v[i]);
		fclose(f);
		n++;
	}
	qsort(lines, (size_t)n, sizeof(*lines), by_text);
	for (int i = 0; i < n; i++) {
		fprintf(out, "%s\n", lines[i]);
		free(lines[i]);
	}
	fdt_for_each_subnode(child, fdt, node) {
		put_node(out, fdt, child);
	}
}

char *dtb_text(const void *blob, size_t len)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(fdt_check_full(blob, len), 0);
	assert_int_equal(fdt_totalsize(blob), len);
	put_node(out, blob, 0);
	fclose(out);
	return text;
}

void *dtb_compile(const char *path, size_t *len)
{
	char command[1024];
	void *blob = malloc(1 << 20);
	FILE *p;

	snprintf(command, sizeof(command), "dtc -q -I dts -O dtb '%s/%s'", MKSPLIT_SOURCE_DIR, path);
	p = popen(command, "re");
	assert_non_null(p);
	*len = fread(blob, 1, 1 << 20, p);
	assert_int_equal(pclose(p), 0);
	return blob;
}
