// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "bench/boundary/memory.h"
#include "bench/boundary/shootdown.h"
#include "bench/boundary/stats.h"
#include "common/cleanup.h"
#include "common/clock.h"

/*
 * One thread takes rights or pages away from memory that threads on other CPUs may hold in
 * their TLBs: how long that takes, and how much it disturbs them.
 */

#define DEFAULT_SHOTS 20000
#define DEFAULT_MS    500
#define REGION	      (32UL << 20) /* what participants walk around */
#define ROUND_LINES   64
#define SLICE_NS      (20 * NSEC_PER_MSEC)
#define WARM_NS	      (20 * NSEC_PER_MSEC)
#define BUCKETS	      1024
#define BUCKET_NS     32
#define PAGES_MAX     (1L << 20)

enum kind {
	LAT,
	JITTER,
	CONTROL
};
static const char *const kinds[] = {"lat", "jitter", "control", NULL};
enum op {
	MPROTECT,
	DONTNEED
};
static const char *const ops[] = {"mprotect", "dontneed", NULL};

struct participant {
	_Alignas(LINE_PAD) _Atomic uint64_t rounds;
	uint32_t histogram[2][BUCKETS]; /* quiet, shooting */
	int64_t longest;
};

struct tlbshoot {
	int *cpus, n; /* the initiator first */
	int kind, op;
	long pages, shots, ms, interval;
	size_t page, line;
	char *mapping, *target;
	size_t mapping_len, target_len;
	struct memory region;
	struct participant *parts;
	_Alignas(LINE_PAD) atomic_int shooting;
	struct crew *crew;
	int64_t *samples;
	/* Of the last repeat. */
	uint64_t quiet_rounds, shot_rounds, shots_done;
	int64_t quiet_ns, shot_ns;
	long interrupts;
	double clock_cost;
	char variant[64];
};

/* Untimed: pages are there and writable at the start of the next shot, on every kernel. */
static void write_pages(struct tlbshoot *t)
{
	for (size_t at = 0; at < t->target_len; at += t->page)
		((volatile char *)t->target)[at] = 1;
}

static int64_t shot(struct tlbshoot *t, int *failed)
{
	int64_t from = clock_ns(), ns;
	int ret;

	if (t->op == MPROTECT)
		ret = mprotect(t->target, t->target_len, PROT_READ);
	else
		ret = madvise(t->target, t->target_len, MADV_DONTNEED);
	ns = clock_ns() - from;
	*failed |= ret < 0;
	if (t->op == MPROTECT) {
		*failed |= mprotect(t->target, t->target_len, PROT_READ | PROT_WRITE) < 0;
		write_pages(t);
	} else {
		memset(t->target, 1, t->target_len);
	}
	return ns;
}

static int wait_for_participants(struct worker *w)
{
	struct tlbshoot *t = w->arg;

	for (int i = 1; i < t->n; i++)
		while (atomic_load_explicit(&t->parts[i].rounds, memory_order_relaxed) == 0)
			spin_hint();
	return 0;
}

static int shoot_latency(struct worker *w, struct err *e)
{
	struct tlbshoot *t = w->arg;
	int failed = 0;
	long before;

	wait_for_participants(w);
	for (long i = 0; i < t->shots / 10; i++)
		shot(t, &failed);
	before = shootdowns_now();
	for (long i = 0; i < t->shots; i++)
		t->samples[i] = shot(t, &failed);
	t->interrupts = before < 0 ? -1 : shootdowns_now() - before;
	t->shots_done = t->shots;
	return failed ? err_set(e, EIO, "%s failed", ops[t->op]) : 0;
}

static uint64_t rounds_of_all(struct tlbshoot *t)
{
	uint64_t sum = 0;

	for (int i = 1; i < t->n; i++)
		sum += atomic_load_explicit(&t->parts[i].rounds, memory_order_relaxed);
	return sum;
}

static void spin_until(int64_t end)
{
	while (clock_ns() < end)
		spin_hint();
}

static void shoot_slice(struct tlbshoot *t, int64_t end, int *failed)
{
	int64_t grid = clock_ns(), step = t->interval * NSEC_PER_USEC;

	while (clock_ns() < end) {
		shot(t, failed);
		t->shots_done++;
		if (!step)
			continue;
		grid += step;
		while (grid < clock_ns())
			grid += step;
		spin_until(grid < end ? grid : end);
	}
}

static void slice(struct tlbshoot *t, int shooting, int *failed)
{
	uint64_t rounds = rounds_of_all(t);
	int64_t from = clock_ns(), end = from + SLICE_NS;

	atomic_store(&t->shooting, shooting);
	if (shooting && t->kind == JITTER)
		shoot_slice(t, end, failed);
	else
		spin_until(end);
	rounds = rounds_of_all(t) - rounds;
	from = clock_ns() - from;
	*(shooting ? &t->shot_rounds : &t->quiet_rounds) += rounds;
	*(shooting ? &t->shot_ns : &t->quiet_ns) += from;
}

static int shoot_slices(struct worker *w, struct err *e)
{
	struct tlbshoot *t = w->arg;
	long pairs = t->ms * NSEC_PER_MSEC / (2 * SLICE_NS);
	int failed = 0;
	long before;

	wait_for_participants(w);
	spin_until(clock_ns() + WARM_NS);
	before = shootdowns_now();
	for (long i = 0; i < (pairs > 0 ? pairs : 1); i++) {
		slice(t, 0, &failed);
		slice(t, 1, &failed);
	}
	t->interrupts = before < 0 ? -1 : shootdowns_now() - before;
	return failed ? err_set(e, EIO, "%s failed", ops[t->op]) : 0;
}

static size_t round_of_reads(const struct tlbshoot *t, size_t at)
{
	const char *base = t->region.at;

	for (int i = 0; i < ROUND_LINES; i++) {
		(void)*(const volatile uint64_t *)(base + at);
		at += t->line;
		if (at + sizeof(uint64_t) > REGION)
			at = 0;
	}
	return at;
}

static void file_round(struct tlbshoot *t, struct participant *p, int64_t ns)
{
	int64_t bucket = ns / BUCKET_NS;
	int shooting = atomic_load_explicit(&t->shooting, memory_order_relaxed);

	p->histogram[shooting][bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	if (shooting && ns > p->longest)
		p->longest = ns;
}

static void participate(struct worker *w)
{
	struct tlbshoot *t = w->arg;
	struct participant *p = &t->parts[w->index];
	uint64_t rounds = 0;
	size_t at = 0;

	while (!crew_stopped(w->crew)) {
		if (t->kind == LAT) {
			at = round_of_reads(t, at);
		} else {
			int64_t from = clock_ns();

			at = round_of_reads(t, at);
			file_round(t, p, clock_ns() - from);
		}
		atomic_store_explicit(&p->rounds, ++rounds, memory_order_relaxed);
	}
}

static int shoot(struct worker *w, struct err *e)
{
	struct tlbshoot *t = w->arg;
	int ret;

	if (w->index != 0) {
		participate(w);
		return 0;
	}
	ret = t->kind == LAT ? shoot_latency(w, e) : shoot_slices(w, e);
	atomic_store(&w->crew->stop, 1);
	return ret;
}

static int make_target(struct tlbshoot *t, struct err *e)
{
	t->target_len = t->pages * t->page;
	t->mapping_len = t->target_len + 2 * t->page;
	t->mapping = mmap(NULL, t->mapping_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->mapping == MAP_FAILED) {
		t->mapping = NULL;
		return err_sys(e, "map %ld pages", t->pages + 2);
	}
	t->target = t->mapping + t->page;
	/* A huge page would turn the flush of pages into that of one entry. */
	madvise(t->mapping, t->mapping_len, MADV_NOHUGEPAGE);
	if (mprotect(t->target, t->target_len, PROT_READ | PROT_WRITE) < 0)
		return err_sys(e, "mprotect");
	memset(t->target, 1, t->target_len);
	return 0;
}

static int read_cpus(const struct options *o, struct tlbshoot *t, struct err *e)
{
	cleanup_free int *list = NULL;
	int a, n = 0;

	if (option_cpu(o, 'a', 0, &a, e) < 0)
		return e->code;
	if (o->value['c'] && cpu_list(o->value['c'], &list, &n, e) < 0)
		return e->code;
	t->cpus = malloc((n + 1) * sizeof(*t->cpus));
	if (!t->cpus)
		return err_set(e, ENOMEM, "no memory");
	t->cpus[0] = a;
	t->n = n + 1;
	for (int i = 0; i < n; i++) {
		if (list[i] == a)
			return err_usage(e, "the initiator's cpu %d is among the participants", a);
		t->cpus[i + 1] = list[i];
	}
	if (n == 0 && t->kind != LAT)
		return err_usage(e, "%s needs participants (-c)", kinds[t->kind]);
	return 0;
}

static int read_options(const struct options *o, struct tlbshoot *t, struct err *e)
{
	if (option_kind(o, 'k', kinds, &t->kind, e) < 0 || option_kind(o, 'o', ops, &t->op, e) < 0 ||
	    option_number(o, 'p', 1, 1, PAGES_MAX, &t->pages, e) < 0 ||
	    option_number(o, 'n', DEFAULT_SHOTS, 1, 1L << 30, &t->shots, e) < 0 ||
	    option_number(o, 'w', DEFAULT_MS, 1, INT_MAX, &t->ms, e) < 0 ||
	    option_number(o, 'i', 0, 0, INT_MAX, &t->interval, e) < 0)
		return e->code;
	if (t->kind == LAT && t->interval)
		return err_usage(e, "-i: lat has no pacing");
	return read_cpus(o, t, e);
}

static void name_variant(struct tlbshoot *t)
{
	int len = snprintf(t->variant, sizeof(t->variant), "%s-%ldp-%dt", ops[t->op], t->pages,
			   t->n - 1);

	if (t->kind == CONTROL)
		snprintf(t->variant + len, sizeof(t->variant) - len, "-ctl");
	else if (t->interval)
		snprintf(t->variant + len, sizeof(t->variant) - len, "-i%ld", t->interval);
}

static int setup(const struct options *o, struct sink *s, void **state, struct err *e)
{
	struct tlbshoot *t = aligned_alloc(LINE_PAD, sizeof(*t));
	const char *hardware = broadcast_hardware();

	if (!t)
		return err_set(e, ENOMEM, "no memory");
	*t = (struct tlbshoot){.page = page_size(), .line = cache_line()};
	*state = t;
	if (read_options(o, t, e) < 0)
		return e->code;
	name_variant(t);
	if (hardware && s->extended)
		note(s, "flushes without interrupts: %s", hardware);
	t->samples = malloc(t->shots * sizeof(*t->samples));
	t->parts = aligned_alloc(LINE_PAD, t->n * sizeof(*t->parts));
	if (!t->samples || !t->parts)
		return err_set(e, ENOMEM, "no memory");
	t->clock_cost = clock_pair_cost();
	if (make_target(t, e) < 0 || memory_map(&t->region, REGION, NODE_DEFAULT, HUGE_SYSTEM, e) < 0)
		return e->code;
	memory_touch(&t->region);
	if (memory_verify(&t->region, 0, e) < 0)
		return e->code;
	return crew_new(&t->crew, t->n, t->cpus, t, e);
}

/* Middle of the bucket below which 99 % of the shooting slices' rounds lie. */
static double victim_p99(const struct tlbshoot *t)
{
	uint64_t sum[BUCKETS] = {0}, all = 0, seen = 0;
	int bucket = 0;

	for (int i = 1; i < t->n; i++)
		for (int k = 0; k < BUCKETS; k++)
			sum[k] += t->parts[i].histogram[1][k];
	for (int k = 0; k < BUCKETS; k++)
		all += sum[k];
	for (; bucket < BUCKETS - 1; bucket++) {
		seen += sum[bucket];
		if (seen > all * 99 / 100)
			break;
	}
	return bucket * BUCKET_NS + BUCKET_NS / 2.0;
}

static void emit_as(struct sink *s, struct row *row, const char *metric, double value,
		    const char *unit)
{
	row->metric = metric;
	row->value = value;
	row->unit = unit;
	emit(s, row);
}

static void emit_extra(struct tlbshoot *t, struct sink *s, struct row *row)
{
	row->extra = true;
	if (t->interrupts >= 0 && t->shots_done)
		emit_as(s, row, "ipi_per_shot", (double)t->interrupts / t->shots_done, "1");
	emit_as(s, row, "switched", t->crew->switched, "1");
	emit_as(s, row, "clk_ovh", t->clock_cost, "ns");
	if (!s->extended || t->n == 1 || t->kind == CONTROL || t->interrupts != 0)
		return;
	note(s, "no TLB interrupt was counted although there are %d participants", t->n - 1);
}

static void emit_slices(struct tlbshoot *t, struct sink *s, struct row *row)
{
	double quiet = t->quiet_rounds * 1e6 / t->quiet_ns, hit = t->shot_rounds * 1e6 / t->shot_ns;
	int64_t longest = 0;

	emit_as(s, row, "victim_quiet", quiet, "Kround/s");
	emit_as(s, row, "victim_shot", hit, "Kround/s");
	emit_as(s, row, "victim_slowdown", hit > 0 ? quiet / hit : 0, "x");
	emit_as(s, row, "victim_p99", victim_p99(t), "ns");
	emit_as(s, row, "shoot_rate", t->shots_done * 1e6 / t->shot_ns, "Kshot/s");
	for (int i = 1; i < t->n; i++)
		longest = t->parts[i].longest > longest ? t->parts[i].longest : longest;
	row->extra = true;
	emit_as(s, row, "victim_max", longest, "ns");
}

static int repeat(void *state, struct sink *s, struct err *e)
{
	struct tlbshoot *t = state;
	struct row row = {.variant = t->variant,
			  .cpu_a = t->cpus[0],
			  .cpu_b = NO_CPU,
			  .mem_node = NODE_DEFAULT,
			  .size = t->target_len,
			  .real_node = -1};

	memset(t->parts, 0, t->n * sizeof(*t->parts));
	t->quiet_rounds = t->shot_rounds = t->shots_done = 0;
	t->quiet_ns = t->shot_ns = 0;
	atomic_store(&t->shooting, 0);
	if (crew_run(t->crew, NULL, shoot, 0, NULL, e) < 0)
		return e->code;
	if (t->kind == LAT) {
		sort_samples(t->samples, t->shots);
		emit_as(s, &row, "shoot_med", sorted_median(t->samples, t->shots), "ns");
		emit_as(s, &row, "shoot_p99", sorted_p99(t->samples, t->shots), "ns");
		emit_distribution(s, row, "shoot", t->samples, t->shots);
	} else {
		emit_slices(t, s, &row);
	}
	emit_extra(t, s, &row);
	return 0;
}

static void teardown(void *state)
{
	struct tlbshoot *t = state;

	crew_free(&t->crew);
	memory_unmap(&t->region);
	if (t->mapping)
		munmap(t->mapping, t->mapping_len);
	free(t->samples);
	free(t->parts);
	free(t->cpus);
	free(t);
}

const struct boundary_test tlbshoot_test = {
	.name = "tlbshoot",
	.letters = "a:c:k:o:p:n:w:i:r:l:x",
	.help = "  -a CPU of the initiator -c LIST of participants -k lat|jitter|control\n"
		"  -o mprotect|dontneed -p PAGES (1) -n SHOTS (20000)\n"
		"  -w MILLISECONDS (500) -i MICROSECONDS between shots (none)\n",
	.setup = setup,
	.repeat = repeat,
	.teardown = teardown,
};
