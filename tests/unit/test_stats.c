// SPDX-License-Identifier: GPL-2.0-or-later
/* Expected values: tests/unit/known/stats.R. */
#include "tests/unit/unit.h"

#include <math.h>

#include "harness/analysis/stats.h"
#include "harness/analysis/variance.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-10 * fmax(1, fabs(want))))
		fail_msg("got %.15g, want %.15g", got, want);
}

static const double d[] = {0.0912, 0.1034, 0.0877, 0.0951, 0.1103, 0.0989, 0.0921, 0.1010};

static void test_intervals(void **state)
{
	struct estimate e = estimate_of(d, COUNT(d));

	near(e.mean, 0.09746250000000001);
	near(e.sd, 0.00740172518500151);
	near(interval_mean(&e, 0.95).lo, 0.0912745028891852);
	near(interval_mean(&e, 0.95).hi, 0.1036504971108148);
	near(interval_mean(&e, 0.90).lo, 0.0925045677083847);
	near(interval_mean(&e, 0.90).hi, 0.1024204322916153);
	near(interval_next(&e, 0.95).lo, 0.0788985086675556);
	near(interval_next(&e, 0.95).hi, 0.1160264913324444);
	near(t_quantile(0.975, 1), 12.7062047361747);
	near(t_quantile(0.975, 5), 2.57058183563623);
	near(t_quantile(0.975, 9), 2.26215716279821);
	near(t_quantile(0.975, 19), 2.09302405440831);
}

static void test_p_values(void **state)
{
	const double p[] = {0.010, 0.041, 0.0005, 0.030, 0.2, 0.0125};
	const double adjusted[] = {0.050, 0.090, 0.003, 0.090, 0.200, 0.050};
	const double with_gap[] = {0.010, NAN, 0.04};
	struct estimate e = estimate_of(d, COUNT(d));
	double out[COUNT(p)];

	near(p_differs(&e, 0.09), 0.0246301489032878);
	near(p_above(&e, 0.09), 0.0123150744516439);
	near(p_below(&e, 0.10), 0.18226014765047);
	near(p_equivalent(&e, 0.09, 0.105), 0.0123150744516439);
	assert_int_equal(holm_adjust(p, out, COUNT(p)), 0);
	for (size_t i = 0; i < COUNT(p); i++)
		near(out[i], adjusted[i]);
	/* A test without a p-value does not make the others pay for it. */
	assert_int_equal(holm_adjust(with_gap, out, COUNT(with_gap)), 0);
	near(out[0], 0.02);
	assert_true(isnan(out[1]));
	near(out[2], 0.04);
}

static void test_equivalence_is_the_90_percent_interval(void **state)
{
	struct estimate e = estimate_of(d, COUNT(d));
	struct interval i = interval_mean(&e, 0.90);

	assert_true(p_equivalent(&e, i.lo - 1e-9, i.hi + 1e-9) < 0.05);
	assert_true(p_equivalent(&e, i.lo + 1e-9, i.hi + 1e-3) > 0.05);
	assert_true(p_equivalent(&e, i.lo - 1e-3, i.hi - 1e-9) > 0.05);
}

static void test_too_few(void **state)
{
	struct estimate none = estimate_of(d, 0), one = estimate_of(d, 1);

	assert_true(isnan(none.mean) && isnan(one.sd));
	near(one.mean, d[0]);
	assert_false(interval_valid(interval_mean(&none, 0.95)));
	assert_false(interval_valid(interval_mean(&one, 0.95)));
	assert_false(interval_valid(interval_next(&one, 0.95)));
	assert_false(interval_inside(interval_mean(&one, 0.95), -INFINITY, INFINITY));
	assert_true(isnan(p_differs(&one, 0)));
	assert_true(isnan(steadiness_of(d, 0).drift));
	assert_true(isnan(steadiness_of(d, 1).drift));
	assert_true(isnan(geometric_mean(d, 0)));
	assert_true(isnan(kendall_tau(d, d, 1)));
}

static void test_no_spread(void **state)
{
	const double flat[] = {0.5, 0.5, 0.5};
	struct estimate e = estimate_of(flat, COUNT(flat));

	near(interval_mean(&e, 0.95).lo, 0.5);
	near(p_differs(&e, 0), 0);
	near(p_differs(&e, 0.5), 1);
}

static void test_descriptions(void **state)
{
	const double x[] = {2.0, 1.9, 2.3, 2.1, 9.0, 2.2, 1.8, 2.05, 2.15};
	const double a[] = {1.00, 0.96, 1.06, 1.08, 1.16, 1.23, 2.02, 2.60, 1.00};
	const double b[] = {1.01, 0.99, 1.02, 1.10, 1.05, 1.40, 1.90, 2.70, 1.02};
	const double flat[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	const double s[] = {100.0, 100.4, 100.1, 100.9, 101.2, 101.0, 101.8, 101.7, 102.3, 102.2};
	struct fences f;

	assert_int_equal(fences_of(x, COUNT(x), &f), 0);
	near(f.q1, 2.0);
	near(f.median, 2.1);
	near(f.q3, 2.2);
	near(f.lo, 1.7);
	near(f.hi, 2.5);
	near(geometric_mean(x, COUNT(x)), 2.42342158369132);
	near(kendall_tau(a, b, COUNT(a)), 0.914285714285714);
	assert_true(isnan(kendall_tau(a, flat, COUNT(a))));
	near(steadiness_of(s, COUNT(s)).drift, 0.0235091124770839);
	near(steadiness_of(s, COUNT(s)).halves, 0.0127337843215281);
}

static const double nested[] = {1.01, 1.03, 1.02, 1.06, 1.05, 1.08, 1.11, 1.12,
				1.10, 1.09, 1.13, 1.12, 0.97, 0.99, 0.98, 1.01,
				1.00, 0.99, 1.05, 1.04, 1.07, 1.03, 1.06, 1.02};

static void test_variance_levels(void **state)
{
	const size_t boot[] = {1, 1, 2, 2, 3, 3, 4, 4};
	const size_t start[] = {0, 3, 6, 9, 12, 15, 18, 21, 24};
	struct nested data = {.nrows = 8, .boot = boot, .start = start, .value = nested};
	struct variance v = variance_of(&data);
	double sum = 0.000216666666666666 + 0.00024861111111111 + 0.00232731481481482;

	near(v.t2[LEVEL_SAMPLE], 0.000216666666666666);
	near(v.t2[LEVEL_REPETITION], 0.00024861111111111);
	near(v.t2[LEVEL_BOOT], 0.00232731481481482);
	near(v.share[LEVEL_BOOT], 0.00232731481481482 / sum);
	near(v.per_unit[LEVEL_SAMPLE], 3);
	near(v.per_unit[LEVEL_REPETITION], 2);
}

static void test_variance_of_one_repetition(void **state)
{
	const size_t boot[] = {1, 2, 3, 4};
	const size_t start[] = {0, 6, 12, 18, 24};
	struct nested data = {.nrows = 4, .boot = boot, .start = start, .value = nested};
	struct variance v = variance_of(&data);

	assert_true(isnan(v.t2[LEVEL_REPETITION]));
	assert_true(v.t2[LEVEL_SAMPLE] > 0 && v.t2[LEVEL_BOOT] > 0);
	near(v.share[LEVEL_SAMPLE] + v.share[LEVEL_BOOT], 1);
}

static void test_counts_for_next(void **state)
{
	/* The example of docs/methodology.md: sqrt(5) samples, one repetition a boot. */
	struct unit_cost cost = {.seconds = {1, 5, 20}};
	struct variance v = {.t2 = {1, 1, 4}, .per_unit = {10, 3}};
	struct counts c = counts_for_next(&v, &cost, 30);

	assert_int_equal(c.samples, 2);
	assert_int_equal(c.repetitions, 1);
	v.t2[LEVEL_BOOT] = 0.04;
	assert_int_equal(counts_for_next(&v, &cost, 30).repetitions, 10);
	/* No variance above it: the limit, not infinity. */
	v.t2[LEVEL_BOOT] = 0;
	assert_int_equal(counts_for_next(&v, &cost, 30).repetitions, 30);
	/* Repetitions not told apart: the boot is what a sample competes with. */
	v = (struct variance){.t2 = {1, NAN, 4}, .per_unit = {10, 1}};
	assert_int_equal(counts_for_next(&v, &cost, 30).samples, 3);
	assert_int_equal(counts_for_next(&v, &cost, 30).repetitions, 1);
}

static void test_early_stop(void **state)
{
	struct estimate e = {.n = 8, .mean = 0.7, .sd = 0.01};

	/* The full width is exp(2 * 2.364624 * 0.01 / sqrt(8)) - 1 = 1.686 %. */
	assert_true(stop_by_width(&e, 0.0169, 8));
	assert_false(stop_by_width(&e, 0.0168, 8));
	e.n = 7;
	assert_false(stop_by_width(&e, 0.5, 8));
	assert_int_equal(blocks_for_half_width(0.02, 0.95, 0.0106, 2, 100), 17);
	assert_int_equal(blocks_for_half_width(0.02, 0.95, 1e-6, 2, 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_p_values),
		cmocka_unit_test(test_equivalence_is_the_90_percent_interval),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_no_spread),
		cmocka_unit_test(test_descriptions),
		cmocka_unit_test(test_variance_levels),
		cmocka_unit_test(test_variance_of_one_repetition),
		cmocka_unit_test(test_counts_for_next),
		cmocka_unit_test(test_early_stop),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
