// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <math.h>

#include "harness/analysis/curve.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Two of the curves in results/published: one that scales, one that falls from 2 tasks on. */
static const struct point scales[] = {{1, 1.515e7}, {2, 3.029e7}, {4, 6.059e7},
				      {8, 1.21e8},  {16, 2.01e8}, {24, 2.682e8}};
static const struct point falls[] = {{1, 466773}, {2, 498088}, {4, 466208}, {8, 400000}, {24, 299939}};

static void test_shapes(void **state)
{
	struct shape s = shape_of(scales, COUNT(scales), 0.03);

	assert_int_equal(s.peak, 5);
	assert_int_equal(s.knee, 5);
	assert_false(s.bends);
	assert_false(s.negative);
	s = shape_of(falls, COUNT(falls), 0.03);
	assert_int_equal(s.peak, 1);
	assert_int_equal(s.knee, 0);
	assert_true(s.bends);
	assert_true(s.negative);
	assert_float_equal(s.left, 299939.0 / 498088, 1e-12);
	assert_float_equal(efficiency_at(falls, 1), 498088.0 / 2 / 466773, 1e-12);
	assert_true(isnan(shape_of(falls, 0, 0.03).left));
}

static void test_predicted_split(void **state)
{
	/* Two kernels at 8 tasks: twice one kernel at 4. */
	assert_float_equal(predicted_split(falls, COUNT(falls), 8, 2), 2 * 466208.0, 1e-6);
	/* Between points: half way from 4 to 8. */
	assert_float_equal(rate_at(falls, COUNT(falls), 6), 433104, 1e-6);
	assert_true(isnan(predicted_split(falls, COUNT(falls), 1, 2)));
	assert_true(isnan(predicted_split(falls, COUNT(falls), 96, 2)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_predicted_split),
	};

	return cmocka_run_group_tests_name("curve", tests, NULL, NULL);
}
