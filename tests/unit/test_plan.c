// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "harness/plan/catalog.h"
#include "harness/plan/schedule.h"
#include "tests/unit/fake_machine.h"

static struct topology t;

static void machine(struct topology *out, int packages, int cores, int threads)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(packages, cores, threads);
	struct fake_machine m = {.cpus = cpus, .ncpus = packages * cores * threads, .node_mib = 65536};

	fake_machine_make(&m);
	fake_machine_topology(&m, out);
	fake_machine_remove(&m);
}

static int setup(void **state)
{
	machine(&t, 2, 4, 1);
	return 0;
}

static int teardown(void **state)
{
	topology_free(&t);
	return 0;
}

/* A plan that is right, whose lines a test replaces. Single quotes stand for double ones. */
static const char base[] = "{'format': 1, 'name': 'x', 'quiet': 'none',\n"
			   " 'kernels': {'k': {'append': 'quiet'}},\n"
			   " 'arms': [\n"
			   "  {'name': 'one', 'backend': 'qemu', 'partitions': [\n"
			   "    {'name': 'whole', 'cpus': 'all', 'kernel': 'k'}]},\n"
			   "  {'name': 'two', 'backend': 'qemu', 'partitions': [\n"
			   "    {'name': 'west', 'cpus': 'package:0'},\n"
			   "    {'name': 'east', 'cpus': 'package:1', 'memory': '1G'}]}],\n"
			   " 'tests': [{'test': 'getppid1', 'control': true},\n"
			   "           {'test': 'unlink1', 'primary': true, 'tasks': '2,8'},\n"
			   "           {'test': 'rename1', 'modes': ['threads', 'processes']}],\n"
			   " 'tasks': 'all', 'blocks': 3, 'margin': '2.5%',\n"
			   " 'measure': {'warmup': '0.5s', 'samples': 4, 'interval': '250ms'}}\n";

static char *edit(const char *old, const char *new)
{
	const char *at = old ? strstr(base, old) : base;
	char *text = NULL;

	assert_non_null(at);
	assert_true(asprintf(&text, "%.*s%s%s", (int)(at - base), base, old ? new : "",
			     at + (old ? strlen(old) : 0)) > 0);
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	return text;
}

static void assert_plan_refused(const char *old, const char *new, const char *why)
{
	cleanup_free char *text = edit(old, new);
	cleanup_plan struct plan *p = NULL;
	struct err e = ERR_INIT;

	if (plan_parse(&p, "dir/x.json", text, strlen(text), &t, NULL, NULL, &e) == 0)
		fail_msg("accepted: %s", new);
	assert_int_equal(e.exit, EXIT_USAGE);
	if (!strstr(e.text, why) || strncmp(e.text, "x.json: ", 8) != 0)
		fail_msg("\"%s\" should have said \"%s\"", e.text, why);
}

static struct plan *load(const char *old, const char *new, const struct plan_options *o)
{
	cleanup_free char *text = edit(old, new);
	struct plan *p = NULL;
	struct err e = ERR_INIT;

	if (plan_parse(&p, "x.json", text, strlen(text), &t, NULL, o, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

static void test_read(void **state)
{
	cleanup_plan struct plan *p = load(NULL, NULL, NULL);

	assert_string_equal(p->name, "x");
	assert_int_equal(p->narms, 2);
	assert_int_equal(p->ngroups, 1);
	assert_int_equal(p->arms[1].npartitions, 2);
	assert_int_equal(p->arms[1].partitions[0].kernel, 0);
	assert_int_equal(p->arms[1].partitions[0].memory, UINT64_C(2) << 30); /* 512M a CPU */
	assert_int_equal(p->arms[1].partitions[1].memory, UINT64_C(1) << 30);
	assert_true(cpumask_test(&p->arms[1].partitions[1].nodes, 1));
	assert_false(cpumask_test(&p->arms[1].partitions[1].nodes, 0));
	assert_int_equal(cpumask_weight(&p->groups[0].usable), 8);
	assert_int_equal(p->ncompares, 1);
	assert_int_equal(p->compares[0].with, 1);
	assert_int_equal(p->blocks, 3);
	assert_int_equal(p->samples, 4);
	assert_int_equal(p->warmup_ns, 500000000);
	assert_int_equal(p->interval_ns, 250000000);
	assert_int_equal(p->guard_ns, 200000000);
	assert_true(p->margin > 0.02499 && p->margin < 0.02501);
	assert_int_equal(p->tests[1].ntasks, 2);
	assert_int_equal(p->tests[2].modes, MODE_THREADS | MODE_PROCESSES);
	assert_int_equal(p->tests[2].ntasks, 1);
	assert_int_equal(p->tests[2].tasks[0], 8);
	/* The control runs where the primary test does. */
	assert_int_equal(p->tests[0].ntasks, 2);
	assert_int_equal(p->tests[0].tasks[0], 2);
	/* Different memory a CPU is worth a word. */
	assert_int_equal(p->nwarnings, 1);
	assert_non_null(strstr(p->warnings[0], "memory a CPU"));
}

static void test_refused(void **state)
{
	assert_plan_refused("'blocks': 3", "'block': 3", "block: unknown key");
	assert_plan_refused("'blocks': 3", "'blocks': 3, 'blocks': 3", "duplicate");
	assert_plan_refused("'format': 1", "'format': 2", "format: this program reads format 1");
	assert_plan_refused("'format': 1, ", "", "\"format\" is missing");
	assert_plan_refused("'blocks': 3", "'blocks': 0", "blocks: a whole number from 1");
	assert_plan_refused("'blocks': 3", "'blocks': 3.5", "blocks: a whole number from 1");
	assert_plan_refused("'2.5%'", "'60%'", "margin: a margin lies between");
	assert_plan_refused("'2.5%'", "'2,5%'", "margin: a share is expected");
	assert_plan_refused("'0.5s'", "'0.5'", "measure.warmup: a time is expected");
	assert_plan_refused("'0.5s'", "'1e9s'", "measure.warmup: a time is expected");
	assert_plan_refused("'0.5s'", "'-1s'", "measure.warmup: a time is expected");
	assert_plan_refused("'250ms'", "'1ms'", "measure: interval: at least 10ms");
	assert_plan_refused("'name': 'x'", "'name': '../x'", "name: a name has 1 to 64");
	assert_plan_refused(
		"'package:1'", "'package:2'",
		"arms[1].partitions[1].cpus: CPU set \"package:2\": there is no package 2");
	assert_plan_refused("'package:1'", "'package:0'",
			    "arms[1].partitions[1]: CPU 0-3 also belongs to partition \"west\"");
	assert_plan_refused("'package:1'", "'7-9'", "CPU 8 is not online (online: 0-7)");
	assert_plan_refused("'1G'", "'1G', 'memory_per_cpu': '1G'", "exclude each other");
	assert_plan_refused("'1G'", "'200G'", "of memory together, of 131072 MiB");
	assert_plan_refused("'1G'", "'1M'", "needs at least 64M");
	assert_plan_refused("'kernel': 'k'", "'kernel': 'q'",
			    "arms[0].partitions[0].kernel: the plan has no kernel \"q\"");
	assert_plan_refused("'backend': 'qemu'", "'backend': 'xen'", "arms[0].backend: a backend");
	assert_plan_refused("'east'", "'west'", "the name \"west\" is taken");
	assert_plan_refused("'two'", "'one'", "arms[1]: the name \"one\" is taken");
	assert_plan_refused("'quiet': 'none'", "'quiet': 'package:1'",
			    "arms[1].partitions[1]: no CPU is left for tasks");
	assert_plan_refused("'2,8'", "'2,9'",
			    "tests[1].tasks: 9 tasks need 9 CPUs, and 8 can carry one: 0-7 "
			    "(allowed: 8, CPUs 0-7)");
	assert_plan_refused("'2,8'", "'0'", "a task count is at least 1");
	assert_plan_refused("'2,8'", "'2;8'", "unexpected \";8\"");
	assert_plan_refused("'2,8'", "'4-2'", "4-2 runs backwards");
	assert_plan_refused("'2,8'", "true", "tests[1].tasks: a number or a string");
	assert_plan_refused("'primary': true", "'primary': true, 'control': true",
			    "tests[1]: a control cannot be a primary test");
	assert_plan_refused("'primary': true", "'params': {'size': 3}",
			    "tests[1].variant: parameters need a name");
	assert_plan_refused("'rename1'", "'unlink1'", "tests[2]: test \"unlink1\" appears twice");
	assert_plan_refused("'threads', ", "'fibres', ", "tests[2].modes[0]:");
	assert_plan_refused("'tasks': 'all'", "'compare': [{'base': 'one', 'with': 'three'}]",
			    "compare[0].with: the plan has no arm \"three\"");
	assert_plan_refused("{'append': 'quiet'}", "{'append': 1}",
			    "kernels.k.append: a string is expected");
	assert_plan_refused("'tests': [", "'tests': {", "line");
	assert_plan_refused("'blocks': 3", "'tune': {'governor': 3}",
			    "tune: governor: the name of a governor is expected");
	assert_plan_refused("'blocks': 3", "'ignore': ['idel']",
			    "ignore[0]: there is no check \"idel\"");
}

static void two_parts(const char *west, const char *east, bool allow, const char *why)
{
	cleanup_free char *text = NULL;
	cleanup_plan struct plan *p = NULL;
	struct err e = ERR_INIT;
	int rc;

	assert_true(
		asprintf(&text,
			 "{\"format\":1,\"name\":\"x\",\"quiet\":\"none\",\"allow_smt_split\":%s,"
			 "\"arms\":[{\"name\":\"a\",\"backend\":\"mklinux\",\"partitions\":["
			 "{\"name\":\"p0\",\"cpus\":\"%s\"},{\"name\":\"p1\",\"cpus\":\"%s\"}]}],"
			 "\"tests\":[{\"test\":\"t\"}]}",
			 allow ? "true" : "false", west, east) > 0);
	rc = plan_parse(&p, "x.json", text, strlen(text), &t, NULL, NULL, &e);
	assert_int_equal(rc < 0, why != NULL);
	if (why && !strstr(e.text, why))
		fail_msg("\"%s\" should have said \"%s\"", e.text, why);
	if (!why)
		assert_int_equal(p->nwarnings, allow);
}

/* Hardware threads of one core under two kernels, only where the plan says so. */
static void test_smt(void **state)
{
	struct topology saved = t;

	machine(&t, 1, 4, 2); /* siblings n and n+4 */
	two_parts("0-1", "4-5", false, "CPU 4 of partition \"p1\" is a hardware thread");
	two_parts("0-1", "4-5", true, NULL);
	two_parts("0-1,4-5", "2-3,6-7", false, NULL);
	two_parts("core:0/2.0", "1", false, "allow_smt_split");
	topology_free(&t);
	t = saved;
}

static void make_schedule(struct schedule *s, const struct plan *p)
{
	struct err e = ERR_INIT;

	if (schedule_make(s, p, &t, &e) < 0)
		fail_msg("%s", e.text);
}

static void test_schedule(void **state)
{
	struct plan_options o = {.have_seed = true, .seed = 42};
	cleanup_plan struct plan *p = load(NULL, NULL, &o), *q = load(NULL, NULL, &o);
	cleanup_schedule struct schedule s = {0}, again = {0};
	cleanup_free char *key = NULL;

	make_schedule(&s, p);
	make_schedule(&again, q);
	assert_int_equal(s.nboots, 6);
	assert_true(s.seconds > 6 * 8);
	for (int i = 0; i < s.nboots; i++) {
		const struct boot *b = &s.boots[i];
		int last = 0, anchors = 0;

		assert_int_equal(b->block, i / 2);
		assert_int_equal(b->arm, again.boots[i].arm);
		assert_int_equal(b->ncells, again.boots[i].ncells);
		for (int k = 0; k < b->ncells; k++) {
			const struct cell *c = &b->cells[k], *d = &again.boots[i].cells[k];
			int sum = 0;

			assert_int_equal(c->test, d->test);
			assert_int_equal(c->tasks, d->tasks);
			assert_int_equal(c->mode, d->mode);
			assert_int_equal(c->arm, b->arm);
			assert_int_equal(c->placement->ntasks, c->tasks);
			for (int j = 0; j < p->arms[c->arm].npartitions; j++)
				sum += c->placement->counts[j];
			assert_int_equal(sum, c->tasks);
			anchors += c->anchor;
			if (c->test == 0)
				last = c->position;
		}
		/* The control opens and closes; each test in each mode has its anchor. */
		assert_int_equal(b->cells[0].test, 0);
		assert_int_equal(b->cells[0].position, 0);
		assert_int_equal(b->cells[b->ncells - 1].test, 0);
		assert_int_equal(last, 2);
		assert_true(anchors >= 4);
	}
	key = cell_key(p, &s.boots[0].cells[0]);
	assert_int_equal(strncmp(key, "b0/", 3), 0);
	assert_non_null(strstr(key, "/scale:getppid1/-/processes/"));
	assert_non_null(strstr(key, "/p0/r0"));
}

/* Both arms of a block see the same order; different seeds and blocks see different ones. */
static void test_order(void **state)
{
	struct plan_options o = {.have_seed = true};
	bool first_arm[2] = {false, false};
	bool different = false;

	for (int seed = 0; seed < 20; seed++) {
		cleanup_plan struct plan *p = NULL;
		cleanup_schedule struct schedule s = {0};
		int order[2][64], n[2] = {0, 0};

		o.seed = (uint64_t)seed;
		p = load(NULL, NULL, &o);
		make_schedule(&s, p);
		first_arm[s.boots[0].arm] = true;
		for (int i = 0; i < 2; i++)
			for (int k = 0; k < s.boots[i].ncells; k++) {
				const struct cell *c = &s.boots[i].cells[k];

				if (c->tasks == 8 && c->test > 0)
					order[i][n[i]++] = c->test * 8 + c->mode;
			}
		assert_int_equal(n[0], n[1]);
		assert_memory_equal(order[0], order[1], (size_t)n[0] * sizeof(int));
		if (order[0][0] != 1 * 8 + MODE_PROCESSES)
			different = true;
	}
	assert_true(first_arm[0] && first_arm[1]);
	assert_true(different);
}

static void test_keys_unique(void **state)
{
	cleanup_plan struct plan *p = load(NULL, NULL, NULL);
	cleanup_schedule struct schedule s = {0};
	char **keys;
	int n = 0;

	make_schedule(&s, p);
	keys = calloc((size_t)s.ncells, sizeof(*keys));
	for (int i = 0; i < s.nboots; i++)
		for (int k = 0; k < s.boots[i].ncells; k++)
			keys[n++] = cell_key(p, &s.boots[i].cells[k]);
	assert_int_equal(n, s.ncells);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(keys[i], keys[k]);
	for (int i = 0; i < n; i++)
		free(keys[i]);
	free(keys);
}

static void test_task_counts(void **state)
{
	static const struct {
		const char *text;
		int n, first, last;
	} counts[] = {{"'1-all'", 8, 1, 8},
		      {"'all'", 1, 8, 8},
		      {"'8,2,2,1-3'", 4, 1, 8},
		      {"3", 1, 3, 3},
		      {"'6-all,1'", 4, 1, 8}};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		cleanup_plan struct plan *p = load("'2,8'", counts[i].text, NULL);
		const struct plan_test *test = &p->tests[1];

		assert_int_equal(test->ntasks, counts[i].n);
		assert_int_equal(test->tasks[0], counts[i].first);
		assert_int_equal(test->tasks[test->ntasks - 1], counts[i].last);
		for (int k = 1; k < test->ntasks; k++)
			assert_true(test->tasks[k] > test->tasks[k - 1]);
	}
}

/*
 * A sweep has the powers of two, both sides of each edge (here the second package, and second
 * threads), and everything.
 */
static void test_sweep(void **state)
{
	struct topology saved = t;
	cleanup_plan struct plan *p = NULL;
	static const char text[] =
		"{\"format\":1,\"name\":\"x\",\"quiet\":\"none\",\"tasks\":\"sweep\",\"arms\":["
		"{\"name\":\"a\",\"backend\":\"host\",\"partitions\":[{\"name\":\"h\",\"cpus\":"
		"\"all\"}]}],\"tests\":[{\"test\":\"t\"}]}";
	static const int expect[] = {1, 2, 4, 6, 7, 8, 12, 13, 16, 24};
	struct err e = ERR_INIT;

	machine(&t, 2, 6, 2);
	if (plan_parse(&p, "x.json", text, strlen(text), &t, NULL, NULL, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(p->tests[0].ntasks, sizeof(expect) / sizeof(expect[0]));
	assert_memory_equal(p->tests[0].tasks, expect, sizeof(expect));
	topology_free(&t);
	t = saved;
}

static const char catalog_text[] =
	"{\"tests\":[{\"family\":\"scale\",\"test\":\"getppid1\",\"more\":1},"
	"{\"family\":\"scale\",\"test\":\"unlink1\",\"modes\":[\"processes\"],"
	"\"needs\":{\"memory\":%llu,\"tmpfs_per_task\":%llu,\"mapping\":%llu}},"
	"{\"family\":\"scale\",\"test\":\"rename1\",\"modes\":[\"processes\",\"threads\"]}]}";

static void with_needs(unsigned long long memory, unsigned long long tmpfs,
		       unsigned long long mapping, const char *edited, const char *why,
		       const char *warning)
{
	cleanup_free char *text = edit(edited ? "'rename1'" : NULL, edited), *list = NULL;
	cleanup_catalog struct catalog *c = NULL;
	cleanup_plan struct plan *p = NULL;
	struct err e = ERR_INIT;
	int rc;

	assert_true(asprintf(&list, catalog_text, memory, tmpfs, mapping) > 0);
	if (catalog_parse(&c, list, strlen(list), &e) < 0)
		fail_msg("%s", e.text);
	rc = plan_parse(&p, "x.json", text, strlen(text), &t, c, NULL, &e);
	if (why) {
		assert_true(rc < 0);
		if (!strstr(e.text, why))
			fail_msg("\"%s\" should have said \"%s\"", e.text, why);
		return;
	}
	if (rc < 0)
		fail_msg("%s", e.text);
	for (int i = 0; warning && i < p->nwarnings; i++)
		if (strstr(p->warnings[i], warning))
			return;
	assert_null(warning);
}

/* Arms of 4 GiB, and of 2 GiB + 1 GiB with four tasks each. */
static void test_needs(void **state)
{
	const unsigned long long mib = 1 << 20;

	with_needs(0, 0, 0, NULL, NULL, NULL);
	with_needs(900 * mib, 0, 0, NULL, NULL, NULL);
	with_needs(1000 * mib, 0, 0, NULL,
		   "tests[1]: unlink1 with 4 tasks needs 1000 MiB of memory in partition \"east\" "
		   "of arm "
		   "\"two\", which has 969 MiB (1024 less what the kernel keeps)",
		   NULL);
	with_needs(0, 130 * mib, 0,
		   NULL, "needs 520 MiB of files in partition \"east\" of arm \"two\", whose tmpfs has 484 MiB",
		   NULL);
	/* A quarter of the memory a CPU: 64 MiB in the smaller kernel. */
	with_needs(
		0, 0, 128 * mib, NULL, NULL,
		"unlink1 maps 128 MiB at once, more than the commit batch of partition \"east\"");
	with_needs(0, 0, 0, "'nothing9'", "tests[2].test: there is no test \"nothing9\"", NULL);
	with_needs(0, 0, 0, "'rename1', 'family': 'latency'", "there is no test \"rename1\"", NULL);
	with_needs(UINT64_C(1) << 60, UINT64_C(1) << 60, 0, NULL, "needs", NULL);
}

static void test_catalog_refused(void **state)
{
	static const char *const bad[] = {"",
					  "[]",
					  "{}",
					  "{\"tests\":{}}",
					  "{\"tests\":[{}]}",
					  "{\"tests\":[{\"family\":\"scale\"}]}",
					  "{\"tests\":[{\"family\":\"a\",\"test\":\"b\","
					  "\"needs\":{\"memory\":-1}}]}"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct catalog *c = NULL;
		struct err e = ERR_INIT;

		assert_true(catalog_parse(&c, bad[i], strlen(bad[i]), &e) < 0);
		assert_null(c);
		assert_non_null(strstr(e.text, "list of tests"));
	}
}

/* A program that says what the benchmark binary would. */
static int load_from(const char *script, struct err *e)
{
	char file[] = "/tmp/mksplit-bench-XXXXXX";
	struct catalog *c = NULL;
	int fd = mkstemp(file), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, script, strlen(script)), (ssize_t)strlen(script));
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	rc = catalog_load(&c, file, e);
	if (rc == 0)
		assert_non_null(catalog_find(c, "scale", "x"));
	catalog_free(&c);
	unlink(file);
	return rc;
}

static void test_catalog_load(void **state)
{
	struct catalog *c = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(
		load_from("#!/bin/sh\n[ \"$*\" = 'list --json' ] && echo '{\"tests\":[{\"family\":"
			  "\"scale\",\"test\":\"x\"}]}'\n",
			  &e),
		0);
	assert_true(load_from("#!/bin/sh\necho '{}'; exit 3\n", &e) < 0);
	assert_non_null(strstr(e.text, "failed (status 0x300)"));
	assert_true(load_from("#!/bin/sh\necho nonsense\n", &e) < 0);
	assert_true(catalog_load(&c, "/nonexistent/bench", &e) < 0);
	assert_non_null(strstr(e.text, "cannot run /nonexistent/bench"));
}

static void test_machine_wishes(void **state)
{
	cleanup_plan struct plan *p =
		load("'blocks': 3", "'tune': {'boost': false}, 'ignore': ['idle', 'sleep']", NULL);

	assert_true(json_is_false(json_object_get(p->tune, "boost")));
	assert_int_equal(p->nignore, 2);
	assert_string_equal(p->ignore[0], "idle");
	assert_int_equal(p->blocks, 10);
}

static void test_quick(void **state)
{
	struct plan_options o = {.quick = true};
	cleanup_plan struct plan *p = load(NULL, NULL, &o);

	assert_true(p->quick);
	assert_int_equal(p->blocks, 1);
	assert_true(p->interval_ns <= 200000000);
}

/* A locale with a decimal comma changes nothing. */
static void test_locale(void **state)
{
	char *old = strdup(setlocale(LC_NUMERIC, NULL));

	if (setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		test_read(state);
	setlocale(LC_NUMERIC, old);
	free(old);
}

/* 2 arms x 60 tests x 8 task counts x 10 blocks: every cell exists, with both arms' CPUs. */
static void test_large(void **state)
{
	cleanup_free char *text = NULL;
	cleanup_plan struct plan *p = NULL;
	cleanup_schedule struct schedule s = {0};
	struct err e = ERR_INIT;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fputs("{\"format\":1,\"name\":\"large\",\"quiet\":\"none\",\"tasks\":\"1-8\",\"arms\":["
	      "{\"name\":\"a\",\"backend\":\"mklinux\",\"partitions\":[{\"name\":\"x\",\"cpus\":"
	      "\"all\"}]},"
	      "{\"name\":\"b\",\"backend\":\"mklinux\",\"partitions\":[{\"name\":\"x\",\"cpus\":"
	      "\"all/2.0\"},"
	      "{\"name\":\"y\",\"cpus\":\"all/2.1\"}]}],\"tests\":[",
	      f);
	for (int i = 0; i < 60; i++)
		fprintf(f, "%s{\"test\":\"t%d\"}", i ? "," : "", i);
	fputs("]}", f);
	fclose(f);
	if (plan_parse(&p, "large.json", text, len, &t, NULL, NULL, &e) < 0)
		fail_msg("%s", e.text);
	make_schedule(&s, p);
	assert_int_equal(s.ncells, 2 * 60 * 8 * 10);
}

static void load_file(const char *name, const struct topology *topology,
		      const struct plan_options *o, double most_seconds)
{
	char path[400];
	cleanup_plan struct plan *p = NULL;
	cleanup_schedule struct schedule s = {0};
	struct err e = ERR_INIT;

	snprintf(path, sizeof(path), MKSPLIT_SOURCE_DIR "/configs/plans/%s", name);
	if (plan_load(&p, path, topology, NULL, o, &e) < 0 || schedule_make(&s, p, topology, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(s.seconds < most_seconds);
}

/* The demonstration is for any machine with two CPUs, also the threads of one core. */
static void test_demo(void **state)
{
	static const int shapes[][3] = {{1, 2, 1}, {1, 1, 2}, {2, 1, 1}, {1, 8, 2}, {2, 24, 1}};
	struct plan_options o = {0};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		cleanup_topology struct topology m = {0};

		machine(&m, shapes[i][0], shapes[i][1], shapes[i][2]);
		load_file("demo.json", &m, &o, 270);
		if (shapes[i][0] == 2 && shapes[i][1] > 1)
			load_file("socket-split.json", &m, &o, 24 * 3600);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_smt),
		cmocka_unit_test(test_schedule),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_keys_unique),
		cmocka_unit_test(test_quick),
		cmocka_unit_test(test_task_counts),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_catalog_refused),
		cmocka_unit_test(test_catalog_load),
		cmocka_unit_test(test_machine_wishes),
		cmocka_unit_test(test_locale),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_demo),
	};

	return cmocka_run_group_tests_name("plan", tests, setup, teardown);
}
