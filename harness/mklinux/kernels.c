// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/kernels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#define MIB	    (UINT64_C(1) << 20)
#define BLOCK_USUAL (128 * MIB)
#define SLACK_MIN   (256 * MIB)
/* Kernel and initramfs are placed on 2 MiB boundaries: so is the end of the memory. */
#define MEMORY_STEP (2 * MIB)
#define NODES_MAX   1024
#define CHUNKS_MAX  1024

static uint64_t round_up(uint64_t n, uint64_t step)
{
	return (n + step - 1) / step * step;
}

uint64_t mk_block_size(const struct root *root)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	uint64_t n;

	if (root_read(root, &text, &e, "/sys/devices/system/memory/block_size_bytes"))
		return BLOCK_USUAL;
	n = strtoull(text, NULL, 16);
	/* A power of two up to 2 GiB (5.1); anything else is no block size. */
	return n >= MIB && n <= 2048 * MIB && (n & (n - 1)) == 0 ? n : BLOCK_USUAL;
}

int mk_ids_of(const struct topology *t, const struct cpumask *cpus, struct phys_id **ids, size_t *n,
	      struct err *e)
{
	size_t room = (size_t)cpumask_weight(cpus), k = 0;

	*ids = calloc(room ? room : 1, sizeof(**ids));
	if (!*ids)
		return err_set(e, ENOMEM, "out of memory");
	cpumask_for_each(cpu, cpus) {
		const struct topo_cpu *c = topology_cpu(t, cpu);

		if (!c || c->phys.v < 0)
			return err_set(
				e, ENODEV,
				"the physical id of CPU %d is not known: it is not online, or "
				"/proc/cpuinfo does not say it",
				cpu);
		(*ids)[k++] = c->phys;
	}
	*n = k;
	return 0;
}

static bool is_ours(const struct plan_arm *a)
{
	return strcmp(a->backend, MK_BACKEND) == 0;
}

static bool is_base(const struct plan *p, const struct plan_arm *arm)
{
	for (int i = 0; i < p->ncompares; i++)
		if (&p->arms[p->compares[i].base] == arm)
			return true;
	return false;
}

/* How many NUMA nodes its CPUs are on. */
static int nodes_of(const struct topology *t, const struct cpumask *cpus)
{
	int n = 0;

	for (int i = 0; i < t->nnodes; i++)
		n += cpumask_intersects(&t->nodes[i].cpus, cpus);
	return n;
}

static int check_partition(const struct plan *p, const struct plan_arm *arm,
			   const struct plan_partition *part, const struct topology *t, struct err *e)
{
	const struct topo_cpu *boot = topology_cpu(t, 0);

	if (cpumask_weight(&part->cpus) == 0)
		return err_usage(e, "partition \"%s\" has no CPUs", part->name);
	if (cpumask_test(&part->cpus, 0))
		return err_usage(
			e,
			"partition \"%s\" has CPU 0, which cannot leave the host: it boots it and "
			"hears the doorbells of all spawn kernels; take it away (\"%s-0\", or "
			"with its core: \"%s-core:%d\")",
			part->name, part->cpus_text, part->cpus_text, boot ? boot->core : 0);
	if (is_base(p, arm) && nodes_of(t, &part->cpus) > 1)
		return err_usage(
			e,
			"partition \"%s\" spans NUMA nodes and arm \"%s\" is the base of a "
			"comparison: a spawn kernel switches NUMA off and has its memory from one "
			"node, so it is no reference for a kernel that knows its nodes",
			part->name, arm->name);
	return 0;
}

/* Its CPUs, quiet ones in front. */
static int order_cpus(struct mk_kernel *k, const struct plan *p, const struct topology *t,
		      struct err *e)
{
	size_t room = (size_t)cpumask_weight(&k->partition->cpus);

	k->cpus = calloc(room, sizeof(*k->cpus));
	k->ids = calloc(room, sizeof(*k->ids));
	if (!k->cpus || !k->ids)
		return err_set(e, ENOMEM, "out of memory");
	for (int quiet = 1; quiet >= 0; quiet--)
		cpumask_for_each(cpu, &k->partition->cpus) {
			const struct topo_cpu *c = topology_cpu(t, cpu);

			if (cpumask_test(&p->quiet, cpu) != (bool)quiet)
				continue;
			if (!c || c->phys.v < 0)
				return err_set(e, ENODEV, "the physical id of CPU %d is not known",
					       cpu);
			k->cpus[k->ncpus] = cpu;
			k->ids[k->ncpus++] = c->phys;
		}
	return 0;
}

static int kernel_of(struct mk_kernel *k, const struct plan *p, const struct plan_arm *arm,
		     int index, const struct topology *t, struct err *e)
{
	const struct plan_partition *part = &arm->partitions[index];
	int rc;

	k->partition = part;
	if (part->host)
		return 0;
	rc = check_partition(p, arm, part, t, e);
	if (rc)
		return rc;
	if (snprintf(k->name, sizeof(k->name), "mksplit-%s", part->name) >= (int)sizeof(k->name))
		return err_usage(e, "the name of partition \"%s\" is too long", part->name);
	rc = mk_check_name(k->name, e);
	if (rc)
		return rc;
	k->memory = round_up(part->memory, MEMORY_STEP);
	k->node = cpumask_next(&part->nodes, 0);
	return order_cpus(k, p, t, e);
}

int mk_kernels_of(struct mk_kernels *k, const struct plan *p, const struct plan_arm *arm,
		  const struct topology *t, const bool ids_taken[MK_ID_MAX + 1], struct err *e)
{
	uint32_t id = MK_ID_MIN;

	mk_kernels_free(k);
	k->v = calloc((size_t)arm->npartitions, sizeof(*k->v));
	if (!k->v)
		return err_set(e, ENOMEM, "out of memory");
	for (int i = 0; i < arm->npartitions; i++) {
		int rc;

		k->n++;
		rc = kernel_of(&k->v[i], p, arm, i, t, e);
		if (rc)
			return err_wrap(e, "arm \"%s\"", arm->name);
		if (arm->partitions[i].host)
			continue;
		while (id <= MK_ID_MAX && ids_taken && ids_taken[id])
			id++;
		if (id > MK_ID_MAX)
			return err_set(e, ENOSPC, "every instance id up to %d is taken", MK_ID_MAX);
		k->v[i].id = id++;
	}
	return 0;
}

void mk_kernels_free(struct mk_kernels *k)
{
	for (int i = 0; i < k->n; i++) {
		free(k->v[i].cpus);
		free(k->v[i].ids);
	}
	free(k->v);
	*k = (struct mk_kernels){0};
}

struct mk_request mk_create_request(const struct mk_kernel *k)
{
	return (struct mk_request){.op = MK_INSTANCE_CREATE,
				   .instance = k->name,
				   .id = k->id,
				   .cpus = k->ids,
				   .ncpus = k->ncpus,
				   .memory = k->memory,
				   .node = k->node};
}

/* What one arm takes of each node. */
static int add_arm(const struct plan_arm *a, uint64_t need[NODES_MAX], struct err *e)
{
	for (int i = 0; i < a->npartitions; i++) {
		const struct plan_partition *part = &a->partitions[i];
		int node = cpumask_next(&part->nodes, 0);

		if (part->host)
			continue;
		if (node < 0 || node >= NODES_MAX)
			return err_set(e, EINVAL, "partition \"%s\" has memory of no node",
				       part->name);
		need[node] += round_up(part->memory, MEMORY_STEP);
	}
	return 0;
}

static int add_chunks(struct mk_pool *pool, int node, uint64_t bytes, uint64_t chunk, struct err *e)
{
	while (bytes) {
		uint64_t size = chunk && bytes > chunk ? chunk : bytes;
		struct mk_chunk *more;

		if (pool->nchunks == CHUNKS_MAX)
			return err_usage(
				e,
				"\"pool_chunk\" is too small: the pool would have more than %d "
				"pieces",
				CHUNKS_MAX);
		more = reallocarray(pool->chunks, pool->nchunks + 1, sizeof(*more));
		if (!more)
			return err_set(e, ENOMEM, "out of memory");
		pool->chunks = more;
		more[pool->nchunks++] = (struct mk_chunk){.size = size, .node = node};
		bytes -= size;
	}
	return 0;
}

/* "pool_chunk": bytes, or a number with K, M, G, in an arm's settings. */
static int chunk_setting(const struct plan_arm *a, uint64_t block, uint64_t *chunk, struct err *e)
{
	json_t *v = a->settings ? json_object_get(a->settings, "pool_chunk") : NULL;
	const char *text = json_string_value(v);
	char *end;
	uint64_t n;

	if (!v)
		return 0;
	n = text ? strtoull(text, &end, 10) : 0;
	if (text && end[0] && !end[1])
		n <<= *end == 'G' ? 30 : *end == 'M' ? 20 : *end == 'K' ? 10 : 63;
	if (!text || n == 0 || n % block)
		return err_usage(
			e,
			"arm \"%s\": settings.pool_chunk has to be a size such as \"4G\", a "
			"multiple of the memory block (%" PRIu64 " MiB)",
			a->name, block / MIB);
	*chunk = n;
	return 0;
}

static int add_memory(struct mk_pool *pool, const struct plan *p, uint64_t block, struct err *e)
{
	uint64_t slack = block > SLACK_MIN ? block : SLACK_MIN, chunk = 0;
	cleanup_free uint64_t *most = calloc(NODES_MAX, sizeof(*most));
	int rc = most ? 0 : err_set(e, ENOMEM, "out of memory");

	for (int i = 0; !rc && i < p->narms; i++) {
		cleanup_free uint64_t *need = calloc(NODES_MAX, sizeof(*need));

		if (!is_ours(&p->arms[i]))
			continue;
		rc = need ? add_arm(&p->arms[i], need, e) : err_set(e, ENOMEM, "out of memory");
		for (int n = 0; !rc && n < NODES_MAX; n++)
			most[n] = need[n] > most[n] ? need[n] : most[n];
		rc = rc ? rc : chunk_setting(&p->arms[i], block, &chunk, e);
	}
	for (int n = 0; !rc && n < NODES_MAX; n++)
		if (most[n])
			rc = add_chunks(pool, n, round_up(most[n] + slack, block), chunk, e);
	return rc;
}

int mk_pool_of(struct mk_pool *pool, const struct plan *p, const struct topology *t, uint64_t block,
	       struct err *e)
{
	int rc = 0;

	mk_pool_free(pool);
	for (int i = 0; i < p->narms && rc == 0; i++)
		for (int k = 0; k < p->arms[i].npartitions && rc == 0; k++) {
			const struct plan_partition *part = &p->arms[i].partitions[k];
			bool spawn = is_ours(&p->arms[i]) && !part->host;

			rc = cpumask_or(spawn ? &pool->cpus : &pool->home, &part->cpus);
		}
	if (rc)
		return err_set(e, ENOMEM, "out of memory");
	cpumask_and(&pool->home, &pool->cpus);
	if (cpumask_weight(&pool->cpus) == 0)
		return 0;
	rc = mk_ids_of(t, &pool->cpus, &pool->ids, &pool->nids, e);
	return rc ? rc : add_memory(pool, p, block, e);
}

void mk_pool_free(struct mk_pool *pool)
{
	cpumask_free(&pool->cpus);
	cpumask_free(&pool->home);
	free(pool->ids);
	free(pool->chunks);
	*pool = (struct mk_pool){0};
}

struct mk_request mk_baseline_request(const struct mk_pool *pool)
{
	return (struct mk_request){.op = MK_BASELINE,
				   .cpus = pool->ids,
				   .ncpus = pool->nids,
				   .chunks = pool->chunks,
				   .nchunks = pool->nchunks};
}
