// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The session against agents that are played by threads: what it makes of good cells, of every
 * way in which one can be wrong, and of partitions that die.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/frame.h"
#include "common/io.h"
#include "harness/backend/backend.h"
#include "harness/session/session.h"

/* What a partition does wrong, in the cell (counted over all boots) that is named. */
enum fault {
	NONE,
	SHORT_COVER, /* once */
	ALWAYS_SHORT,
	WRONG_CPU,
	FAST_CLOCK,
	NO_COUNT,
	BACKWARDS,
	FEW_SAMPLES,
	TASK_FAILS,
	NOT_AVAILABLE,
	REFUSES,
	DIES, /* while the tasks run */
	LATE_WINDOW,
	GARBLED_RESULT,
	SLOW_TASK,
	PUSHED_TASK,
	SIGNAL /* the user presses Ctrl-C */
};

static struct {
	enum fault fault;
	int in_prep; /* counted from 1; -1: in every one */
	int partition; /* where */
	bool no_boot; /* starting a kernel fails */
	int preps, boots, steps, downs; /* what was seen */
	int disturbed; /* frames that came while windows were measured */
	bool dead[2];
} world;

struct agent {
	pthread_t thread;
	int fd, index;
	bool up;
	struct frame_reader reader;
	uint32_t last;
	char reply[FRAME_PAYLOAD_MAX + 1];
	enum fault fault;
	int cpus[8], ncpus;
	char test[40], mode[20];
	int64_t start, first, interval, stop;
	int samples;
	char *object;
	size_t object_len;
};
static struct agent agents[2];

/* Each agent's clock has a zero of its own, and may run too fast. */
static int64_t agent_clock(const struct agent *a)
{
	int64_t now = clock_ns();

	return now + (a->index + 1) * 1000 * NSEC_PER_SEC + (a->fault == FAST_CLOCK ? now / 100 : 0);
}

static void make_result(struct agent *a)
{
	FILE *f;
	bool is_short = a->fault == SHORT_COVER || a->fault == ALWAYS_SHORT;

	free(a->object);
	f = open_memstream(&a->object, &a->object_len);
	fprintf(f, "result 1\ntest family=scale name=%s mode=%s\n", a->test, a->mode);
	fprintf(f, "metric id=0 name=ops unit=1/s better=more kind=rate combine=sum\n");
	for (int i = 0; i < a->ncpus; i++)
		fprintf(f,
			"task n=%d pid=1 cpu=%d node=0 cpu_before=%d cpu_after=%d cpu_ns=%" PRId64
			" wall_ns=%" PRId64 " involuntary=%d voluntary=0\n",
			i, a->cpus[i], a->cpus[i], a->cpus[i] + (a->fault == WRONG_CPU),
			(a->stop - a->start) * (a->fault == SLOW_TASK ? 9 : 10) / 10,
			a->stop - a->start, a->fault == PUSHED_TASK ? 1000 : 0);
	fprintf(f, "cover from=%" PRId64 " to=%" PRId64 "\n", a->start,
		is_short ? a->first : a->stop);
	for (int k = 0; k <= a->samples - (a->fault == FEW_SAMPLES); k++) {
		int64_t at = a->first + k * a->interval;
		int64_t count = k * 1000;

		if (a->fault == NO_COUNT)
			count = 0;
		if (a->fault == BACKWARDS)
			count = 1000000 - count;
		if (a->fault == LATE_WINDOW && k == a->samples)
			at += a->interval / 50;
		fprintf(f, "sample metric=0 k=%d before=%" PRId64 " after=%" PRId64 " counts=", k,
			at - 10, at + 10);
		for (int i = 0; i < a->ncpus; i++)
			fprintf(f, "%s%" PRId64, i ? "," : "", count + 5);
		fputc('\n', f);
	}
	fprintf(f, "note room=private%%20tmpfs\n%s", a->fault == GARBLED_RESULT ? "" : "end\n");
	fclose(f);
}

static void prepare(struct agent *a, char **words, int n)
{
	world.preps += a->index == 0;
	a->fault = NONE;
	if (a->index == world.partition && (world.in_prep == world.preps || world.in_prep == -1))
		a->fault = world.fault;
	a->ncpus = 0;
	for (int i = 2; i < n; i++) {
		if (strncmp(words[i], "test=", 5) == 0)
			snprintf(a->test, sizeof(a->test), "%s", words[i] + 5);
		if (strncmp(words[i], "mode=", 5) == 0)
			snprintf(a->mode, sizeof(a->mode), "%s", words[i] + 5);
		if (strncmp(words[i], "cpus=", 5) == 0)
			for (char *c = strtok(words[i] + 5, ","); c; c = strtok(NULL, ","))
				a->cpus[a->ncpus++] = atoi(c);
	}
	if (a->fault == REFUSES)
		snprintf(a->reply, sizeof(a->reply), "NO no%%20such%%20test");
	else
		snprintf(a->reply, sizeof(a->reply), "OK %s", words[1]);
}

static void done(struct agent *a, const char *id)
{
	const char *state = "ready";

	if (a->fault == NOT_AVAILABLE)
		state = "unavailable needs%20a%20file%20system";
	else if (a->stop && agent_clock(a) < a->stop)
		state = "running";
	else if (a->stop && a->fault == TASK_FAILS)
		state = "failed task%200%20on%20CPU%203:%20signal%2011";
	if (a->stop && agent_clock(a) >= a->stop && a->fault != TASK_FAILS) {
		make_result(a);
		snprintf(a->reply, sizeof(a->reply), "OK %s done %zu", id, a->object_len);
	} else {
		snprintf(a->reply, sizeof(a->reply), "OK %s %s", id, state);
	}
}

static void get(struct agent *a, size_t offset)
{
	size_t n = a->object_len - offset < 2048 ? a->object_len - offset : 2048;
	char word[3 * 2048 + 2];

	word_escape(word, sizeof(word), a->object + offset, n);
	snprintf(a->reply, sizeof(a->reply), "OK %zu %s", a->object_len, word);
}

/* False when the agent ends. */
static bool act(struct agent *a, const char *payload)
{
	char copy[FRAME_PAYLOAD_MAX + 1], *words[40];
	int n;

	snprintf(copy, sizeof(copy), "%s", payload);
	n = words_split(copy, words, 40);
	snprintf(a->reply, sizeof(a->reply), "OK");
	if (strcmp(words[0], "HI") == 0) {
		snprintf(a->reply, sizeof(a->reply), "OK 1 build nonce%d 1", a->index);
	} else if (strcmp(words[0], "FACTS") == 0) {
		free(a->object);
		a->object = strdup("kernel.release=6.1\nlsm=%01=x\nbroken=%0\nno fact\n");
		a->object_len = strlen(a->object);
		snprintf(a->reply, sizeof(a->reply), "OK %zu", a->object_len);
	} else if (strcmp(words[0], "CPUS") == 0) {
		snprintf(a->reply, sizeof(a->reply), "OK 0-7 0,1,2,3,4,5,6,7");
	} else if (strcmp(words[0], "TIME") == 0) {
		int64_t now = agent_clock(a);

		snprintf(a->reply, sizeof(a->reply), "OK %s %" PRId64 " %" PRId64, words[1], now,
			 now);
	} else if (strcmp(words[0], "PREP") == 0) {
		a->stop = 0;
		prepare(a, words, n);
	} else if (strcmp(words[0], "GO") == 0) {
		a->start = atoll(words[2]);
		a->first = atoll(words[3]);
		a->interval = atoll(words[4]);
		a->samples = atoi(words[5]);
		a->stop = atoll(words[6]);
		snprintf(a->reply, sizeof(a->reply), "OK %s", words[1]);
		if (a->fault == SIGNAL)
			raise(SIGINT);
	} else if (strcmp(words[0], "DONE") == 0) {
		if (a->fault == DIES && a->stop) {
			world.dead[a->index] = true;
			return false;
		}
		done(a, words[1]);
	} else if (strcmp(words[0], "GET") == 0) {
		get(a, atoi(words[2]));
	}
	return strcmp(words[0], "OFF") != 0;
}

static void *agent_main(void *arg)
{
	struct agent *a = arg;
	char line[FRAME_LINE_MAX], data[4096];
	const char *payload;
	uint32_t seq;
	ssize_t n;
	bool on = true;

	n = frame_encode(line, sizeof(line), FRAME_FROM_AGENT, 1, "HELLO 1 build nonce");
	write_all(a->fd, line, n);
	while (on && (n = read(a->fd, data, sizeof(data))) > 0) {
		size_t used, at = 0;

		while (on && frame_reader_push(&a->reader, data + at, n - at, &used, &seq, &payload)) {
			at += used;
			if (a->stop && agent_clock(a) >= a->first && agent_clock(a) < a->stop)
				world.disturbed++;
			if (seq != a->last)
				on = act(a, payload);
			a->last = seq;
			if (world.dead[a->index])
				break;
			used = frame_encode(line, sizeof(line), FRAME_FROM_AGENT, seq, a->reply);
			send(a->fd, line, used, MSG_NOSIGNAL);
		}
	}
	shutdown(a->fd, SHUT_RDWR);
	return NULL;
}

/* The backend: two partitions at most, each a thread. */

static int fake_plan(struct backend *b, const struct layout *is, const struct layout *want,
		     struct steps *out, struct err *e)
{
	out->n = 1;
	out->v = calloc(1, sizeof(*out->v));
	out->v[0] = (struct step){.number = 1,
				  .partition = -1,
				  .kind = want->arm ? "start" : "stop",
				  .what = strdup(want->arm ? "start it" : "stop it")};
	return 0;
}

static int fake_apply(struct backend *b, const struct step *s, struct err *e)
{
	world.steps++;
	if (strcmp(s->kind, "start") == 0) {
		world.boots++;
		memset(world.dead, 0, sizeof(world.dead));
		return world.no_boot ? err_set(e, EIO, "no kernel image") : 0;
	}
	world.downs++;
	for (int i = 0; i < 2; i++) {
		if (!agents[i].up)
			continue;
		pthread_join(agents[i].thread, NULL);
		close(agents[i].fd);
		free(take_ptr(agents[i].object));
		agents[i].up = false;
	}
	return 0;
}

static int fake_channel(struct backend *b, int partition, struct err *e)
{
	struct agent *a = &agents[partition];
	int fd[2];

	*a = (struct agent){.index = partition, .up = true};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	a->fd = fd[1];
	frame_reader_init(&a->reader, FRAME_FROM_HOST);
	assert_int_equal(pthread_create(&a->thread, NULL, agent_main, a), 0);
	return fd[0];
}

static int fake_agent_cpu(struct backend *b, int partition, int host_cpu)
{
	return host_cpu - 4 * partition;
}

static enum kernel_state fake_state(struct backend *b, int partition, char *why, size_t size)
{
	if (world.dead[partition])
		snprintf(why, size, "kernel panic - not syncing");
	return world.dead[partition] ? KERNEL_DEAD : KERNEL_RUNNING;
}

static const char *fake_console(struct backend *b, int partition)
{
	return NULL;
}

static enum nature fake_nature(struct backend *b)
{
	return NATURE_SIMULATED;
}

static const struct backend_ops fake_ops = {
	.name = "fake",
	.nature = fake_nature,
	.plan = fake_plan,
	.apply = fake_apply,
	.channel = fake_channel,
	.agent_cpu = fake_agent_cpu,
	.state = fake_state,
	.console = fake_console,
};

const struct backend_ops *backend_find(const char *name)
{
	return &fake_ops;
}

int backend_open(struct backend **b, const struct backend_ops *ops, const struct backend_env *env,
		 struct err *e)
{
	*b = calloc(1, sizeof(**b));
	**b = (struct backend){.ops = ops, .env = *env};
	return 0;
}

void backend_close(struct backend **b)
{
	free(take_ptr(*b));
}

void steps_free(struct steps *s)
{
	for (int i = 0; i < s->n; i++)
		free(s->v[i].what);
	free(s->v);
}

const char *nature_name(enum nature n)
{
	return "simulated";
}

/* One arm with two partitions of four CPUs, one test, three cells in one boot. */

#define CELLS 3

static struct world_plan {
	struct plan plan;
	struct plan_arm arm;
	struct plan_partition partitions[2];
	struct plan_test test;
	struct schedule schedule;
	struct boot boot;
	struct cell cells[CELLS];
	struct placement placement;
	struct topology topology;
	int cpus[3], counts[2];
} p;

static char base[] = "/tmp/mksplit-test-session-XXXXXX";

static void make_plan(void)
{
	memset(&p, 0, sizeof(p));
	memset(&world, 0, sizeof(world));
	for (int i = 0; i < 2; i++) {
		p.partitions[i].name = i ? "east" : "west";
		p.partitions[i].kernel = -1;
		for (int c = 0; c < 4; c++)
			cpumask_set(&p.partitions[i].cpus, 4 * i + c);
	}
	p.arm = (struct plan_arm){
		.name = "split", .backend = "fake", .partitions = p.partitions, .npartitions = 2};
	p.test = (struct plan_test){
		.family = "scale", .test = "unlink1", .variant = "", .modes = MODE_PROCESSES};
	p.plan = (struct plan){
		.name = "test",
		.text = "{}",
		.arms = &p.arm,
		.narms = 1,
		.tests = &p.test,
		.ntests = 1,
		.blocks = 1,
		.repetitions = CELLS,
		.samples = 4,
		.interval_ns = 20 * NSEC_PER_MSEC,
		.warmup_ns = 20 * NSEC_PER_MSEC,
		.guard_ns = 20 * NSEC_PER_MSEC,
		.margin = 0.03,
	};
	/* CPUs not in order, two tasks in the first partition and one in the second. */
	p.cpus[0] = 3;
	p.cpus[1] = 1;
	p.cpus[2] = 4;
	p.counts[0] = 2;
	p.counts[1] = 1;
	p.placement = (struct placement){.ntasks = 3, .cpus = p.cpus, .counts = p.counts};
	for (int i = 0; i < CELLS; i++)
		p.cells[i] = (struct cell){.mode = MODE_PROCESSES,
					   .tasks = 3,
					   .repetition = i,
					   .placement = &p.placement};
	p.boot = (struct boot){.cells = p.cells, .ncells = CELLS};
	p.schedule = (struct schedule){.boots = &p.boot, .nboots = 1, .ncells = CELLS};
}

static void free_plan(void)
{
	for (int i = 0; i < 2; i++)
		cpumask_free(&p.partitions[i].cpus);
}

/* After so many blocks a run has enough; 0: never. */
static int enough_blocks;

static bool has_enough(void *arg, int blocks_done)
{
	return blocks_done >= *(int *)arg;
}

/* Runs it in folder; events (new) are what is in the store then. */
static int run(const char *folder, bool resume, struct session_totals *t, json_t **events,
	       struct err *e)
{
	char dir[PATH_MAX], path[PATH_MAX + 20];
	struct store *store = NULL;
	char *text, *line, *rest;
	struct session_env env;
	int ret;

	snprintf(dir, sizeof(dir), "%s/%s", base, folder);
	ret = resume ? store_open(&store, dir, e) : store_create(&store, NULL, dir, "t", "{}", e);
	assert_int_equal(ret, 0);
	env = (struct session_env){.topology = &p.topology,
				   .plan = &p.plan,
				   .schedule = &p.schedule,
				   .bench = "none",
				   .run_dir = base,
				   .store = store,
				   .enough = enough_blocks ? has_enough : NULL,
				   .enough_arg = &enough_blocks,
				   .resumed = resume,
				   .quiet = true};
	ret = session_run(&env, t, e);
	store_close(&store);
	snprintf(path, sizeof(path), "%s/events.jsonl", dir);
	assert_int_equal(read_file_at(AT_FDCWD, path, 1 << 24, &text, NULL, e), 0);
	*events = json_array();
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		json_t *event = json_loads(line, 0, NULL);

		assert_non_null(event);
		json_array_append_new(*events, event);
	}
	free(text);
	return ret;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* The n-th event of a kind, borrowed. */
static json_t *event_of(json_t *events, const char *kind, int n)
{
	json_t *event;
	size_t i;

	json_array_foreach(events, i, event)
		if (strcmp(text_of(event, "event"), kind) == 0 && n-- == 0)
			return event;
	return NULL;
}

/*
 * The status of a cell. On a machine that is busy with other tests the clocks may be known badly
 * between two agents of one process: that flag alone does not matter here.
 */
static const char *status_of(const json_t *cell)
{
	const char *status = text_of(cell, "status");
	const json_t *flags = json_object_get(cell, "flags"), *flag;
	size_t i;

	if (strcmp(status, "flagged") != 0)
		return status;
	json_array_foreach(flags, i, flag)
		if (strcmp(text_of(flag, "name"), "clock") != 0)
			return status;
	return "ok";
}

static int usable(const struct session_totals *t)
{
	return t->cells[END_OK] + t->cells[END_FLAGGED];
}

static void test_good_cells(void **state)
{
	struct session_totals t;
	struct err e = ERR_INIT;
	json_t *events, *cell, *metric, *part;
	double value, east, west;

	make_plan();
	assert_int_equal(run("good", false, &t, &events, &e), 0);
	assert_int_equal(usable(&t), CELLS);
	assert_string_equal(text_of(json_array_get(events, 0), "event"), "run");
	assert_true(json_is_true(json_object_get(event_of(events, "boot", 0), "ok")));
	assert_string_equal(text_of(json_object_get(event_of(events, "facts", 1), "facts"), "lsm"),
			    "?=x");
	cell = event_of(events, "cell", 0);
	assert_string_equal(text_of(cell, "key"), "b0/split/scale:unlink1/-/processes/3/p0/r0");
	assert_string_equal(status_of(cell), "ok");
	metric = json_array_get(json_object_get(cell, "metrics"), 0);
	value = json_real_value(json_object_get(metric, "value"));
	part = json_array_get(json_object_get(metric, "partitions"), 0);
	west = json_real_value(json_object_get(part, "value"));
	part = json_array_get(json_object_get(metric, "partitions"), 1);
	east = json_real_value(json_object_get(part, "value"));
	/* 1000 a task in each 20 ms. */
	assert_float_equal(value, 150000, 1);
	assert_float_equal(west, 100000, 1);
	assert_float_equal(east, 50000, 1);
	assert_int_equal(json_array_size(json_object_get(part, "samples")), 4);
	part = json_array_get(json_object_get(cell, "partitions"), 1);
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(json_object_get(part, "tasks"), 0), "cpu")),
			 4);
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(json_object_get(part, "tasks"), 0), "agent_cpu")),
			 0);
	assert_string_equal(text_of(json_object_get(part, "notes"), "room"), "private tmpfs");
	assert_non_null(event_of(events, "end", 0));
	assert_int_equal(world.boots, 1);
	assert_int_equal(world.downs, 1);
	assert_int_equal(world.disturbed, 0);
	json_decref(events);

	/* Nothing is missing, so nothing is done again. */
	assert_int_equal(run("good", true, &t, &events, &e), 0);
	assert_int_equal(world.boots, 1);
	assert_true(json_is_true(json_object_get(event_of(events, "run", 1), "resumed")));
	json_decref(events);
	free_plan();
}

static void test_enough_blocks(void **state)
{
	struct session_totals t;
	struct err e = ERR_INIT;
	struct boot boots[CELLS];
	json_t *events;

	make_plan();
	for (int i = 0; i < CELLS; i++) {
		p.cells[i].block = i;
		p.cells[i].repetition = 0;
		boots[i] = (struct boot){.block = i, .cells = &p.cells[i], .ncells = 1};
	}
	p.schedule = (struct schedule){.boots = boots, .nboots = CELLS, .ncells = CELLS};
	enough_blocks = CELLS - 1;
	assert_int_equal(run("enough", false, &t, &events, &e), 0);
	enough_blocks = 0;
	/* The last block is left out, the run is whole, and it says why. */
	assert_int_equal(world.boots, CELLS - 1);
	assert_int_equal(usable(&t), CELLS - 1);
	assert_non_null(
		strstr(text_of(event_of(events, "note", 0), "text"), "stopped after 2 blocks"));
	assert_true(json_is_true(json_object_get(event_of(events, "end", 0), "ok")));
	json_decref(events);
	free_plan();
}

static void test_what_a_cell_can_be(void **state)
{
	static const struct {
		const char *name;
		enum fault fault;
		const char *statuses[4]; /* of the events of the first cell */
		const char *reason; /* in the first event; in its flags if it has no reason */
	} cases[] = {
		{"short", SHORT_COVER, {"invalid", "ok"}, "did not run during all of the windows"},
		{"wrong-cpu", WRONG_CPU, {"invalid", "ok"}, "should have run on CPU 4 (CPU 0 there)"},
		{"clock", FAST_CLOCK, {"invalid", "ok"}, "its clock runs by"},
		{"nothing", NO_COUNT, {"invalid", "ok"}, "task 0 did nothing"},
		{"backwards", BACKWARDS, {"invalid", "ok"}, "went backwards"},
		{"few", FEW_SAMPLES, {"invalid", "ok"}, "4 readings of ops where 5 should"},
		{"fails", TASK_FAILS, {"failed"}, "\"east\": task 0 on CPU 3: signal 11"},
		{"not-here", NOT_AVAILABLE, {"unavailable"}, "needs a file system"},
		{"refuses", REFUSES, {"failed"}, "no such test"},
		{"garbled", GARBLED_RESULT, {"failed"}, "cut off"},
		{"late", LATE_WINDOW, {"flagged"}, "window 4 was 2.0 % off its length"},
		{"slow", SLOW_TASK, {"flagged"}, "CPU 4 had its CPU for only 90.0 % of the time"},
		{"pushed", PUSHED_TASK, {"flagged"}, "CPU 4 was pushed off its CPU"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct session_totals t;
		struct err e = ERR_INIT;
		json_t *events, *cell, *flag;
		const char *why;
		size_t f;

		make_plan();
		world.fault = cases[i].fault;
		world.in_prep = 1;
		world.partition = 1;
		assert_int_equal(run(cases[i].name, false, &t, &events, &e), 0);
		for (int n = 0; cases[i].statuses[n]; n++) {
			cell = event_of(events, "cell", n);
			if (strcmp(status_of(cell), cases[i].statuses[n]) != 0)
				fail_msg("%s: attempt %d is %s: %s", cases[i].name, n,
					 status_of(cell), text_of(cell, "reason"));
			assert_int_equal(json_integer_value(json_object_get(cell, "attempt")), n);
		}
		cell = event_of(events, "cell", 0);
		why = text_of(cell, "reason");
		json_array_foreach(json_object_get(cell, "flags"), f, flag)
			if (strcmp(text_of(flag, "name"), "clock") != 0)
				why = text_of(flag, "text");
		if (!strstr(why, cases[i].reason))
			fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].name, why,
				 cases[i].reason);
		/* Only what can be used carries numbers. */
		assert_int_equal(json_object_get(cell, "metrics") != NULL,
				 strcmp(cases[i].statuses[0], "flagged") == 0);
		/* The cells behind it are measured in the same boot. */
		assert_true(usable(&t) >= CELLS - 1);
		assert_int_equal(world.boots, 1);
		json_decref(events);
		free_plan();
	}
}

static void test_never_valid(void **state)
{
	struct session_totals t;
	struct err e = ERR_INIT;
	json_t *events;

	make_plan();
	p.boot.ncells = p.schedule.ncells = 1;
	world.fault = ALWAYS_SHORT;
	world.in_prep = -1;
	assert_int_equal(run("never", false, &t, &events, &e), 0);
	assert_string_equal(status_of(event_of(events, "cell", 0)), "invalid");
	assert_string_equal(status_of(event_of(events, "cell", 1)), "invalid");
	assert_string_equal(status_of(event_of(events, "cell", 2)), "failed");
	assert_null(event_of(events, "cell", 3));
	assert_int_equal(t.invalid, 2);
	assert_int_equal(t.cells[END_FAILED], 1);
	json_decref(events);
	free_plan();
}

static void test_a_partition_dies(void **state)
{
	struct session_totals t;
	struct err e = ERR_INIT;
	json_t *events;

	make_plan();
	world.fault = DIES;
	world.in_prep = 2;
	world.partition = 1;
	assert_int_equal(run("dies", false, &t, &events, &e), 0);
	/* Its cell fails with the kernel's words; one more boot serves the rest. */
	assert_string_equal(status_of(event_of(events, "cell", 0)), "ok");
	assert_string_equal(status_of(event_of(events, "cell", 1)), "failed");
	assert_non_null(strstr(text_of(event_of(events, "cell", 1), "reason"),
			       "kernel panic - not syncing"));
	assert_string_equal(status_of(event_of(events, "cell", 2)), "ok");
	assert_int_equal(world.boots, 2);
	assert_int_equal(world.downs, 2);
	json_decref(events);

	/* The failed cell alone is missing. */
	world.fault = NONE;
	assert_int_equal(run("dies", true, &t, &events, &e), 0);
	assert_int_equal(usable(&t), 1);
	assert_string_equal(text_of(event_of(events, "cell", 3), "key"),
			    "b0/split/scale:unlink1/-/processes/3/p0/r1");
	assert_null(event_of(events, "cell", 4));
	json_decref(events);
	free_plan();

	/* Twice: what is left is skipped, and said. */
	make_plan();
	world.fault = DIES;
	world.in_prep = -1;
	assert_int_equal(run("dies-twice", false, &t, &events, &e), 0);
	assert_int_equal(t.cells[END_FAILED], 2);
	assert_int_equal(t.cells[END_SKIPPED], 1);
	assert_int_equal(world.boots, 2);
	json_decref(events);
	free_plan();
}

static void test_no_boot(void **state)
{
	struct session_totals t;
	struct err e = ERR_INIT;
	json_t *events;

	make_plan();
	world.no_boot = true;
	assert_int_equal(run("no-boot", false, &t, &events, &e), 0);
	assert_int_equal(t.cells[END_SKIPPED], CELLS);
	assert_int_equal(world.boots, 2);
	assert_int_equal(world.downs, 2);
	assert_string_equal(text_of(event_of(events, "boot", 0), "error"),
			    "start it: no kernel image");
	assert_string_equal(text_of(event_of(events, "cell", 0), "reason"),
			    "start it: no kernel image");
	json_decref(events);
	free_plan();
}

/* Last, since a process is interrupted once. */
static void test_interrupt(void **state)
{
	struct session_totals t;
	struct err e = ERR_INIT;
	json_t *events;

	make_plan();
	stop_watch();
	world.fault = SIGNAL;
	world.in_prep = 2;
	assert_int_equal(run("interrupt", false, &t, &events, &e), -EINTR);
	assert_int_equal(t.signal, SIGINT);
	assert_int_equal(usable(&t), 1);
	assert_null(event_of(events, "cell", 1));
	assert_int_equal(world.downs, 1);
	assert_true(json_is_true(json_object_get(event_of(events, "end", 0), "interrupted")));
	json_decref(events);
	free_plan();
}

static int set_up(void **state)
{
	return mkdtemp(base) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_cells),	   cmocka_unit_test(test_enough_blocks),
		cmocka_unit_test(test_what_a_cell_can_be), cmocka_unit_test(test_never_valid),
		cmocka_unit_test(test_a_partition_dies),   cmocka_unit_test(test_no_boot),
		cmocka_unit_test(test_interrupt),
	};

	return cmocka_run_group_tests_name("session", tests, set_up, tear_down);
}
