// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports in every form: nothing that came from a plan or a partition can do anything in them. */
#include "tests/unit/unit.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "config.h"
#include "harness/analysis/published.h"
#include "harness/report/format.h"
#include "harness/report/report.h"
#include "tests/synth/synth.h"

/* As it stands in the JSON of events: an escape for terminals, markup, quotes, a formula. */
#define EVIL "=x\\u001b[2J<script>alert(1)</script>\\\"'&\\u009b"

static const struct synth_test hostile[] = {
	{"getppid1", .control = true, .ratio = 1, .anchor = 1, .rate = 1e7},
	{EVIL, .primary = true, .ratio = 2, .anchor = 1, .rate = 4e5, .sigma = 0.4},
	{"unlink1", .primary = true, .ratio = 2.6, .anchor = 1, .rate = 4e5, .sigma = 0.4},
};

static const int counts[] = {1, 2, 4, 8};

static struct synth set_up(void)
{
	struct synth s = synth_default;

	s.tests = hostile;
	s.ntests = 3;
	s.tasks = counts;
	s.ntasks = 4;
	s.repetitions = 1;
	s.per_task = true;
	return s;
}

struct found {
	struct model *m;
	struct analysis *a;
};

static struct found measure(const struct synth *s, const char *more)
{
	struct err e = ERR_INIT;
	struct found x = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	synth_write(f, s);
	fputs(more, f);
	fclose(f);
	f = fmemopen(text, size, "r");
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

static char *html_of(const struct analysis *a, const struct published *p, size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	assert_int_equal(report_html(f, a, p), 0);
	fclose(f);
	return text;
}

static void assert_absent(const char *text, const char *what)
{
	if (strstr(text, what))
		fail_msg("\"%s\" in:\n%s", what, text);
}

static void assert_no_controls(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t')
			fail_msg("control character %d", *c);
}

/* Every tag that is opened is closed, in order: what HTML forgives, a mistake in escaping shows. */
static void assert_balanced(const char *html)
{
	static const char *const empty[] = {"meta", "br", "line", "rect", "circle", "polyline"};
	char stack[64][16];
	size_t depth = 0;

	for (const char *c = strchr(html, '<'); c; c = strchr(c + 1, '<')) {
		bool closing = c[1] == '/', self;
		const char *end = strchr(c, '>');
		char name[16] = "";
		size_t n = 0;

		if (c[1] == '!')
			continue;
		assert_non_null(end);
		for (const char *p = c + 1 + closing; isalnum((unsigned char)*p) && n < 15; p++)
			name[n++] = *p;
		self = end[-1] == '/';
		for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]) && !closing; i++)
			self = self || (strcmp(name, empty[i]) == 0 && i < 2);
		if (self)
			continue;
		if (closing) {
			assert_true(depth > 0);
			if (strcmp(stack[--depth], name) != 0)
				fail_msg("</%s> closes <%s>: %.60s", name, stack[depth], c - 40);
		} else {
			assert_true(depth < 64);
			memcpy(stack[depth++], name, sizeof(name));
		}
	}
	assert_int_equal(depth, 0);
}

static const char evil_events[] =
	"{\"event\":\"cell\",\"key\":\"" EVIL
	"\",\"block\":0,\"arm\":\"split\",\"family\":\"scale\","
	"\"test\":\"open1\",\"variant\":\"" EVIL
	"\",\"tasks\":2,\"status\":\"failed\",\"reason\":\"" EVIL
	"\",\"utc\":\"2026-09-01T00:00:00Z\"}\n"
	"{\"event\":\"cell\",\"key\":\"k2\",\"block\":0,\"arm\":\"split\",\"family\":\"scale\","
	"\"test\":\"open1\",\"tasks\":2,\"status\":\"flagged\",\"flags\":[{\"name\":\"" EVIL
	"\",\"text\":\"" EVIL "\"}],\"utc\":\"2026-09-01T00:00:00Z\"}\n"
	"{\"event\":\"facts\",\"block\":0,\"arm\":\"split\",\"partition\":\"p0\",\"facts\":{\"" EVIL
	"\":\"" EVIL "\"}}\n"
	"{\"event\":\"facts\",\"block\":0,\"arm\":\"single\",\"partition\":\"p0\",\"facts\":{"
	"\"" EVIL "\":\"1\"}}\n"
	"{\"event\":\"boot\",\"block\":10,\"arm\":\"split\",\"ok\":false,\"seconds\":1,\"error\":"
	"\"" EVIL "\",\"utc\":\"2026-09-01T00:00:01Z\"}\n";

static void test_html_is_safe(void **state)
{
	struct synth s = set_up();
	struct found x = measure(&s, evil_events);
	cleanup_published struct published *p = NULL;
	struct err e = ERR_INIT;
	size_t size = 0;
	cleanup_free char *html = NULL;

	assert_int_equal(
		published_read(&p, MKSPLIT_SOURCE_DIR "/results/published/published.json", &e), 0);
	html = html_of(x.a, p, &size);
	assert_absent(html, "<script");
	assert_absent(html, "\033");
	assert_no_controls(html);
	assert_balanced(html);
	/* It is there, harmless, wherever it belongs: name, key, reason, flag, fact, error. */
	assert_non_null(strstr(html, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
	/* Self-contained: nothing is fetched, run or framed. */
	assert_absent(html, "http:");
	assert_absent(html, "https:");
	assert_absent(html, " src=");
	assert_absent(html, "url(");
	assert_absent(html, "@import");
	assert_absent(html, "<link");
	assert_absent(html, "nan");
	assert_absent(html, "inf\"");
	forget(&x);
}

static void test_html_of_odd_runs(void **state)
{
	struct synth s = set_up();
	size_t size = 0;

	/* One block, no interval anywhere; emulated; and a run that was killed at once. */
	for (int blocks = 0; blocks <= 2; blocks++) {
		struct found x;
		char *html;

		s.blocks = blocks;
		s.nature = "emulated";
		x = measure(&s, "");
		html = html_of(x.a, NULL, &size);
		assert_balanced(html);
		assert_absent(html, "nan");
		if (blocks > 0)
			assert_non_null(strstr(html, "No evidence: the CPUs of"));
		free(html);
		forget(&x);
	}
}

static void test_terminal_is_safe(void **state)
{
	const struct text_options all = {.all = true};
	struct synth s = set_up();
	struct found x = measure(&s, evil_events);
	cleanup_free char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(report_text(f, x.a, &all), 0);
	fclose(f);
	assert_no_controls(text);
	/* The one-character CSI of eight-bit terminals, as UTF-8. */
	assert_absent(text, "\xc2\x9b");
	assert_non_null(strstr(text, "=x?[2J<script>"));
	forget(&x);
}

static void test_csv_and_json(void **state)
{
	struct synth s = set_up();
	struct found x = measure(&s, evil_events);
	cleanup_free char *csv = NULL, *json = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&csv, &size);
	json_t *o, *rows;

	assert_int_equal(report_csv(f, x.a), 0);
	fclose(f);
	/* Quoted, quotes doubled, and no formula for a spreadsheet. */
	assert_non_null(strstr(csv, ",\"'=x?[2J<script>alert(1)</script>\"\"'&"));
	assert_absent(csv, "nan");
	assert_no_controls(csv);
	f = open_memstream(&json, &size);
	assert_int_equal(report_json(f, x.a), 0);
	fclose(f);
	assert_no_controls(json);
	assert_absent(json, "\xc2\x9b");
	o = json_loads(json, 0, NULL);
	assert_non_null(o);
	rows = json_object_get(json_array_get(json_object_get(o, "compare"), 0), "rows");
	assert_int_equal(json_array_size(rows), x.a->nrows);
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(json_array_get(rows, 0), "raw"), "blocks")),
			 10);
	json_decref(o);
	forget(&x);
}

static void test_wis_csv(void **state)
{
	struct synth s = set_up();
	struct found x;
	cleanup_free char *csv = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&csv, &size);

	s.sd_block = s.sd_boot = s.sd_repetition = s.sd_sample = 0;
	s.correlation = 0;
	x = measure(&s, "");
	assert_int_equal(report_wis_csv(f, x.a, 0, 2), 0);
	fclose(f);
	/* Two of 48 CPUs busy 99.9 %; sigma 0.4: 2 / 1.4 of one task's 400,000. */
	assert_non_null(strstr(csv, "tasks,processes,processes_idle,threads,threads_idle,linear\n"
				    "0,0,100,0,100,0\n1,400000,97.92,,,400000\n"
				    "2,571429,95.84,,,800000\n"));
	forget(&x);
}

/* A latency of two partitions has no common value: each is told by itself. */
static void test_values_of_partitions(void **state)
{
	static const char more[] =
		"{\"event\":\"cell\",\"key\":\"l1\",\"block\":0,\"arm\":\"split\",\"family\":"
		"\"boundary\","
		"\"test\":\"memlat\",\"variant\":\"far\",\"tasks\":2,\"status\":\"ok\",\"metrics\":"
		"[{"
		"\"name\":\"load\",\"unit\":\"ns\",\"better\":\"less\",\"kind\":\"latency\","
		"\"combine\":"
		"\"each\",\"value\":null,\"partitions\":[{\"name\":\"p0\",\"value\":80},"
		"{\"name\":\"p1\",\"value\":95}]}]}\n"
		"{\"event\":\"cell\",\"key\":\"l2\",\"block\":1,\"arm\":\"split\",\"family\":"
		"\"boundary\","
		"\"test\":\"memlat\",\"variant\":\"far\",\"tasks\":2,\"status\":\"ok\",\"metrics\":"
		"[{"
		"\"name\":\"load\",\"unit\":\"ns\",\"better\":\"less\",\"kind\":\"latency\","
		"\"combine\":"
		"\"each\",\"value\":null,\"partitions\":[{\"name\":\"p0\",\"value\":125}]}]}\n";
	const struct text_options plain = {0};
	struct synth s = set_up();
	struct found x = measure(&s, more);
	cleanup_free char *text = NULL, *html = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(report_text(f, x.a, &plain), 0);
	fclose(f);
	/* sqrt(80 * 125) */
	assert_non_null(strstr(text, "100.0ns  80.00ns to 125.0ns in 2 cells"));
	assert_non_null(strstr(text, "95.00ns  95.00ns to 95.00ns in 1 cells"));
	html = html_of(x.a, NULL, &size);
	assert_balanced(html);
	assert_non_null(strstr(html, "memlat [far] load"));
	forget(&x);
}

static void assert_format(const char *got, const char *want)
{
	assert_string_equal(got, want);
}

static void test_formats(void **state)
{
	char b[FORMAT_ROOM], c[16];

	assert_format(format_value(b, 401234.5, "1/s"), "401.2k/s");
	assert_format(format_value(b, 9999.4, "1/s"), "9999/s");
	assert_format(format_value(b, 12.3e6, "1/s"), "12.30M/s");
	assert_format(format_value(b, 85.13, "ns"), "85.13ns");
	assert_format(format_value(b, 0.0 / 0.0, "ns"), "-");
	assert_format(format_ratio(b, 2.6), "2.600");
	assert_format(format_ratio(b, 12.34), "12.34");
	assert_format(format_seconds(b, 3725), "1 h 2 min");
	assert_format(format_seconds(b, -1), "-");
	assert_format(format_tick(b, 1.5e6), "1.5M");
	assert_format(clean_text(c, sizeof(c), "a\tb\x7f\xc3\xa4\xff"), "a?b?\xc3\xa4?");
	/* Cut before a character that does not fit, not inside it. */
	assert_format(clean_text(c, 4, "ab\xc3\xa4"), "ab");
	/* Overlong slash, surrogate. */
	assert_format(clean_text(c, sizeof(c), "\xc0\xaf\xed\xa0\x80"), "?????");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_html_is_safe),
		cmocka_unit_test(test_html_of_odd_runs),
		cmocka_unit_test(test_terminal_is_safe),
		cmocka_unit_test(test_csv_and_json),
		cmocka_unit_test(test_wis_csv),
		cmocka_unit_test(test_values_of_partitions),
		cmocka_unit_test(test_formats),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
