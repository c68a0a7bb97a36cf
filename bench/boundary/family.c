// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/boundary/family.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "bench/report.h"
#include "bench/topology.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define METRICS_MAX 64
#define VALUES_MAX  20000 /* of a cell; a reader takes no endless list */
#define MIB	    (UINT64_C(1) << 20)

/* Which CPUs of a cell become which options. */
enum shape {
	ONE,
	LIST,
	PAIR,
	FIRST_AND_REST
};

struct entry {
	struct test_info info;
	enum shape shape;
};

#define INFO(test, what, value, sharing, mem, per_task)                          \
	{                                                                        \
		.name = test, .title = what, .counts = value, .shared = sharing, \
		.role = ROLE_MACHINE, .modes = MODE_THREADS,                     \
		.needs = {                                                       \
			.memory = mem,                                           \
			.memory_per_task = per_task,                             \
			.mapping = (mem) + (per_task),                           \
		},                                                               \
	}

static const struct entry entries[] = {
	{INFO("memlat", "loads that depend on each other walk a ring of cache lines in random order",
	      "ns a load", "none", 1024 * MIB, 0),
	 ONE},
	{INFO("membw", "runs over arrays of its own, whole passes", "GB/s of loads and stores",
	      "none", 0, 384 * MIB),
	 LIST},
	{INFO("pingpong", "hands a cache line to the other task and waits for it",
	      "ns a round trip", "none", MIB, 0),
	 PAIR},
	{INFO("atomics", "adds 1 to a counter that all tasks share", "additions a second", "none",
	      MIB, 0),
	 LIST},
	{INFO("lock", "adds 1 to a counter under a lock that all tasks share",
	      "acquisitions a second", "the futex queue of a contended mutex", MIB, 0),
	 LIST},
	{INFO("ipc", "sends a message and waits for its echo", "ns a round trip, or messages a second",
	      "the pipe, socket or futex queue", 32 * MIB, 0),
	 PAIR},
	{INFO("wakeup", "wakes the other task and sleeps until it is woken", "ns a wake-up",
	      "the futex queue, run queues of both CPUs", MIB, 0),
	 PAIR},
	{INFO("tlbshoot", "changes rights of pages that the other tasks' address space maps",
	      "ns a change, or what it takes from the other tasks", "the address space", 64 * MIB, 0),
	 FIRST_AND_REST},
};

struct metric {
	char name[40];
	int id;
};

struct state {
	const struct boundary_test *test;
	void *inner;
	struct report *report;
	struct sink sink;
	struct metric metrics[METRICS_MAX];
	int nmetrics, nvalues;
	char text[3][8192]; /* values of options made here */
};

static const struct test_info *info(size_t i)
{
	return i < sizeof(entries) / sizeof(entries[0]) ? &entries[i].info : NULL;
}

static const struct entry *find_entry(const char *name)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (strcmp(entries[i].info.name, name) == 0)
			return &entries[i];
	return NULL;
}

/* Rates of tasks add up over kernels, times do not. */
static int metric_id(struct state *s, const struct row *row)
{
	bool rate = strstr(row->unit, "/s") || strcmp(row->unit, "Mops") == 0;
	struct metric *m;

	for (int i = 0; i < s->nmetrics; i++)
		if (strcmp(s->metrics[i].name, row->metric) == 0)
			return s->metrics[i].id;
	if (s->nmetrics == METRICS_MAX)
		return -1;
	m = &s->metrics[s->nmetrics++];
	snprintf(m->name, sizeof(m->name), "%s", row->metric);
	m->id = report_metric(s->report, row->metric, row->unit, rate ? "more" : "less", rate ? "rate" : "latency",
			      rate ? "sum" : "each");
	return m->id;
}

static void keep_row(void *arg, const struct row *row, int repeat)
{
	struct state *s = arg;
	int id = s->nvalues < VALUES_MAX ? metric_id(s, row) : -1;
	char more[300];

	if (id < 0)
		return;
	s->nvalues++;
	snprintf(more, sizeof(more),
		 "variant=%s cpu_a=%d cpu_b=%d mem_node=%d real_node=%d size=%" PRIu64 " repeat=%d",
		 row->variant, row->cpu_a, row->cpu_b, row->mem_node, row->real_node, row->size,
		 repeat);
	report_value(s->report, id, row->value, more);
}

static void keep_note(void *arg, const char *text)
{
	struct state *s = arg;

	report_note(s->report, "boundary", text);
}

static int list_text(char *text, size_t size, const int *cpus, int n, struct err *e)
{
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		len += snprintf(text + len, size - len, "%s%d", i ? "," : "", cpus[i]);
		if (len >= size)
			return err_set(e, E2BIG, "too many CPUs for one test");
	}
	return 0;
}

static int give_cpus(struct state *s, const struct cell *c, enum shape shape, struct options *o,
		     struct err *e)
{
	const int *cpus = c->cpus;
	int n = c->ntasks, rest = shape == FIRST_AND_REST;

	if (c->unpinned)
		return err_set(e, EOPNOTSUPP, "%s needs pinned tasks", c->test);
	if (shape == ONE && n != 1)
		return err_set(e, EOPNOTSUPP, "%s measures one CPU, not %d", c->test, n);
	if (shape == PAIR && n > 2)
		return err_set(e, EOPNOTSUPP, "%s measures a pair of CPUs, not %d", c->test, n);
	if (shape == PAIR || rest) {
		snprintf(s->text[0], sizeof(s->text[0]), "%d", cpus[0]);
		o->value['a'] = s->text[0];
	}
	if (shape == PAIR) {
		snprintf(s->text[1], sizeof(s->text[1]), "%d", cpus[n - 1]);
		o->value['b'] = s->text[1];
	} else if (n > rest) {
		o->value['c'] = s->text[1];
		return list_text(s->text[1], sizeof(s->text[1]), cpus + rest, n - rest, e);
	}
	return 0;
}

static int check_tier(const struct cell *c, const struct topology *t, const char *want, struct err *e)
{
	int tier = topology_tier(t, c->cpus[0], c->cpus[c->ntasks - 1]);

	if (tier >= 0 && strcmp(tier_name(tier), want) == 0)
		return 0;
	return err_set(e, EOPNOTSUPP, "CPUs %d and %d of this kernel are a pair of tier %s, not %s",
		       c->cpus[0], c->cpus[c->ntasks - 1], tier >= 0 ? tier_name(tier) : "none",
		       want);
}

static int give_node(struct state *s, const struct cell *c, const struct topology *t,
		     const char *want, struct options *o, struct err *e)
{
	const struct topo_cpu *cpu = topology_cpu(t, c->cpus[0]);
	int node;

	o->value['m'] = want;
	if (strcmp(want, "local") == 0)
		node = t->numa && cpu ? cpu->node : NODE_DEFAULT;
	else if (strcmp(want, "remote") == 0)
		node = topology_remote_node(t, c->cpus[0]);
	else if (strcmp(want, "interleave") == 0)
		node = NODE_INTERLEAVE;
	else
		return 0;
	if (strcmp(want, "remote") == 0 && node < 0)
		return err_set(e, EOPNOTSUPP, "remote memory: this kernel has one node with CPUs");
	snprintf(s->text[2], sizeof(s->text[2]), "%d", node);
	o->value['m'] = s->text[2];
	return 0;
}

static int give_param(struct state *s, const struct cell *c, const struct topology *t,
		      const struct param *p, struct options *o, struct err *e)
{
	char letter = option_letter(p->name);

	if (strcmp(p->name, "tier") == 0)
		return check_tier(c, t, p->value, e);
	if (!letter || !strchr(s->test->letters, letter) || strchr("abclr", letter))
		return err_usage(e, "%s has no parameter \"%s\"", c->test, p->name);
	if (letter == 'm')
		return give_node(s, c, t, p->value, o, e);
	o->value[(unsigned char)letter] = p->value;
	return 0;
}

static int prepare(struct cell *c, struct err *e)
{
	const struct entry *entry = find_entry(c->test);
	cleanup_topology struct topology t = TOPOLOGY_INIT;
	cleanup_cpumask struct cpumask allowed = CPUMASK_INIT;
	struct state *s = calloc(1, sizeof(*s));
	struct options o = {0};
	int ret;

	c->state = s;
	if (!s)
		return err_set(e, ENOMEM, "no memory");
	s->test = find_boundary_test(c->test);
	s->report = c->report;
	s->sink = (struct sink){.row = keep_row, .note = keep_note, .arg = s, .extended = true};
	if (!entry || !s->test)
		return err_set(e, EINVAL, "there is no test \"%s\"", c->test);
	if (c->mode != MODE_THREADS)
		return err_set(e, EOPNOTSUPP, "%s runs threads of one address space", c->test);
	if (cpumask_get_affinity(&allowed, 0, e) < 0 || topology_read(&t, "", &allowed, e) < 0)
		return e->code;
	ret = give_cpus(s, c, entry->shape, &o, e);
	for (int i = 0; ret == 0 && i < c->nparams; i++)
		ret = give_param(s, c, &t, &c->params[i], &o, e);
	return ret < 0 ? ret : s->test->setup(&o, &s->sink, &s->inner, e);
}

static int64_t process_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* The threads of a repeat are gone at its end: their use of CPUs is the process's, in parts. */
static void report_tasks(const struct cell *c, const struct rusage *before, int64_t cpu_ns,
			 int64_t wall_ns)
{
	struct rusage after = {0};

	getrusage(RUSAGE_SELF, &after);
	for (int i = 0; i < c->ntasks; i++) {
		/* Each repeat fails unless its threads begin and end on their CPUs. */
		struct report_task t = {
			.pid = getpid(),
			.cpu = c->cpus[i],
			.node = -1,
			.cpu_before = c->cpus[i],
			.cpu_after = c->cpus[i],
			.cpu_ns = cpu_ns / c->ntasks,
			.wall_ns = wall_ns,
			.involuntary = (after.ru_nivcsw - before->ru_nivcsw) / c->ntasks,
			.voluntary = (after.ru_nvcsw - before->ru_nvcsw) / c->ntasks,
		};

		report_task(c->report, i, &t);
	}
}

static int run(struct cell *c, const struct go *go, struct err *e)
{
	struct state *s = c->state;
	struct rusage before = {0};
	int64_t from, cpu_ns;
	int ret = 0;

	sleep_until(go->start);
	getrusage(RUSAGE_SELF, &before);
	cpu_ns = process_ns();
	from = clock_ns();
	for (s->sink.repeat = 0; ret == 0 && (s->sink.repeat == 0 || clock_ns() < go->stop);
	     s->sink.repeat++)
		ret = s->test->repeat(s->inner, &s->sink, e);
	if (ret < 0)
		return ret;
	report_tasks(c, &before, process_ns() - cpu_ns, clock_ns() - from);
	report_cover(c->report, from, clock_ns());
	return 0;
}

static void cleanup_cell(struct cell *c)
{
	struct state *s = c->state;

	if (s && s->inner)
		s->test->teardown(s->inner);
	free(s);
	c->state = NULL;
}

const struct family boundary_family = {
	.name = "boundary",
	.info = info,
	.prepare = prepare,
	.run = run,
	.cleanup = cleanup_cell,
};
