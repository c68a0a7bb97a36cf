// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/results/result.h"

#define HEAD                                              \
	"result 1\n"                                      \
	"test family=scale name=unlink1 mode=processes\n" \
	"metric id=0 name=ops unit=1/s better=more kind=rate combine=sum\n"
#define TASK(n)                                                                   \
	"task n=" #n " pid=312 cpu=" #n " node=0 cpu_before=" #n " cpu_after=" #n \
	" cpu_ns=990 wall_ns=1000 involuntary=2 voluntary=3\n"
#define TASKS HEAD TASK(0) TASK(1)

static const char whole[] =
	TASKS "cover from=100 to=900\n"
	      "sample metric=0 k=0 before=200 after=201 counts=1021,998\n"
	      "sample metric=0 k=1 before=300 after=302 counts=2043,18446744073709551615\n"
	      "metric id=7 name=lat unit=ns better=less kind=latency combine=each future=1\n"
	      "value metric=7 v=43.5 label=a%20b\n"
	      "comet id=1\n"
	      "note room=private%20tmpfs%0A speed=1.0\n"
	      "end\n";

static void test_all_of_it(void **state)
{
	cleanup_result struct result r = {0};
	struct err e = ERR_INIT;

	assert_int_equal(result_parse(&r, whole, strlen(whole), &e), 0);
	assert_string_equal(r.family, "scale");
	assert_string_equal(r.test, "unlink1");
	assert_int_equal(r.ntasks, 2);
	assert_int_equal(r.tasks[1].cpu_after, 1);
	assert_int_equal(r.tasks[1].cpu_ns, 990);
	assert_true(r.has_cover && r.cover_from == 100 && r.cover_to == 900);
	assert_int_equal(r.nsamples, 2);
	assert_int_equal(r.samples[0].counts[1], 998);
	assert_true(r.samples[1].counts[1] == UINT64_MAX);
	assert_int_equal(r.nmetrics, 2);
	assert_true(r.metrics[0].more && r.metrics[0].kind == METRIC_RATE);
	assert_true(!r.metrics[1].more && r.metrics[1].combine == COMBINE_EACH);
	assert_int_equal(r.nvalues, 1);
	assert_true(r.values[0].v == 43.5);
	assert_string_equal(json_string_value(json_object_get(r.values[0].more, "label")), "a b");
	assert_string_equal(json_string_value(json_object_get(r.notes, "room")), "private tmpfs?");
}

/* Nothing that is cut off anywhere is taken for a result. */
static void test_every_cut(void **state)
{
	for (size_t n = 0; n < strlen(whole); n++) {
		struct result r;
		struct err e = ERR_INIT;

		assert_int_equal(result_parse(&r, whole, n, &e), -EPROTO);
		assert_true(*e.text);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"result 2\nend\n", "version 1"},
		{"end\n", "no test"},
		{HEAD "metric id=0 name=a unit=b better=more kind=rate combine=sum\nend\n",
		 "metric"},
		{HEAD "metric id=1 name=a unit=b better=best kind=rate combine=sum\nend\n",
		 "metric"},
		{HEAD "metric id=1 name=- unit=b better=more kind=rate combine=sum\nend\n", "name"},
		{HEAD TASK(1) "end\n", "task number"},
		{HEAD "task n=0 cpu=1\nend\n", "all of its numbers"},
		{TASKS "cover from=5 to=4\nend\n", "cover"},
		{TASKS "sample metric=1 k=0 before=1 after=2 counts=1,2\nend\n", "sample"},
		{TASKS "sample metric=0 k=1 before=1 after=2 counts=1,2\nend\n", "out of order"},
		{TASKS "sample metric=0 k=0 before=2 after=1 counts=1,2\nend\n", "sample"},
		{TASKS "sample metric=0 k=0 before=1 after=2 counts=1\nend\n", "each task"},
		{TASKS "sample metric=0 k=0 before=1 after=2 counts=1,2,3\nend\n", "each task"},
		{TASKS "sample metric=0 k=0 before=1 after=2 counts=1,-2\nend\n", "each task"},
		{TASKS "sample metric=0 k=0 before=1 after=2 counts=1,99999999999999999999\nend\n",
		 "each task"},
		{HEAD "sample metric=0 k=0 before=1 after=2 counts=1\nend\n", "sample"},
		{HEAD "value metric=0 v=nan\nend\n", "no number"},
		{HEAD "value metric=0 v=1e999\nend\n", "no number"},
		{HEAD "value metric=0 v=1,5\nend\n", "no number"},
		{HEAD "note a=%zz\nend\n", "note"},
		{HEAD "two  spaces\nend\n", "single spaces"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct result r;
		struct err e = ERR_INIT;

		if (result_parse(&r, cases[i].text, strlen(cases[i].text), &e) != -EPROTO ||
		    !strstr(e.text, cases[i].why))
			fail_msg("case %zu: \"%s\" does not say \"%s\"", i, e.text, cases[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_it),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("result", tests, NULL, NULL);
}
