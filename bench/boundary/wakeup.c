// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "bench/boundary/stats.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* Two threads wake each other by turns. */

#define DEFAULT_ROUNDS 20000

struct wakeup {
	_Alignas(LINE_PAD) _Atomic uint32_t ping;
	_Alignas(LINE_PAD) _Atomic uint32_t pong;
	_Alignas(LINE_PAD) int cpus[2];
	long rounds, now;
	uint32_t base; /* words go on from run to run */
	int64_t *samples; /* of extended runs: each round of A, one way of it */
	struct crew *crew;
};

static void tell(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Counts the waits that did not sleep because the word had changed already. */
static void await(_Atomic uint32_t *word, uint32_t value, uint64_t *awake)
{
	uint32_t seen;

	while ((seen = atomic_load_explicit(word, memory_order_acquire)) != value)
		if (syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0) < 0 &&
		    errno == EAGAIN)
			(*awake)++;
}

static int turns(struct worker *w, struct err *e)
{
	struct wakeup *k = w->arg;
	uint32_t base = k->base;

	w->from = clock_ns();
	for (long r = 1; r <= k->now; r++) {
		if (w->index == 0) {
			tell(&k->ping, base + r);
			await(&k->pong, base + r, &w->count);
		} else {
			await(&k->ping, base + r, &w->count);
			tell(&k->pong, base + r);
		}
	}
	w->to = clock_ns();
	return 0;
}

static int timed_turns(struct worker *w, struct err *e)
{
	struct wakeup *k = w->arg;

	if (w->index != 0)
		return turns(w, e);
	for (long r = 1; r <= k->now; r++) {
		int64_t from = clock_ns();

		tell(&k->ping, k->base + r);
		await(&k->pong, k->base + r, &w->count);
		k->samples[r - 1] = (clock_ns() - from) / 2;
	}
	return 0;
}

static int go(struct wakeup *k, long rounds, int (*run)(struct worker *, struct err *), struct err *e)
{
	k->now = rounds;
	k->base = atomic_load(&k->ping);
	return rounds ? crew_run(k->crew, NULL, run, 0, NULL, e) : 0;
}

static int setup(const struct options *o, struct sink *s, void **state, struct err *e)
{
	struct wakeup *k = aligned_alloc(LINE_PAD, sizeof(*k));

	if (!k)
		return err_set(e, ENOMEM, "no memory");
	*k = (struct wakeup){0};
	*state = k;
	if (option_cpu(o, 'a', 0, &k->cpus[0], e) < 0 || option_cpu(o, 'b', 1, &k->cpus[1], e) < 0 ||
	    option_number(o, 'n', DEFAULT_ROUNDS, 1, 1L << 30, &k->rounds, e) < 0)
		return e->code;
	k->samples = malloc(k->rounds * sizeof(*k->samples));
	if (!k->samples)
		return err_set(e, ENOMEM, "no memory for %ld samples", k->rounds);
	if (crew_new(&k->crew, 2, k->cpus, k, e) < 0)
		return e->code;
	return go(k, k->rounds / 10, turns, e);
}

static int repeat(void *state, struct sink *s, struct err *e)
{
	struct wakeup *k = state;
	struct row row = {.variant = "futex",
			  .cpu_a = k->cpus[0],
			  .cpu_b = k->cpus[1],
			  .mem_node = NODE_DEFAULT,
			  .metric = "wake",
			  .unit = "ns",
			  .real_node = -1};

	if (go(k, k->rounds, turns, e) < 0)
		return e->code;
	row.value = (k->crew->workers[0].to - k->crew->workers[0].from) / 2.0 / k->rounds;
	emit(s, &row);
	row.extra = true;
	row.unit = "share";
	row.metric = "slept";
	row.value = k->crew->slept / 2.0 / k->rounds;
	emit(s, &row);
	row.metric = "awake";
	row.value = (k->crew->workers[0].count + k->crew->workers[1].count) / 2.0 / k->rounds;
	emit(s, &row);
	if (!s->extended)
		return 0;
	if (go(k, k->rounds, timed_turns, e) < 0)
		return e->code;
	sort_samples(k->samples, k->rounds);
	emit_distribution(s, row, "wake", k->samples, k->rounds);
	return 0;
}

static void teardown(void *state)
{
	struct wakeup *k = state;

	crew_free(&k->crew);
	free(k->samples);
	free(k);
}

const struct boundary_test wakeup_test = {
	.name = "wakeup",
	.letters = "a:b:n:r:l:x",
	.help = "  -a CPU -b CPU -n ROUNDS (20000)\n",
	.setup = setup,
	.repeat = repeat,
	.teardown = teardown,
};
