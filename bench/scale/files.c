// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/scale/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"

#define PATTERN "willitscale.XXXXXX"

int write_zeros(int fd, size_t n)
{
	static const char zeros[TRANSFER];

	while (n > 0) {
		size_t part = n < TRANSFER ? n : TRANSFER;
		int ret = write_all(fd, zeros, part);

		if (ret < 0)
			return ret;
		n -= part;
	}
	return 0;
}

static int pattern(char *path, const char *dir)
{
	return snprintf(path, PATH_MAX, "%s/" PATTERN, dir) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int make_file(const struct scale *s, char *path, size_t zeros, struct err *e)
{
	cleanup_close int fd = -1;
	int ret = pattern(path, s->cell->dir);

	if (ret < 0) {
		path[0] = '\0';
		return err_set(e, ret, "%s: the name is too long", s->cell->dir);
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		ret = err_sys(e, "cannot make a file in %s", s->cell->dir);
		path[0] = '\0';
		return ret;
	}
	ret = write_zeros(fd, zeros);
	if (ret < 0)
		return err_set(e, ret, "cannot write %zu bytes to %s: %s", zeros, path,
			       strerror(-ret));
	return 0;
}

int make_folder(const struct scale *s, char *path, struct err *e)
{
	int ret = pattern(path, s->cell->dir);

	if (ret < 0)
		return err_set(e, ret, "%s: the name is too long", s->cell->dir);
	if (!mkdtemp(path))
		return err_sys(e, "cannot make a folder in %s", s->cell->dir);
	return 0;
}

int one_file(struct scale *s, struct err *e)
{
	return make_file(s, s->path, 0, e);
}

int one_file_4k(struct scale *s, struct err *e)
{
	return make_file(s, s->path, TRANSFER, e);
}

int one_file_1m(struct scale *s, struct err *e)
{
	return make_file(s, s->path, MEBIBYTE, e);
}

int one_file_slices(struct scale *s, struct err *e)
{
	return make_file(s, s->path, (size_t)s->ntasks * s->page_size, e);
}

void remove_one_file(struct scale *s)
{
	if (s->path[0])
		unlink(s->path);
}

static int open_one_file(struct task *t, int flags)
{
	t->fd = open(t->scale->path, flags);
	t->offset = (off_t)t->n * t->scale->page_size;
	return t->fd < 0 ? task_fail(t, "open the file of all tasks", errno) : 0;
}

int open_read_only(struct task *t)
{
	return open_one_file(t, O_RDONLY);
}

int open_read_write(struct task *t)
{
	return open_one_file(t, O_RDWR);
}

int open_slice_read_only(struct task *t)
{
	return open_one_file(t, O_RDONLY);
}

int open_slice_read_write(struct task *t)
{
	return open_one_file(t, O_RDWR);
}

int own_file_in(struct task *t, const char *dir, int flags)
{
	char path[PATH_MAX];
	int ret = pattern(path, dir);

	if (ret < 0)
		return task_fail(t, "name an own file", -ret);
	t->fd = mkostemp(path, flags);
	if (t->fd < 0)
		return errno == EINVAL && flags ? task_unavailable(t, "open with O_DIRECT", errno)
						: task_fail(t, "make an own file", errno);
	if (unlink(path) < 0)
		return task_fail(t, "unlink the own file", errno);
	return 0;
}

int own_file(struct task *t)
{
	return own_file_in(t, t->scale->cell->dir, 0);
}

static int own_file_of(struct task *t, size_t zeros)
{
	int ret = own_file(t);

	if (ret < 0)
		return ret;
	ret = write_zeros(t->fd, zeros);
	return ret < 0 ? task_fail(t, "fill the own file", -ret) : 0;
}

int own_file_4k(struct task *t)
{
	return own_file_of(t, TRANSFER);
}

int own_file_1m(struct task *t)
{
	return own_file_of(t, MEBIBYTE);
}

int own_file_128m_sparse(struct task *t)
{
	int ret = own_file(t);

	if (ret < 0)
		return ret;
	return ftruncate(t->fd, BIG_SIZE) < 0 ? task_fail(t, "ftruncate to 128 MiB", errno) : 0;
}
