// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptors and files without data: dup, lseek, fallocate, record locks. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bench/scale/files.h"
#include "bench/scale/tables.h"

static int dup1(struct task *t)
{
	struct slot *s = t->slot;
	int fd = t->fd;

	while (!s->stop) {
		int copy = dup(fd);

		if (copy < 0)
			return task_fail(t, "dup", errno);
		close(copy);
		s->count++;
	}
	return 0;
}

static int lseek_run(struct task *t)
{
	struct slot *s = t->slot;
	int fd = t->fd;

	while (!s->stop) {
		if (lseek(fd, 0, SEEK_SET) != 0)
			return task_fail(t, "lseek", errno);
		s->count++;
	}
	return 0;
}

#define PIECE 8192

static int fallocate_run(struct task *t)
{
	struct slot *s = t->slot;
	off_t at = 0;
	int fd = t->fd;

	while (!s->stop) {
		/* tmpfs undoes what a signal interrupts: the same place again. */
		if (fallocate(fd, 0, at, PIECE) != 0) {
			if (errno == EINTR)
				continue;
			return errno == EOPNOTSUPP ? task_unavailable(t, "fallocate", errno)
						   : task_fail(t, "fallocate", errno);
		}
		at += PIECE;
		if (at == MEBIBYTE) {
			at = 0;
			if (ftruncate(fd, 0) < 0)
				return task_fail(t, "ftruncate", errno);
		}
		s->count++;
	}
	return 0;
}

/* Whether the file system can, before anything is measured. */
static int try_fallocate(struct task *t)
{
	if (fallocate(t->fd, 0, 0, PIECE) != 0 && errno != EINTR)
		return errno == EOPNOTSUPP ? task_unavailable(t, "fallocate", errno)
					   : task_fail(t, "fallocate", errno);
	return ftruncate(t->fd, 0) < 0 ? task_fail(t, "ftruncate", errno) : 0;
}

static int fallocate1_prepare(struct task *t)
{
	struct statfs fs;
	int ret;

	/* Anything else there would silently be another test. */
	if (statfs("/dev/shm", &fs) < 0)
		return task_unavailable(t, "/dev/shm", errno);
	if ((unsigned long)fs.f_type != TMPFS_MAGIC)
		return task_unavailable(t, "/dev/shm is no tmpfs", ENODEV);
	ret = own_file_in(t, "/dev/shm", 0);
	return ret < 0 ? ret : try_fallocate(t);
}

static int fallocate2_prepare(struct task *t)
{
	int ret = own_file(t);

	return ret < 0 ? ret : try_fallocate(t);
}

static int lock_run(struct task *t)
{
	struct slot *s = t->slot;
	struct flock lock = {.l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	int fd = t->fd;

	while (!s->stop) {
		lock.l_type = F_WRLCK;
		if (fcntl(fd, F_SETLKW, &lock) != 0) {
			if (errno == EINTR)
				continue;
			return task_fail(t, "lock", errno);
		}
		s->count++;
		lock.l_type = F_UNLCK;
		if (fcntl(fd, F_SETLKW, &lock) != 0)
			return task_fail(t, "unlock", errno);
		s->count++;
	}
	return 0;
}

static const struct test tests[] = {
	{
		.info = {"dup1", "duplicates a descriptor and closes the copy", "a pair",
			 "none (threads: the descriptor table)", ROLE_CONTROL, MODE_BOTH},
		.task_prepare = own_file,
		.run = dup1,
	},
	{
		.info = {"lseek1", "seeks to 0 in an own file", "a call", "none", ROLE_CONTROL,
			 MODE_BOTH, .needs = {.tmpfs_per_task = TRANSFER}},
		.task_prepare = own_file_4k,
		.run = lseek_run,
	},
	{
		.info = {"lseek2", "seeks to 0 in one file that each task has opened", "a call",
			 "none: the inode is only read", ROLE_CONTROL, MODE_BOTH,
			 .needs = {.tmpfs = TRANSFER}},
		.prepare = one_file_4k,
		.task_prepare = open_read_write,
		.run = lseek_run,
		.cleanup = remove_one_file,
	},
	{
		.info = {"fallocate1",
			 "allocates an own file of /dev/shm in pieces of 8 KiB up to 1 MiB, around",
			 "a fallocate call",
			 "used blocks, commit counter, page allocator, LRU lists, in batches",
			 ROLE_UNKNOWN, MODE_BOTH,
			 .needs = {.tmpfs_per_task = MEBIBYTE, .special = "a tmpfs on /dev/shm"}},
		.task_prepare = fallocate1_prepare,
		.run = fallocate_run,
	},
	{
		.info = {"fallocate2", "allocates an own file in pieces of 8 KiB up to 1 MiB, around",
			 "a fallocate call", "as fallocate1; on disks block allocation and journal",
			 ROLE_UNKNOWN, MODE_BOTH,
			 .needs = {.tmpfs_per_task = MEBIBYTE,
				   .special = "a file system with fallocate"}},
		.task_prepare = fallocate2_prepare,
		.run = fallocate_run,
	},
	{
		.info = {"lock1", "locks and unlocks a byte of an own file (fcntl)",
			 "a call, two a loop", "none in practice", ROLE_CONTROL, MODE_BOTH,
			 .needs = {.special = "record locks"}},
		.task_prepare = own_file,
		.run = lock_run,
	},
	{
		.info = {"lock2",
			 "locks and unlocks the same byte of one file (fcntl); as threads all are "
			 "one owner and never wait: another test",
			 "a call, two a loop", "the file's lock list, the table of blocked locks",
			 ROLE_EFFECT, MODE_BOTH, .needs = {.special = "record locks"}},
		.blocks = true,
		.prepare = one_file,
		.task_prepare = open_read_write,
		.run = lock_run,
		.cleanup = remove_one_file,
	},
};

const struct test_table file_tests = TEST_TABLE(tests);
