// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>

#include "sim/sim.h"

/* What device_tree reads back, section 7.4. */

static void put_cells(struct blob_writer *w)
{
	blob_put_u32(w, "#address-cells", 2);
	blob_put_u32(w, "#size-cells", 2);
}

static int host_cpus(const struct sim *s, uint64_t **phys, size_t *n)
{
	*n = 0;
	*phys = calloc(s->machine.ncpus, sizeof(**phys));
	if (!*phys)
		return -ENOMEM;
	for (int i = 0; i < s->machine.ncpus; i++)
		if (s->cpus[i].owner == OWNER_HOST && s->cpus[i].online)
			(*phys)[(*n)++] = s->machine.cpus[i].phys;
	return 0;
}

static void put_chunks(const struct sim *s, struct blob_writer *w)
{
	for (int i = 0; i < s->nchunks; i++) {
		const struct chunk *c = &s->chunks[i];
		char name[40];

		snprintf(name, sizeof(name), "memory@%llx", (unsigned long long)c->base);
		blob_begin(w, name);
		blob_put_string(w, "device_type", "memory");
		blob_put_u64s(w, "reg", (uint64_t[]){c->base, c->size}, 2);
		blob_put_u32(w, "numa-node-id", c->node);
		blob_end(w);
	}
}

int tree_root(struct sim *s, struct buf *out)
{
	struct blob_writer w = {0};
	cleanup_free uint64_t *all = NULL, *available = NULL;
	size_t nall = 0, navailable = 0;
	bool pool = pool_exists(s), later = s->options.abi == ABI_G2B;

	if ((pool ? pool_cpus(s, false, &all, &nall) : host_cpus(s, &all, &nall)) < 0 ||
	    pool_cpus(s, true, &available, &navailable) < 0)
		return -ENOMEM;
	blob_begin(&w, "");
	blob_put_string(&w, "compatible", "multikernel-v1");
	if (later)
		put_cells(&w);
	blob_put_u32(&w, "id", 0);
	blob_begin(&w, "resources");
	if (!later && pool)
		put_cells(&w);
	if (nall)
		blob_put_u64s(&w, "cpus", all, nall);
	if (navailable)
		blob_put_u64s(&w, "cpus-available", available, navailable);
	else if (!later && pool) /* the empty set as it was recorded on mk2 */
		blob_put_u64s(&w, "cpus-available", (uint64_t[]){0}, 1);
	put_chunks(s, &w);
	blob_end(&w);
	blob_end(&w);
	return blob_finish(&w, out);
}

int tree_instance(struct sim *s, const struct instance *i, struct buf *out)
{
	struct blob_writer w = {0};
	bool later = s->options.abi == ABI_G2B;
	cleanup_free uint64_t *phys = calloc(i->ncpus + 1, sizeof(*phys));

	if (!phys)
		return -ENOMEM;
	for (int k = 0; k < i->ncpus; k++)
		phys[k] = s->machine.cpus[i->cpus[k]].phys;
	blob_begin(&w, later ? "" : i->name);
	blob_put_string(&w, "compatible", "multikernel-v1");
	if (later) {
		blob_put_string(&w, "model", i->name);
		put_cells(&w);
	}
	blob_put_u32(&w, "id", i->id);
	blob_begin(&w, "resources");
	if (i->nregions) {
		uint64_t sum = instance_memory(i);

		blob_put_u64s(&w, "memory-base", &i->regions[0].base, 1);
		blob_put_u64s(&w, "memory-bytes", &sum, 1);
	}
	if (i->ncpus)
		blob_put_u64s(&w, "cpus", phys, i->ncpus);
	blob_end(&w);
	blob_end(&w);
	return blob_finish(&w, out);
}
