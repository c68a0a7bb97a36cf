// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <math.h>

#include "harness/analysis/verdict.h"

/* An estimate whose 95 % interval of the ratio is lo to hi. */
static struct estimate between(double lo, double hi, size_t n)
{
	double half = (log(hi) - log(lo)) / 2;

	return (struct estimate){.n = n,
				 .mean = (log(lo) + log(hi)) / 2,
				 .sd = half * sqrt(n) / t_quantile(0.975, n - 1)};
}

static void expect(double lo, double hi, enum verdict want)
{
	struct margin m = margin_of(0.03);
	struct estimate d = between(lo, hi, 10);
	enum verdict got = verdict_of(&d, &m);

	if (got != want)
		fail_msg("%.3f to %.3f: %s instead of %s", lo, hi, verdict_name(got),
			 verdict_name(want));
}

static void test_verdicts(void **state)
{
	expect(2.1, 2.3, VERDICT_FASTER);
	expect(1.031, 1.2, VERDICT_FASTER);
	expect(1.029, 1.2, VERDICT_FASTER_SMALL);
	expect(1.001, 1.2, VERDICT_FASTER_SMALL);
	expect(0.999, 1.2, VERDICT_UNDECIDED);
	expect(0.971, 1.029, VERDICT_SAME);
	/* The 90 % interval is 0.81 times as wide: inside although the 95 % one is not. */
	expect(0.967, 1.029, VERDICT_SAME);
	expect(0.95, 1.03, VERDICT_UNDECIDED);
	expect(1.001, 1.02, VERDICT_SAME);
	expect(0.80, 0.999, VERDICT_SLOWER_SMALL);
	expect(0.80, 0.969, VERDICT_SLOWER);
	expect(0.5, 2.0, VERDICT_UNDECIDED);
}

static void test_no_verdict_below_six_blocks(void **state)
{
	struct margin m = margin_of(0.03);

	for (size_t n = 2; n <= 6; n++) {
		struct estimate d = between(2.5, 2.6, n);

		assert_int_equal(verdict_of(&d, &m), n < 6 ? VERDICT_NONE : VERDICT_FASTER);
	}
}

static void test_gates(void **state)
{
	struct margin m = margin_of(0.03);
	struct estimate stands = between(0.99, 1.02, 10), moved = between(1.02, 1.05, 10);
	struct estimate unsure = between(0.95, 1.05, 10), one = {.n = 1, .mean = 0, .sd = NAN};
	struct estimate tiny = between(1.001, 1.002, 10);

	assert_int_equal(gate_of(&stands, &m), GATE_STANDS);
	assert_int_equal(gate_of(&moved, &m), GATE_MOVED);
	assert_int_equal(gate_of(&unsure, &m), GATE_UNSURE);
	assert_int_equal(gate_of(&one, &m), GATE_NONE);
	/* Known to differ, by less than anybody cares. */
	assert_int_equal(gate_of(&tiny, &m), GATE_STANDS);
}

static void test_p_is_that_of_the_claim(void **state)
{
	struct margin m = margin_of(0.03);
	struct estimate faster = between(1.03, 1.2, 10), small = between(1.0, 1.2, 10);

	/* The interval ends where the claim begins: exactly 5 %. */
	assert_float_equal(verdict_p(VERDICT_FASTER, &faster, &m), 0.05, 1e-9);
	assert_float_equal(verdict_p(VERDICT_FASTER_SMALL, &small, &m), 0.05, 1e-9);
	assert_true(verdict_p(VERDICT_SAME, &faster, &m) > 0.9);
}

static void test_blocks_needed(void **state)
{
	struct margin m = margin_of(0.03);
	struct estimate d = between(0.99, 1.07, 8);
	size_t n = verdict_blocks_needed(&d, &m, 1000);
	struct estimate never = {.n = 8, .mean = 0, .sd = 1000};

	assert_true(n > 8 && n < 30);
	d.n = n;
	assert_int_not_equal(verdict_of(&d, &m), VERDICT_UNDECIDED);
	d.n = n - 1;
	assert_int_equal(verdict_of(&d, &m), VERDICT_UNDECIDED);
	assert_int_equal(verdict_blocks_needed(&never, &m, 1000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_no_verdict_below_six_blocks),
		cmocka_unit_test(test_gates),
		cmocka_unit_test(test_p_is_that_of_the_claim),
		cmocka_unit_test(test_blocks_needed),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
