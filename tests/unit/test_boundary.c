// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/family.h"
#include "bench/boundary/kernels.h"
#include "bench/boundary/memory.h"
#include "bench/boundary/shootdown.h"
#include "bench/boundary/stats.h"
#include "bench/report.h"
#include "common/clock.h"
#include "common/cpumask.h"

struct seen {
	int n;
	struct row rows[200];
	char metrics[200][40];
	char variant[64];
};

static void keep(void *arg, const struct row *row, int repeat)
{
	struct seen *s = arg;

	assert_true(s->n < 200);
	snprintf(s->metrics[s->n], sizeof(s->metrics[0]), "%s", row->metric);
	snprintf(s->variant, sizeof(s->variant), "%s", row->variant);
	s->rows[s->n++] = *row;
}

static void drop_note(void *arg, const char *text)
{
}

/* The first two CPUs this process may use, as text; 1 where there is only one. */
static int two_cpus(char a[16], char b[16])
{
	struct cpumask m = CPUMASK_INIT;
	struct err e = ERR_INIT;
	int first, second;

	assert_int_equal(cpumask_get_affinity(&m, 0, &e), 0);
	first = cpumask_next(&m, 0);
	second = cpumask_next(&m, first + 1);
	cpumask_free(&m);
	snprintf(a, 16, "%d", first);
	snprintf(b, 16, "%d", second < 0 ? first : second);
	return second < 0 ? 1 : 2;
}

static int run(const char *name, struct options *o, int extended, struct seen *seen, struct err *e)
{
	const struct boundary_test *t = find_boundary_test(name);
	struct sink s = {.row = keep, .note = drop_note, .arg = seen, .extended = extended};
	void *state = NULL;
	int ret;

	assert_non_null(t);
	memset(seen, 0, sizeof(*seen));
	*e = ERR_INIT;
	ret = t->setup(o, &s, &state, e);
	if (ret == 0)
		ret = t->repeat(state, &s, e);
	if (state)
		t->teardown(state);
	return ret;
}

static void parses_words(void **state)
{
	char *argv[] = {"-r", "3", "-x", "-c0,1", "word", "-r7", "--", "-l", "no"};
	struct err e = ERR_INIT;
	struct options o;
	char *bad[] = {"-h"}, *open[] = {"-r"};

	assert_int_equal(options_parse(&o, 9, argv, "c:r:l:x", &e), 0);
	assert_string_equal(o.value['r'], "7");
	assert_string_equal(o.value['c'], "0,1");
	assert_non_null(o.value['x']);
	assert_null(o.value['l']);
	assert_true(options_parse(&o, 1, bad, "r:", &e) < 0);
	assert_string_equal(e.text, "invalid option -- 'h'");
	assert_true(options_parse(&o, 1, open, "r:", &e) < 0);
	assert_int_equal(e.exit, EXIT_USAGE);
}

static void parses_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t value; /* 0: refused */
	} cases[] = {
		{"128k", 131072},
		{"16M", 16777216},
		{"2g", 2147483648},
		{"77", 77},
		{"0", 0},
		{"-1", 0},
		{"5x", 0},
		{"5kk", 0},
		{"", 0},
		{"k", 0},
		{"99999999999999999999", 0},
		{"9223372036854775807g", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct options o = {.value['s'] = cases[i].text};
		struct err e = ERR_INIT;
		uint64_t v;
		int ret = option_size(&o, 's', 1, &v, &e);

		assert_int_equal(ret < 0, cases[i].value == 0);
		if (ret == 0)
			assert_int_equal(v, cases[i].value);
		else
			assert_int_equal(e.exit, EXIT_USAGE);
	}
}

static void parses_cpu_lists(void **state)
{
	struct err e = ERR_INIT;
	int *cpus, n;

	assert_int_equal(cpu_list("8,0-2,2", &cpus, &n, &e), 0);
	assert_int_equal(n, 5);
	assert_int_equal(cpus[0], 8);
	assert_int_equal(cpus[4], 2);
	free(cpus);
	assert_true(cpu_list("3-1", &cpus, &n, &e) < 0);
	assert_true(cpu_list("", &cpus, &n, &e) < 0);
	assert_true(cpu_list("1,", &cpus, &n, &e) < 0);
	assert_true(cpu_list("1x", &cpus, &n, &e) < 0);
	assert_true(cpu_list("-1", &cpus, &n, &e) < 0);
	assert_true(cpu_list("0-99999999", &cpus, &n, &e) < 0);
}

static void median_and_p99(void **state)
{
	int64_t v[100], two[] = {9, 4};

	for (int i = 0; i < 100; i++)
		v[i] = 100 - i;
	sort_samples(v, 100);
	assert_true(sorted_median(v, 100) == 50.5);
	assert_true(sorted_median(v, 99) == 50);
	assert_true(sorted_p99(v, 100) == 100);
	sort_samples(two, 2);
	assert_true(sorted_median(two, 2) == 6.5);
	assert_true(clock_pair_cost() > 0);
}

static void kernels_do_their_work(void **state)
{
	enum {
		N = 64
	};
	double *a = aligned_alloc(64, N * 8), *b = aligned_alloc(64, N * 8),
	       *c = aligned_alloc(64, N * 8);

	assert_true(a && b && c);
	for (int k = 0; kernel_names[k]; k++) {
		const char *name = kernels[k].name;

		assert_string_equal(name, kernel_names[k]);
		if (!kernels[k].run)
			continue;
		for (int i = 0; i < N; i++) {
			a[i] = -1;
			b[i] = i;
			c[i] = 2 * i;
		}
		kernels[k].run(a, b, c, N);
		for (int i = 0; i < N; i++) {
			double want = strncmp(name, "read", 4) == 0    ? -1
				      : strncmp(name, "write", 5) == 0 ? 3
				      : strncmp(name, "copy", 4) == 0  ? i
								       : i + 3.0 * 2 * i;

			assert_true(a[i] == want);
		}
	}
	free(a);
	free(b);
	free(c);
}

static void reads_shootdown_counts(void **state)
{
	assert_int_equal(shootdowns_in("  1: 5\nTLB:   17259   14022   TLB shootdowns\n x: 3\n"),
			 31281);
	assert_int_equal(shootdowns_in("  1: 5\n"), -1);
#ifndef __aarch64__
	assert_string_equal(broadcast_in("flags\t: fpu invlpgb rdpru\n"), "INVLPGB");
	assert_string_equal(broadcast_in("flags\t: fpu rar\n"), "RAR");
	assert_null(broadcast_in("flags\t: fpu rarely invlpgbx\n"));
#endif
}

static void memory_is_where_it_should(void **state)
{
	struct memory m;
	struct err e = ERR_INIT;

	assert_int_equal(memory_map(&m, 1 << 20, NODE_DEFAULT, HUGE_NEVER, &e), 0);
	memory_touch(&m);
	assert_int_equal(((char *)m.at)[(1 << 20) - 1], 1);
	assert_int_equal(memory_verify(&m, 1, &e), 0);
	memory_unmap(&m);
	/* No kernel has this node. */
	assert_true(memory_map(&m, 4096, 9999, HUGE_SYSTEM, &e) < 0);
	memory_unmap(&m);
}

/* Each published row by name, and that a value was measured. */
static void rows_of_every_test(void **state)
{
	static const struct {
		const char *test, *kind;
		int pair; /* needs two CPUs */
		const char *variant, *metrics[6];
	} cases[] = {
		{"memlat", NULL, 0, "chase", {"lat"}},
		{"membw", "copy", 0, "copy-1t", {"bw"}},
		{"pingpong", "rtt", 1, "rtt", {"rtt"}},
		{"pingpong", "false-shared", 1, "false-shared", {"ops"}},
		{"pingpong", "two-lines", 1, "two-lines", {"rtt"}},
		{"atomics", NULL, 0, "1t", {"mops", "nsop"}},
		{"lock", "mutex", 0, "mutex-1t", {"mops", "nsacq"}},
		{"lock", "ticket", 0, "ticket-1t", {"mops", "nsacq"}},
		{"ipc", "ring", 1, "ring", {"rtt_med", "rtt_p99"}},
		{"ipc", "ringwait", 0, "ringwait", {"rtt_med", "rtt_p99"}},
		{"ipc", "ringreg", 0, "ringreg", {"rtt_med", "rtt_p99"}},
		{"ipc", "pipe", 0, "pipe", {"rtt_med", "rtt_p99"}},
		{"ipc", "unix", 0, "unix", {"rtt_med", "rtt_p99"}},
		{"ipc", "tcp", 0, "tcp", {"rtt_med", "rtt_p99"}},
		{"wakeup", NULL, 0, "futex", {"wake"}},
		{"tlbshoot", "lat", 0, "mprotect-1p-0t", {"shoot_med", "shoot_p99"}},
		{"tlbshoot",
		 "control",
		 1,
		 "mprotect-1p-1t-ctl",
		 {"victim_quiet", "victim_shot", "victim_slowdown", "victim_p99", "shoot_rate"}},
	};
	char a[16], b[16];
	int ncpus = two_cpus(a, b);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool tlb = strcmp(cases[i].test, "tlbshoot") == 0;
		struct options o = {
			.value = {
				['a'] = a, ['b'] = b, ['c'] = a, ['k'] = cases[i].kind, ['n'] = "30", ['m'] = "-1", ['s'] = "256k"}};
		struct seen seen;
		struct err e;
		int m = 0;

		if (cases[i].pair && ncpus < 2)
			continue;
		o.value['w'] = strcmp(cases[i].test, "membw") == 0 ? "0.02" : "40";
		if (tlb)
			o.value['c'] = cases[i].pair ? b : NULL;
		if (run(cases[i].test, &o, 0, &seen, &e) < 0)
			fail_msg("%s: %s", cases[i].test, e.text);
		assert_string_equal(seen.variant, cases[i].variant);
		for (; cases[i].metrics[m]; m++) {
			assert_string_equal(seen.metrics[m], cases[i].metrics[m]);
			if (strcmp(cases[i].metrics[m], "shoot_rate") != 0)
				assert_true(seen.rows[m].value > 0);
		}
		assert_int_equal(seen.n, m);
		/* More rows stand behind, none in their place. */
		assert_int_equal(run(cases[i].test, &o, 1, &seen, &e), 0);
		assert_true(seen.n >= m);
		for (int k = 0; k < m; k++)
			assert_false(seen.rows[k].extra && k == 0);
	}
}

static void streams_arrive_whole(void **state)
{
	char a[16], b[16];
	struct options o = {
		.value = {['a'] = a, ['b'] = b, ['k'] = "unix", ['T'] = "1", ['z'] = "4096"}};
	struct seen seen;
	struct err e;

	two_cpus(a, b);
	assert_int_equal(run("ipc", &o, 0, &seen, &e), 0);
	assert_int_equal(seen.n, 2);
	assert_string_equal(seen.metrics[0], "tput_msgs");
	assert_string_equal(seen.metrics[1], "tput_bw");
	assert_true(seen.rows[1].value > 0);
	assert_int_equal(seen.rows[1].size, 4096);
}

static void refuses_the_impossible(void **state)
{
	static const struct {
		const char *test;
		struct options o;
	} cases[] = {
		{"pingpong", {.value = {['a'] = "0", ['b'] = "0"}}},
		{"ipc", {.value = {['a'] = "0", ['b'] = "0", ['k'] = "ring"}}},
		{"ipc", {.value = {['k'] = "ringwait", ['T'] = "1"}}},
		{"ipc", {.value = {['z'] = "4097"}}},
		{"ipc", {.value = {['k'] = "smoke"}}},
		{"memlat", {.value = {['s'] = "64"}}},
		{"memlat", {.value = {['n'] = "0"}}},
		{"memlat", {.value = {['c'] = "60000", ['s'] = "4k"}}},
		{"wakeup", {.value = {['n'] = "text"}}},
		{"tlbshoot", {.value = {['p'] = "0"}}},
		{"tlbshoot", {.value = {['a'] = "0", ['c'] = "0"}}},
		{"tlbshoot", {.value = {['k'] = "jitter"}}},
		{"tlbshoot", {.value = {['i'] = "10"}}},
		{"membw", {.value = {['w'] = "0"}}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct options o = cases[i].o;
		struct seen seen;
		struct err e;

		assert_true(run(cases[i].test, &o, 0, &seen, &e) < 0);
		assert_int_equal(seen.n, 0);
		assert_true(e.text[0] != '\0');
	}
}

static int run_cell(const char *test, int ncpus, const int *cpus, const struct param *params,
		    int nparams, char *text, size_t size, struct err *e)
{
	struct cell c = {.family = "boundary",
			 .test = test,
			 .mode = MODE_THREADS,
			 .ntasks = ncpus,
			 .cpus = cpus,
			 .params = params,
			 .nparams = nparams,
			 .report = report_new("boundary", test, "threads")};
	struct go go = {.start = clock_ns()};
	const char *result;
	size_t len;
	int ret;

	*e = ERR_INIT;
	go.stop = go.start + 20 * NSEC_PER_MSEC;
	ret = boundary_family.prepare(&c, e);
	if (ret == 0)
		ret = boundary_family.run(&c, &go, e);
	(boundary_family.cleanup)(&c);
	text[0] = '\0';
	if (ret == 0 && report_end(c.report, &result, &len, e) == 0)
		snprintf(text, size, "%s", result);
	report_free(&c.report);
	return ret;
}

static void runs_as_a_cell(void **state)
{
	static const struct param good[] = {{"rounds", "50"}, {"tier", "T0"}};
	static const struct param wrong_tier[] = {{"tier", "T3"}}, unknown[] = {{"colour", "1"}};
	static const struct param cpus_are_the_cells[] = {{"cpus", "1"}};
	char a[16], b[16], text[65536];
	struct err e;
	int cpu;

	two_cpus(a, b);
	cpu = atoi(a);
	if (run_cell("wakeup", 1, &cpu, good, 2, text, sizeof(text), &e) < 0)
		fail_msg("%s", e.text);
	assert_non_null(strstr(text, "test family=boundary name=wakeup mode=threads"));
	assert_non_null(strstr(text, "name=wake unit=ns better=less kind=latency combine=each"));
	assert_non_null(strstr(text, "\nvalue metric=0 v="));
	assert_non_null(strstr(text, "\ncover from="));
	assert_non_null(strstr(text, "\ntask n=0 "));
	assert_int_equal(run_cell("wakeup", 1, &cpu, wrong_tier, 1, text, sizeof(text), &e),
			 -EOPNOTSUPP);
	assert_non_null(strstr(e.text, "T0, not T3"));
	assert_int_equal(run_cell("wakeup", 1, &cpu, unknown, 1, text, sizeof(text), &e), -EINVAL);
	assert_int_equal(run_cell("wakeup", 1, &cpu, cpus_are_the_cells, 1, text, sizeof(text), &e),
			 -EINVAL);
}

static void every_test_is_described(void **state)
{
	const struct test_info *info;
	size_t i = 0;

	for (; (info = boundary_family.info(i)); i++) {
		assert_ptr_equal(find_boundary_test(info->name), boundary_tests[i]);
		assert_true(info->title && info->counts && info->shared);
		assert_int_equal(info->modes, MODE_THREADS);
	}
	assert_null(boundary_tests[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_words),
		cmocka_unit_test(parses_sizes),
		cmocka_unit_test(parses_cpu_lists),
		cmocka_unit_test(median_and_p99),
		cmocka_unit_test(kernels_do_their_work),
		cmocka_unit_test(reads_shootdown_counts),
		cmocka_unit_test(memory_is_where_it_should),
		cmocka_unit_test(rows_of_every_test),
		cmocka_unit_test(streams_arrive_whole),
		cmocka_unit_test(refuses_the_impossible),
		cmocka_unit_test(runs_as_a_cell),
		cmocka_unit_test(every_test_is_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
