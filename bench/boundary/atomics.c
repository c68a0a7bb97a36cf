// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* One counter, all threads add to it. */

#define DEFAULT_MS 500
#define BATCH	   256

struct atomics {
	_Alignas(LINE_PAD) _Atomic uint64_t counter;
	_Alignas(LINE_PAD) int *cpus;
	int n;
	long ms;
	struct crew *crew;
	char variant[32];
};

static int add(struct worker *w, struct err *e)
{
	struct atomics *a = w->arg;

	while (!crew_stopped(w->crew)) {
		for (int i = 0; i < BATCH; i++)
			atomic_fetch_add_explicit(&a->counter, 1, memory_order_relaxed);
		w->count += BATCH;
	}
	return 0;
}

static int setup(const struct options *o, struct sink *s, void **state, struct err *e)
{
	struct atomics *a = aligned_alloc(LINE_PAD, sizeof(*a));

	if (!a)
		return err_set(e, ENOMEM, "no memory");
	*a = (struct atomics){0};
	*state = a;
	if (cpu_list(o->value['c'] ? o->value['c'] : "0", &a->cpus, &a->n, e) < 0 ||
	    option_number(o, 'n', DEFAULT_MS, 1, INT_MAX, &a->ms, e) < 0)
		return e->code;
	snprintf(a->variant, sizeof(a->variant), "%dt", a->n);
	return crew_new(&a->crew, a->n, a->cpus, a, e);
}

static int repeat(void *state, struct sink *s, struct err *e)
{
	struct atomics *a = state;
	struct row row = {.variant = a->variant,
			  .cpu_a = a->cpus[0],
			  .cpu_b = NO_CPU,
			  .mem_node = NODE_DEFAULT,
			  .metric = "mops",
			  .unit = "Mops",
			  .real_node = -1};
	uint64_t sum = 0;

	atomic_store(&a->counter, 0);
	if (crew_run(a->crew, NULL, add, a->ms * NSEC_PER_MSEC, NULL, e) < 0)
		return e->code;
	for (int i = 0; i < a->n; i++)
		sum += a->crew->workers[i].count;
	if (sum != atomic_load(&a->counter))
		return err_set(e, EIO, "the counter lost additions");
	if (sum == 0)
		return err_set(e, EIO, "no addition was made");
	row.value = sum * 1e3 / (a->crew->finished - a->crew->started);
	emit(s, &row);
	row.metric = "nsop";
	row.unit = "ns";
	row.value = 1e3 * a->n / row.value;
	emit(s, &row);
	return 0;
}

static void teardown(void *state)
{
	struct atomics *a = state;

	crew_free(&a->crew);
	free(a->cpus);
	free(a);
}

const struct boundary_test atomics_test = {
	.name = "atomics",
	.letters = "c:n:r:l:x",
	.help = "  -c LIST -n MILLISECONDS (500)\n",
	.setup = setup,
	.repeat = repeat,
	.teardown = teardown,
};
