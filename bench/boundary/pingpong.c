// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "bench/boundary/memory.h"
#include "bench/boundary/stats.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* One cache line handed to and fro between two CPUs, or fought for by two counters in it. */

#define DEFAULT_ROUNDS 1000000
#define FALSE_WINDOW   (NSEC_PER_SEC / 2)
#define FALSE_BATCH    1024
#define BLOCK_ROUNDS   1000

enum kind {
	RTT,
	FALSE_SHARED,
	FALSE_PADDED,
	STORE,
	TWO_LINES
};
static const char *const kinds[] = {"rtt",   "false-shared", "false-padded",
				    "store", "two-lines",    NULL};

struct lines {
	_Alignas(LINE_PAD) _Atomic uint32_t flag;
	_Alignas(LINE_PAD) _Atomic uint32_t back;
	/* Of the two counters one is at the start, the other 8 or 256 bytes on. */
	_Alignas(LINE_PAD) char counters[2 * LINE_PAD];
};

struct pingpong {
	int cpus[2], kind;
	long rounds, node, now;
	int64_t *blocks;
	struct memory mem;
	struct lines *lines;
	struct crew *crew;
};

static void add_flag(struct lines *l)
{
	atomic_fetch_add_explicit(&l->flag, 1, memory_order_release);
}

static uint32_t flag(struct lines *l)
{
	return atomic_load_explicit(&l->flag, memory_order_acquire);
}

static void rtt_a(struct lines *l, long n)
{
	for (long i = 0; i < n; i++) {
		add_flag(l);
		while (flag(l) & 1)
			spin_hint();
	}
}

static void rtt_b(struct lines *l, long n)
{
	for (long i = 0; i < n; i++) {
		while (!(flag(l) & 1))
			spin_hint();
		add_flag(l);
	}
}

/* The same hand-over by plain stores: each knows whose turn it is. */
static void store_a(struct lines *l, long n)
{
	for (long i = 0; i < n; i++) {
		atomic_store_explicit(&l->flag, 1, memory_order_release);
		while (flag(l) & 1)
			spin_hint();
	}
}

static void store_b(struct lines *l, long n)
{
	for (long i = 0; i < n; i++) {
		while (!(flag(l) & 1))
			spin_hint();
		atomic_store_explicit(&l->flag, 0, memory_order_release);
	}
}

/* Each writes a line of its own and reads the other's. Values go on from call to call. */
static void two_a(struct lines *l, long n)
{
	uint32_t v = atomic_load_explicit(&l->flag, memory_order_relaxed);

	for (long i = 0; i < n; i++) {
		atomic_store_explicit(&l->flag, ++v, memory_order_release);
		while (atomic_load_explicit(&l->back, memory_order_acquire) != v)
			spin_hint();
	}
}

static void two_b(struct lines *l, long n)
{
	uint32_t v = atomic_load_explicit(&l->back, memory_order_relaxed);

	for (long i = 0; i < n; i++) {
		v++;
		while (atomic_load_explicit(&l->flag, memory_order_acquire) != v)
			spin_hint();
		atomic_store_explicit(&l->back, v, memory_order_release);
	}
}

static void (*const sides[][2])(struct lines *, long) = {
	[RTT] = {rtt_a, rtt_b}, [STORE] = {store_a, store_b}, [TWO_LINES] = {two_a, two_b}};

static int hand_over(struct worker *w, struct err *e)
{
	struct pingpong *p = w->arg;

	w->from = clock_ns();
	sides[p->kind][w->index](p->lines, p->now);
	w->to = clock_ns();
	return 0;
}

static int hand_over_blocks(struct worker *w, struct err *e)
{
	struct pingpong *p = w->arg;

	for (long i = 0; i < p->rounds / BLOCK_ROUNDS; i++) {
		int64_t from = clock_ns();

		sides[p->kind][w->index](p->lines, BLOCK_ROUNDS);
		if (w->index == 0)
			p->blocks[i] = (clock_ns() - from) / BLOCK_ROUNDS;
	}
	return 0;
}

static int add(struct worker *w, struct err *e)
{
	struct pingpong *p = w->arg;
	size_t apart = p->kind == FALSE_SHARED ? sizeof(uint64_t) : LINE_PAD;
	_Atomic uint64_t *counter = (void *)(p->lines->counters + w->index * apart);

	while (!crew_stopped(w->crew)) {
		for (int i = 0; i < FALSE_BATCH; i++)
			atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
		w->count += FALSE_BATCH;
	}
	return 0;
}

static int touch(struct worker *w, struct err *e)
{
	struct pingpong *p = w->arg;

	if (w->index != 0)
		return 0;
	*p->lines = (struct lines){0};
	return memory_verify(&p->mem, 1, e);
}

static int nothing(struct worker *w, struct err *e)
{
	return 0;
}

static int setup(const struct options *o, struct sink *s, void **state, struct err *e)
{
	struct pingpong *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(e, ENOMEM, "no memory");
	*state = p;
	if (option_cpu(o, 'a', 0, &p->cpus[0], e) < 0 || option_cpu(o, 'b', 1, &p->cpus[1], e) < 0 ||
	    option_kind(o, 'k', kinds, &p->kind, e) < 0 ||
	    option_number(o, 'M', NODE_DEFAULT, NODE_DEFAULT, INT16_MAX, &p->node, e) < 0 ||
	    option_number(o, 'n', DEFAULT_ROUNDS, 1, INT64_MAX, &p->rounds, e) < 0)
		return e->code;
	if (p->cpus[0] == p->cpus[1])
		return err_usage(e, "both tasks on cpu %d would wait for each other", p->cpus[0]);
	if (memory_map(&p->mem, sizeof(struct lines), (int)p->node, HUGE_SYSTEM, e) < 0)
		return e->code;
	p->lines = p->mem.at;
	p->blocks = calloc(p->rounds / BLOCK_ROUNDS + 1, sizeof(*p->blocks));
	if (!p->blocks)
		return err_set(e, ENOMEM, "no memory");
	if (crew_new(&p->crew, 2, p->cpus, p, e) < 0)
		return e->code;
	return crew_run(p->crew, touch, nothing, 0, NULL, e);
}

static int repeat_false(struct pingpong *p, struct row *row, struct sink *s, struct err *e)
{
	uint64_t sum;

	if (crew_run(p->crew, NULL, add, FALSE_WINDOW, NULL, e) < 0)
		return e->code;
	sum = p->crew->workers[0].count + p->crew->workers[1].count;
	row->metric = "ops";
	row->unit = "Mops";
	row->value = sum * 1e3 / (p->crew->finished - p->crew->started);
	emit(s, row);
	return 0;
}

static int repeat(void *state, struct sink *s, struct err *e)
{
	struct pingpong *p = state;
	struct row row = {.variant = kinds[p->kind],
			  .cpu_a = p->cpus[0],
			  .cpu_b = p->cpus[1],
			  .mem_node = NODE_DEFAULT,
			  .metric = "rtt",
			  .unit = "ns",
			  .real_node = p->mem.real_node};

	if (p->kind == FALSE_SHARED || p->kind == FALSE_PADDED)
		return repeat_false(p, &row, s, e);
	p->now = p->rounds / 10;
	if (p->now && crew_run(p->crew, NULL, hand_over, 0, NULL, e) < 0)
		return e->code;
	p->now = p->rounds;
	if (crew_run(p->crew, NULL, hand_over, 0, NULL, e) < 0)
		return e->code;
	row.value = (double)(p->crew->workers[0].to - p->crew->workers[0].from) / p->rounds;
	emit(s, &row);
	if (!s->extended)
		return 0;
	if (crew_run(p->crew, NULL, hand_over_blocks, 0, NULL, e) < 0)
		return e->code;
	sort_samples(p->blocks, p->rounds / BLOCK_ROUNDS);
	emit_distribution(s, row, "rtt_block", p->blocks, p->rounds / BLOCK_ROUNDS);
	return 0;
}

static void teardown(void *state)
{
	struct pingpong *p = state;

	crew_free(&p->crew);
	memory_unmap(&p->mem);
	free(p->blocks);
	free(p);
}

const struct boundary_test pingpong_test = {
	.name = "pingpong",
	.letters = "a:b:k:n:r:l:M:x",
	.help = "  -a CPU -b CPU -n ROUNDS (1000000)\n"
		"  -k rtt|false-shared|false-padded|store|two-lines\n"
		"  -M NODE of the lines (first touch by A)\n",
	.setup = setup,
	.repeat = repeat,
	.teardown = teardown,
};
