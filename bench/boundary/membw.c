// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "bench/boundary/kernels.h"
#include "bench/boundary/memory.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* Bandwidth: every thread runs over arrays of its own, whole passes until the window ends. */

#define DEFAULT_SIZE   (128ULL << 20)
#define DEFAULT_WINDOW 0.5
#define MIB	       (1ULL << 20)
#define CLAMP_WARNING  (8 * MIB)
#define BLOCK	       (MIB / sizeof(double)) /* elements between two counts of progress */

struct lane {
	_Alignas(LINE_PAD) struct memory mem[3];
	_Atomic uint64_t blocks; /* finished, of all passes */
	uint64_t first, last; /* blocks at the ends of the common window */
};

struct membw {
	const struct kernel *kernel;
	int *cpus, n;
	long node;
	int huge;
	uint64_t size;
	double window;
	int64_t common_ns; /* the common window as it was */
	struct lane *lanes;
	struct crew *crew;
	char variant[64];
};

static void pass(const struct membw *m, struct lane *l)
{
	double *a = l->mem[0].at, *b = l->mem[1].at, *c = l->mem[2].at;
	size_t n = m->size / sizeof(double);

	for (size_t i = 0; i < n; i += BLOCK) {
		m->kernel->run(a + i, b ? b + i : NULL, c ? c + i : NULL,
			       n - i < BLOCK ? n - i : BLOCK);
		atomic_store_explicit(&l->blocks,
				      atomic_load_explicit(&l->blocks, memory_order_relaxed) + 1,
				      memory_order_relaxed);
	}
}

static int place(struct worker *w, struct err *e)
{
	struct membw *m = w->arg;
	struct lane *l = &m->lanes[w->index];

	for (int i = 0; i < m->kernel->arrays; i++) {
		if (memory_map(&l->mem[i], m->size, (int)m->node, m->huge, e) < 0)
			return e->code;
		memory_touch(&l->mem[i]);
		if (memory_verify(&l->mem[i], 0, e) < 0)
			return e->code;
	}
	return 0;
}

static int nothing(struct worker *w, struct err *e)
{
	return 0;
}

/* Page tables and caches are as they will be. */
static int warm(struct worker *w, struct err *e)
{
	struct membw *m = w->arg;

	pass(m, &m->lanes[w->index]);
	return 0;
}

static int passes(struct worker *w, struct err *e)
{
	struct membw *m = w->arg;
	struct lane *l = &m->lanes[w->index];
	uint64_t count = 0;

	w->from = clock_ns();
	do {
		pass(m, l);
		count++;
	} while (!crew_stopped(w->crew));
	w->to = clock_ns();
	w->count = count;
	return 0;
}

static void watch(struct crew *c)
{
	struct membw *m = c->workers[0].arg;
	int64_t from = clock_ns();

	for (int i = 0; i < m->n; i++)
		m->lanes[i].first = atomic_load_explicit(&m->lanes[i].blocks, memory_order_relaxed);
	sleep_until(c->started + (int64_t)(m->window * NSEC_PER_SEC));
	m->common_ns = clock_ns() - from;
	for (int i = 0; i < m->n; i++)
		m->lanes[i].last = atomic_load_explicit(&m->lanes[i].blocks, memory_order_relaxed);
}

static void clamp(struct membw *m, struct sink *s)
{
	uint64_t arrays = (uint64_t)m->n * m->kernel->arrays;
	uint64_t half = memory_available() / 2;

	if (!half || m->size <= half / arrays)
		return;
	m->size = half / arrays / MIB * MIB;
	if (m->size < MIB)
		m->size = MIB;
	note(s, "size per array is %llu bytes: half of the available memory is shared by %llu arrays",
	     (unsigned long long)m->size, (unsigned long long)arrays);
	if (m->size < CLAMP_WARNING)
		note(s, "arrays of less than 8 MiB may fit into caches");
}

static int setup(const struct options *o, struct sink *s, void **state, struct err *e)
{
	struct membw *m = calloc(1, sizeof(*m));
	int kind;

	if (!m)
		return err_set(e, ENOMEM, "no memory");
	*state = m;
	if (cpu_list(o->value['c'] ? o->value['c'] : "0", &m->cpus, &m->n, e) < 0 ||
	    option_number(o, 'm', 0, INT16_MIN, INT16_MAX, &m->node, e) < 0 ||
	    option_size(o, 's', DEFAULT_SIZE, &m->size, e) < 0 ||
	    option_kind(o, 'k', kernel_names, &kind, e) < 0 ||
	    option_kind(o, 'H', huge_names, &m->huge, e) < 0 ||
	    option_seconds(o, 'w', DEFAULT_WINDOW, &m->window, e) < 0)
		return e->code;
	m->kernel = &kernels[kind];
	if (!m->kernel->run)
		return err_set(e, EOPNOTSUPP, "%s: no such stores on this architecture",
			       m->kernel->name);
	if (m->size < 64)
		return err_usage(e, "size too small: %llu bytes", (unsigned long long)m->size);
	clamp(m, s);
	snprintf(m->variant, sizeof(m->variant), "%s-%dt", m->kernel->name, m->n);
	m->lanes = aligned_alloc(LINE_PAD, m->n * sizeof(*m->lanes));
	if (!m->lanes)
		return err_set(e, ENOMEM, "no memory");
	for (int i = 0; i < m->n; i++)
		m->lanes[i] = (struct lane){0};
	if (crew_new(&m->crew, m->n, m->cpus, m, e) < 0 ||
	    crew_run(m->crew, place, nothing, 0, NULL, e) < 0)
		return e->code;
	return 0;
}

static int repeat(void *state, struct sink *s, struct err *e)
{
	struct membw *m = state;
	struct row row = {.variant = m->variant,
			  .cpu_a = m->cpus[0],
			  .cpu_b = NO_CPU,
			  .mem_node = (int)m->node,
			  .size = m->size,
			  .metric = "bw",
			  .unit = "GB/s",
			  .real_node = m->lanes[0].mem[0].real_node};
	uint64_t blocks = 0, per_pass = (m->size / sizeof(double) + BLOCK - 1) / BLOCK;
	double per = m->size / sizeof(double) * (double)m->kernel->bytes;

	if (crew_run(m->crew, warm, passes, 0, watch, e) < 0)
		return e->code;
	for (int i = 0; i < m->n; i++) {
		struct worker *w = &m->crew->workers[i];

		if (w->to <= w->from)
			return err_set(e, EIO, "the clock stood still");
		row.value += w->count * per / (w->to - w->from);
		blocks += m->lanes[i].last - m->lanes[i].first;
	}
	emit(s, &row);
	/* Blocks that ended while all threads ran: no thread's last pass is outside. */
	row.metric = "bw_window";
	row.value = blocks * (per / per_pass) / m->common_ns;
	row.extra = true;
	emit(s, &row);
	return 0;
}

static void teardown(void *state)
{
	struct membw *m = state;

	for (int i = 0; m->lanes && i < m->n; i++)
		for (int k = 0; k < 3; k++)
			memory_unmap(&m->lanes[i].mem[k]);
	crew_free(&m->crew);
	free(m->lanes);
	free(m->cpus);
	free(m);
}

const struct boundary_test membw_test = {
	.name = "membw",
	.letters = "c:m:s:k:r:w:l:H:x",
	.help = "  -c LIST -m NODE -s SIZE per array (128m) -w SECONDS (0.5)\n"
		"  -k "
		"triad|read|write|copy|read8|writevec|copyvec|triadvec|writent|copynt|triadnt\n"
		"  -H system|never|thp|hugetlb  pages of the arrays (system)\n",
	.setup = setup,
	.repeat = repeat,
	.teardown = teardown,
};
