// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "bench/boundary/memory.h"
#include "bench/boundary/stats.h"
#include "common/cleanup.h"
#include "common/clock.h"

/*
 * Latency of memory: loads that depend on each other walk a ring through one word of every
 * cache line, in an order no prefetcher guesses.
 */

#define DEFAULT_SIZE	 (512ULL << 20)
#define DEFAULT_SEED	 0x9e3779b97f4a7c15ULL
#define CALIBRATION_HOPS 32768
#define CALIBRATED_NS	 (NSEC_PER_SEC / 2)
#define LEAST_HOPS	 (1UL << 20)
#define BLOCK_HOPS	 1000
#define BLOCKS_MAX	 100000

struct memlat {
	int cpu;
	long node;
	uint64_t size, lines, line, hops, seed;
	bool by_blocks;
	struct memory mem;
	struct crew *crew;
	uint64_t at; /* offset where the next repeat goes on */
	int64_t *blocks;
	size_t nblocks;
};

/* Keeps the last offset alive, and is the proof that every load was made. */
uint64_t memlat_walk(const char *base, uint64_t at, uint64_t hops);

__attribute__((noinline)) uint64_t memlat_walk(const char *base, uint64_t at, uint64_t hops)
{
	for (; hops; hops--)
		at = *(const uint64_t *)(base + at);
	return at;
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static int build_ring(struct memlat *m, struct err *e)
{
	cleanup_free uint64_t *order = malloc(m->lines * sizeof(*order));
	char *base = m->mem.at;
	uint64_t x = m->seed;

	if (!order)
		return err_set(e, ENOMEM, "no memory for the order of %llu lines",
			       (unsigned long long)m->lines);
	for (uint64_t i = 0; i < m->lines; i++)
		order[i] = i;
	for (uint64_t i = m->lines - 1; i > 0; i--) {
		uint64_t k = next_random(&x) % i, t = order[i];

		order[i] = order[k];
		order[k] = t;
	}
	for (uint64_t i = 0; i < m->lines; i++)
		*(uint64_t *)(base + order[i] * m->line) =
			order[i + 1 < m->lines ? i + 1 : 0] * m->line;
	return 0;
}

static int warm(struct worker *w, struct err *e)
{
	struct memlat *m = w->arg;
	int64_t from, ns;
	int ret;

	memory_touch(&m->mem);
	ret = build_ring(m, e);
	if (ret < 0)
		return ret;
	ret = memory_verify(&m->mem, 0, e);
	if (ret < 0)
		return ret;
	if (memlat_walk(m->mem.at, 0, m->lines) != 0)
		return err_set(e, EIO, "the ring is not one ring");
	if (m->hops)
		return 0;
	from = clock_ns();
	m->at = memlat_walk(m->mem.at, 0, CALIBRATION_HOPS);
	ns = clock_ns() - from;
	m->at = 0;
	m->hops = (double)CALIBRATED_NS * CALIBRATION_HOPS / (ns > 0 ? ns : 1);
	if (m->hops < LEAST_HOPS)
		m->hops = LEAST_HOPS;
	return 0;
}

static int nothing(struct worker *w, struct err *e)
{
	return 0;
}

static int walk(struct worker *w, struct err *e)
{
	struct memlat *m = w->arg;

	w->from = clock_ns();
	m->at = memlat_walk(m->mem.at, m->at, m->hops);
	w->to = clock_ns();
	m->nblocks = 0;
	if (!m->by_blocks)
		return 0;
	for (size_t i = 0; i < BLOCKS_MAX && (i + 1) * BLOCK_HOPS <= m->hops; i++) {
		int64_t from = clock_ns();

		m->at = memlat_walk(m->mem.at, m->at, BLOCK_HOPS);
		m->blocks[m->nblocks++] = (clock_ns() - from) / BLOCK_HOPS;
	}
	return 0;
}

static int setup(const struct options *o, struct sink *s, void **state, struct err *e)
{
	struct memlat *m = calloc(1, sizeof(*m));
	long hops, seed;
	int huge;

	if (!m)
		return err_set(e, ENOMEM, "no memory");
	*state = m;
	m->line = cache_line();
	if (option_cpu(o, 'c', 0, &m->cpu, e) < 0 ||
	    option_number(o, 'm', 0, INT16_MIN, INT16_MAX, &m->node, e) < 0 ||
	    option_size(o, 's', DEFAULT_SIZE, &m->size, e) < 0 ||
	    option_number(o, 'n', 0, 1, INT64_MAX, &hops, e) < 0 ||
	    option_number(o, 'S', (long)DEFAULT_SEED, INT64_MIN, INT64_MAX, &seed, e) < 0 ||
	    option_kind(o, 'H', huge_names, &huge, e) < 0)
		return e->code;
	if (seed == 0)
		return err_usage(e, "-S 0: the generator never leaves 0");
	m->hops = hops;
	m->seed = (uint64_t)seed;
	m->lines = m->size / m->line;
	if (m->lines < 2)
		return err_usage(e, "size too small: %llu bytes hold fewer than two lines",
				 (unsigned long long)m->size);
	m->by_blocks = s->extended;
	m->blocks = malloc(BLOCKS_MAX * sizeof(*m->blocks));
	if (!m->blocks)
		return err_set(e, ENOMEM, "no memory");
	if (memory_map(&m->mem, m->size, (int)m->node, huge, e) < 0 ||
	    crew_new(&m->crew, 1, &m->cpu, m, e) < 0 ||
	    crew_run(m->crew, warm, nothing, 0, NULL, e) < 0)
		return e->code;
	return 0;
}

static int repeat(void *state, struct sink *s, struct err *e)
{
	struct memlat *m = state;
	struct row row = {.variant = "chase",
			  .cpu_a = m->cpu,
			  .cpu_b = NO_CPU,
			  .mem_node = (int)m->node,
			  .size = m->size,
			  .metric = "lat",
			  .unit = "ns",
			  .real_node = m->mem.real_node};

	if (crew_run(m->crew, NULL, walk, 0, NULL, e) < 0)
		return e->code;
	row.value = (double)(m->crew->workers[0].to - m->crew->workers[0].from) / m->hops;
	emit(s, &row);
	row.metric = "covered";
	row.unit = "share";
	row.value = m->hops >= m->lines ? 1 : (double)m->hops / m->lines;
	row.extra = true;
	emit(s, &row);
	row.metric = "huge";
	row.unit = "bytes";
	row.value = s->extended ? memory_huge_bytes(&m->mem) : 0;
	emit(s, &row);
	sort_samples(m->blocks, m->nblocks);
	emit_distribution(s, row, "lat_block", m->blocks, m->nblocks);
	return 0;
}

static void teardown(void *state)
{
	struct memlat *m = state;

	crew_free(&m->crew);
	memory_unmap(&m->mem);
	free(m->blocks);
	free(m);
}

const struct boundary_test memlat_test = {
	.name = "memlat",
	.letters = "c:m:s:n:r:l:H:S:x",
	.help = "  -c CPU -m NODE -s SIZE (512m) -n HOPS (half a second's)\n"
		"  -H system|never|thp|hugetlb  pages of the buffer (system)\n"
		"  -S SEED  of the order\n",
	.setup = setup,
	.repeat = repeat,
	.teardown = teardown,
};
