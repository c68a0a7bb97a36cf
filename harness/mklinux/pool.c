// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

/* A CPU that comes home is brought online by the kernel itself, before the write returns. */
#define ONLINE_WAIT_MS 5000
#define POLL_US	       50000

/* Waits until the host's online CPUs have these, or have none of them. */
static int wait_online(const struct mk_host *h, const struct cpumask *cpus, bool wanted,
		       struct err *e)
{
	int64_t end = clock_ns() + ONLINE_WAIT_MS * NSEC_PER_MSEC;

	for (;;) {
		cleanup_cpumask struct cpumask online = CPUMASK_INIT;
		cleanup_free char *now = NULL;
		int rc = root_read_cpulist(h->root, &online, e, "/sys/devices/system/cpu/online");

		if (rc)
			return rc;
		if (wanted ? cpumask_subset(cpus, &online) : !cpumask_intersects(cpus, &online))
			return 0;
		if (clock_ns() >= end) {
			now = cpumask_format(&online);
			return err_set(e, EBADE, "CPUs %s online on the host: it has %s",
				       wanted ? "are not back" : "are still", now ? now : "?");
		}
		usleep(POLL_US);
	}
}

static uint64_t node_bytes(const struct mk_chunk *c, size_t n, int node)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (c[i].node == node)
			sum += c[i].size;
	return sum;
}

/* Everything the baseline asked for, and nothing lent (docs/mklinux-abi.md 3.6). */
static int check_taken(const struct mk_host *h, const struct mk_pool *pool, struct err *e)
{
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	int rc = mk_read_root(h, &t, e);

	if (rc)
		return rc;
	if (!mk_ids_equal(t.cpus, t.ncpus, pool->ids, pool->nids) ||
	    !mk_ids_equal(t.available, t.navailable, pool->ids, pool->nids)) {
		cleanup_free char *has = mk_ids_format(t.available, t.navailable);

		return err_set(e, EBADE,
			       "the pool was taken, but has the CPUs with physical ids %s only",
			       has && *has ? has : "(none)");
	}
	for (size_t i = 0; i < pool->nchunks; i++) {
		int node = pool->chunks[i].node;
		uint64_t asked = node_bytes(pool->chunks, pool->nchunks, node);
		uint64_t has = node_bytes(t.chunks, t.nchunks, node);

		/* Trees without node numbers can be compared by their sum alone. */
		if (t.nchunks && t.chunks[0].node == MK_NODE_ANY)
			continue;
		if (has != asked)
			return err_set(e, EBADE,
				       "the pool has %" PRIu64
				       " MiB of node %d, asked was %" PRIu64,
				       has >> 20, node, asked >> 20);
	}
	mk_say(h, "read back: %zu CPUs, %zu chunks of memory", t.ncpus, t.nchunks);
	return wait_online(h, &pool->cpus, false, e);
}

/* What a failed baseline left is given back, or the next one is refused (3.4). */
static void give_back_half(struct mk_host *h, const struct mk_pool *pool)
{
	struct err e = ERR_INIT;

	if (mk_pool_return(h, pool->ids, pool->nids, pool->chunks, pool->nchunks, &e))
		mk_say(h, "cannot give back what the failed baseline left: %s", e.text);
}

int mk_pool_take(struct mk_host *h, const struct mk_pool *pool, struct err *e)
{
	struct mk_request r = mk_baseline_request(pool);
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	struct err ignored = ERR_INIT;
	int rc = mk_read_root(h, &t, e);

	if (rc)
		return rc;
	if (mk_tree_has_pool(&t))
		return err_set(
			e, EBUSY,
			"there is a pool already (%zu CPUs, %zu chunks of memory), which is not of "
			"this run: run `mksplit cleanup`, or have its owner give it back",
			t.ncpus, t.nchunks);
	rc = mk_apply(h, &r, e);
	/* A reported error can come with an applied change, and the reverse (16.1). */
	if (rc == -ENOMEM && check_taken(h, pool, &ignored)) {
		give_back_half(h, pool);
		mk_say(h, "not enough contiguous memory: compacting, and once more");
		ignored = ERR_INIT;
		root_write(h->root, "1", &ignored, "/proc/sys/vm/compact_memory");
		*e = ERR_INIT;
		rc = mk_apply(h, &r, e);
	}
	ignored = ERR_INIT;
	if (check_taken(h, pool, rc ? &ignored : e) == 0) {
		if (rc)
			mk_say(h, "the baseline failed (%s), but the pool is complete", e->text);
		*e = ERR_INIT;
		return 0;
	}
	give_back_half(h, pool);
	return e->code;
}

int mk_cpus_to_pool(struct mk_host *h, const struct phys_id *ids, size_t n, struct err *e)
{
	struct mk_request r = {.op = MK_POOL_CPU_ADD, .cpus = ids, .ncpus = n};
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	int rc = mk_apply(h, &r, e);

	if (rc)
		return rc;
	rc = mk_read_root(h, &t, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (!mk_ids_contain(t.available, t.navailable, ids[i]))
			return err_set(e, EBADE,
				       "the CPU with physical id %" PRId64 " is not in the pool",
				       ids[i].v);
	return 0;
}

/* Those of ids that are in the pool and free; *lent counts those that an instance has. */
static struct phys_id *free_ones(const struct mk_tree *t, const struct phys_id *ids, size_t n,
				 size_t *nfree, size_t *lent)
{
	struct phys_id *v = calloc(n ? n : 1, sizeof(*v));

	*nfree = *lent = 0;
	for (size_t i = 0; v && i < n; i++) {
		if (mk_ids_contain(t->available, t->navailable, ids[i]))
			v[(*nfree)++] = ids[i];
		else
			*lent += mk_ids_contain(t->cpus, t->ncpus, ids[i]);
	}
	return v;
}

int mk_cpus_home(struct mk_host *h, const struct phys_id *ids, size_t n, const struct cpumask *cpus,
		 struct err *e)
{
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	cleanup_free struct phys_id *v = NULL;
	size_t nfree, lent;
	int rc = mk_read_root(h, &t, e);

	if (rc)
		return rc;
	if (!mk_tree_has_pool(&t))
		return 0;
	v = free_ones(&t, ids, n, &nfree, &lent);
	if (!v)
		return err_set(e, ENOMEM, "out of memory");
	if (nfree) {
		struct mk_request r = {.op = MK_POOL_CPU_REMOVE, .cpus = v, .ncpus = nfree};

		rc = mk_apply(h, &r, e);
	}
	if (!rc && lent)
		rc = err_set(e, EBUSY, "%zu CPUs are lent to instances that are still there", lent);
	return rc || !cpus ? rc : wait_online(h, cpus, true, e);
}

/* The chunks of the pool that match what was asked for, each asked one at most once. */
static size_t our_chunks(const struct mk_tree *t, const struct mk_chunk *asked, size_t n,
			 struct mk_chunk *found)
{
	cleanup_free bool *used = calloc(n ? n : 1, sizeof(*used));
	size_t k = 0;

	for (size_t i = 0; used && i < t->nchunks; i++)
		for (size_t a = 0; a < n; a++) {
			const struct mk_chunk *c = &t->chunks[i];

			if (used[a] || c->size != asked[a].size ||
			    (c->node != MK_NODE_ANY && asked[a].node != MK_NODE_ANY &&
			     c->node != asked[a].node))
				continue;
			used[a] = true;
			found[k++] = *c;
			break;
		}
	return k;
}

int mk_pool_return(struct mk_host *h, const struct phys_id *ids, size_t n,
		   const struct mk_chunk *chunks, size_t nchunks, struct err *e)
{
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	cleanup_free struct mk_chunk *found = NULL;
	size_t nfound, stuck = 0;
	int rc;

	rc = mk_cpus_home(h, ids, n, NULL, e);
	if (rc)
		return rc;
	rc = mk_read_root(h, &t, e);
	if (rc)
		return rc;
	found = calloc(t.nchunks ? t.nchunks : 1, sizeof(*found));
	if (!found)
		return err_set(e, ENOMEM, "out of memory");
	nfound = our_chunks(&t, chunks, nchunks, found);
	/* One a transaction: a chunk that stays does not keep the others (6.4). */
	for (size_t i = 0; i < nfound; i++) {
		struct mk_request r = {.op = MK_POOL_MEMORY_REMOVE, .chunks = &found[i], .nchunks = 1};
		struct err own = ERR_INIT;

		if (mk_apply(h, &r, &own)) {
			mk_say(h, "chunk at 0x%" PRIx64 ": %s", found[i].base, own.text);
			stuck++;
		}
	}
	if (stuck)
		return err_set(
			e, EBUSY,
			"%zu of %zu chunks of pool memory stay with the pool until the host is "
			"rebooted (some releases never give back the one with the parking area); "
			"all CPUs are back",
			stuck, nfound);
	return 0;
}
