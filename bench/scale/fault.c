// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Page faults and flushes of the TLB. One count a page; the stop word is looked at after a
 * mapping, so a task runs on to the end of its last one.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/scale/files.h"
#include "bench/scale/tables.h"

static int fault_run(struct task *t, int flags, int fd)
{
	const unsigned long page = t->scale->page_size;
	struct slot *s = t->slot;

	while (!s->stop) {
		char *p = mmap(NULL, BIG_SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);

		if (p == MAP_FAILED)
			return task_fail(t, "mmap of 128 MiB", errno);
		for (unsigned long i = 0; i < BIG_SIZE; i += page) {
			p[i] = 0;
			s->count++;
		}
		munmap(p, BIG_SIZE);
	}
	return 0;
}

static int page_fault1(struct task *t)
{
	return fault_run(t, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int page_fault2(struct task *t)
{
	return fault_run(t, MAP_PRIVATE, t->fd);
}

static int page_fault3(struct task *t)
{
	return fault_run(t, MAP_SHARED, t->fd);
}

/* Writes each page, drops it and reads it back, which must give `back`. */
static int flush_run(struct task *t, size_t size, int flags, int fd, char back)
{
	const unsigned long page = t->scale->page_size;
	struct slot *s = t->slot;

	while (!s->stop) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

		if (p == MAP_FAILED)
			return task_fail(t, "mmap", errno);
		for (unsigned long i = 0; i < size; i += page) {
			volatile char *byte = p + i;

			*byte = 1;
			if (madvise(p + i, page, MADV_DONTNEED) != 0)
				return task_fail(t, "madvise", errno);
			if (*byte != back)
				return task_fail(t, "read back", EIO);
			s->count++;
		}
		munmap(p, size);
	}
	return 0;
}

static int tlb_flush1(struct task *t)
{
	return flush_run(t, BIG_SIZE, MAP_PRIVATE, t->fd, 0);
}

static int tlb_flush2(struct task *t)
{
	return flush_run(t, MEBIBYTE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int tlb_flush3(struct task *t)
{
	return flush_run(t, BIG_SIZE, MAP_SHARED, t->fd, 1);
}

static const struct test tests[] = {
	{
		.info = {"page_fault1", "maps 128 MiB of anonymous memory and writes to each page",
			 "a page written", "page allocator; the machine's bandwidth of zeroing",
			 ROLE_CONTROL, MODE_BOTH,
			 .needs = {.memory_per_task = BIG_SIZE, .mapping = BIG_SIZE}},
		.run = page_fault1,
	},
	{
		.info = {"page_fault2", "maps an own file of 128 MiB privately and writes to each page",
			 "a page written", "page allocator; memory bandwidth", ROLE_UNKNOWN, MODE_BOTH,
			 .needs = {.memory_per_task = BIG_SIZE,
				   .tmpfs_per_task = BIG_SIZE,
				   .mapping = BIG_SIZE}},
		.task_prepare = own_file_128m_sparse,
		.run = page_fault2,
	},
	{
		.info = {"page_fault3", "maps an own file of 128 MiB shared and writes to each page",
			 "a page written", "none (threads: the address space)", ROLE_CONTROL,
			 MODE_BOTH, .needs = {.tmpfs_per_task = BIG_SIZE, .mapping = BIG_SIZE}},
		.task_prepare = own_file_128m_sparse,
		.run = page_fault3,
	},
	{
		.info = {"tlb_flush1",
			 "maps an own file of 128 MiB privately; writes, drops and reads each page",
			 "a page", "none (threads: the address space)", ROLE_CONTROL, MODE_BOTH,
			 .needs = {.tmpfs_per_task = BIG_SIZE, .mapping = BIG_SIZE}},
		.task_prepare = own_file_128m_sparse,
		.run = tlb_flush1,
	},
	{
		.info = {"tlb_flush2",
			 "maps 1 MiB of anonymous memory; writes, drops and reads each page",
			 "a page", "page allocator and LRU counters, in batches", ROLE_UNKNOWN,
			 MODE_BOTH, .needs = {.memory_per_task = MEBIBYTE}},
		.run = tlb_flush2,
	},
	{
		.info = {"tlb_flush3",
			 "maps an own file of 128 MiB shared; writes, drops and reads each page",
			 "a page", "none (threads: the address space)", ROLE_CONTROL, MODE_BOTH,
			 .needs = {.tmpfs_per_task = BIG_SIZE, .mapping = BIG_SIZE}},
		.task_prepare = own_file_128m_sparse,
		.run = tlb_flush3,
	},
};

const struct test_table fault_tests = TEST_TABLE(tests);
