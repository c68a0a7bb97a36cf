// SPDX-License-Identifier: GPL-2.0-or-later
/* read, pread, and read after lseek. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/scale/files.h"
#include "bench/scale/tables.h"

/* The read of 0 bytes at the end is counted: 257 counts a pass through 1 MiB. */
static int read_around(struct task *t, char *buf, size_t size)
{
	struct slot *s = t->slot;
	int fd = t->fd;

	while (!s->stop) {
		ssize_t n = read(fd, buf, size);

		if (n < 0)
			return task_fail(t, "read", errno);
		if (n == 0 && lseek(fd, 0, SEEK_SET) != 0)
			return task_fail(t, "lseek", errno);
		s->count++;
	}
	return 0;
}

static int read_run(struct task *t)
{
	char buf[TRANSFER];

	return read_around(t, buf, sizeof(buf));
}

static int aligned_buffer(struct task *t, size_t size)
{
	/* A mapping, which is page-aligned, and leaves the heap of the task as it is. */
	t->data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->data == MAP_FAILED) {
		t->data = NULL;
		return task_fail(t, "map a buffer", errno);
	}
	memset(t->data, 0, size);
	return 0;
}

static void free_page(struct task *t)
{
	if (t->data)
		munmap(t->data, t->scale->page_size);
}

static int read3_prepare(struct task *t)
{
	size_t done = 0;
	int ret = own_file_in(t, t->scale->cell->dir, O_DIRECT);

	if (ret < 0)
		return ret;
	ret = aligned_buffer(t, MEBIBYTE);
	while (ret == 0 && done < MEBIBYTE) {
		ssize_t n = pwrite(t->fd, t->data, MEBIBYTE - done, done);

		if (n <= 0)
			ret = task_fail(t, "fill the own file", n < 0 ? errno : EIO);
		else
			done += n;
	}
	if (ret == 0 && lseek(t->fd, MEBIBYTE, SEEK_SET) < 0)
		ret = task_fail(t, "lseek", errno);
	/* The loop's buffer is one page. */
	if (t->data)
		munmap(t->data, MEBIBYTE);
	t->data = NULL;
	return ret < 0 ? ret : aligned_buffer(t, t->scale->page_size);
}

static int read4_prepare(struct task *t)
{
	t->fd = open(t->scale->path, O_RDONLY | O_DIRECT);
	if (t->fd < 0)
		return errno == EINVAL ? task_unavailable(t, "open with O_DIRECT", errno)
				       : task_fail(t, "open with O_DIRECT", errno);
	return aligned_buffer(t, t->scale->page_size);
}

static int read_direct(struct task *t)
{
	return read_around(t, t->data, t->scale->page_size);
}

static int pread_run(struct task *t)
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

static int pread3(struct task *t)
{
	struct slot *s = t->slot;
	off_t offset = t->offset;
	char buf[TRANSFER];
	int fd = t->fd;

	while (!s->stop) {
		if (pread(fd, buf, sizeof(buf), offset) != sizeof(buf))
			return task_fail(t, "pread", errno);
		s->count++;
	}
	return 0;
}

static int readseek(struct task *t)
{
	struct slot *s = t->slot;
	char buf[TRANSFER];
	int fd = t->fd;

	while (!s->stop) {
		if (lseek(fd, 0, SEEK_SET) != 0)
			return task_fail(t, "lseek", errno);
		if (read(fd, buf, sizeof(buf)) != sizeof(buf))
			return task_fail(t, "read", errno);
		s->count++;
	}
	return 0;
}

static int readseek3(struct task *t)
{
	struct slot *s = t->slot;
	off_t offset = t->offset;
	char buf[TRANSFER];
	int fd = t->fd;

	while (!s->stop) {
		if (lseek(fd, offset, SEEK_SET) != offset)
			return task_fail(t, "lseek", errno);
		if (read(fd, buf, sizeof(buf)) != sizeof(buf))
			return task_fail(t, "read", errno);
		s->count++;
	}
	return 0;
}

#define SLICE_NEED 65536 /* a page a task, where pages are largest */
#define DIRECT	   "a file system with direct I/O"
#define FOLIO	   "reference count of the page-cache folio"
#define SLICES	   "none while folios are single pages; the reference count of a large one"

static const struct test tests[] = {
	{
		.info = {"read1", "reads an own file of 1 MiB in pieces of 4096 bytes",
			 "a read, also the empty one at the end", "none", ROLE_CONTROL, MODE_BOTH,
			 .needs = {.tmpfs_per_task = MEBIBYTE}},
		.task_prepare = own_file_1m,
		.run = read_run,
	},
	{
		.info = {"read2", "reads one file of 1 MiB in pieces of 4096 bytes",
			 "a read, also the empty one at the end",
			 "reference counts of the file's page-cache folios", ROLE_EFFECT, MODE_BOTH,
			 .needs = {.tmpfs = MEBIBYTE}},
		.prepare = one_file_1m,
		.task_prepare = open_read_only,
		.run = read_run,
		.cleanup = remove_one_file,
	},
	{
		.info = {"read3", "reads an own file of 1 MiB with O_DIRECT, a page at a time",
			 "a read, also the empty one at the end",
			 "file system and device queue; on tmpfs the page cache only", ROLE_UNKNOWN,
			 MODE_BOTH, .needs = {.tmpfs_per_task = MEBIBYTE, .special = DIRECT}},
		.task_prepare = read3_prepare,
		.run = read_direct,
		.task_cleanup = free_page,
	},
	{
		.info = {"read4", "reads one file of 1 MiB with O_DIRECT, a page at a time",
			 "a read, also the empty one at the end",
			 "as read3; on many file systems the inode lock", ROLE_UNKNOWN, MODE_BOTH,
			 .needs = {.tmpfs = MEBIBYTE, .special = DIRECT}},
		.prepare = one_file_1m,
		.task_prepare = read4_prepare,
		.run = read_direct,
		.task_cleanup = free_page,
		.cleanup = remove_one_file,
	},
	{
		.info = {"pread1", "reads 4096 bytes at offset 0 of an own file", "a call", "none",
			 ROLE_CONTROL, MODE_BOTH, .needs = {.tmpfs_per_task = TRANSFER}},
		.task_prepare = own_file_4k,
		.run = pread_run,
	},
	{
		.info = {"pread2", "reads 4096 bytes at offset 0 of one file", "a call", FOLIO,
			 ROLE_EFFECT, MODE_BOTH, .needs = {.tmpfs = TRANSFER}},
		.prepare = one_file_4k,
		.task_prepare = open_read_only,
		.run = pread_run,
		.cleanup = remove_one_file,
	},
	{
		.info = {"pread3", "reads 4096 bytes of one file, at an own page", "a call", SLICES,
			 ROLE_UNKNOWN, MODE_BOTH, .needs = {.tmpfs_per_task = SLICE_NEED}},
		.prepare = one_file_slices,
		.task_prepare = open_slice_read_only,
		.run = pread3,
		.cleanup = remove_one_file,
	},
	{
		.info = {"readseek1", "seeks to 0 and reads 4096 bytes of an own file", "a pair",
			 "none", ROLE_CONTROL, MODE_BOTH, .needs = {.tmpfs_per_task = TRANSFER}},
		.task_prepare = own_file_4k,
		.run = readseek,
	},
	{
		.info = {"readseek2", "seeks to 0 and reads 4096 bytes of one file", "a pair",
			 FOLIO, ROLE_EFFECT, MODE_BOTH, .needs = {.tmpfs = TRANSFER}},
		.prepare = one_file_4k,
		.task_prepare = open_read_write,
		.run = readseek,
		.cleanup = remove_one_file,
	},
	{
		.info = {"readseek3", "seeks to an own page of one file and reads 4096 bytes", "a pair",
			 SLICES, ROLE_UNKNOWN, MODE_BOTH, .needs = {.tmpfs_per_task = SLICE_NEED}},
		.prepare = one_file_slices,
		.task_prepare = open_slice_read_only,
		.run = readseek3,
		.cleanup = remove_one_file,
	},
};

const struct test_table read_tests = TEST_TABLE(tests);
