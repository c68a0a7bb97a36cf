// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/results/store.h"

static char base[] = "/tmp/mksplit-test-store-XXXXXX";

static int set_up(void **state)
{
	return mkdtemp(base) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

static char *events_of(const char *dir)
{
	char path[PATH_MAX], *text = NULL;
	struct err e = ERR_INIT;

	snprintf(path, sizeof(path), "%s/events.jsonl", dir);
	assert_int_equal(read_file_at(AT_FDCWD, path, 1 << 20, &text, NULL, &e), 0);
	return text;
}

static void cell(struct store *s, const char *key, const char *status)
{
	struct err e = ERR_INIT;

	assert_int_equal(store_event(s,
				     json_pack("{s:s,s:s,s:s,s:f}", "event", "cell", "key", key,
					       "status", status, "value", 0.03),
				     &e),
			 0);
}

static void test_new_folder(void **state)
{
	struct store *s = NULL, *second = NULL;
	struct err e = ERR_INIT;
	char path[PATH_MAX];
	struct stat st;

	assert_int_equal(store_create(&s, base, NULL, "a/b demo", "{}\n", &e), 0);
	assert_int_equal(strncmp(store_dir(s), base, strlen(base)), 0);
	assert_int_equal(strncmp(strrchr(store_dir(s), '/'), "/a-b-demo_", 10), 0);
	snprintf(path, sizeof(path), "%s/consoles", store_dir(s));
	assert_int_equal(stat(path, &st), 0);
	snprintf(path, sizeof(path), "%s/plan.json", store_dir(s));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 3);

	/* One in the same second gets another name, and a given name is never taken over. */
	assert_int_equal(store_create(&second, base, NULL, "a/b demo", "{}\n", &e), 0);
	assert_string_not_equal(store_dir(s), store_dir(second));
	store_close(&second);
	assert_int_equal(store_create(&second, NULL, store_dir(s), "x", "{}", &e), -EEXIST);
	/* While it is open nobody else writes there. */
	assert_int_equal(store_open(&second, store_dir(s), &e), -EBUSY);
	store_close(&s);
}

static void test_go_on(void **state)
{
	cleanup_free char *before = NULL;
	cleanup_free char *after = NULL;
	struct store *s = NULL;
	struct err e = ERR_INIT;
	char dir[PATH_MAX], path[PATH_MAX + 20];
	int fd;

	snprintf(dir, sizeof(dir), "%s/go-on", base);
	assert_int_equal(store_create(&s, NULL, dir, "x", "{}", &e), 0);
	assert_int_equal(store_event(s, json_pack("{s:s,s:s}", "event", "run", "seed", "7"), &e), 0);
	cell(s, "a", "ok");
	cell(s, "b", "failed");
	cell(s, "c", "flagged");
	cell(s, "d", "unavailable");
	cell(s, "e", "skipped");
	cell(s, "f", "invalid");
	cell(s, "f", "ok");
	cell(s, "g", "ok");
	cell(s, "g", "failed");
	store_close(&s);
	before = events_of(dir);
	assert_non_null(strstr(before, "\"value\":0.03,\"utc\":\"2"));

	/* A crash tore the last line. */
	snprintf(path, sizeof(path), "%s/events.jsonl", dir);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write_all(fd, "{\"event\":\"cell\",\"key\":\"b\",\"sta", 30), 0);
	close(fd);

	assert_int_equal(store_open(&s, dir, &e), 0);
	assert_true(store_has_cell(s, "a") && store_has_cell(s, "c") && store_has_cell(s, "d"));
	assert_true(store_has_cell(s, "f"));
	assert_false(store_has_cell(s, "b") || store_has_cell(s, "e") || store_has_cell(s, "g"));
	assert_int_equal(store_cells(s), 4);
	assert_string_equal(json_string_value(json_object_get(store_run(s), "seed")), "7");
	cell(s, "b", "ok");
	assert_true(store_has_cell(s, "b"));
	store_close(&s);
	after = events_of(dir);
	assert_memory_equal(before, after, strlen(before));
	assert_int_equal(strncmp(after + strlen(before), "{\"event\":\"cell\",\"key\":\"b\"", 25), 0);
}

static void test_not_ours(void **state)
{
	struct store *s = NULL;
	struct err e = ERR_INIT;
	char dir[PATH_MAX], path[PATH_MAX + 20];

	assert_int_equal(store_open(&s, "/nonexistent", &e), -ENOENT);
	snprintf(dir, sizeof(dir), "%s/not-ours", base);
	assert_int_equal(mkdir(dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/events.jsonl", dir);
	assert_int_equal(replace_file(path, "{}\nhello\n{}\n", 12, 0644, &e), 0);
	assert_int_equal(store_open(&s, dir, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "line 2"));
	assert_null(s);
}

static void test_other_locale(void **state)
{
	struct store *s = NULL;
	struct err e = ERR_INIT;
	cleanup_free char *text = NULL;
	char dir[PATH_MAX];

	/* Where it is not installed this is the C locale, and the test still has to pass. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	snprintf(dir, sizeof(dir), "%s/locale", base);
	assert_int_equal(store_create(&s, NULL, dir, "x", "{}", &e), 0);
	cell(s, "a", "ok");
	store_close(&s);
	setlocale(LC_ALL, "C");
	text = events_of(dir);
	assert_non_null(strstr(text, "\"value\":0.03,"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_folder),
		cmocka_unit_test(test_go_on),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_other_locale),
	};

	return cmocka_run_group_tests_name("store", tests, set_up, tear_down);
}
