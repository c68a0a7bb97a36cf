// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "harness/plan/vary.h"

static const struct at root = {.key = "p.json"};

#define GUEST(name, rest)   \
	"{\"name\":\"" name \
	"\",\"backend\":\"qemu\",\"partitions\":[{\"name\":\"a\",\"cpus\":\"0\"" rest "}]}"

static json_t *vary(const char *text)
{
	json_t *plan = json_loads(text, 0, NULL);
	struct err e = ERR_INIT;

	assert_non_null(plan);
	if (plan_vary(plan, &root, &e) < 0)
		fail_msg("%s", e.text);
	return plan;
}

static void refuse(const char *text, const char *why)
{
	json_t *plan = json_loads(text, 0, NULL);
	struct err e = ERR_INIT;

	assert_non_null(plan);
	assert_true(plan_vary(plan, &root, &e) < 0);
	assert_int_equal(e.exit, EXIT_USAGE);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" should have said \"%s\"", e.text, why);
	json_decref(plan);
}

static const char *text_at(const json_t *plan, const char *list, size_t i, const char *key)
{
	const char *s = json_string_value(
		json_object_get(json_array_get(json_object_get(plan, list), i), key));

	return s ? s : "";
}

static const json_t *partition(const json_t *plan, size_t arm)
{
	return json_array_get(
		json_object_get(json_array_get(json_object_get(plan, "arms"), arm), "partitions"), 0);
}

static void test_append(void **state)
{
	json_t *plan =
		vary("{\"kernels\":{\"k\":{\"image\":\"x\",\"append\":\"quiet\"}},\"arms\":[" GUEST("one", "") "," GUEST(
			"two", "") "],\"vary\":[{\"name\":\"no-lsm\",\"append\":\"lsm=\"}]}");
	const json_t *changed = json_object_get(json_object_get(plan, "kernels"), "k.no-lsm");

	assert_int_equal(json_array_size(json_object_get(plan, "arms")), 4);
	assert_string_equal(text_at(plan, "arms", 3, "name"), "two.no-lsm");
	assert_string_equal(json_string_value(json_object_get(changed, "append")), "quiet lsm=");
	assert_string_equal(json_string_value(json_object_get(changed, "image")), "x");
	/* The original keeps its kernel, now by name, since there are two. */
	assert_string_equal(json_string_value(json_object_get(partition(plan, 0), "kernel")), "k");
	assert_string_equal(json_string_value(json_object_get(partition(plan, 2), "kernel")),
			    "k.no-lsm");
	/* "The first arm is the base of all others" was meant of the arms that were written. */
	assert_int_equal(json_array_size(json_object_get(plan, "compare")), 2);
	assert_string_equal(text_at(plan, "compare", 0, "with"), "two");
	assert_string_equal(text_at(plan, "compare", 1, "base"), "one.no-lsm");
	assert_string_equal(text_at(plan, "compare", 1, "with"), "two.no-lsm");
	json_decref(plan);
}

static void test_memory(void **state)
{
	json_t *plan = vary("{\"arms\":[" GUEST("one", ",\"memory\":\"1G\"") "," GUEST(
		"two",
		"") "],\"compare\":[{\"base\":\"two\",\"with\":\"one\",\"differences\":[\"x\"]}],"
		    "\"vary\":[{\"name\":\"a\",\"memory_per_cpu\":\"2G\"},"
		    "{\"name\":\"b\",\"memory_per_cpu\":\"4G\"}]}");
	const json_t *varies =
		json_object_get(json_array_get(json_object_get(plan, "arms"), 4), "varies");

	assert_int_equal(json_array_size(json_object_get(plan, "arms")), 6);
	assert_int_equal(json_array_size(json_object_get(plan, "compare")), 3);
	assert_null(json_object_get(partition(plan, 2), "memory"));
	assert_string_equal(
		json_string_value(json_object_get(partition(plan, 2), "memory_per_cpu")), "2G");
	assert_string_equal(json_string_value(json_object_get(partition(plan, 0), "memory")), "1G");
	assert_string_equal(text_at(plan, "compare", 2, "base"), "two.b");
	assert_string_equal(json_string_value(json_object_get(varies, "base")), "one");
	assert_string_equal(json_string_value(json_object_get(varies, "setting")),
			    "memory_per_cpu");
	assert_string_equal(json_string_value(json_object_get(varies, "value")), "4G");
	json_decref(plan);
}

static void test_hosts_stay(void **state)
{
	json_t *plan =
		vary("{\"arms\":[{\"name\":\"h\",\"backend\":\"host\",\"partitions\":[{}]}," GUEST(
			"g", "") "],\"vary\":[{\"name\":\"x\",\"append\":\"y\"}]}");

	assert_int_equal(json_array_size(json_object_get(plan, "arms")), 3);
	/* h against g.x would differ in more than the setting. */
	assert_int_equal(json_array_size(json_object_get(plan, "compare")), 1);
	json_decref(plan);
}

static void test_refusals(void **state)
{
	refuse("{\"arms\":[" GUEST("g", "") "],\"vary\":[{\"name\":\"x\"}]}",
	       "p.json: vary[0]: either");
	refuse("{\"arms\":[" GUEST(
		       "g", "") "],\"vary\":[{\"name\":\"x\",\"append\":\"\",\"memory_per_cpu\":"
				"\"1G\"}]}",
	       "vary[0]: either");
	refuse("{\"arms\":[" GUEST("g", "") "],\"vary\":[{\"name\":\"../x\",\"append\":\"\"}]}",
	       "vary[0].name");
	refuse("{\"arms\":[" GUEST("g", "") "],\"vary\":{}}", "vary");
	refuse("{\"arms\":[{\"name\":\"h\",\"backend\":\"host\",\"partitions\":[{}]}],\"vary\":[{"
	       "\"name\":"
	       "\"x\",\"append\":\"y\"}]}",
	       "no arm has kernels of its own");
}

/* What is not a list of arms is left for others to refuse; nothing crashes. */
static void test_nonsense(void **state)
{
	static const char *const plans[] = {
		"{\"vary\":[{\"name\":\"x\",\"append\":\"y\"}]}",
		"{\"arms\":3,\"vary\":[{\"name\":\"x\",\"append\":\"y\"}]}",
		"{\"arms\":[1,{\"backend\":\"qemu\",\"partitions\":[{}]}," GUEST(
			"g", "") ",null],\"kernels\":"
				 "[],\"compare\":[1,{\"base\":2}],\"vary\":[{\"name\":\"x\","
				 "\"append\":\"y\"}]}",
		"{\"arms\":[" GUEST("g",
				    ",\"kernel\":\"none\"") "],\"kernels\":{\"a\":1,\"b\":{}},"
							    "\"compare\":{},\"vary\":[{\"name\":"
							    "\"x\",\"append\":\"y\"}]}",
		"{\"arms\":[{\"name\":\"g\",\"backend\":\"qemu\",\"partitions\":[3,null]}],"
		"\"vary\":[{\"name\":\"x\",\"memory_per_cpu\":\"1G\"}]}",
	};

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		json_t *plan = json_loads(plans[i], 0, NULL);
		struct err e = ERR_INIT;

		assert_non_null(plan);
		plan_vary(plan, &root, &e);
		json_decref(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_append),	   cmocka_unit_test(test_memory),
		cmocka_unit_test(test_hosts_stay), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests_name("vary", tests, NULL, NULL);
}
