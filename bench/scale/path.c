// SPDX-License-Identifier: GPL-2.0-or-later
/* Names: open, create and unlink, rename, stat. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/scale/files.h"
#include "bench/scale/tables.h"

#define OWN_NAME "/file" /* of a task's file in a folder of its own */

static int open_close(struct task *t, const char *path, int flags)
{
	struct slot *s = t->slot;

	while (!s->stop) {
		int fd = open(path, flags);

		if (fd < 0)
			return task_fail(t, "open", errno);
		close(fd);
		s->count++;
	}
	return 0;
}

static int own_names(struct scale *s, struct err *e)
{
	for (int i = 0; i < s->ntasks; i++) {
		int ret = make_file(s, s->tasks[i].path, 0, e);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static void remove_own_names(struct scale *s)
{
	for (int i = 0; i < s->ntasks; i++)
		if (s->tasks[i].path[0])
			unlink(s->tasks[i].path);
}

static int open1(struct task *t)
{
	return open_close(t, t->path, O_RDWR);
}

/* A folder a task (path2), with one file in it (path). */
static int own_folders(struct scale *s, struct err *e)
{
	for (int i = 0; i < s->ntasks; i++) {
		struct task *t = &s->tasks[i];
		int ret = make_folder(s, t->path2, e), fd;

		if (ret < 0)
			return ret;
		if ((size_t)snprintf(t->path, sizeof(t->path), "%s" OWN_NAME, t->path2) >=
		    sizeof(t->path))
			return err_set(e, ENAMETOOLONG, "%s: the name is too long", t->path2);
		fd = open(t->path, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			return err_sys(e, "cannot make %s", t->path);
		close(fd);
	}
	return 0;
}

static void remove_own_folders(struct scale *s)
{
	for (int i = 0; i < s->ntasks; i++) {
		if (s->tasks[i].path[0])
			unlink(s->tasks[i].path);
		if (s->tasks[i].path2[0])
			rmdir(s->tasks[i].path2);
	}
}

static int open3(struct task *t)
{
	return open_close(t, t->scale->path, O_RDWR);
}

/*
 * A file of a fixed name, so that several kernels can use one file: on a file system that
 * they all mount it is given by the parameter `path`.
 */
static int fixed_name(struct scale *s, struct err *e)
{
	const char *given = cell_param(s->cell, "path", NULL);
	int n = given ? snprintf(s->path, sizeof(s->path), "%s", given)
		      : snprintf(s->path, sizeof(s->path), "%s/willitscale.fixed", s->cell->dir);
	int fd, ret;

	if (n < 0 || (size_t)n >= sizeof(s->path))
		return err_set(e, ENAMETOOLONG, "the path of the file is too long");
	if (given) {
		struct stat st;

		if (stat(given, &st) < 0)
			ret = err_set(e, EOPNOTSUPP, "%s: %s", given, strerror(errno));
		else if (!S_ISREG(st.st_mode) || st.st_size < TRANSFER)
			ret = err_set(e, EOPNOTSUPP, "%s is no file of at least %d bytes", given,
				      TRANSFER);
		else
			return 0;
		s->path[0] = '\0'; /* never removed: it is not ours */
		return ret;
	}
	fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "cannot make %s", s->path);
	ret = write_zeros(fd, TRANSFER);
	close(fd);
	return ret < 0 ? err_set(e, ret, "cannot write %s: %s", s->path, strerror(-ret)) : 0;
}

static void remove_fixed_name(struct scale *s)
{
	if (!cell_param(s->cell, "path", NULL))
		remove_one_file(s);
}

static int open4(struct task *t)
{
	return open_close(t, t->scale->path, O_RDONLY);
}

static int pread4_prepare(struct task *t)
{
	t->fd = open(t->scale->path, O_RDONLY);
	return t->fd < 0 ? task_fail(t, "open", errno) : 0;
}

static int pread4(struct task *t)
{
	struct slot *s = t->slot;
	char buf[TRANSFER];
	int fd = t->fd;

	while (!s->stop) {
		if (pread(fd, buf, sizeof(buf), 0) != sizeof(buf))
			return task_fail(t, "pread", errno);
		s->count++;
	}
	return 0;
}

/* Random names that are free: made and removed again. */
static int reserve_names(struct scale *s, struct err *e)
{
	int ret = own_names(s, e);

	if (ret == 0)
		remove_own_names(s);
	return ret;
}

static int create_unlink(struct task *t)
{
	struct slot *s = t->slot;
	const char *path = t->path;

	while (!s->stop) {
		int fd = open(path, O_RDWR | O_CREAT, 0600);

		if (fd < 0)
			return task_fail(t, "open with O_CREAT", errno);
		close(fd);
		if (unlink(path) < 0)
			return task_fail(t, "unlink", errno);
		s->count++;
	}
	return 0;
}

/* Two folders a task: path in the first, path2 in the second. */
static int rename1_prepare(struct scale *s, struct err *e)
{
	for (int i = 0; i < s->ntasks; i++) {
		struct task *t = &s->tasks[i];
		char *const paths[] = {t->path, t->path2};
		int fd;

		for (int k = 0; k < 2; k++) {
			int ret = make_folder(s, paths[k], e);

			if (ret < 0) {
				paths[k][0] = '\0';
				return ret;
			}
			if (strlen(paths[k]) + sizeof(OWN_NAME) > PATH_MAX)
				return err_set(e, ENAMETOOLONG, "%s: the name is too long", paths[k]);
			strcat(paths[k], OWN_NAME);
		}
		fd = open(t->path, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			return err_sys(e, "cannot make %s", t->path);
		close(fd);
	}
	return 0;
}

static int rename1(struct task *t)
{
	struct slot *s = t->slot;
	const char *from = t->path, *to = t->path2;

	while (!s->stop) {
		const char *was = from;

		if (rename(from, to) < 0)
			return task_fail(t, "rename", errno);
		s->count++;
		from = to;
		to = was;
	}
	return 0;
}

static void rename1_cleanup(struct scale *s)
{
	for (int i = 0; i < s->ntasks; i++) {
		char *const paths[] = {s->tasks[i].path, s->tasks[i].path2};

		for (int k = 0; k < 2; k++) {
			char *slash = strrchr(paths[k], '/');

			if (!slash)
				continue;
			unlink(paths[k]);
			*slash = '\0';
			rmdir(paths[k]);
		}
	}
}

static int stat2(struct task *t)
{
	struct slot *s = t->slot;
	const char *path = t->scale->path;
	struct stat st;

	while (!s->stop) {
		if (stat(path, &st) < 0)
			return task_fail(t, "stat", errno);
		s->count++;
	}
	return 0;
}

static const struct test tests[] = {
	{
		.info = {"open1", "opens and closes an own file in the common folder", "a pair",
			 "the common folder, read only (with a security module its references)",
			 ROLE_EFFECT, MODE_BOTH},
		.prepare = own_names,
		.run = open1,
		.cleanup = remove_own_names,
	},
	{
		.info = {"open2", "opens and closes an own file in an own folder", "a pair",
			 "the folder above only (with a security module its references)",
			 ROLE_EFFECT, MODE_BOTH},
		.prepare = own_folders,
		.run = open1,
		.cleanup = remove_own_folders,
	},
	{
		.info = {"open3", "opens and closes one file that all tasks use", "a pair",
			 "the file, its dentry and inode", ROLE_EFFECT, MODE_BOTH},
		.prepare = one_file,
		.run = open3,
		.cleanup = remove_one_file,
	},
	{
		.info = {"open4", "opens read-only and closes a file of a fixed name (parameter path)",
			 "a pair", "the file, its dentry and inode", ROLE_EFFECT, MODE_BOTH,
			 .needs = {.special = "with path=FILE: that file, of at least 4096 bytes"}},
		.prepare = fixed_name,
		.run = open4,
		.cleanup = remove_fixed_name,
	},
	{
		.info = {"unlink1", "creates, closes and unlinks an own name in the common folder",
			 "a create and unlink", "the common folder, changed twice a count",
			 ROLE_EFFECT, MODE_BOTH},
		.prepare = reserve_names,
		.run = create_unlink,
		.cleanup = remove_own_names,
	},
	{
		.info = {"unlink2", "creates, closes and unlinks a name in an own folder",
			 "a create and unlink", "the file system", ROLE_EFFECT, MODE_BOTH},
		.prepare = own_folders,
		.run = create_unlink,
		.cleanup = remove_own_folders,
	},
	{
		.info = {"rename1", "moves an own file between two own folders", "a rename",
			 "the file system's rename mutex", ROLE_EFFECT, MODE_BOTH},
		.prepare = rename1_prepare,
		.run = rename1,
		.cleanup = rename1_cleanup,
	},
	{
		.info = {"stat2", "stats one file that all tasks use", "a call",
			 "the file's dentry", ROLE_EFFECT, MODE_BOTH},
		.prepare = one_file,
		.run = stat2,
		.cleanup = remove_one_file,
	},
	{
		.info = {"pread4",
			 "reads 4096 bytes at offset 0 of a file of a fixed name (parameter path)",
			 "a call", "reference count of the page-cache folio", ROLE_EFFECT, MODE_BOTH,
			 .needs = {.tmpfs = TRANSFER,
				   .special = "with path=FILE: that file, of at least 4096 bytes"}},
		.prepare = fixed_name,
		.task_prepare = pread4_prepare,
		.run = pread4,
		.cleanup = remove_fixed_name,
	},
};

const struct test_table path_tests = TEST_TABLE(tests);
