// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal: what a run that dies at any point leaves, and what cleanup makes of it. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io.h"
#include "harness/change/undo.h"

/* A change that is a line in a file: undone means gone from it. */
static int undone[16], nundone;
static bool refuse;

static int undo_number(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
		       struct err *e)
{
	if (refuse)
		return err_set(e, EBUSY, "not now");
	undone[nundone++] = (int)json_integer_value(json_object_get(entry, "n")) +
			    100 * (int)json_integer_value(json_object_get(entry, "more"));
	say(arg, "undone");
	return 0;
}

static const struct undo_kind numbers = {"number", undo_number};
const struct undo_kind *const undo_kinds[] = {&numbers, &undo_processes, &undo_folder, NULL};

static char folder[] = "/tmp/mksplit-test-XXXXXX";

static void count(void *arg, const char *line)
{
	(void)line;
	++*(int *)arg;
}

static int setup(void **state)
{
	nundone = 0;
	refuse = false;
	return 0;
}

static int teardown(void **state)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/journal", folder);
	unlink(path);
	return 0;
}

static json_t *number(int n)
{
	return json_pack("{s:i}", "n", n);
}

/* What a run does in a process of its own that then dies without a word. */
static void die_after(void (*work)(struct journal *j))
{
	pid_t pid = fork();
	struct journal *j;
	struct err e = ERR_INIT;
	int status;

	if (pid == 0) {
		if (journal_open(&j, &e) < 0)
			_exit(1);
		work(j);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void test_normal_end(void **state)
{
	struct err e = ERR_INIT;
	struct journal *j;
	bool alive;

	assert_int_equal(journal_open(&j, &e), 0);
	assert_int_equal(journal_before(j, "number", number(1), &e), 1);
	assert_int_equal(journal_before(j, "number", number(2), &e), 2);
	assert_int_equal(journal_before(j, "number", number(3), &e), 3);
	assert_int_equal(journal_gone(j, 2, &e), 0);
	assert_int_equal(journal_update(j, 1, json_pack("{s:i}", "more", 7), &e), 0);
	assert_int_equal(journal_close(&j, &e), 0);
	/* Newest first, what is gone left out, what became known included. */
	assert_int_equal(nundone, 2);
	assert_int_equal(undone[0], 3);
	assert_int_equal(undone[1], 701);
	assert_null(journal_peek(&alive));
}

static void three_changes(struct journal *j)
{
	struct err e = ERR_INIT;

	journal_before(j, "number", number(1), &e);
	journal_before(j, "number", number(2), &e);
	journal_update(j, 2, json_pack("{s:i}", "more", 1), &e);
	journal_before(j, "number", number(3), &e);
	journal_gone(j, 3, &e);
}

static void test_death_and_cleanup(void **state)
{
	struct err e = ERR_INIT;
	struct journal *j;
	json_t *head;
	bool alive;
	int said = 0;

	die_after(three_changes);
	head = journal_peek(&alive);
	assert_non_null(head);
	assert_false(alive);
	json_decref(head);
	/* Nobody starts over it. */
	assert_int_equal(journal_open(&j, &e), -EBUSY);
	assert_non_null(strstr(e.text, "mksplit cleanup"));
	/* A dry run changes nothing. */
	assert_int_equal(journal_cleanup(true, count, &said, &e), 0);
	assert_int_equal(said, 2);
	assert_int_equal(nundone, 0);
	assert_int_equal(journal_cleanup(false, count, &said, &e), 0);
	assert_int_equal(nundone, 2);
	assert_int_equal(undone[0], 102);
	assert_int_equal(undone[1], 1);
	/* Twice is the same as once. */
	assert_int_equal(journal_cleanup(false, count, &said, &e), 0);
	assert_int_equal(nundone, 2);
	assert_null(journal_peek(&alive));
}

static void test_failed_undo_stays(void **state)
{
	struct err e = ERR_INIT;
	int said = 0;

	die_after(three_changes);
	refuse = true;
	assert_int_equal(journal_cleanup(false, count, &said, &e), -EBUSY);
	refuse = false;
	assert_int_equal(journal_cleanup(false, count, &said, &e), 0);
	assert_int_equal(nundone, 2);
}

static void test_one_run_at_a_time(void **state)
{
	struct err e = ERR_INIT;
	struct journal *j, *second;
	bool alive = false;
	char pid[32];
	json_t *head;

	assert_int_equal(journal_open(&j, &e), 0);
	snprintf(pid, sizeof(pid), "process %d", (int)getpid());
	assert_int_equal(journal_open(&second, &e), -EBUSY);
	assert_non_null(strstr(e.text, pid));
	assert_int_equal(journal_cleanup(false, count, &(int){0}, &e), -EBUSY);
	head = journal_peek(&alive);
	assert_true(alive);
	json_decref(head);
	assert_int_equal(journal_close(&j, &e), 0);
}

/* Every place at which the file may be cut by a crash. */
static void test_torn_file(void **state)
{
	char path[PATH_MAX];
	struct err e = ERR_INIT;
	char *text;
	size_t len, head;

	snprintf(path, sizeof(path), "%s/journal", folder);
	die_after(three_changes);
	assert_int_equal(read_file_at(AT_FDCWD, path, 1 << 20, &text, &len, &e), 0);
	head = strchr(text, '\n') + 1 - text;
	for (size_t cut = head; cut <= len; cut++) {
		int before = 0;

		for (char *line = text + head; (line = memchr(line, '\n', text + cut - line)); line++)
			before++;
		assert_int_equal(replace_file(path, text, cut, 0600, &e), 0);
		nundone = 0;
		assert_int_equal(journal_cleanup(false, count, &(int){0}, &e), 0);
		/* Lines: 1, 2, more of 2, 3, 3 is gone. */
		assert_int_equal(nundone, before == 0 ? 0 : before == 1 ? 1 : before == 4 ? 3 : 2);
	}
	free(text);
}

static void test_other_boot_is_void(void **state)
{
	static const char old[] =
		"{\"boot_id\":\"00000000-0000-0000-0000-000000000000\",\"pid\":1}\n"
		"{\"entry\":1,\"kind\":\"number\",\"undo\":{\"n\":1}}\n";
	struct err e = ERR_INIT;
	char path[PATH_MAX];
	int said = 0;

	snprintf(path, sizeof(path), "%s/journal", folder);
	assert_int_equal(replace_file(path, old, strlen(old), 0600, &e), 0);
	assert_int_equal(journal_cleanup(false, count, &said, &e), 0);
	assert_int_equal(said, 1);
	assert_int_equal(nundone, 0);
}

static void start_marked(struct journal *j)
{
	struct err e = ERR_INIT;
	int ready[2];
	char c;

	journal_before(j, "processes", json_pack("{s:s}", "marker", "test-journal"), &e);
	if (pipe(ready) < 0)
		_exit(1);
	if (fork() == 0) {
		close(ready[0]);
		/* Deaf to SIGTERM: only force helps. The pipe closes at exec. */
		fcntl(ready[1], F_SETFD, FD_CLOEXEC);
		signal(SIGTERM, SIG_IGN);
		setenv("MKSPLIT_RUN", "test-journal", 1);
		execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	close(ready[1]);
	while (read(ready[0], &c, 1) > 0)
		;
}

static void test_processes(void **state)
{
	json_t *entry = json_pack("{s:s}", "marker", "test-journal");
	struct err e = ERR_INIT;
	int said = 0;

	die_after(start_marked);
	assert_int_equal(journal_cleanup(false, count, &said, &e), 0);
	assert_int_equal(said, 1);
	/* Nothing is left that could be ended again. */
	die_after(three_changes);
	said = 0;
	assert_int_equal(undo_processes.undo(entry, count, &said, &e), 0);
	assert_int_equal(said, 0);
	json_decref(entry);
}

static void assert_folder_refused(const char *path)
{
	struct err e = ERR_INIT;
	json_t *entry = json_pack("{s:s}", "path", path);

	assert_int_equal(undo_folder.undo(entry, count, &(int){0}, &e), -EINVAL);
	json_decref(entry);
}

static void test_folders(void **state)
{
	char path[PATH_MAX], inner[PATH_MAX + 16], link[PATH_MAX + 16];
	struct err e = ERR_INIT;
	json_t *entry;

	snprintf(path, sizeof(path), "%s/run-1", folder);
	snprintf(inner, sizeof(inner), "%s/deep", path);
	snprintf(link, sizeof(link), "%s/link", path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_int_equal(symlink("/usr", link), 0);
	entry = json_pack("{s:s}", "path", path);
	assert_int_equal(undo_folder.undo(entry, count, &(int){0}, &e), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access("/usr/bin", F_OK), 0);
	assert_int_equal(undo_folder.undo(entry, count, &(int){0}, &e), 0);
	json_decref(entry);
	/* A journal that somebody wrote into leads nowhere else. */
	assert_folder_refused("/usr");
	assert_folder_refused("/");
	snprintf(path, sizeof(path), "%s/../x", folder);
	assert_folder_refused(path);
	snprintf(path, sizeof(path), "%s/a/b", folder);
	assert_folder_refused(path);
	assert_folder_refused(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_normal_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_death_and_cleanup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_undo_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_run_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_torn_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_boot_is_void, setup, teardown),
		cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_folders, setup, teardown),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	setenv("MKSPLIT_STATE_DIR", folder, 1);
	failed = cmocka_run_group_tests_name("journal", tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
