// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* Threads add to a plain counter under one lock. */

#define DEFAULT_MS 500

enum kind {
	MUTEX,
	SPIN,
	TICKET,
	MUTEX_PADDED,
	SPIN_PADDED
};
static const char *const kinds[] = {"mutex", "spin", "ticket", "mutex-padded", "spin-padded", NULL};

/*
 * As the published test has it: stop flag, counter, spin lock and the active words of the mutex
 * lie in one line of 64 bytes.
 */
struct together {
	_Alignas(LINE_PAD) atomic_int stop;
	uint64_t counter;
	pthread_spinlock_t spin;
	_Alignas(32) pthread_mutex_t mutex;
};

struct apart {
	_Alignas(LINE_PAD) atomic_int stop;
	_Alignas(LINE_PAD) uint64_t counter;
	_Alignas(LINE_PAD) pthread_spinlock_t spin;
	_Alignas(LINE_PAD) pthread_mutex_t mutex;
	_Alignas(LINE_PAD) _Atomic uint32_t next, serving; /* of the ticket lock */
};

struct lock {
	struct together together;
	struct apart apart;
	int *cpus, n, kind;
	long ms;
	struct crew *crew;
	char variant[48];
};

/*
 * The loops differ in the lock and where it lies; the flag is looked at before every
 * acquisition. The counter tells afterwards that nobody was let in twice.
 */
#define LOOP(name, part, take, give)                                                 \
	static uint64_t name(struct lock *l)                                         \
	{                                                                            \
		uint64_t n = 0;                                                      \
                                                                                     \
		while (!atomic_load_explicit(&l->part.stop, memory_order_relaxed)) { \
			take;                                                        \
			l->part.counter++;                                           \
			give;                                                        \
			n++;                                                         \
		}                                                                    \
		return n;                                                            \
	}

static void ticket_take(struct apart *a)
{
	uint32_t mine = atomic_fetch_add_explicit(&a->next, 1, memory_order_relaxed);

	while (atomic_load_explicit(&a->serving, memory_order_acquire) != mine)
		spin_hint();
}

static void ticket_give(struct apart *a)
{
	atomic_store_explicit(&a->serving,
			      atomic_load_explicit(&a->serving, memory_order_relaxed) + 1,
			      memory_order_release);
}

LOOP(loop_mutex, together, pthread_mutex_lock(&l->together.mutex),
     pthread_mutex_unlock(&l->together.mutex))
LOOP(loop_spin, together, pthread_spin_lock(&l->together.spin),
     pthread_spin_unlock(&l->together.spin))
LOOP(loop_mutex_padded, apart, pthread_mutex_lock(&l->apart.mutex),
     pthread_mutex_unlock(&l->apart.mutex))
LOOP(loop_spin_padded, apart, pthread_spin_lock(&l->apart.spin), pthread_spin_unlock(&l->apart.spin))
LOOP(loop_ticket, apart, ticket_take(&l->apart), ticket_give(&l->apart))

static uint64_t (*const loops[])(struct lock *) = {
	[MUTEX] = loop_mutex,
	[SPIN] = loop_spin,
	[TICKET] = loop_ticket,
	[MUTEX_PADDED] = loop_mutex_padded,
	[SPIN_PADDED] = loop_spin_padded,
};

static int acquire(struct worker *w, struct err *e)
{
	struct lock *l = w->arg;

	w->count = loops[l->kind](l);
	return 0;
}

static void window(struct crew *c)
{
	struct lock *l = c->workers[0].arg;

	sleep_until(c->started + l->ms * NSEC_PER_MSEC);
	atomic_store(&l->together.stop, 1);
	atomic_store(&l->apart.stop, 1);
}

static int setup(const struct options *o, struct sink *s, void **state, struct err *e)
{
	struct lock *l = aligned_alloc(LINE_PAD, sizeof(*l));

	if (!l)
		return err_set(e, ENOMEM, "no memory");
	*l = (struct lock){0};
	*state = l;
	pthread_mutex_init(&l->together.mutex, NULL);
	pthread_mutex_init(&l->apart.mutex, NULL);
	pthread_spin_init(&l->together.spin, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&l->apart.spin, PTHREAD_PROCESS_PRIVATE);
	if (cpu_list(o->value['c'] ? o->value['c'] : "0", &l->cpus, &l->n, e) < 0 ||
	    option_kind(o, 'k', kinds, &l->kind, e) < 0 ||
	    option_number(o, 'n', DEFAULT_MS, 1, INT_MAX, &l->ms, e) < 0)
		return e->code;
	snprintf(l->variant, sizeof(l->variant), "%s-%dt", kinds[l->kind], l->n);
	return crew_new(&l->crew, l->n, l->cpus, l, e);
}

static int repeat(void *state, struct sink *s, struct err *e)
{
	struct lock *l = state;
	struct row row = {.variant = l->variant,
			  .cpu_a = l->cpus[0],
			  .cpu_b = l->n > 1 ? l->cpus[l->n - 1] : NO_CPU,
			  .mem_node = NODE_DEFAULT,
			  .metric = "mops",
			  .unit = "Mops",
			  .real_node = -1};
	uint64_t sum = 0, least = UINT64_MAX, most = 0;
	double rate;

	atomic_store(&l->together.stop, 0);
	atomic_store(&l->apart.stop, 0);
	l->together.counter = l->apart.counter = 0;
	if (crew_run(l->crew, NULL, acquire, 0, window, e) < 0)
		return e->code;
	for (int i = 0; i < l->n; i++) {
		uint64_t n = l->crew->workers[i].count;

		sum += n;
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	if (sum == 0)
		return err_set(e, EIO, "no acquisition was made");
	if (sum != l->together.counter + l->apart.counter)
		return err_set(e, EIO, "the lock did not exclude");
	rate = sum * 1e3 / (l->crew->finished - l->crew->started);
	row.value = rate;
	emit(s, &row);
	row.metric = "nsacq";
	row.unit = "ns";
	row.value = 1e3 * l->n / rate;
	emit(s, &row);
	row.extra = true;
	row.unit = "share";
	row.metric = "thread_min";
	row.value = (double)least * l->n / sum;
	emit(s, &row);
	row.metric = "thread_max";
	row.value = (double)most * l->n / sum;
	emit(s, &row);
	return 0;
}

static void teardown(void *state)
{
	struct lock *l = state;

	crew_free(&l->crew);
	pthread_mutex_destroy(&l->together.mutex);
	pthread_mutex_destroy(&l->apart.mutex);
	pthread_spin_destroy(&l->together.spin);
	pthread_spin_destroy(&l->apart.spin);
	free(l->cpus);
	free(l);
}

const struct boundary_test lock_test = {
	.name = "lock",
	.letters = "c:k:n:r:l:x",
	.help = "  -c LIST -k mutex|spin|ticket|mutex-padded|spin-padded -n MILLISECONDS (500)\n",
	.setup = setup,
	.repeat = repeat,
	.teardown = teardown,
};
