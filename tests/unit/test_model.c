// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/analysis/model.h"

#define RUN                                                                                        \
	"{\"event\":\"run\",\"format\":1,\"plan\":\"p\",\"margin\":0.05,\"blocks\":3,\"arms\":["   \
	"{\"name\":\"one\",\"backend\":\"qemu\",\"nature\":\"virtual\",\"fresh\":true,"            \
	"\"partitions\":"                                                                          \
	"[{\"name\":\"w\",\"cpus\":[0,1]}]},"                                                      \
	"{\"name\":\"two\",\"backend\":\"qemu\",\"nature\":\"emulated\",\"fresh\":true,"           \
	"\"partitions\":"                                                                          \
	"[{\"name\":\"l\",\"cpus\":[0]},{\"name\":\"r\",\"cpus\":[1]}]}],"                         \
	"\"tests\":[{\"family\":\"scale\",\"test\":\"unlink1\",\"variant\":\"\",\"primary\":true}" \
	"],"                                                                                       \
	"\"compare\":[{\"base\":\"one\",\"with\":\"two\",\"differences\":[\"cpus\"]}],"            \
	"\"utc\":\"2026-09-01T10:00:00.500Z\"}\n"

#define CELL(key, attempt, status, value)                                                          \
	"{\"event\":\"cell\",\"key\":\"" key "\",\"attempt\":" #attempt                            \
	",\"block\":0,\"arm\":\"two\",\"family\":\"scale\",\"test\":\"unlink1\",\"variant\":\"\"," \
	"\"mode\":\"processes\",\"tasks\":2,\"status\":\"" status "\",\"reason\":\"why\","         \
	"\"flags\":[{\"name\":\"steal\",\"partition\":\"l\",\"text\":\"much\",\"value\":0.1}],"    \
	"\"metrics\":[{\"name\":\"ops\",\"unit\":\"1/s\",\"better\":\"more\",\"kind\":\"rate\","   \
	"\"combine\":\"sum\",\"value\":" #value ",\"partitions\":["                                \
	"{\"name\":\"r\",\"value\":3,\"samples\":[1,2,3]},"                                        \
	"{\"name\":\"l\",\"value\":4,\"samples\":[10,20]}]}],"                                     \
	"\"partitions\":[{\"name\":\"l\",\"tasks\":[{\"n\":0,\"cpu\":7,\"count\":50}]},"           \
	"{\"name\":\"r\",\"tasks\":[{\"n\":0,\"cpu\":1,\"count\":100}]}],"                         \
	"\"utc\":\"2026-09-01T10:01:00Z\"}\n"

static struct model *read_text(const char *text, size_t size, struct err *e)
{
	FILE *f = fmemopen((void *)text, size, "r");
	struct model *m = NULL;

	assert_non_null(f);
	model_read_stream(&m, f, "here", e);
	fclose(f);
	return m;
}

static struct model *read_good(const char *text)
{
	struct err e = ERR_INIT;
	struct model *m = read_text(text, strlen(text), &e);

	if (!m)
		fail_msg("%s", e.text);
	return m;
}

static void refused(const char *text, const char *why)
{
	struct err e = ERR_INIT;
	struct model *m = read_text(text, strlen(text), &e);

	assert_null(m);
	assert_true(e.code < 0);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" should have said \"%s\"", e.text, why);
}

static void test_run(void **state)
{
	cleanup_model struct model *m = read_good(RUN);

	assert_string_equal(m->plan, "p");
	assert_string_equal(m->hostname, "");
	assert_float_equal(m->margin, 0.05, 1e-12);
	assert_int_equal(m->narms, 2);
	assert_int_equal(m->arms[0].nature, NATURE_VIRTUAL);
	assert_true(nature_is_no_evidence(m->arms[1].nature));
	assert_int_equal(m->arms[1].npartitions, 2);
	assert_int_equal(m->arms[1].partitions[1].cpus[0], 1);
	assert_int_equal(m->compares[0].with, 1);
	assert_string_equal(m->compares[0].differences[0], "cpus");
	assert_false(m->ended);
	assert_false(m->torn);
	assert_float_equal(m->begin, 1788256800.5, 1e-6);
}

static void test_cell(void **state)
{
	cleanup_model struct model *m = read_good(RUN CELL("k", 0, "flagged", 7.5));
	const struct mcell *c = &m->cells[0];

	assert_int_equal(m->ncells, 1);
	assert_int_equal(m->by_status[CELL_FLAGGED], 1);
	assert_int_equal(c->arm, 1);
	assert_string_equal(c->flags[0].text, "much");
	assert_float_equal(c->measures[0].value, 7.5, 1e-12);
	/* Partitions in the arm's order, whatever the cell's. */
	assert_float_equal(c->measures[0].parts[0], 4, 1e-12);
	assert_float_equal(c->measures[0].parts[1], 3, 1e-12);
	/* Only as many samples as every partition has. */
	assert_int_equal(c->measures[0].nsamples, 2);
	assert_float_equal(c->measures[0].samples[1], 22, 1e-12);
	assert_float_equal(c->task_spread, 2, 1e-12);
	assert_int_equal(m->places[0].ncpus, 2);
	assert_int_equal(m->places[0].cpus[0], 7);
}

static void test_last_attempt_counts(void **state)
{
	cleanup_model struct model *m =
		read_good(RUN CELL("k", 0, "invalid", 1) CELL("other", 0, "ok", 5)
				  CELL("k", 1, "ok", 2) CELL("f", 0, "failed", 9));

	assert_int_equal(m->ncells, 3);
	assert_int_equal(m->invalid_attempts, 1);
	assert_int_equal(m->by_status[CELL_OK], 2);
	assert_int_equal(m->by_status[CELL_INVALID], 0);
	assert_string_equal(m->cells[0].key, "other");
	assert_float_equal(m->cells[1].measures[0].value, 2, 1e-12);
	/* A cell that failed carries no numbers, even if the file has some. */
	assert_int_equal(m->cells[2].nmeasures, 0);
	assert_string_equal(m->cells[2].reason, "why");
}

static void test_torn_and_damaged(void **state)
{
	cleanup_model struct model *m =
		read_good(RUN "{\"event\":\"cell\",\"arm\":\"nobody\",\"block\":0}\n"
			      "not json\n"
			      "[]\n"
			      "{\"event\":\"boot\",\"block\":-1,\"arm\":\"one\"}\n"
			      "{\"event\":\"later\",\"x\":1}\n"
			      "\n" CELL("k", 0, "ok", 2) "{\"event\":\"end\",\"ok\":tr");

	assert_int_equal(m->damaged_lines, 4);
	assert_true(m->torn);
	assert_false(m->ended);
	assert_int_equal(m->ncells, 1);
}

static void test_resumed(void **state)
{
	cleanup_model struct model *m =
		read_good(RUN "{\"event\":\"end\",\"interrupted\":true}\n" RUN CELL(
			"k", 0, "ok", 2) "{\"event\":\"end\",\"interrupted\":false}\n");

	assert_int_equal(m->resumed, 1);
	assert_int_equal(m->narms, 2);
	assert_true(m->ended);
	assert_false(m->interrupted);
}

static void test_refusals(void **state)
{
	refused("{}\n", "no run event");
	refused("garbage\n", "no run event");
	refused("{\"event\":\"run\",\"format\":99}\n", "format");
	refused("{\"event\":\"run\",\"format\":1}\n", "damaged");
	refused("{\"event\":\"run\",\"format\":1,\"arms\":[{\"name\":\"a\",\"partitions\":[{"
		"\"cpus\":[-1]}"
		"]}]}\n",
		"damaged");
	refused("{\"event\":\"run\",\"format\":1,\"arms\":[{\"name\":\"a\"}],\"compare\":[{"
		"\"base\":\"a\","
		"\"with\":\"b\"}]}\n",
		"damaged");
}

/* Whatever byte is damaged: no crash, no invented number. Meant for the sanitizers. */
static void test_every_damaged_byte(void **state)
{
	static const char text[] = RUN CELL("k", 0, "ok", 7.5);
	static const unsigned char bad[] = {0, '"', '{', ']', '-', '9', 0xFF};
	size_t size = sizeof(text) - 1;

	for (size_t i = 0; i < size; i++) {
		for (size_t k = 0; k < sizeof(bad); k++) {
			cleanup_free char *copy = malloc(size);
			cleanup_model struct model *m = NULL;
			struct err e = ERR_INIT;

			memcpy(copy, text, size);
			copy[i] = bad[k];
			m = read_text(copy, size, &e);
			assert_true((m != NULL) == (e.code == 0));
			for (size_t c = 0; m && c < m->ncells; c++) {
				assert_in_range(m->cells[c].arm, 0, m->narms - 1);
				assert_in_range(m->cells[c].test, 0, m->ntests - 1);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_cell),
		cmocka_unit_test(test_last_attempt_counts),
		cmocka_unit_test(test_torn_and_damaged),
		cmocka_unit_test(test_resumed),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_every_damaged_byte),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
