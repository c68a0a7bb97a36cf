// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/request.h"

#include <errno.h>
#include <inttypes.h>
#include <libfdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/mklinux/abi.h"

/* Where an operation goes, and what its items are. */
enum mk_target {
	TARGET_POOL,
	TARGET_INSTANCES,
	TARGET_INSTANCE
};
enum mk_item {
	ITEM_NONE,
	ITEM_CPU,
	ITEM_MEMORY_NEW,
	ITEM_MEMORY_OLD,
	ITEM_DEVICE
};

struct op_shape {
	const char *name;
	enum mk_target target;
	enum mk_item item;
};

static const struct op_shape shapes[MK_NOPS] = {
	[MK_BASELINE] = {"baseline", TARGET_POOL, ITEM_NONE},
	[MK_POOL_CPU_ADD] = {"cpu-add", TARGET_POOL, ITEM_CPU},
	[MK_POOL_CPU_REMOVE] = {"cpu-remove", TARGET_POOL, ITEM_CPU},
	[MK_POOL_MEMORY_ADD] = {"memory-add", TARGET_POOL, ITEM_MEMORY_NEW},
	[MK_POOL_MEMORY_REMOVE] = {"memory-remove", TARGET_POOL, ITEM_MEMORY_OLD},
	[MK_POOL_DEVICE_ADD] = {"device-add", TARGET_POOL, ITEM_DEVICE},
	[MK_POOL_DEVICE_REMOVE] = {"device-remove", TARGET_POOL, ITEM_DEVICE},
	[MK_INSTANCE_CREATE] = {"instance-create", TARGET_INSTANCES, ITEM_NONE},
	[MK_INSTANCE_REMOVE] = {"instance-remove", TARGET_INSTANCES, ITEM_NONE},
	[MK_INSTANCE_CPU_ADD] = {"cpu-add", TARGET_INSTANCE, ITEM_CPU},
	[MK_INSTANCE_CPU_REMOVE] = {"cpu-remove", TARGET_INSTANCE, ITEM_CPU},
	[MK_INSTANCE_DEVICE_ADD] = {"device-add", TARGET_INSTANCE, ITEM_DEVICE},
	[MK_INSTANCE_DEVICE_REMOVE] = {"device-remove", TARGET_INSTANCE, ITEM_DEVICE},
};

const char *mk_op_name(enum mk_op op)
{
	return op < MK_NOPS ? shapes[op].name : "?";
}

void mk_blob_free(struct mk_blob *b)
{
	free(b->data);
	*b = MK_BLOB_INIT;
}

int mk_check_name(const char *name, struct err *e)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t n = name ? strlen(name) : 0;

	if (n == 0 || n > MK_NAME_MAX || strspn(name, allowed) != n || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return err_set(e, EINVAL,
			       "\"%.80s\" cannot be an instance's name: 1 to %d letters, digits, "
			       "'.', '_' or '-'",
			       name ? name : "", MK_NAME_MAX);
	return 0;
}

char *mk_ids_format(const struct phys_id *ids, size_t n)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (size_t i = 0; i < n;) {
		size_t last = i;

		while (last + 1 < n && ids[last + 1].v == ids[last].v + 1)
			last++;
		fprintf(f, "%s%" PRId64, i ? "," : "", ids[i].v);
		if (last > i)
			fprintf(f, "%s%" PRId64, last > i + 1 ? "-" : ",", ids[last].v);
		i = last + 1;
	}
	if (fclose(f))
		return NULL;
	return take_ptr(text);
}

size_t mk_request_items(const struct mk_request *r)
{
	size_t n = 1;

	switch (shapes[r->op].item) {
	case ITEM_CPU:
		n = r->ncpus;
		break;
	case ITEM_MEMORY_NEW:
	case ITEM_MEMORY_OLD:
		n = r->nchunks;
		break;
	case ITEM_DEVICE:
		n = r->ndevices;
		break;
	case ITEM_NONE:
		if (r->op == MK_INSTANCE_CREATE)
			n = r->ncpus;
		break;
	}
	return n ? n : 1;
}

static int check_cpus(const struct mk_request *r, struct err *e)
{
	if (r->ncpus == 0)
		return err_set(e, EINVAL, "%s without CPUs", mk_op_name(r->op));
	for (size_t i = 0; i < r->ncpus; i++) {
		/* Id 0 is the host's boot CPU on every machine seen (4.3). */
		if (r->cpus[i].v <= 0)
			return err_set(e, EINVAL, "%s of CPU with physical id %" PRId64,
				       mk_op_name(r->op), r->cpus[i].v);
		for (size_t k = 0; k < i; k++)
			if (r->cpus[k].v == r->cpus[i].v)
				return err_set(e, EINVAL, "%s names physical id %" PRId64 " twice",
					       mk_op_name(r->op), r->cpus[i].v);
	}
	return 0;
}

static int check_memory(uint64_t bytes, struct err *e)
{
	if (bytes == 0 || bytes % (uint64_t)sysconf(_SC_PAGESIZE))
		return err_set(e, EINVAL, "memory of %" PRIu64 " bytes is no number of pages", bytes);
	return 0;
}

static int check_chunks(const struct mk_request *r, struct err *e)
{
	if (r->nchunks == 0)
		return err_set(e, EINVAL, "%s without memory", mk_op_name(r->op));
	for (size_t i = 0; i < r->nchunks; i++) {
		int rc = check_memory(r->chunks[i].size, e);

		if (rc)
			return rc;
	}
	return 0;
}

static int check_request(const struct mk_request *r, struct err *e)
{
	const struct op_shape *s = &shapes[r->op];
	int rc = 0;

	if (r->op == MK_BASELINE) {
		rc = check_cpus(r, e);
		return rc ? rc : check_chunks(r, e);
	}
	if (s->target != TARGET_POOL)
		rc = mk_check_name(r->instance, e);
	if (rc)
		return rc;
	if (r->op == MK_INSTANCE_CREATE) {
		if (r->id < MK_ID_MIN || r->id > MK_ID_MAX)
			return err_set(e, EINVAL, "instance id %" PRIu32 " is not in %d-%d", r->id,
				       MK_ID_MIN, MK_ID_MAX);
		rc = check_cpus(r, e);
		return rc ? rc : check_memory(r->memory, e);
	}
	if (s->item == ITEM_CPU)
		return check_cpus(r, e);
	if (s->item == ITEM_MEMORY_NEW || s->item == ITEM_MEMORY_OLD)
		return check_chunks(r, e);
	if (s->item == ITEM_DEVICE && r->ndevices == 0)
		return err_set(e, EINVAL, "%s without devices", s->name);
	return 0;
}

/* libfdt's sequential writer stops at the first error and keeps returning it only if asked. */
struct writer {
	void *fdt;
	int rc;
};

static void begin(struct writer *w, const char *name)
{
	if (!w->rc)
		w->rc = fdt_begin_node(w->fdt, name);
}

static void end(struct writer *w)
{
	if (!w->rc)
		w->rc = fdt_end_node(w->fdt);
}

static void put_string(struct writer *w, const char *name, const char *value)
{
	if (!w->rc)
		w->rc = fdt_property_string(w->fdt, name, value);
}

static void put_u32(struct writer *w, const char *name, uint32_t value)
{
	if (!w->rc)
		w->rc = fdt_property_u32(w->fdt, name, value);
}

static void put_u64s(struct writer *w, const char *name, const uint64_t *v, size_t n)
{
	void *at;

	if (!w->rc)
		w->rc = fdt_property_placeholder(w->fdt, name, (int)(n * sizeof(*v)), &at);
	for (size_t i = 0; !w->rc && i < n; i++)
		fdt64_st((char *)at + i * sizeof(*v), v[i]);
}

static void put_ids(struct writer *w, const struct phys_id *ids, size_t n)
{
	void *at;

	if (!w->rc)
		w->rc = fdt_property_placeholder(w->fdt, "cpus", (int)(n * 8), &at);
	for (size_t i = 0; !w->rc && i < n; i++)
		fdt64_st((char *)at + i * 8, (uint64_t)ids[i].v);
}

static void put_new_memory(struct writer *w, const struct mk_chunk *c, size_t number)
{
	char name[32];

	snprintf(name, sizeof(name), "memory@%zx", number);
	begin(w, name);
	put_u64s(w, "size", &c->size, 1);
	if (c->node >= 0)
		put_u32(w, "numa-node-id", (uint32_t)c->node);
	end(w);
}

static void put_old_memory(struct writer *w, const struct mk_chunk *c, size_t number)
{
	char name[32];

	snprintf(name, sizeof(name), "memory@%zx", number);
	begin(w, name);
	put_u64s(w, "reg", (uint64_t[]){c->base, c->size}, 2);
	end(w);
}

static void put_cpu(struct writer *w, struct phys_id id)
{
	char name[32];
	uint64_t reg = (uint64_t)id.v;

	/* Always two cells: one cell was the ABI of an older generation (0.3). */
	snprintf(name, sizeof(name), "cpu@%" PRIx64, reg);
	begin(w, name);
	put_u64s(w, "reg", &reg, 1);
	end(w);
}

static void put_item(struct writer *w, const struct mk_request *r, size_t i)
{
	char name[32];

	switch (shapes[r->op].item) {
	case ITEM_CPU:
		put_cpu(w, r->cpus[i]);
		break;
	case ITEM_MEMORY_NEW:
		put_new_memory(w, &r->chunks[i], i);
		break;
	case ITEM_MEMORY_OLD:
		put_old_memory(w, &r->chunks[i], i);
		break;
	case ITEM_DEVICE:
		snprintf(name, sizeof(name), "pci@%zx", i);
		begin(w, name);
		put_string(w, "pci-id", r->devices[i]);
		end(w);
		break;
	case ITEM_NONE:
		break;
	}
}

static void put_create(struct writer *w, const struct mk_request *r, size_t ncpus)
{
	put_string(w, "instance-name", r->instance);
	put_u32(w, "id", r->id);
	begin(w, "resources");
	put_u64s(w, "memory-bytes", &r->memory, 1);
	put_ids(w, r->cpus, ncpus);
	if (r->node >= 0)
		put_u32(w, "numa-nodes", (uint32_t)r->node);
	end(w);
}

static void put_operation(struct writer *w, const struct mk_request *r, size_t from, size_t to)
{
	begin(w, shapes[r->op].name);
	if (r->op == MK_INSTANCE_CREATE)
		put_create(w, r, to);
	else if (r->op == MK_INSTANCE_REMOVE)
		put_string(w, "instance-name", r->instance);
	else
		for (size_t i = from; i < to; i++)
			put_item(w, r, i);
	end(w);
}

static void put_overlay(struct writer *w, const struct mk_request *r, const char *nonce,
			size_t from, size_t to)
{
	char target[MK_NAME_MAX + sizeof("/instances/")];

	if (nonce)
		put_string(w, "mk,resources", nonce);
	begin(w, "fragment@0");
	switch (shapes[r->op].target) {
	case TARGET_POOL:
		put_string(w, "target-path", "/resources");
		break;
	case TARGET_INSTANCES:
		put_string(w, "target-path", "/instances");
		break;
	case TARGET_INSTANCE:
		snprintf(target, sizeof(target), "/instances/%s", r->instance);
		put_string(w, "target-path", target);
		break;
	}
	begin(w, "__overlay__");
	put_operation(w, r, from, to);
	end(w);
	end(w);
}

static void put_baseline(struct writer *w, const struct mk_request *r)
{
	put_string(w, "compatible", "multikernel-v1");
	begin(w, "resources");
	put_ids(w, r->cpus, r->ncpus);
	for (size_t i = 0; i < r->nchunks; i++)
		put_new_memory(w, &r->chunks[i], i);
	end(w);
}

/* Returns 0 or a libfdt error; -FDT_ERR_NOSPACE when it is longer than limit. */
static int write_blob(void *buf, size_t limit, const struct mk_request *r, const char *nonce,
		      size_t from, size_t to)
{
	struct writer w = {.fdt = buf};

	w.rc = fdt_create(buf, (int)limit);
	if (!w.rc)
		w.rc = fdt_finish_reservemap(buf);
	begin(&w, "");
	if (r->op == MK_BASELINE)
		put_baseline(&w, r);
	else
		put_overlay(&w, r, nonce, from, to);
	end(&w);
	if (!w.rc)
		w.rc = fdt_finish(buf);
	return w.rc;
}

int mk_blob_next(struct mk_blob *b, const struct mk_request *r, const char *nonce, size_t limit,
		 size_t *done, struct err *e)
{
	size_t items = mk_request_items(r), low = *done, high = items;
	struct mk_request rest = *r;
	cleanup_free char *buf = NULL;
	int rc;

	rc = check_request(r, e);
	if (rc)
		return rc;
	if (*done >= items || (nonce && strlen(nonce) >= MK_NONCE_MAX) || limit > MK_TREE_MAX)
		return err_set(e, EINVAL, "%s: nothing to write", mk_op_name(r->op));
	if (r->op == MK_INSTANCE_CREATE && *done > 0)
		rest.op = MK_INSTANCE_CPU_ADD;
	buf = calloc(1, limit);
	if (!buf)
		return err_set(e, ENOMEM, "out of memory");
	/* The largest `high` that fits: almost always everything. */
	rc = write_blob(buf, limit, &rest, nonce, *done, high);
	if (rc == -FDT_ERR_NOSPACE && r->op != MK_BASELINE) {
		while (high - low > 1) {
			size_t mid = low + (high - low) / 2;

			if (write_blob(buf, limit, &rest, nonce, *done, mid))
				high = mid;
			else
				low = mid;
		}
		rc = low > *done ? write_blob(buf, limit, &rest, nonce, *done, low) : rc;
		high = low;
	}
	if (rc == -FDT_ERR_NOSPACE)
		return err_set(e, E2BIG, "%s does not fit %zu bytes", mk_op_name(r->op), limit);
	if (rc)
		return err_set(e, EINVAL, "%s: libfdt: %s", mk_op_name(r->op), fdt_strerror(rc));
	mk_blob_free(b);
	b->len = fdt_totalsize(buf);
	b->data = take_ptr(buf);
	*done = high;
	return 0;
}
