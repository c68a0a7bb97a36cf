// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <libfdt.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* Far above any tree of the kernel (8192 CPUs in one list, some nodes a device). */
#define NODES_MAX 20000
#define DEPTH_MAX 16
#define IDS_MAX	  16384

void mk_tree_free(struct mk_tree *t)
{
	free(t->cpus);
	free(t->available);
	free(t->chunks);
	*t = MK_TREE_INIT;
}

bool mk_tree_has_pool(const struct mk_tree *t)
{
	return t->nchunks > 0;
}

/*
 * Walks every tag, so that what is read later lies inside the blob, and finds the first node
 * named "resources" and its parent. libfdt's fdt_check_full() is no help: it wants an
 * unnamed root, and released kernels write the instance's name there.
 */
static int walk(const void *fdt, int *resources, int *parent, struct err *e)
{
	int path[DEPTH_MAX + 1] = {0}, depth = 0, next = 0, nodes = 0, offset, len;
	uint32_t tag;

	*resources = -1;
	*parent = 0;
	do {
		const char *name = NULL;

		offset = next;
		tag = fdt_next_tag(fdt, offset, &next);
		if (next < 0)
			return err_set(e, EBADMSG, "the tree is damaged: %s", fdt_strerror(next));
		switch (tag) {
		case FDT_BEGIN_NODE:
			if (++depth > DEPTH_MAX || ++nodes > NODES_MAX)
				return err_set(e, EBADMSG, "the tree has too many nodes");
			path[depth] = offset;
			name = fdt_get_name(fdt, offset, NULL);
			if (!name)
				return err_set(e, EBADMSG, "the tree has a node without name");
			if (*resources < 0 && depth > 1 && strcmp(name, "resources") == 0) {
				*resources = offset;
				*parent = path[depth - 1];
			}
			break;
		case FDT_END_NODE:
			if (--depth < 0)
				return err_set(e, EBADMSG, "the tree ends too many nodes");
			break;
		case FDT_PROP:
			if (depth < 1 || !fdt_getprop_by_offset(fdt, offset, &name, &len) || !name)
				return err_set(e, EBADMSG, "the tree has a damaged property");
			break;
		default:
			break;
		}
	} while (tag != FDT_END);
	if (depth != 0 || nodes == 0)
		return err_set(e, EBADMSG, "the tree stops inside a node");
	return 0;
}

/* A list of ids in u64 cells; u32 cells, an older ABI, are taken by length and noticed. */
static int read_ids(const void *fdt, int node, const char *name, struct phys_id **ids, size_t *n,
		    bool *odd, struct err *e)
{
	int len = 0;
	const char *p = fdt_getprop(fdt, node, name, &len);
	size_t width = 8;

	if (!p || len == 0)
		return 0;
	if (len % 8) {
		*odd = true;
		width = 4;
	}
	if (len % width || len / width > IDS_MAX)
		return err_set(e, EBADMSG, "property %s has %d bytes", name, len);
	*ids = calloc(len / width, sizeof(**ids));
	if (!*ids)
		return err_set(e, ENOMEM, "out of memory");
	*n = len / width;
	for (size_t i = 0; i < *n; i++) {
		uint64_t v = width == 8 ? fdt64_ld((const void *)(p + i * 8))
					: fdt32_ld((const void *)(p + i * 4));

		if (v > INT64_MAX)
			return err_set(e, EBADMSG, "property %s has the id 0x%" PRIx64, name, v);
		(*ids)[i].v = (int64_t)v;
	}
	return 0;
}

static bool read_u64(const void *fdt, int node, const char *name, uint64_t *value)
{
	int len = 0;
	const void *p = fdt_getprop(fdt, node, name, &len);

	if (!p || (len != 8 && len != 4))
		return false;
	*value = len == 8 ? fdt64_ld(p) : fdt32_ld(p);
	return true;
}

static int read_chunk(const void *fdt, int node, struct mk_chunk *c, struct err *e)
{
	int len = 0;
	const char *reg = fdt_getprop(fdt, node, "reg", &len);
	const void *numa;

	if (!reg || len != 16)
		return err_set(e, EBADMSG, "a memory node without a range");
	c->base = fdt64_ld((const void *)reg);
	c->size = fdt64_ld((const void *)(reg + 8));
	numa = fdt_getprop(fdt, node, "numa-node-id", &len);
	c->node = numa && len == 4 ? (int)fdt32_ld(numa) : MK_NODE_ANY;
	if (c->size == 0 || c->base + c->size < c->base)
		return err_set(e, EBADMSG, "a memory node of 0x%" PRIx64 " bytes at 0x%" PRIx64,
			       c->size, c->base);
	return 0;
}

static int read_chunks(struct mk_tree *t, const void *fdt, int resources, struct err *e)
{
	size_t room = 0;
	int node, rc;

	fdt_for_each_subnode(node, fdt, resources) {
		const char *name = fdt_get_name(fdt, node, NULL);

		if (!name || strncmp(name, "memory@", 7) != 0)
			continue;
		if (t->nchunks == room) {
			struct mk_chunk *more;

			room = room ? 2 * room : 8;
			more = reallocarray(t->chunks, room, sizeof(*more));
			if (!more)
				return err_set(e, ENOMEM, "out of memory");
			t->chunks = more;
		}
		rc = read_chunk(fdt, node, &t->chunks[t->nchunks], e);
		if (rc)
			return rc;
		t->nchunks++;
	}
	return 0;
}

/* An instance's name: `model` in later releases, the name of the tree's top node in earlier. */
static void read_name(struct mk_tree *t, const void *fdt, int top)
{
	int len = 0;
	const char *name = fdt_getprop(fdt, top, "model", &len);

	if (!name || len < 1 || name[len - 1] != '\0')
		name = fdt_get_name(fdt, top, NULL);
	if (name && strlen(name) < sizeof(t->name))
		strcpy(t->name, name);
}

static int parse(struct mk_tree *t, const void *fdt, struct err *e)
{
	int resources, top, rc;
	uint64_t id;

	rc = walk(fdt, &resources, &top, e);
	if (rc)
		return rc;
	if (read_u64(fdt, top, "id", &id) && id <= INT32_MAX)
		t->id = (int64_t)id;
	read_name(t, fdt, top);
	t->has_root_cells = fdt_getprop(fdt, top, "#address-cells", NULL);
	t->has_cells = t->has_root_cells;
	if (resources < 0)
		return 0;
	t->has_resources = true;
	t->has_cells |= fdt_getprop(fdt, resources, "#address-cells", NULL) != NULL;
	t->has_available = fdt_getprop(fdt, resources, "cpus-available", NULL);
	t->has_memory_property = read_u64(fdt, resources, "memory-bytes", &t->memory);
	t->has_memory_property |= read_u64(fdt, resources, "memory-base", &t->memory_base);
	rc = read_ids(fdt, resources, "cpus", &t->cpus, &t->ncpus, &t->odd_cpu_cells, e);
	if (!rc)
		rc = read_ids(fdt, resources, "cpus-available", &t->available, &t->navailable,
			      &t->odd_cpu_cells, e);
	/* A lone 0 stands for the empty set: the host's boot CPU is never in the pool (4.3). */
	if (!rc && t->navailable == 1 && t->available[0].v == 0)
		t->navailable = 0;
	return rc ? rc : read_chunks(t, fdt, resources, e);
}

int mk_tree_parse(struct mk_tree *t, const void *blob, size_t len, struct err *e)
{
	cleanup_free void *copy = NULL;
	int rc;

	mk_tree_free(t);
	if (len < sizeof(struct fdt_header) || len > MK_TREE_MAX)
		return err_set(e, EBADMSG, "%zu bytes are no device tree", len);
	copy = malloc(len); /* libfdt wants it aligned */
	if (!copy)
		return err_set(e, ENOMEM, "out of memory");
	memcpy(copy, blob, len);
	rc = fdt_check_header(copy);
	if (rc)
		return err_set(e, EBADMSG, "no device tree: %s", fdt_strerror(rc));
	if (fdt_totalsize(copy) != len)
		return err_set(e, EBADMSG, "the tree says %u bytes and has %zu",
			       fdt_totalsize(copy), len);
	rc = parse(t, copy, e);
	if (rc)
		mk_tree_free(t);
	return rc;
}

int mk_tree_check(const void *blob, size_t len)
{
	struct err e = ERR_INIT;
	int resources, parent;

	if (len < sizeof(struct fdt_header) || fdt_check_header(blob) || fdt_totalsize(blob) != len)
		return -EBADMSG;
	return walk(blob, &resources, &parent, &e);
}

bool mk_ids_contain(const struct phys_id *ids, size_t n, struct phys_id id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i].v == id.v)
			return true;
	return false;
}

bool mk_ids_equal(const struct phys_id *a, size_t na, const struct phys_id *b, size_t nb)
{
	for (size_t i = 0; i < na; i++)
		if (!mk_ids_contain(b, nb, a[i]))
			return false;
	for (size_t i = 0; i < nb; i++)
		if (!mk_ids_contain(a, na, b[i]))
			return false;
	return true;
}

int mk_tree_compare(const struct mk_tree *t, const struct mk_request *c, struct err *e)
{
	cleanup_free char *has = mk_ids_format(t->cpus, t->ncpus);
	cleanup_free char *asked = mk_ids_format(c->cpus, c->ncpus);

	if (!has || !asked)
		return err_set(e, ENOMEM, "out of memory");
	if (t->id >= 0 && t->id != c->id)
		return err_set(e, EBADE, "instance \"%s\" has id %" PRId64 ", asked was %" PRIu32,
			       c->instance, t->id, c->id);
	if (t->ncpus == 0)
		return err_set(e, EBADE,
			       "instance \"%s\" was created without CPUs: not all of the physical "
			       "ids %s were free in the pool",
			       c->instance, asked);
	if (!mk_ids_equal(t->cpus, t->ncpus, c->cpus, c->ncpus))
		return err_set(e, EBADE,
			       "instance \"%s\" has the CPUs with physical ids %s, asked was %s",
			       c->instance, has, asked);
	if (t->cpus[0].v != c->cpus[0].v)
		return err_set(e, EBADE,
			       "instance \"%s\" would boot on physical id %" PRId64
			       ", asked was %" PRId64,
			       c->instance, t->cpus[0].v, c->cpus[0].v);
	if (t->memory != c->memory)
		return err_set(e, EBADE,
			       "instance \"%s\" has %" PRIu64
			       " bytes of memory, asked was %" PRIu64,
			       c->instance, t->memory, c->memory);
	return 0;
}
