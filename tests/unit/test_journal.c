// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The journal: what is written before it is acted upon is undone after any kind of death, newest
 * first, and nothing else is touched.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/change/journal.h"
#include "harness/change/undo.h"

/* What the undo functions of the tests were asked, in order: "b a ". */
static char asked[200];
static bool refuse;

static int undo_letter(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
		       struct err *e)
{
	const char *name = json_string_value(json_object_get(entry, "name"));
	const char *more = json_string_value(json_object_get(entry, "more"));

	strcat(asked, name);
	strcat(asked, more ? more : "");
	strcat(asked, " ");
	say(arg, name);
	return refuse && strcmp(name, "b") == 0 ? err_set(e, EBUSY, "b stays") : 0;
}

static const struct undo_kind letter = {"letter", undo_letter};
const struct undo_kind *const undo_kinds[] = {&letter, &undo_processes, &undo_folder, NULL};

static void say(void *arg, const char *line)
{
	if (arg)
		strcat(strcat(arg, line), "\n");
}

struct place {
	char base[64];
	char folder[PATH_MAX], journal[PATH_MAX + 16];
};
static struct place place;

static int setup(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	asked[0] = '\0';
	refuse = false;
	strcpy(place.base, "/tmp/mksplit-journal-XXXXXX");
	assert_non_null(mkdtemp(place.base));
	snprintf(place.folder, sizeof(place.folder), "%s/state", place.base);
	setenv("MKSPLIT_STATE_DIR", place.folder, 1);
	assert_int_equal(state_folder(place.folder, sizeof(place.folder), &e), 0);
	snprintf(place.journal, sizeof(place.journal), "%s/journal", place.folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(place.journal);
	assert_int_equal(rmdir(place.folder), 0);
	assert_int_equal(rmdir(place.base), 0);
	return 0;
}

static void before(struct journal *j, const char *name)
{
	struct err e = ERR_INIT;

	assert_true(journal_before(j, "letter", json_pack("{s:s}", "name", name), &e) > 0);
}

/* A process that makes the changes "a", "b", "c", takes "b" back, and is killed. */
static void die_with_changes(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct err e = ERR_INIT;
		struct journal *j;
		int b;

		if (journal_open(&j, &e) < 0)
			_exit(1);
		journal_before(j, "letter", json_pack("{s:s}", "name", "a"), &e);
		b = journal_before(j, "letter", json_pack("{s:s}", "name", "b"), &e);
		journal_update(j, journal_before(j, "letter", json_pack("{s:s}", "name", "c"), &e),
			       json_pack("{s:s}", "more", "!"), &e);
		journal_gone(j, b, &e);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void test_close_undoes_newest_first(void **state)
{
	struct err e = ERR_INIT;
	struct journal *j;

	assert_int_equal(journal_open(&j, &e), 0);
	before(j, "a");
	before(j, "b");
	before(j, "c");
	assert_int_equal(journal_gone(j, 2, &e), 0);
	assert_int_equal(journal_close(&j, &e), 0);
	assert_string_equal(asked, "c a ");
	assert_int_equal(access(place.journal, F_OK), -1);
}

static void test_one_run_at_a_time(void **state)
{
	struct err e = ERR_INIT;
	struct journal *j, *other;
	char pid[40];
	bool alive;
	json_t *o;

	assert_int_equal(journal_open(&j, &e), 0);
	assert_int_equal(journal_open(&other, &e), -EBUSY);
	snprintf(pid, sizeof(pid), "process %d", getpid());
	assert_non_null(strstr(e.text, pid));
	assert_int_equal(journal_cleanup(false, say, NULL, &e), -EBUSY);
	o = journal_peek(&alive);
	assert_true(alive);
	assert_int_equal(json_integer_value(json_object_get(o, "pid")), getpid());
	json_decref(o);
	assert_int_equal(journal_close(&j, &e), 0);
	assert_null(journal_peek(&alive));
	assert_int_equal(journal_open(&other, &e), 0);
	assert_int_equal(journal_close(&other, &e), 0);
}

static void test_killed_run_is_cleaned_up(void **state)
{
	char said[1000] = "";
	struct err e = ERR_INIT;
	struct journal *j;
	bool alive = true;

	die_with_changes();
	json_decref(journal_peek(&alive));
	assert_false(alive);
	assert_int_equal(journal_open(&j, &e), -EBUSY);
	assert_non_null(strstr(e.text, "mksplit cleanup"));
	assert_int_equal(journal_cleanup(true, say, said, &e), 0);
	assert_string_equal(asked, "");
	assert_non_null(strstr(said, "would undo letter {\"more\":\"!\",\"name\":\"c\"}"));
	assert_null(strstr(said, "\"b\""));
	assert_int_equal(journal_cleanup(false, say, NULL, &e), 0);
	assert_string_equal(asked, "c! a ");
	assert_int_equal(journal_cleanup(false, say, NULL, &e), 0);
	assert_string_equal(asked, "c! a ");
}

static void test_what_cannot_be_undone_stays_written(void **state)
{
	struct err e = ERR_INIT;
	struct journal *j;

	assert_int_equal(journal_open(&j, &e), 0);
	before(j, "a");
	before(j, "b");
	before(j, "c");
	refuse = true;
	assert_int_equal(journal_close(&j, &e), -EBUSY);
	assert_string_equal(e.text, "b stays");
	assert_string_equal(asked, "c b a ");
	refuse = false;
	assert_int_equal(journal_cleanup(false, say, NULL, &e), 0);
	assert_string_equal(asked, "c b a b ");
}

static void append_text(const char *text)
{
	cleanup_close int fd = open(place.journal, O_WRONLY | O_APPEND);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

/* Written by half before the machine stopped: it was not acted upon. */
static void test_torn_line(void **state)
{
	struct err e = ERR_INIT;

	die_with_changes();
	append_text("{\"entry\":4,\"kind\":\"letter\",\"undo\":{\"name\":\"d\"}}");
	assert_int_equal(journal_cleanup(false, say, NULL, &e), 0);
	assert_string_equal(asked, "c! a ");
}

static void test_lines_that_make_no_sense(void **state)
{
	struct err e = ERR_INIT;

	die_with_changes();
	append_text("\n[]\nnull\n{}\n{\"entry\":-1,\"gone\":true}\n{\"entry\":2000000000,"
		    "\"kind\":\"letter\",\"undo\":{\"name\":\"x\"}}\n{\"entry\":1,\"more\":7}\n"
		    "{\"entry\":9,\"kind\":\"letter\"}\n{\"entry\":\"3\",\"gone\":true}\n\x80\n");
	assert_int_equal(journal_cleanup(false, say, NULL, &e), 0);
	assert_string_equal(asked, "c! a ");
}

static void test_unknown_kind_keeps_the_others_not(void **state)
{
	struct err e = ERR_INIT;

	die_with_changes();
	append_text("{\"entry\":4,\"kind\":\"of-a-later-version\",\"undo\":{}}\n");
	assert_int_equal(journal_cleanup(false, say, NULL, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "of-a-later-version"));
	assert_string_equal(asked, "c! a ");
	assert_int_equal(access(place.journal, F_OK), 0);
}

static void write_journal(const char *text)
{
	cleanup_close int fd = open(place.journal, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

static void test_another_boots_entries_are_void(void **state)
{
	struct err e = ERR_INIT;
	struct journal *j;
	bool alive;

	write_journal("{\"boot_id\":\"other\",\"pid\":1}\n"
		      "{\"entry\":1,\"kind\":\"letter\",\"undo\":{\"name\":\"a\"}}\n");
	assert_null(journal_peek(&alive));
	assert_int_equal(journal_open(&j, &e), 0);
	assert_int_equal(journal_close(&j, &e), 0);
	write_journal("{\"boot_id\":\"other\",\"pid\":1}\n"
		      "{\"entry\":1,\"kind\":\"letter\",\"undo\":{\"name\":\"a\"}}\n");
	assert_int_equal(journal_cleanup(false, say, NULL, &e), 0);
	assert_string_equal(asked, "");
}

/* Killed between making the file and writing its first line. */
static void test_empty_journal(void **state)
{
	struct err e = ERR_INIT;
	struct journal *j;

	write_journal("");
	assert_int_equal(journal_cleanup(false, say, NULL, &e), 0);
	write_journal("{\"boot");
	assert_int_equal(journal_open(&j, &e), 0);
	before(j, "a");
	assert_int_equal(journal_close(&j, &e), 0);
	assert_string_equal(asked, "a ");
}

/* A change whose entry does not fit must not be made, and later entries are whole. */
static void test_full_disk(void **state)
{
	struct rlimit was, small;
	struct err e = ERR_INIT;
	char long_name[200];
	struct journal *j;
	struct stat st;

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(journal_open(&j, &e), 0);
	before(j, "a");
	assert_int_equal(stat(place.journal, &st), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = (struct rlimit){.rlim_cur = st.st_size + 100, .rlim_max = was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(journal_before(j, "letter", json_pack("{s:s}", "name", long_name), &e),
			 -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	signal(SIGXFSZ, SIG_DFL);
	before(j, "b");
	refuse = true; /* so that the file is kept */
	assert_int_equal(journal_close(&j, &e), -EBUSY);
	asked[0] = '\0';
	refuse = false;
	assert_int_equal(journal_cleanup(false, say, NULL, &e), 0);
	assert_string_equal(asked, "b ");
}

static void test_foreign_folder_is_refused(void **state)
{
	char path[PATH_MAX];
	struct err e = ERR_INIT;

	assert_int_equal(chmod(place.folder, 0777), 0);
	assert_int_equal(state_folder(path, sizeof(path), &e), -EPERM);
	assert_int_equal(rmdir(place.folder), 0);
	assert_int_equal(symlink("/tmp", place.folder), 0);
	assert_int_equal(state_folder(path, sizeof(path), &e), -EPERM);
	assert_int_equal(unlink(place.folder), 0);
	assert_int_equal(state_folder(path, sizeof(path), &e), 0);
}

/* A sleeper in a session of its own, whose environment has the line; *ready once it has exec'd. */
static pid_t sleeper(const char *line, bool stubborn)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char *argv[] = {"sleep", "1000", NULL}, *envp[] = {"A=b", (char *)line, NULL};

		setsid();
		if (stubborn)
			signal(SIGTERM, SIG_IGN);
		execve("/bin/sleep", argv, envp);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 0); /* closed by the exec */
	close(ready[0]);
	return pid;
}

static int ended_by(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_processes_by_their_mark(void **state)
{
	char mark[64], line[96], longer[100];
	pid_t ours, stubborn, other;
	struct err e = ERR_INIT;
	json_t *entry;

	snprintf(mark, sizeof(mark), "test-%d", getpid());
	snprintf(line, sizeof(line), UNDO_MARKER "%s", mark);
	snprintf(longer, sizeof(longer), "%sx", line);
	ours = sleeper(line, false);
	stubborn = sleeper(line, true);
	other = sleeper(longer, false);
	entry = json_pack("{s:s}", "marker", mark);
	/* They are zombies until we wait: no longer there for the undo. */
	assert_int_equal(undo_processes.undo(entry, say, NULL, &e), 0);
	assert_int_equal(ended_by(ours), SIGTERM);
	assert_int_equal(ended_by(stubborn), SIGKILL);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	kill(other, SIGKILL);
	ended_by(other);
	assert_int_equal(undo_processes.undo(entry, say, NULL, &e), 0);
	json_decref(entry);
}

static void make_file(const char *path)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
}

static int remove_path(const char *path, struct err *e)
{
	json_t *entry = json_pack("{s:s}", "path", path);
	int ret = undo_folder.undo(entry, say, NULL, e);

	json_decref(entry);
	return ret;
}

static void test_folders_of_ours_only(void **state)
{
	char run[PATH_MAX + 8], inner[PATH_MAX + 32], link[PATH_MAX + 32], keep[PATH_MAX + 32];
	struct err e = ERR_INIT;

	snprintf(run, sizeof(run), "%s/run-1", place.folder);
	snprintf(inner, sizeof(inner), "%s/inner", run);
	snprintf(link, sizeof(link), "%s/link", run);
	snprintf(keep, sizeof(keep), "%s/keep", place.base);
	assert_int_equal(mkdir(run, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_int_equal(mkdir(keep, 0700), 0);
	strcat(inner, "/file");
	make_file(inner);
	strcat(keep, "/file");
	make_file(keep);
	keep[strlen(keep) - 5] = '\0';
	assert_int_equal(symlink(keep, link), 0);
	assert_int_equal(remove_path(run, &e), 0);
	assert_int_equal(access(run, F_OK), -1);
	assert_int_equal(remove_path(run, &e), 0);
	assert_int_equal(remove_path(keep, &e), -EINVAL);
	assert_int_equal(remove_path(place.folder, &e), -EINVAL);
	snprintf(run, sizeof(run), "%s/..", place.folder);
	assert_int_equal(remove_path(run, &e), -EINVAL);
	/* A link in the run folder's place goes, what it points to stays. */
	snprintf(run, sizeof(run), "%s/run-2", place.folder);
	assert_int_equal(symlink(keep, run), 0);
	assert_int_equal(remove_path(run, &e), 0);
	assert_int_equal(access(run, F_OK), -1);
	strcat(keep, "/file");
	assert_int_equal(unlink(keep), 0);
	keep[strlen(keep) - 5] = '\0';
	assert_int_equal(rmdir(keep), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_close_undoes_newest_first),
		TEST(test_one_run_at_a_time),
		TEST(test_killed_run_is_cleaned_up),
		TEST(test_what_cannot_be_undone_stays_written),
		TEST(test_torn_line),
		TEST(test_lines_that_make_no_sense),
		TEST(test_unknown_kind_keeps_the_others_not),
		TEST(test_another_boots_entries_are_void),
		TEST(test_empty_journal),
		TEST(test_full_disk),
		TEST(test_foreign_folder_is_refused),
		TEST(test_processes_by_their_mark),
		TEST(test_folders_of_ours_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
