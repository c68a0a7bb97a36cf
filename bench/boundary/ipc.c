// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "bench/boundary/memory.h"
#include "bench/boundary/stats.h"
#include "bench/boundary/transport.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* Messages between two threads: time of a round trip, or how many go through in a second. */

#define DEFAULT_ROUNDS	100000
#define DEFAULT_MESSAGE 64
#define WARM_UP		1000
#define WINDOW		NSEC_PER_SEC
#define BATCH		16 /* round trips timed together, where the clock's step shows */
#define SLOTS		1024
#define LOOK_RING	256 /* messages between two looks at the clock */
#define LOOK		64

struct slots {
	_Alignas(LINE_PAD) _Atomic uint64_t head;
	_Alignas(LINE_PAD) _Atomic uint64_t tail;
	_Alignas(LINE_PAD) _Atomic int ended;
};

struct ipc {
	const struct transport *way;
	int cpus[2];
	long rounds, message, node;
	int throughput, batches;
	int64_t *samples;
	struct memory mem; /* two mailboxes, the slots' words, the slots */
	struct mailbox *box;
	struct slots *slots;
	char *slot;
	struct channel channel;
	struct crew *crew;
	double clock_cost;
};

static int failed(int ret, const char *what, struct err *e)
{
	return err_set(e, ret, "%s: %s", what, strerror(-ret));
}

/* A number at the front of the message, as much of it as fits; its echo must be the same. */
static void stamp(char *message, long len, uint64_t n)
{
	memcpy(message, &n, len < (long)sizeof(n) ? len : (long)sizeof(n));
}

static int stamped(const char *message, long len, uint64_t n)
{
	return memcmp(message, &n, len < (long)sizeof(n) ? len : (long)sizeof(n)) == 0;
}

static int round_trip(struct ipc *i, char *out, char *in)
{
	int ret = i->way->send(&i->channel, 0, out, i->message);

	return ret < 0 ? ret : i->way->receive(&i->channel, 0, in, i->message);
}

static int ask(struct ipc *i, struct err *e)
{
	char out[MESSAGE_MAX] = {0}, in[MESSAGE_MAX] = {0};
	int per = i->batches ? BATCH : 1;
	int ret = 0, wrong = 0;

	for (long r = -WARM_UP; r < i->rounds && ret == 0; r++) {
		int64_t from, to;

		stamp(out, i->message, r);
		from = clock_ns();
		for (int k = 0; k < per && ret == 0; k++)
			ret = round_trip(i, out, in);
		to = clock_ns();
		/* The other side waits for all rounds: the verdict comes behind the last. */
		wrong |= !stamped(in, i->message, r);
		if (r >= 0)
			i->samples[r] = (to - from) / per;
	}
	if (ret == 0 && wrong)
		ret = -EBADMSG;
	return ret == 0 ? 0 : failed(ret, "round trip", e);
}

static int echo(struct ipc *i, struct err *e)
{
	char message[MESSAGE_MAX];
	long n = (i->rounds + WARM_UP) * (i->batches ? BATCH : 1);
	int ret = 0;

	for (long r = 0; r < n && ret == 0; r++) {
		ret = i->way->receive(&i->channel, 1, message, i->message);
		if (ret == 0)
			ret = i->way->send(&i->channel, 1, message, i->message);
	}
	return ret == 0 ? 0 : failed(ret, "echo", e);
}

static int latency(struct worker *w, struct err *e)
{
	struct ipc *i = w->arg;
	int ret = w->index == 0 ? ask(i, e) : echo(i, e);

	/* The other side shall not wait for one that gave up. */
	channel_end(&i->channel, w->index);
	return ret;
}

static void pour_ring(struct ipc *i)
{
	char message[MESSAGE_MAX] = {0};
	int64_t end = clock_ns() + WINDOW;
	uint64_t head = 0, tail = 0;

	do {
		for (int k = 0; k < LOOK_RING; k++) {
			while (head - tail == SLOTS)
				tail = atomic_load_explicit(&i->slots->tail, memory_order_acquire);
			stamp(message, i->message, head);
			memcpy(i->slot + head % SLOTS * i->message, message, i->message);
			atomic_store_explicit(&i->slots->head, ++head, memory_order_release);
		}
	} while (clock_ns() < end);
	atomic_store_explicit(&i->slots->ended, 1, memory_order_release);
}

static int drain_ring(struct ipc *i, uint64_t *count, struct err *e)
{
	char message[MESSAGE_MAX];
	uint64_t tail = 0;
	int wrong = 0;

	for (;;) {
		/* The end is looked at first: what was sent before it is then seen. */
		int ended = atomic_load_explicit(&i->slots->ended, memory_order_acquire);

		if (atomic_load_explicit(&i->slots->head, memory_order_acquire) == tail) {
			if (ended)
				break;
			spin_hint();
			continue;
		}
		memcpy(message, i->slot + tail % SLOTS * i->message, i->message);
		wrong |= !stamped(message, i->message, tail);
		atomic_store_explicit(&i->slots->tail, ++tail, memory_order_release);
	}
	*count = tail;
	return wrong ? failed(-EBADMSG, "receive", e) : 0;
}

static int pour(struct ipc *i, struct err *e)
{
	char message[MESSAGE_MAX] = {0};
	int64_t end = clock_ns() + WINDOW;
	uint64_t n = 0;
	int ret = 0;

	do {
		for (int k = 0; k < LOOK && ret == 0; k++) {
			stamp(message, i->message, n++);
			ret = i->way->send(&i->channel, 0, message, i->message);
		}
	} while (ret == 0 && clock_ns() < end);
	channel_end(&i->channel, 0);
	return ret == 0 ? 0 : failed(ret, "send", e);
}

static int drain(struct ipc *i, uint64_t *count, struct err *e)
{
	char message[MESSAGE_MAX];
	int ret, wrong = 0;

	while ((ret = i->way->receive(&i->channel, 1, message, i->message)) == 0) {
		wrong |= !stamped(message, i->message, *count);
		(*count)++;
	}
	if (ret == -EPIPE && wrong)
		ret = -EBADMSG;
	return ret == -EPIPE ? 0 : failed(ret, "receive", e);
}

static int stream(struct worker *w, struct err *e)
{
	struct ipc *i = w->arg;
	int ret = 0;

	w->from = clock_ns();
	if (w->index == 0) {
		if (i->way->spins)
			pour_ring(i);
		else
			ret = pour(i, e);
	} else {
		ret = i->way->spins ? drain_ring(i, &w->count, e) : drain(i, &w->count, e);
	}
	w->to = clock_ns();
	return ret;
}

static int touch(struct worker *w, struct err *e)
{
	struct ipc *i = w->arg;

	if (w->index != 0)
		return 0;
	memset(i->mem.at, 0, i->mem.len);
	return memory_verify(&i->mem, 1, e);
}

static int nothing(struct worker *w, struct err *e)
{
	return 0;
}

static int check(struct ipc *i, struct err *e)
{
	if (i->way->spins && i->cpus[0] == i->cpus[1])
		return err_usage(e, "%s: both tasks on cpu %d would wait for each other",
				 i->way->name, i->cpus[0]);
	if (i->throughput && i->way->open == transports[1].open && !i->way->spins)
		return err_usage(e, "-T: there is no throughput of %s", i->way->name);
	return 0;
}

static int setup(const struct options *o, struct sink *s, void **state, struct err *e)
{
	struct ipc *i = calloc(1, sizeof(*i));
	size_t boxes = 2 * sizeof(struct mailbox);
	int kind;

	if (!i)
		return err_set(e, ENOMEM, "no memory");
	*state = i;
	channel_init(&i->channel, NULL);
	if (option_cpu(o, 'a', 0, &i->cpus[0], e) < 0 || option_cpu(o, 'b', 1, &i->cpus[1], e) < 0 ||
	    option_kind(o, 'k', transport_names, &kind, e) < 0)
		return e->code;
	if (o->value['z']) {
		uint64_t size;

		if (option_size(o, 'z', DEFAULT_MESSAGE, &size, e) < 0)
			return e->code;
		if (size > MESSAGE_MAX)
			return err_usage(e, "-z \"%s\": a message has at most %d bytes",
					 o->value['z'], MESSAGE_MAX);
		i->message = (long)size;
	} else {
		i->message = DEFAULT_MESSAGE;
	}
	if (option_number(o, 'n', DEFAULT_ROUNDS, 1, 1L << 30, &i->rounds, e) < 0 ||
	    option_number(o, 'M', NODE_DEFAULT, NODE_DEFAULT, INT16_MAX, &i->node, e) < 0)
		return e->code;
	i->way = &transports[kind];
	i->throughput = o->value['T'] != NULL;
	if (check(i, e) < 0)
		return e->code;
	i->samples = malloc(i->rounds * sizeof(*i->samples));
	if (!i->samples)
		return err_set(e, ENOMEM, "no memory for %ld samples", i->rounds);
	if (memory_map(&i->mem, boxes + sizeof(struct slots) + SLOTS * i->message, (int)i->node,
		       HUGE_SYSTEM, e) < 0)
		return e->code;
	i->box = i->mem.at;
	i->slots = (void *)((char *)i->mem.at + boxes);
	i->slot = (char *)(i->slots + 1);
	i->clock_cost = clock_pair_cost();
	if (crew_new(&i->crew, 2, i->cpus, i, e) < 0)
		return e->code;
	return crew_run(i->crew, touch, nothing, 0, NULL, e);
}

static int run_once(struct ipc *i, int (*run)(struct worker *, struct err *), struct err *e)
{
	int ret;

	channel_init(&i->channel, i->box);
	*i->slots = (struct slots){0};
	ret = i->way->open(&i->channel, e);
	if (ret == 0)
		ret = crew_run(i->crew, NULL, run, 0, NULL, e);
	channel_close(&i->channel);
	return ret;
}

static int repeat_throughput(struct ipc *i, struct row *row, struct sink *s, struct err *e)
{
	struct worker *b = &i->crew->workers[1];

	if (run_once(i, stream, e) < 0)
		return e->code;
	row->metric = "tput_msgs";
	row->unit = "Mmsg/s";
	row->value = b->count * 1e3 / (b->to - b->from);
	emit(s, row);
	row->metric = "tput_bw";
	row->unit = "MB/s";
	row->value *= i->message;
	emit(s, row);
	return 0;
}

static int repeat_batches(struct ipc *i, struct row *row, struct sink *s, struct err *e)
{
	row->extra = true;
	row->metric = "clk_ovh";
	row->value = i->clock_cost;
	emit(s, row);
	if (!s->extended || !i->way->spins)
		return 0;
	i->batches = 1;
	if (run_once(i, latency, e) < 0)
		return e->code;
	i->batches = 0;
	sort_samples(i->samples, i->rounds);
	row->metric = "rtt_batch";
	row->value = sorted_median(i->samples, i->rounds);
	emit(s, row);
	return 0;
}

static int repeat(void *state, struct sink *s, struct err *e)
{
	struct ipc *i = state;
	struct row row = {.variant = i->way->name,
			  .cpu_a = i->cpus[0],
			  .cpu_b = i->cpus[1],
			  .mem_node = NODE_DEFAULT,
			  .size = i->message,
			  .metric = "rtt_med",
			  .unit = "ns",
			  .real_node = i->mem.real_node};

	if (i->throughput)
		return repeat_throughput(i, &row, s, e);
	if (run_once(i, latency, e) < 0)
		return e->code;
	sort_samples(i->samples, i->rounds);
	row.value = sorted_median(i->samples, i->rounds);
	emit(s, &row);
	row.metric = "rtt_p99";
	row.value = sorted_p99(i->samples, i->rounds);
	emit(s, &row);
	emit_distribution(s, row, "rtt", i->samples, i->rounds);
	return repeat_batches(i, &row, s, e);
}

static void teardown(void *state)
{
	struct ipc *i = state;

	crew_free(&i->crew);
	memory_unmap(&i->mem);
	free(i->samples);
	free(i);
}

const struct boundary_test ipc_test = {
	.name = "ipc",
	.letters = "a:b:k:z:n:Tr:l:M:x",
	.help = "  -a CPU -b CPU -z BYTES of a message (64) -n ROUNDS (100000) -T throughput\n"
		"  -k ring|ringwait|pipe|unix|tcp|ringreg|ringspin\n"
		"  -M NODE of the mailboxes (first touch by A)\n",
	.setup = setup,
	.repeat = repeat,
	.teardown = teardown,
};
