// SPDX-License-Identifier: GPL-2.0-or-later
/* The rules: what gates what, and when there is a verdict at all. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "harness/analysis/analysis.h"
#include "harness/report/report.h"
#include "tests/synth/synth.h"

static const int counts[] = {1, 2, 8};

static struct synth quiet(const struct synth_test *tests, int ntests)
{
	struct synth s = synth_default;

	s.tasks = counts;
	s.ntasks = 3;
	s.tests = tests;
	s.ntests = ntests;
	s.repetitions = 1;
	/* Well below the margin of 3 %, so that every answer is clear. */
	s.sd_block = 0.02;
	s.sd_boot = 0.003;
	s.sd_repetition = s.sd_sample = 0.002;
	return s;
}

struct found {
	struct analysis *a;
	struct model *m;
};

static struct found measure(const struct synth *s)
{
	struct err e = ERR_INIT;
	struct found x = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	synth_write(f, s);
	fclose(f);
	f = fmemopen(text, size, "r");
	assert_non_null(f);
	if (model_read_stream(&x.m, f, "synthetic", &e) < 0 || analyse(&x.a, x.m, &e) < 0)
		fail_msg("%s", e.text);
	fclose(f);
	free(text);
	return x;
}

static void forget(struct found *x)
{
	analysis_free(x->a);
	model_free(x->m);
}

static const struct row *row_of(const struct found *x, const char *test, int tasks)
{
	for (size_t i = 0; i < x->a->nrows; i++)
		if (strcmp(x->m->tests[x->a->rows[i].test].test, test) == 0 &&
		    x->a->rows[i].tasks == tasks)
			return &x->a->rows[i];
	fail_msg("no row for %s at %d", test, tasks);
	return NULL;
}

static void expect(const struct found *x, const char *test, int tasks, enum verdict want)
{
	const struct row *r = row_of(x, test, tasks);

	if (r->verdict != want)
		fail_msg("%s at %d: %s (%s) instead of %s", test, tasks, verdict_name(r->verdict),
			 r->why, verdict_name(want));
}

static const struct synth_test good[] = {
	{"getppid1", .control = true, .ratio = 1, .anchor = 1, .rate = 1e7},
	{"poll2", .control = true, .ratio = 1, .anchor = 1, .rate = 1e6},
	{"unlink1", .primary = true, .ratio = 2.6, .anchor = 1, .rate = 4e5, .sigma = 0.5},
	{"mmap1", .primary = true, .ratio = 0.45, .anchor = 1, .rate = 8e5},
	{"brk1", .primary = true, .ratio = 1, .anchor = 1, .rate = 9e6},
	{"udp1", .ratio = 1.02, .anchor = 1, .rate = 5e5},
	{"rename1", .ratio = 2, .anchor = 1.06, .rate = 8e5},
};

enum {
	GOOD = sizeof(good) / sizeof(good[0])
};

static void test_verdicts(void **state)
{
	struct synth s = quiet(good, GOOD);
	struct found x = measure(&s);

	expect(&x, "getppid1", 8, VERDICT_SAME);
	expect(&x, "unlink1", 8, VERDICT_FASTER);
	expect(&x, "mmap1", 8, VERDICT_SLOWER);
	expect(&x, "brk1", 8, VERDICT_SAME);
	/* Off by 6 % with one task a kernel, where nothing is shared. */
	expect(&x, "rename1", 8, VERDICT_CONFOUNDED);
	assert_non_null(strstr(row_of(&x, "rename1", 8)->why, "one task a kernel rename1 moved"));
	assert_int_equal(x.a->pairings[0].family, 3);
	assert_true(x.a->pairings[0].controls_stand);
	assert_true(row_of(&x, "unlink1", 8)->headline);
	assert_false(row_of(&x, "unlink1", 2)->headline);
	assert_true(isnan(row_of(&x, "udp1", 8)->p_family));
	forget(&x);
}

static void test_quotient_and_normalised(void **state)
{
	const struct synth_test tests[] = {
		{"getppid1", .control = true, .ratio = 1.02, .anchor = 1, .rate = 1e7},
		{"poll2", .control = true, .ratio = 1.00, .anchor = 1, .rate = 1e6},
		{"unlink1", .primary = true, .ratio = 2.6, .anchor = 1.05, .rate = 4e5},
	};
	struct synth s = quiet(tests, 3);
	struct found x = measure(&s);
	const struct row *r = row_of(&x, "unlink1", 8);

	assert_float_equal(exp(r->anchor.mean), 1.05, 0.01);
	assert_float_equal(exp(r->quotient.mean), 2.6 / 1.05, 0.03);
	assert_float_equal(exp(r->normalised.mean), 2.6 / 1.01, 0.03);
	assert_float_equal(exp(r->d.mean), 2.6, 0.03);
	/* The rates of the arm that has two tasks, one a kernel, are not compared with one. */
	assert_float_equal(exp(row_of(&x, "getppid1", 8)->anchor.mean), 1, 0.01);
	assert_int_equal(r->quotient.n, 10);
	assert_int_equal(r->normalised.n, 10);
	forget(&x);
}

static void test_each_control_gates_alone(void **state)
{
	/* +4 % and -4 % would cancel in a mean. */
	const struct synth_test tests[] = {
		{"getppid1", .control = true, .ratio = 1.04, .anchor = 1, .rate = 1e7},
		{"poll2", .control = true, .ratio = 0.96, .anchor = 1, .rate = 1e6},
		{"unlink1", .primary = true, .ratio = 2.6, .anchor = 1, .rate = 4e5},
	};
	struct synth s = quiet(tests, 3);
	struct found x = measure(&s);

	expect(&x, "unlink1", 8, VERDICT_CONFOUNDED);
	assert_non_null(strstr(row_of(&x, "unlink1", 8)->why, "control getppid1 moved: 1.04"));
	assert_false(x.a->pairings[0].controls_stand);
	forget(&x);
}

static void expect_none(const struct synth *s, const char *why)
{
	struct found x = measure(s);
	const struct row *r = row_of(&x, "unlink1", 8);

	assert_int_equal(r->verdict, VERDICT_NONE);
	if (!strstr(r->why, why))
		fail_msg("\"%s\" should have said \"%s\"", r->why, why);
	assert_true(isnan(r->p));
	for (size_t i = 0; i < x.a->nrows; i++)
		assert_int_equal(x.a->rows[i].verdict, VERDICT_NONE);
	forget(&x);
}

static void test_no_verdict(void **state)
{
	struct synth s = quiet(good, GOOD);

	s.blocks = 5;
	expect_none(&s, "too few boots");
	s.blocks = 10;
	s.nature = "emulated";
	expect_none(&s, "no evidence");
	s.nature = "simulated";
	expect_none(&s, "no evidence");
	s.nature = "something new";
	expect_none(&s, "no evidence");
	s.nature = "native";
	s.fresh = false;
	expect_none(&s, "not booted anew");
}

static void first_line(const struct synth *s, const char *wanted)
{
	const struct text_options plain = {0};
	struct found x = measure(s);
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(report_text(f, x.a, &plain), 0);
	fclose(f);
	*strchr(text, '\n') = '\0';
	if (!strstr(text, wanted))
		fail_msg("first line \"%s\" should have had \"%s\"", text, wanted);
	free(text);
	forget(&x);
}

static void test_first_line(void **state)
{
	const struct synth_test moved[] = {
		{"getppid1", .control = true, .ratio = 1.31, .anchor = 1, .rate = 1e7},
		{"unlink1", .primary = true, .ratio = 2.6, .anchor = 1, .rate = 4e5},
	};
	struct synth s = quiet(moved, 2);

	s.nature = "emulated";
	s.blocks = 1;
	first_line(&s,
		   "No evidence: the CPUs of \"single\" and \"split\" are emulated; the control "
		   "getppid1, which shares nothing, moved to 1.3");
	s.nature = "native";
	first_line(&s, "No verdict: 1 block, and it takes 6");
	s = quiet(good, GOOD);
	first_line(&s, "faster in 1 of 3 primary tests");
}

/* One arm under two names: at most one false verdict in twenty. */
static void test_null_runs(void **state)
{
	enum {
		RUNS = 400,
		TESTS = 4
	};
	const struct synth_test same[TESTS] = {
		{"getppid1", .control = true, .ratio = 1, .anchor = 1, .rate = 1e7},
		{"unlink1", .primary = true, .ratio = 1, .anchor = 1, .rate = 4e5},
		{"rename1", .primary = true, .ratio = 1, .anchor = 1, .rate = 8e5},
		{"brk1", .primary = true, .ratio = 1, .anchor = 1, .rate = 9e6},
	};
	static const int eight[] = {8};
	struct synth s = quiet(same, TESTS);
	int false_verdicts = 0, decided = 0;

	/* Noise as large as the margin, so that many intervals nearly exclude 1. */
	s.sd_boot = 0.02;
	s.sd_repetition = s.sd_sample = 0.01;
	s.control_share = 0.2;
	s.tasks = eight;
	s.ntasks = 1;
	s.samples = 4;
	for (int i = 0; i < RUNS; i++) {
		struct found x;
		bool wrong = false;

		s.seed = 5000 + i;
		x = measure(&s);
		for (size_t k = 0; k < x.a->nrows; k++) {
			enum verdict v = x.a->rows[k].verdict;

			if (!x.a->rows[k].family)
				continue;
			decided += v != VERDICT_UNDECIDED && v != VERDICT_CONFOUNDED;
			wrong = wrong || v == VERDICT_FASTER || v == VERDICT_SLOWER ||
				v == VERDICT_FASTER_SMALL || v == VERDICT_SLOWER_SMALL;
		}
		false_verdicts += wrong;
		forget(&x);
	}
	print_message(
		"%d null runs: %.1f %% with a false verdict among 3 primary tests, %.0f %% of "
		"rows decided\n",
		RUNS, 100.0 * false_verdicts / RUNS, 100.0 * decided / (3 * RUNS));
	assert_true(false_verdicts <= RUNS * 0.05);
	assert_true(decided > RUNS);
}

/* By width alone, of the widest primary test, from eight blocks on. */
static void test_narrow_enough(void **state)
{
	struct synth s = quiet(good, GOOD);
	struct found x = measure(&s);

	assert_true(analysis_narrow_enough(x.a, 0.02));
	assert_false(analysis_narrow_enough(x.a, 0.002));
	forget(&x);
	s.blocks = 7;
	x = measure(&s);
	assert_false(analysis_narrow_enough(x.a, 0.5));
	forget(&x);
	/* Without a primary test every test counts; without any test nothing is ever enough. */
	s.blocks = 8;
	s.tests = good + 5;
	s.ntests = 1;
	x = measure(&s);
	assert_true(analysis_narrow_enough(x.a, 0.02));
	forget(&x);
	s.tests = good;
	x = measure(&s);
	assert_false(analysis_narrow_enough(x.a, 0.5));
	forget(&x);
}

/* Arms single and split, and each again with a setting changed: rates of one test, by mode. */
struct variation {
	const char *setting, *value;
	double ratio, ratio_varied, ratio_processes;
	bool threads;
};

static void put_rate(FILE *f, const char *arm, int block, bool threads, double rate)
{
	/* A little noise, the same in every arm but for its sign. */
	double noise = (block % 3 - 1) * 0.002 * (arm[1] == 'p' ? 1 : -1);

	fprintf(f,
		"{\"event\":\"cell\",\"key\":\"%s/%d/"
		"%d\",\"block\":%d,\"arm\":\"%s\",\"family\":\"scale\","
		"\"test\":\"open1\",\"variant\":\"\",\"mode\":\"%s\",\"tasks\":8,\"status\":\"ok\","
		"\"metrics\":[{\"name\":\"ops\",\"unit\":\"1/"
		"s\",\"better\":\"more\",\"kind\":\"rate\","
		"\"combine\":\"sum\",\"value\":%.9g,\"partitions\":[]}]}\n",
		arm, block, threads, block, arm, threads ? "threads" : "processes",
		rate * exp(noise));
}

static void expect_cause(const struct variation *v, enum cause want, const char *why)
{
	struct err e = ERR_INIT;
	struct found x = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	const struct row *r = NULL;

	fprintf(f, "{\"event\":\"run\",\"format\":1,\"arms\":[");
	for (int i = 0; i < 4; i++)
		fprintf(f,
			"%s{\"name\":\"%s%s\",\"nature\":\"native\",\"fresh\":true,\"partitions\":["
			"{}],"
			"\"base\":\"%s\",\"setting\":\"%s\",\"value\":\"%s\"}",
			i ? "," : "", i % 2 ? "split" : "single", i < 2 ? "" : "+x",
			i < 2	? ""
			: i % 2 ? "split"
				: "single",
			i < 2 ? "" : v->setting, i < 2 ? "" : v->value);
	fprintf(f, "],\"compare\":[{\"base\":\"single\",\"with\":\"split\"},"
		   "{\"base\":\"single+x\",\"with\":\"split+x\"}]}\n");
	for (int block = 0; block < 9; block++) {
		put_rate(f, "single", block, v->threads, 1e6);
		put_rate(f, "split", block, v->threads, 1e6 * v->ratio);
		put_rate(f, "single+x", block, v->threads, 1e6);
		put_rate(f, "split+x", block, v->threads, 1e6 * v->ratio_varied);
		if (!v->threads)
			continue;
		put_rate(f, "single", block, false, 1e6);
		put_rate(f, "split", block, false, 1e6 * v->ratio_processes);
	}
	fclose(f);
	f = fmemopen(text, size, "r");
	if (model_read_stream(&x.m, f, "synthetic", &e) < 0 || analyse(&x.a, x.m, &e) < 0)
		fail_msg("%s", e.text);
	fclose(f);
	free(text);
	for (size_t i = 0; i < x.a->nrows && !r; i++)
		if (x.a->rows[i].compare == 0 && x.a->rows[i].threads == v->threads)
			r = &x.a->rows[i];
	assert_non_null(r);
	if (r->cause != want || strcmp(r->cause_why, why) != 0)
		fail_msg("%s (%s) instead of %s (%s); %s", cause_name(r->cause), r->cause_why,
			 cause_name(want), why, verdict_name(r->verdict));
	forget(&x);
}

static void test_causes(void **state)
{
	const struct variation module = {"lsm", "off", 2.0, 1.0};
	const struct variation wall = {"lsm", "off", 2.6, 2.2};
	const struct variation size = {"memory_per_cpu", "2G", 0.45, 1.0};
	const struct variation turned = {"lsm", "off", 2.0, 0.5};
	const struct variation none = {"lsm", "off", 1.0, 1.0};
	const struct variation threads = {"lsm", "off", 3.0, 0.5, 1.0, .threads = true};

	expect_cause(&module, CAUSE_CONFIGURATION, "gone with lsm = off");
	expect_cause(&wall, CAUSE_STRUCTURAL, "still there with lsm = off");
	expect_cause(&size, CAUSE_SIZING, "gone with memory_per_cpu = 2G");
	/* The other way round under another setting is no explanation of either kind. */
	expect_cause(&turned, CAUSE_UNKNOWN, "");
	expect_cause(&none, CAUSE_UNKNOWN, "");
	expect_cause(&threads, CAUSE_ADDRESS_SPACE, "there with threads, gone with processes");
}

/*
 * Wherever the truth lies outside the margin by three half-widths of the interval, or inside by as
 * much, the verdict is right.
 */
static void test_clear_truths(void **state)
{
	enum {
		RUNS = 300
	};
	static const int eight[] = {8};
	/* Half-widths come out as 0.34 %: the truths lie 1.03 % to either side of the margin's ends. */
	static const struct synth_test tests[] = {
		{"getppid1", .control = true, .ratio = 1, .anchor = 1, .rate = 1e7},
		{"unlink1", .primary = true, .ratio = 1.0407, .anchor = 1, .rate = 4e5},
		{"rename1", .primary = true, .ratio = 1.0195, .anchor = 1, .rate = 8e5},
		{"open1", .primary = true, .ratio = 0.9601, .anchor = 1, .rate = 2e6},
		{"brk1", .primary = true, .ratio = 0.98, .anchor = 1, .rate = 9e6},
	};
	static const enum verdict right[] = {VERDICT_SAME, VERDICT_FASTER, VERDICT_SAME,
					     VERDICT_SLOWER, VERDICT_SAME};
	struct synth s = quiet(tests, 5);
	double half = 0;
	int wrong = 0;

	s.tasks = eight;
	s.ntasks = 1;
	s.samples = 4;
	s.sd_repetition = 0.001;
	for (int i = 0; i < RUNS; i++) {
		struct found x;

		s.seed = 70000 + i;
		x = measure(&s);
		assert_int_equal(x.a->nrows, 5);
		for (size_t k = 0; k < x.a->nrows; k++) {
			half += interval_half(interval_mean(&x.a->rows[k].d, 0.95)) / (5 * RUNS);
			wrong += x.a->rows[k].verdict != right[x.a->rows[k].test];
		}
		forget(&x);
	}
	print_message("%d verdicts, half-width %.2f %%: %d wrong\n", 5 * RUNS, 100 * half, wrong);
	assert_true(half > 0.003 && half < 0.0045);
	assert_true(wrong <= 5 * RUNS / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_quotient_and_normalised),
		cmocka_unit_test(test_each_control_gates_alone),
		cmocka_unit_test(test_no_verdict),
		cmocka_unit_test(test_first_line),
		cmocka_unit_test(test_narrow_enough),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_clear_truths),
		cmocka_unit_test(test_null_runs),
	};

	return cmocka_run_group_tests_name("analysis", tests, NULL, NULL);
}
