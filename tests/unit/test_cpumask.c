// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "common/cpumask.h"

static void assert_list(const char *in, const char *out, int weight)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(cpumask_parse(&m, in, &e), 0);
	text = cpumask_format(&m);
	assert_string_equal(text, out);
	assert_int_equal(cpumask_weight(&m), weight);
}

static void test_lists(void **state)
{
	assert_list("", "", 0);
	assert_list("\n", "", 0);
	assert_list("0", "0", 1);
	assert_list("0-3\n", "0-3", 4);
	assert_list("3,1,2", "1-3", 3);
	assert_list("0,3-5", "0,3-5", 4);
	assert_list("63-65", "63-65", 3);
	assert_list("0-6:2", "0,2,4,6", 4);
	assert_list("0-5119", "0-5119", 5120);
	assert_list("65535", "65535", 1);
}

static void assert_refused(const char *in, const char *why)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(cpumask_parse(&m, in, &e), -EINVAL);
	assert_int_equal(e.exit, EXIT_USAGE);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" should have said \"%s\"", e.text, why);
}

static void test_bad_lists(void **state)
{
	assert_refused("0-4294967295", "CPU numbers end at 65535");
	assert_refused("99999999999999999999", "CPU numbers end at 65535");
	assert_refused("3-1", "runs backwards");
	assert_refused("0,", "a number is missing at character 3");
	assert_refused(",0", "a number is missing at character 1");
	assert_refused("0-", "a number is missing at character 3");
	assert_refused("-1", "a number is missing at character 1");
	assert_refused("0-3:0", "a step of 0");
	assert_refused("1 2", "unexpected \"2\" at character 3");
	assert_refused("0x3", "unexpected \"x3\" at character 2");
}

static void test_sets(void **state)
{
	cleanup_cpumask struct cpumask a = CPUMASK_INIT, b = CPUMASK_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(cpumask_parse(&a, "0-3,200", &e), 0);
	assert_int_equal(cpumask_parse(&b, "2-5", &e), 0);
	assert_true(cpumask_intersects(&a, &b));
	assert_false(cpumask_subset(&a, &b));
	cpumask_andnot(&a, &b);
	assert_false(cpumask_intersects(&a, &b));
	assert_int_equal(cpumask_weight(&a), 3);
	assert_int_equal(cpumask_or(&a, &b), 0);
	assert_int_equal(cpumask_next(&a, 6), 200);
	assert_int_equal(cpumask_next(&a, 201), -1);
	cpumask_and(&a, &b);
	assert_true(cpumask_equal(&a, &b));
	assert_int_equal(cpumask_set(&a, -1), -ERANGE);
	assert_int_equal(cpumask_set(&a, CPUMASK_LIMIT), -ERANGE);
	cpumask_clear(&a, 100000);
	assert_false(cpumask_test(&a, 100000));
}

static void test_affinity(void **state)
{
	cleanup_cpumask struct cpumask all = CPUMASK_INIT, one = CPUMASK_INIT, now = CPUMASK_INIT;
	struct err e = ERR_INIT;
	int first;

	assert_int_equal(cpumask_get_affinity(&all, 0, &e), 0);
	first = cpumask_next(&all, 0);
	assert_true(first >= 0);
	assert_int_equal(cpumask_set(&one, first), 0);
	assert_int_equal(cpumask_set_affinity(&one, 0, &e), 0);
	assert_int_equal(cpumask_get_affinity(&now, 0, &e), 0);
	assert_true(cpumask_equal(&one, &now));
	assert_int_equal(cpumask_set_affinity(&all, 0, &e), 0);

	cpumask_clear(&one, first);
	assert_int_equal(cpumask_set(&one, 60000), 0);
	assert_true(cpumask_set_affinity(&one, 0, &e) < 0);
	assert_non_null(strstr(e.text, "60000"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_bad_lists),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_affinity),
	};

	return cmocka_run_group_tests_name("cpumask", tests, NULL, NULL);
}
