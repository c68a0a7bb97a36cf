// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The whole way from events to intervals and verdicts, on data whose truth is known, with
 * fixed seeds: the evidence behind the rules of docs/methodology.md.
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "harness/analysis/analysis.h"
#include "tests/synth/synth.h"

enum {
	TRIALS = 4000
};

static const int eight[] = {8};

static const struct synth_test one_test[] = {
	{.name = "unlink1", .primary = true, .ratio = 1.10, .anchor = 1, .rate = 4e5, .sigma = 0.3},
};

struct found {
	struct analysis *a;
	struct model *m;
};

static void measure(struct found *out, const struct synth *s)
{
	struct err e = ERR_INIT;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	synth_write(f, s);
	fclose(f);
	f = fmemopen(text, size, "r");
	assert_non_null(f);
	if (model_read_stream(&out->m, f, "synthetic", &e) < 0 || analyse(&out->a, out->m, &e) < 0)
		fail_msg("%s", e.text);
	fclose(f);
	free(text);
	assert_int_equal(out->m->damaged_lines, 0);
}

static void forget(struct found *x)
{
	analysis_free(x->a);
	model_free(x->m);
}

/* The share of trials in which interval and next-block interval hold what they should. */
static void check_coverage(int blocks, double slow_boot, uint64_t seed)
{
	struct synth s = synth_default;
	int held = 0;

	s.tasks = eight;
	s.ntasks = 1;
	s.tests = one_test;
	s.ntests = 1;
	s.repetitions = 1;
	s.samples = 4;
	s.blocks = blocks;
	s.slow_boot = slow_boot;
	for (int i = 0; i < TRIALS; i++) {
		struct found x;
		struct interval ci;

		s.seed = seed + i;
		measure(&x, &s);
		assert_int_equal(x.a->nrows, 1);
		assert_int_equal(x.a->rows[0].d.n, blocks);
		ci = interval_mean(&x.a->rows[0].d, 0.95);
		held += interval_contains(ci, log(1.10));
		forget(&x);
	}
	print_message("%d blocks, slow boots %.0f %%: %.2f %% of 95 %% intervals hold the truth\n",
		      blocks, slow_boot * 100, 100.0 * held / TRIALS);
	assert_in_range(held, TRIALS * 935 / 1000, TRIALS * 965 / 1000);
}

static void test_coverage_6(void **state)
{
	check_coverage(6, 0, 100000);
}

static void test_coverage_10(void **state)
{
	check_coverage(10, 0, 200000);
}

static void test_coverage_6_slow_boots(void **state)
{
	check_coverage(6, 0.1, 300000);
}

static void test_coverage_10_slow_boots(void **state)
{
	check_coverage(10, 0.1, 400000);
}

/* splitmix64 and Box and Muller: the same numbers everywhere. */
static double normal(uint64_t *state)
{
	double u[2];

	for (int i = 0; i < 2; i++) {
		uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

		z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
		z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
		u[i] = ((z ^ z >> 31) >> 11) * 0x1p-53 + 0x1p-54;
	}
	return sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]);
}

/* Coverage when blocks are added until the interval is narrow enough, up to twenty. */
static double coverage_of_stop(size_t min_blocks, double width)
{
	enum {
		RUNS = 40000,
		BLOCKS = 20
	};
	uint64_t state = 77;
	int held = 0;

	for (int i = 0; i < RUNS; i++) {
		struct estimate e;
		double d[BLOCKS];
		size_t n = 0;

		do {
			d[n++] = 0.03 * normal(&state);
			e = estimate_of(d, n);
		} while (n < BLOCKS && !stop_by_width(&e, width, min_blocks));
		held += interval_contains(interval_mean(&e, 0.95), 0);
	}
	return 100.0 * held / RUNS;
}

static void test_stop_by_width(void **state)
{
	double from_six = coverage_of_stop(6, 0.04), from_eight = coverage_of_stop(8, 0.04);
	double wide = coverage_of_stop(STOP_MIN_BLOCKS, 0.06);

	print_message(
		"stop at 4 %%: %.2f %% from six blocks on, %.2f %% from eight; at 6 %%: %.2f %%\n",
		from_six, from_eight, wide);
	assert_true(from_eight > 93.5 && wide > 93.5);
	assert_true(from_six < from_eight);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_coverage_6),
		cmocka_unit_test(test_coverage_10),
		cmocka_unit_test(test_coverage_6_slow_boots),
		cmocka_unit_test(test_coverage_10_slow_boots),
		cmocka_unit_test(test_stop_by_width),
	};

	return cmocka_run_group_tests_name("coverage", tests, NULL, NULL);
}
