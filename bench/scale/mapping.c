// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings that are made and removed untouched, the program break, malloc. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/scale/files.h"
#include "bench/scale/tables.h"

static int mmap_run(struct task *t, int flags, int fd)
{
	struct slot *s = t->slot;

	while (!s->stop) {
		void *p = mmap(NULL, BIG_SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);

		if (p == MAP_FAILED)
			return task_fail(t, "mmap of 128 MiB", errno);
		munmap(p, BIG_SIZE);
		s->count++;
	}
	return 0;
}

static int mmap1(struct task *t)
{
	return mmap_run(t, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int mmap2(struct task *t)
{
	return mmap_run(t, MAP_PRIVATE, t->fd);
}

/* The pointer is not known to be unused, or a compiler may drop the pair. */
#define keep(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

static int malloc_run(struct task *t, size_t size)
{
	struct slot *s = t->slot;

	while (!s->stop) {
		void *p = malloc(size);

		keep(p);
		if (!p)
			return task_fail(t, "malloc", ENOMEM);
		free(p);
		s->count++;
	}
	return 0;
}

static int malloc1(struct task *t)
{
	return malloc_run(t, BIG_SIZE);
}

static int malloc2(struct task *t)
{
	return malloc_run(t, 1024);
}

static char *set_break(char *to)
{
	/* libc's brk() would move its own idea of the break, which its allocator uses. */
	return (char *)syscall(SYS_brk, to);
}

/*
 * The heap is used before tasks are forked: a heap mapping that was inherited by fork is not
 * extended, and each raise makes a mapping of its own beside it. That is what brk1 measures.
 * While tasks move the break nobody may allocate from it or trim it.
 */
static int use_heap(struct scale *s, struct err *e)
{
	char *volatile p;

	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	p = malloc(MEBIBYTE / 16); /* below the limit for mappings of their own */
	if (!p)
		return err_set(e, ENOMEM, "no memory for a heap");
	*p = 1;
	free(p);
	return 0;
}

static int brk1_prepare(struct scale *s, struct err *e)
{
	int ret = use_heap(s, e);

	s->addresses[0] = set_break(NULL);
	s->addresses[1] = s->addresses[0] + s->page_size;
	return ret;
}

static int brk1_task(struct task *t)
{
	char *now = set_break(NULL);

	/* Threads have one break: all of them move it between the same two addresses. */
	if (t->scale->cell->mode == MODE_THREADS)
		return 0;
	t->scale->addresses[0] = now;
	t->scale->addresses[1] = now + t->scale->page_size;
	return 0;
}

static int brk_raise(char **addresses, long page)
{
	char *now = set_break(NULL), *base = now + page;

	if (set_break(base) != base)
		return -ENOMEM;
	addresses[0] = base;
	addresses[1] = base + page;
	return 0;
}

static int brk2_prepare(struct scale *s, struct err *e)
{
	int ret = use_heap(s, e);

	if (ret == 0 && s->cell->mode == MODE_THREADS && brk_raise(s->addresses, s->page_size) < 0)
		return err_set(e, ENOMEM, "cannot raise the break");
	return ret;
}

static int brk2_task(struct task *t)
{
	if (t->scale->cell->mode == MODE_THREADS)
		return 0;
	return brk_raise(t->scale->addresses, t->scale->page_size) < 0 ? task_fail(t, "brk", ENOMEM)
								       : 0;
}

/*
 * libc's wrapper here, which is what upstream's loop pays for: its own idea of the break comes back
 * to where it was.
 */
static int brk_run(struct task *t)
{
	char *low = t->scale->addresses[0], *high = t->scale->addresses[1];
	struct slot *s = t->slot;

	while (!s->stop) {
		if (brk(high) != 0)
			return task_fail(t, "raise the break", errno);
		s->count++;
		if (brk(low) != 0)
			return task_fail(t, "lower the break", errno);
		s->count++;
	}
	return 0;
}

#define COMMIT "the commit counter, where its batch is smaller than the mapping"

static const struct test tests[] = {
	{
		.info = {"mmap1", "maps 128 MiB of anonymous memory and unmaps it, untouched",
			 "a pair", COMMIT, ROLE_EFFECT, MODE_BOTH, .needs = {.mapping = BIG_SIZE}},
		.run = mmap1,
	},
	{
		.info = {"mmap2", "maps 128 MiB of an own file privately and unmaps it, untouched",
			 "a pair", COMMIT, ROLE_EFFECT, MODE_BOTH, .needs = {.mapping = BIG_SIZE}},
		.task_prepare = own_file_128m_sparse,
		.run = mmap2,
	},
	{
		.info = {"brk1", "raises the break by a page and lowers it, beside the heap",
			 "a call, two a loop", "none", ROLE_CONTROL, MODE_BOTH},
		.prepare = brk1_prepare,
		.task_prepare = brk1_task,
		.run = brk_run,
	},
	{
		.info = {"brk2", "raises the break by a page and lowers it, above a page it keeps",
			 "a call, two a loop", "none: the commit counter by a page", ROLE_CONTROL,
			 MODE_BOTH},
		.prepare = brk2_prepare,
		.task_prepare = brk2_task,
		.run = brk_run,
	},
	{
		.info = {"malloc1", "allocates 128 MiB and frees it: a mapping and one fault",
			 "a pair", COMMIT, ROLE_CONTROL, MODE_BOTH, .needs = {.mapping = BIG_SIZE}},
		.run = malloc1,
	},
	{
		.info = {"malloc2", "allocates 1024 bytes and frees them", "a pair",
			 "none, no kernel entry", ROLE_CONTROL_USER, MODE_BOTH},
		.run = malloc2,
	},
};

const struct test_table mapping_tests = TEST_TABLE(tests);
