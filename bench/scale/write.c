// SPDX-License-Identifier: GPL-2.0-or-later
/* write, pwrite, and write after lseek. */
#include <errno.h>
#include <unistd.h>

#include "bench/scale/files.h"
#include "bench/scale/tables.h"

static int write1(struct task *t)
{
	struct slot *s = t->slot;
	char buf[TRANSFER] = {0};
	size_t size = 0;
	int fd = t->fd;

	while (!s->stop) {
		if (write(fd, buf, sizeof(buf)) != sizeof(buf))
			return task_fail(t, "write", errno);
		size += sizeof(buf);
		if (size >= MEBIBYTE) {
			size = 0;
			if (lseek(fd, 0, SEEK_SET) != 0)
				return task_fail(t, "lseek", errno);
		}
		s->count++;
	}
	return 0;
}

static int pwrite_run(struct task *t)
{
	struct slot *s = t->slot;
	char buf[TRANSFER] = {0};
	int fd = t->fd;

	while (!s->stop) {
		if (pwrite(fd, buf, sizeof(buf), 0) != sizeof(buf))
			return task_fail(t, "pwrite", errno);
		s->count++;
	}
	return 0;
}

static int pwrite3(struct task *t)
{
	struct slot *s = t->slot;
	char buf[TRANSFER] = {0};
	off_t offset = t->offset;
	int fd = t->fd;

	while (!s->stop) {
		if (pwrite(fd, buf, sizeof(buf), offset) != sizeof(buf))
			return task_fail(t, "pwrite", errno);
		s->count++;
	}
	return 0;
}

static int writeseek(struct task *t)
{
	struct slot *s = t->slot;
	char buf[TRANSFER] = {0};
	int fd = t->fd;

	while (!s->stop) {
		if (lseek(fd, 0, SEEK_SET) != 0)
			return task_fail(t, "lseek", errno);
		if (write(fd, buf, sizeof(buf)) != sizeof(buf))
			return task_fail(t, "write", errno);
		s->count++;
	}
	return 0;
}

static int writeseek3(struct task *t)
{
	struct slot *s = t->slot;
	char buf[TRANSFER] = {0};
	off_t offset = t->offset;
	int fd = t->fd;

	while (!s->stop) {
		if (lseek(fd, offset, SEEK_SET) != offset)
			return task_fail(t, "lseek", errno);
		if (write(fd, buf, sizeof(buf)) != sizeof(buf))
			return task_fail(t, "write", errno);
		s->count++;
	}
	return 0;
}

#define SLICE_NEED 65536 /* a page a task, where pages are largest */
#define OWN	   "none on tmpfs; elsewhere journal and writeback accounting"
#define SAME	   "the inode's lock, the folio's lock, time stamps"
#define SLICES	   "the inode's lock, time stamps"

static const struct test tests[] = {
	{
		.info = {"write1", "writes an own file of 1 MiB in pieces of 4096 bytes, around",
			 "a write", OWN, ROLE_CONTROL, MODE_BOTH,
			 .needs = {.tmpfs_per_task = MEBIBYTE}},
		.task_prepare = own_file,
		.run = write1,
	},
	{
		.info = {"pwrite1", "writes 4096 bytes at offset 0 of an own file", "a call", OWN,
			 ROLE_CONTROL, MODE_BOTH, .needs = {.tmpfs_per_task = TRANSFER}},
		.task_prepare = own_file,
		.run = pwrite_run,
	},
	{
		.info = {"pwrite2", "writes 4096 bytes at offset 0 of one file", "a call", SAME,
			 ROLE_EFFECT, MODE_BOTH, .needs = {.tmpfs = TRANSFER}},
		.prepare = one_file_4k,
		.task_prepare = open_read_write,
		.run = pwrite_run,
		.cleanup = remove_one_file,
	},
	{
		.info = {"pwrite3", "writes 4096 bytes of one file, at an own page", "a call",
			 SLICES, ROLE_EFFECT, MODE_BOTH, .needs = {.tmpfs_per_task = SLICE_NEED}},
		.prepare = one_file_slices,
		.task_prepare = open_slice_read_write,
		.run = pwrite3,
		.cleanup = remove_one_file,
	},
	{
		.info = {"writeseek1", "seeks to 0 and writes 4096 bytes of an own file", "a pair",
			 OWN, ROLE_CONTROL, MODE_BOTH, .needs = {.tmpfs_per_task = TRANSFER}},
		.task_prepare = own_file,
		.run = writeseek,
	},
	{
		.info = {"writeseek2", "seeks to 0 and writes 4096 bytes of one file", "a pair",
			 SAME, ROLE_EFFECT, MODE_BOTH, .needs = {.tmpfs = TRANSFER}},
		.prepare = one_file_4k,
		.task_prepare = open_read_write,
		.run = writeseek,
		.cleanup = remove_one_file,
	},
	{
		.info = {"writeseek3", "seeks to an own page of one file and writes 4096 bytes",
			 "a pair", SLICES, ROLE_EFFECT, MODE_BOTH,
			 .needs = {.tmpfs_per_task = SLICE_NEED}},
		.prepare = one_file_slices,
		.task_prepare = open_slice_read_write,
		.run = writeseek3,
		.cleanup = remove_one_file,
	},
};

const struct test_table write_tests = TEST_TABLE(tests);
