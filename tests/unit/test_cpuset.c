// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "harness/plan/cpuset.h"
#include "tests/unit/fake_machine.h"

/* 2 packages x 4 cores x 2 threads: CPUs 0-3 and 8-11 in package 0, siblings n and n+8. */
static struct topology t;

static int setup(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(2, 4, 2);
	struct fake_machine m = {.cpus = cpus, .ncpus = 16, .node_mib = 1024};

	fake_machine_make(&m);
	fake_machine_topology(&m, &t);
	fake_machine_remove(&m);
	return 0;
}

static int teardown(void **state)
{
	topology_free(&t);
	return 0;
}

static void assert_set_of(const char *text, const char *list, bool split_cores)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	cleanup_free char *got = NULL;
	struct err e = ERR_INIT;

	if (cpuset_parse(&m, text, &t, split_cores, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	got = cpumask_format(&m);
	assert_string_equal(got, list);
}

static void assert_set(const char *text, const char *list)
{
	assert_set_of(text, list, false);
}

static void assert_refused(const char *text, const char *why)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	struct err e = ERR_INIT;

	if (cpuset_parse(&m, text, &t, false, &e) != -EINVAL)
		fail_msg("%s was accepted", text);
	assert_int_equal(e.exit, EXIT_USAGE);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" should have said \"%s\"", e.text, why);
}

static void test_names(void **state)
{
	assert_set("0-3,9", "0-3,9");
	assert_set("all", "0-15");
	assert_set("package:0", "0-3,8-11");
	assert_set("package:0-1", "0-15");
	assert_set("numa:1", "4-7,12-15");
	assert_set("llc:1", "4-7,12-15");
	assert_set("core:0", "0,8");
	assert_set("core:1-2,7", "1-2,7,9-10,15");
	assert_set("(core:0)", "0,8");
	assert_set(" core:0 + core:1 ", "0-1,8-9");
}

static void test_sums(void **state)
{
	assert_set("package:0+package:1-core:0", "1-7,9-15");
	assert_set("all-0", "1-15");
	assert_set("all-package:1-core:0", "1-3,9-11");
	assert_set("all-(package:0-1)", "");
	assert_set("all-(package:0-core:0)+0", "0,4-8,12-15");
	assert_set("package:0-core:0", "1-3,9-11");
	assert_set("0-3-core:0", "1-3");
}

static void test_cuts(void **state)
{
	assert_set("all/2.0", "0-3,8-11");
	assert_set("all/2.1", "4-7,12-15");
	assert_set("all/1.0", "0-15");
	assert_set("package:0/2.1", "2-3,10-11");
	assert_set("all/4.2", "4-5,12-13");
	assert_set("all/2.1/2.0", "4-5,12-13");
	assert_set("(all-core:0-core:4)/2.1", "5-7,13-15");
	/* Seven cores of eight: a package boundary does not give equal halves, cores do not either. */
	assert_refused("(all-core:0)/2.0", "would separate hardware threads");
	assert_set_of("(all-core:0)/2.0", "1-4,9-11", true);
	assert_set_of("core:0/2.0", "0", true);
	assert_set_of("core:0/2.1", "8", true);
	assert_refused("core:0/2.1", "allow_smt_split");
	assert_refused("all/3.0", "16 CPUs cannot be cut into 3 equal parts");
	assert_refused("all/2.2", "part 2 of 2 does not exist");
	assert_refused("all/0.0", "part 0 of 0 does not exist");
	/* One thread of each core: nothing is separated. */
	assert_set("0-7/2.1", "4-7");
	assert_set("0-2,5/2.0", "0-1");
}

static void test_positions(void **state)
{
	assert_set("all[0]", "0");
	assert_set("all[0-1]", "0-1");
	assert_set("all[7-8]", "7-8"); /* the last core's first thread, the first core's second */
	assert_set("package:1[0,4]", "4,12");
	assert_refused("package:1[8]", "position 8 is asked for, of 8 CPUs: 4-7,12-15");
	assert_refused("all[0", "\"]\" is missing at character 6");
}

static void test_refusals(void **state)
{
	assert_refused("", "a set is missing at character 1");
	assert_refused("16", "CPU 16 is not online (online: 0-15)");
	assert_refused("0-4294967295", "numbers end at 65535");
	assert_refused("package:2", "there is no package 2 with an online CPU (package: 0-1)");
	assert_refused("socket:0", "a set is missing at character 1");
	assert_refused("3-1", "runs backwards");
	assert_refused("0-3-1", "put what is taken away in parentheses");
	assert_refused("package:0-1-1", "put what is taken away in parentheses");
	assert_refused("(all", "\")\" is missing at character 5");
	assert_refused("all)", "unexpected \")\" at character 4");
	assert_refused("all/2", "\".\" and the number of a part");
	assert_refused("all+", "a set is missing at character 5");
	assert_refused("allx", "a set is missing at character 1");
	assert_refused("0,", "a number is missing at character 3");
	assert_refused("((((((((((((((((((0))))))))))))))))))", "nested deeper than 16");
}

static void test_bounds(void **state)
{
	char long_text[6000];

	memset(long_text, '0', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_refused(long_text, "longer than 4096 characters");
	for (size_t i = 0; i + 2 < 2000; i += 2)
		memcpy(long_text + i, "0+", 2);
	long_text[1999] = '\0';
	assert_refused(long_text, "more than 512 parts");
}

/* Two CPUs that are one core: a demonstration on a small virtual machine. */
static void test_one_core(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(1, 1, 2);
	struct fake_machine m = {.cpus = cpus, .ncpus = 2, .node_mib = 1024};
	struct topology saved = t;

	fake_machine_make(&m);
	fake_machine_topology(&m, &t);
	fake_machine_remove(&m);
	assert_set("all[0]", "0");
	assert_set("all[1]", "1");
	topology_free(&t);
	t = saved;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_sums),
		cmocka_unit_test(test_cuts),	 cmocka_unit_test(test_positions),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_one_core),
	};

	return cmocka_run_group_tests_name("cpuset", tests, setup, teardown);
}
