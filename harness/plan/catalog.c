// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/plan/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/plan/read.h"

/* 60 tests are 30 kB. */
#define MAX_LIST  (1UL << 20)
#define MAX_TESTS 1000

extern char **environ;

const struct catalog_test *catalog_find(const struct catalog *c, const char *family, const char *name)
{
	for (int i = 0; c && i < c->ntests; i++)
		if (strcmp(c->tests[i].name, name) == 0 &&
		    (!family || strcmp(c->tests[i].family, family) == 0))
			return &c->tests[i];
	return NULL;
}

void catalog_free(struct catalog **cp)
{
	struct catalog *c = *cp;

	if (!c)
		return;
	for (int i = 0; i < c->ntests; i++) {
		free(c->tests[i].family);
		free(c->tests[i].name);
		free(c->tests[i].summary);
	}
	free(c->tests);
	free(c);
	*cp = NULL;
}

/*
 * Keys that are not listed are ignored, unlike those of a plan: a newer benchmark binary may
 * say more than this program asks.
 */
static int optional(const struct at *at, const json_t *object, const struct field *fields, size_t n,
		    void *to, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		json_t *v = json_object_get(object, fields[i].key);
		struct at here = {.up = at, .key = fields[i].key};
		int rc = v ? fields[i].read(&here, v, (char *)to + fields[i].offset, e) : 0;

		if (rc < 0)
			return rc;
		if (!v && fields[i].required)
			return at_error(at, e, "\"%s\" is missing", fields[i].key);
	}
	return 0;
}

static const struct field needs_fields[] = {
	{"memory", read_size, offsetof(struct catalog_test, memory)},
	{"memory_per_task", read_size, offsetof(struct catalog_test, memory_per_task)},
	{"tmpfs", read_size, offsetof(struct catalog_test, tmpfs)},
	{"tmpfs_per_task", read_size, offsetof(struct catalog_test, tmpfs_per_task)},
	{"mapping", read_size, offsetof(struct catalog_test, mapping)},
};

static const struct field test_fields[] = {
	{"family", read_name, offsetof(struct catalog_test, family), true},
	{"test", read_name, offsetof(struct catalog_test, name), true},
	{"summary", read_string, offsetof(struct catalog_test, summary)},
};

static int parse_test(const struct at *at, const json_t *v, struct catalog_test *t, struct err *e)
{
	json_t *modes = json_object_get(v, "modes"), *mode;
	size_t i;
	int rc = optional(at, v, test_fields, sizeof(test_fields) / sizeof(struct field), t, e);

	if (rc == 0)
		rc = optional(at, json_object_get(v, "needs"), needs_fields,
			      sizeof(needs_fields) / sizeof(struct field), t, e);
	json_array_foreach(modes, i, mode) {
		const char *name = json_string_value(mode);

		if (name && strcmp(name, mode_name(MODE_PROCESSES)) == 0)
			t->modes |= MODE_PROCESSES;
		if (name && strcmp(name, mode_name(MODE_THREADS)) == 0)
			t->modes |= MODE_THREADS;
	}
	if (!modes)
		t->modes = MODE_PROCESSES | MODE_THREADS;
	return rc;
}

int catalog_parse(struct catalog **out, const char *json, size_t len, struct err *e)
{
	struct at root = {.key = "list of tests"};
	struct at list = {.up = &root, .key = "tests"};
	cleanup_catalog struct catalog *c = calloc(1, sizeof(*c));
	json_error_t wrong;
	json_t *all = json_loadb(json, len, JSON_REJECT_DUPLICATES, &wrong), *tests;
	size_t n = 0;
	int rc;

	if (!c || !all) {
		json_decref(all);
		return c ? at_error(&root, e, "line %d: %s", wrong.line, wrong.text)
			 : err_set(e, ENOMEM, "no memory for a list of tests");
	}
	tests = json_object_get(all, "tests");
	rc = read_array(&list, tests, MAX_TESTS, &n, e);
	if (rc == 0) {
		c->tests = calloc(n + 1, sizeof(*c->tests));
		if (!c->tests)
			rc = err_set(e, ENOMEM, "no memory for a list of tests");
	}
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct at at = {.up = &list, .index = i};

		c->ntests++;
		rc = parse_test(&at, json_array_get(tests, i), &c->tests[i], e);
	}
	json_decref(all);
	if (rc == 0)
		*out = take_ptr(c);
	return rc;
}

static int read_all(int fd, char **text, size_t *len, struct err *e)
{
	cleanup_free char *data = malloc(MAX_LIST);

	*len = 0;
	if (!data)
		return err_set(e, ENOMEM, "no memory for a list of tests");
	for (;;) {
		ssize_t n = read(fd, data + *len, MAX_LIST - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "reading the list of tests");
		if (n == 0)
			break;
		*len += (size_t)n;
		if (*len == MAX_LIST)
			return err_set(e, EFBIG, "the list of tests is longer than %lu bytes",
				       MAX_LIST);
	}
	*text = take_ptr(data);
	return 0;
}

int catalog_load(struct catalog **c, const char *bench, struct err *e)
{
	char *argv[] = {(char *)bench, "list", "--json", NULL};
	posix_spawn_file_actions_t actions;
	cleanup_free char *text = NULL;
	int fds[2], rc, status = 0;
	size_t len = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "cannot make a pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	rc = posix_spawn(&pid, bench, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (rc != 0) {
		close(fds[0]);
		errno = rc;
		return err_sys(e, "cannot run %s", bench);
	}
	rc = read_all(fds[0], &text, &len, e);
	close(fds[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc < 0)
		return err_wrap(e, "%s list --json", bench);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, EIO, "%s list --json failed (status 0x%x)", bench, status);
	return catalog_parse(c, text, len, e) < 0 ? err_wrap(e, "%s list --json", bench) : 0;
}
