// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

/* Pool memory and pool CPUs, sections 4.4, 4.5 and 5. */

#define MIB (UINT64_C(1) << 20)

enum {
	/* What was seen of the pool's own pages: 0xa000 in front of the first instance, and
	 * 0x18000 in all. */
	PARKING_FRONT = 0xa000,
	PARKING_BACK = 0xe000,
	PAGE_BLOCK = 2 << 20,
};

bool pool_exists(const struct sim *s)
{
	if (s->nchunks)
		return true;
	for (int i = 0; i < s->machine.ncpus; i++)
		if (s->cpus[i].owner != OWNER_HOST)
			return true;
	return false;
}

uint64_t node_pool(const struct sim *s, int index)
{
	uint64_t sum = 0;

	for (int i = 0; i < s->nchunks; i++)
		if (s->chunks[i].node == s->machine.nodes[index].node)
			sum += s->chunks[i].size;
	return sum;
}

/*
 * The host keeps a tenth of every node: pages that cannot be moved. It is what makes a
 * request for a whole node fail, as it does on real machines.
 */
uint64_t node_free(const struct sim *s, int index)
{
	uint64_t usable = s->machine.nodes[index].memory / 10 * 9, pool = node_pool(s, index);

	return usable > pool ? usable - pool : 0;
}

static bool overlaps_chunk(const struct sim *s, uint64_t base, uint64_t size, uint64_t *below)
{
	for (int i = 0; i < s->nchunks; i++) {
		const struct chunk *c = &s->chunks[i];

		if (base < c->base + c->size && c->base < base + size) {
			*below = c->base;
			return true;
		}
	}
	return false;
}

/* From high to low addresses, aligned, as the contiguous allocator searches. */
static bool place(const struct sim *s, const struct machine_node *n, uint64_t size, uint64_t align,
		  uint64_t *base)
{
	for (int r = n->nranges - 1; r >= 0; r--) {
		uint64_t end = n->ranges[r].base + n->ranges[r].size, below;

		while (end >= n->ranges[r].base + size) {
			uint64_t at = (end - size) / align * align;

			if (at < n->ranges[r].base)
				break;
			if (!overlaps_chunk(s, at, size, &below)) {
				*base = at;
				return true;
			}
			end = below;
		}
	}
	return false;
}

static int take_area(struct chunk *c, uint64_t base, uint64_t size, int owner)
{
	struct taken *t = realloc(c->taken, (c->ntaken + 1) * sizeof(*t));
	int at;

	if (!t)
		return -ENOMEM;
	c->taken = t;
	for (at = c->ntaken++; at > 0 && t[at - 1].base > base; at--)
		t[at] = t[at - 1];
	t[at] = (struct taken){base, size, owner};
	return 0;
}

int pool_add_chunk(struct sim *s, uint64_t size, int node)
{
	uint64_t block = s->machine.block_size, base = 0;
	struct chunk *grown;
	struct chunk c = {.size = size};
	bool found = false;

	if (node >= 0 && machine_node_index(&s->machine, node) < 0)
		return -EINVAL;
	for (int i = 0; i < s->machine.nnodes && !found; i++) {
		const struct machine_node *n = &s->machine.nodes[i];

		if ((node >= 0 && n->node != node) || node_free(s, i) < size)
			continue;
		found = (size >= block && place(s, n, size, block, &base)) ||
			place(s, n, size, PAGE_BLOCK, &base);
		c.node = n->node;
	}
	if (!found) {
		sim_printk(s, 4,
			   "multikernel: cannot allocate %llu MiB of contiguous memory on node %d",
			   (unsigned long long)(size / MIB), node);
		return -ENOMEM;
	}
	c.base = base;
	grown = realloc(s->chunks, (s->nchunks + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->chunks = grown;
	if (s->nchunks == 0 && size >= PARKING_FRONT + PARKING_BACK) {
		c.parking = true;
		if (take_area(&c, base, PARKING_FRONT, 0) < 0 ||
		    take_area(&c, base + size - PARKING_BACK, PARKING_BACK, 0) < 0) {
			free(c.taken);
			return -ENOMEM;
		}
	}
	grown[s->nchunks++] = c;
	return 0;
}

static bool anybody_parked(const struct sim *s)
{
	for (int i = 0; i < s->machine.ncpus; i++)
		if (s->cpus[i].owner != OWNER_HOST)
			return true;
	return false;
}

int pool_remove_chunk(struct sim *s, uint64_t base, uint64_t size)
{
	for (int i = 0; i < s->nchunks; i++) {
		struct chunk *c = &s->chunks[i];

		if (c->base != base || c->size != size)
			continue;
		for (int t = 0; t < c->ntaken; t++)
			if (c->taken[t].owner != 0)
				return -EBUSY;
		if (c->parking && anybody_parked(s))
			return -EBUSY;
		free(c->taken);
		memmove(c, c + 1, (--s->nchunks - i) * sizeof(*c));
		return 0;
	}
	return -ENOENT;
}

/* First fit at page granularity inside of the chunk. */
static bool fit(const struct chunk *c, uint64_t size, uint64_t *base)
{
	uint64_t at = c->base;

	for (int t = 0; t <= c->ntaken; t++) {
		uint64_t end = t < c->ntaken ? c->taken[t].base : c->base + c->size;

		if (end >= at && end - at >= size) {
			*base = at;
			return true;
		}
		if (t < c->ntaken)
			at = c->taken[t].base + c->taken[t].size;
	}
	return false;
}

static int add_region(struct instance *i, uint64_t base, uint64_t size)
{
	struct range *r = realloc(i->regions, (i->nregions + 1) * sizeof(*r));

	if (!r)
		return -ENOMEM;
	i->regions = r;
	r[i->nregions++] = (struct range){base, size};
	return 0;
}

/* What does not fit in one piece is halved, 5.4. */
static int take_pieces(struct sim *s, struct instance *i, uint64_t size, int node)
{
	uint64_t half;

	for (int k = 0; k < s->nchunks; k++) {
		struct chunk *c = &s->chunks[k];
		uint64_t base;

		if ((node >= 0 && c->node != node) || !fit(c, size, &base))
			continue;
		if (add_region(i, base, size) < 0)
			return -ENOMEM;
		return take_area(c, base, size, i->id);
	}
	half = size / 2 / SIM_PAGE * SIM_PAGE;
	if (half < PAGE_BLOCK)
		return -ENOMEM;
	return take_pieces(s, i, size - half, node) < 0 ? -ENOMEM : take_pieces(s, i, half, node);
}

int pool_take(struct sim *s, struct instance *i, uint64_t size, int node)
{
	uint64_t left = 0;
	int ret;

	for (int k = 0; k < s->nchunks; k++) {
		const struct chunk *c = &s->chunks[k];

		if (node >= 0 && c->node != node)
			continue;
		left += c->size;
		for (int t = 0; t < c->ntaken; t++)
			left -= c->taken[t].size;
	}
	if (left < size)
		return -ENOMEM;
	ret = take_pieces(s, i, size, node);
	if (ret < 0)
		pool_give_back(s, i);
	return ret;
}

void pool_give_back(struct sim *s, struct instance *i)
{
	for (int k = 0; k < s->nchunks; k++) {
		struct chunk *c = &s->chunks[k];
		int kept = 0;

		for (int t = 0; t < c->ntaken; t++)
			if (c->taken[t].owner != i->id)
				c->taken[kept++] = c->taken[t];
		c->ntaken = kept;
	}
	free(i->regions);
	i->regions = NULL;
	i->nregions = 0;
}

int pool_take_cpu(struct sim *s, int cpu)
{
	struct sim_cpu *c = &s->cpus[cpu];

	if (c->owner != OWNER_HOST || !c->online)
		return -EINVAL;
	if (cpu == 0) {
		sim_printk(s, 4, "multikernel: boot CPU 0 cannot be taken offline");
		return -EBUSY;
	}
	c->owner = OWNER_POOL;
	c->online = c->present = false;
	c->pool_order = ++s->pool_counter;
	sim_printk(s, 6, "smpboot: CPU %d is now offline", cpu);
	return 0;
}

int pool_return_cpu(struct sim *s, int cpu)
{
	struct sim_cpu *c = &s->cpus[cpu];

	if (c->owner == OWNER_HOST)
		return -EINVAL;
	if (c->owner != OWNER_POOL)
		return -EBUSY;
	c->owner = OWNER_HOST;
	c->online = c->present = true;
	sim_printk(s, 6, "smpboot: Booting Node %d Processor %d APIC 0x%llx",
		   s->machine.cpus[cpu].node, cpu, (unsigned long long)s->machine.cpus[cpu].phys);
	return 0;
}

struct ordered {
	int order;
	uint64_t phys;
};

static int compare_order(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

int pool_cpus(const struct sim *s, bool free_only, uint64_t **phys, size_t *n)
{
	cleanup_free struct ordered *list = calloc(s->machine.ncpus, sizeof(*list));
	size_t count = 0;

	*phys = calloc(s->machine.ncpus, sizeof(**phys));
	if (!list || !*phys)
		return -ENOMEM;
	for (int i = 0; i < s->machine.ncpus; i++)
		if (s->cpus[i].owner == OWNER_POOL ||
		    (!free_only && s->cpus[i].owner == OWNER_INSTANCE))
			list[count++] =
				(struct ordered){s->cpus[i].pool_order, s->machine.cpus[i].phys};
	qsort(list, count, sizeof(*list), compare_order);
	for (size_t i = 0; i < count; i++)
		(*phys)[i] = list[i].phys;
	*n = count;
	return 0;
}
