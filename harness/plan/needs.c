// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/plan/catalog.h"
#include "harness/plan/placement.h"
#include "harness/plan/tasks.h"

/*
 * A kernel of its own keeps some memory: text, per-CPU areas, and a page structure of 64 bytes
 * for every page. Debian's 6.1 cloud kernel left MemTotal 35.4, 37.6, 42.0 and 50.7 MiB short of
 * 128, 256, 512 and 1024 MiB with one CPU; a spawn kernel is no larger.
 */
#define KERNEL_FIXED (UINT64_C(34) << 20)
#define KERNEL_SHARE 50 /* one fiftieth */

/* The agent's tmpfs takes half of the memory that its kernel sees (bench/mounts.c). */
#define TMPFS_SHARE 2

#define MIB(bytes) ((unsigned long long)((bytes) >> 20))

static uint64_t times(uint64_t size, int n)
{
	return size > UINT64_MAX / 2 / (uint64_t)n ? UINT64_MAX / 2 : size * (uint64_t)n;
}

struct place {
	const struct plan_arm *arm;
	const struct plan_partition *part;
	int tasks; /* of this partition, at the task count at hand */
};

static uint64_t left_by_kernel(uint64_t memory)
{
	uint64_t kept = KERNEL_FIXED + memory / KERNEL_SHARE;

	return memory > kept ? memory - kept : 0;
}

static int check_memory(const struct at *at, const struct plan_test *t,
			const struct catalog_test *c, const struct place *where, struct err *e)
{
	uint64_t have = left_by_kernel(where->part->memory);
	uint64_t files = c->tmpfs + times(c->tmpfs_per_task, where->tasks);
	uint64_t need = c->memory + times(c->memory_per_task, where->tasks) + files;

	if (need > have)
		return at_error(at, e,
				"%s with %d tasks needs %llu MiB of memory in partition \"%s\" of "
				"arm \"%s\", which has %llu MiB (%llu less what the kernel keeps)",
				t->test, where->tasks, MIB(need), where->part->name,
				where->arm->name, MIB(have), MIB(where->part->memory));
	if (files > have / TMPFS_SHARE)
		return at_error(
			at, e,
			"%s with %d tasks needs %llu MiB of files in partition \"%s\" of "
			"arm \"%s\", whose tmpfs has %llu MiB (half of what the kernel leaves)",
			t->test, where->tasks, MIB(files), where->part->name, where->arm->name,
			MIB(have / TMPFS_SHARE));
	return 0;
}

/*
 * The counter of committed memory goes to one shared lock when a mapping is larger than its
 * per-CPU batch, which is a quarter of the memory a CPU (mm_compute_batch() in mm/mm_init.c of
 * the kernel): a split kernel with little memory then falls behind for that reason alone.
 */
static int check_batch(const struct loader *l, const struct plan_test *t,
		       const struct catalog_test *c, const struct place *where, struct err *e)
{
	uint64_t batch = where->part->memory / (uint64_t)cpumask_weight(&where->part->cpus) / 4;

	if (c->mapping == 0 || batch >= c->mapping)
		return 0;
	return plan_warn(
		l->p, e,
		"%s maps %llu MiB at once, more than the commit batch of partition \"%s\" of "
		"arm \"%s\" (%llu MiB, a quarter of its memory a CPU): the lock behind the "
		"batch is part of what is measured there",
		t->test, MIB(c->mapping), where->part->name, where->arm->name, MIB(batch));
}

static int check_largest(const struct loader *l, const struct at *at, const struct plan_test *t,
			 const struct catalog_test *c, struct placement *const *placed, struct err *e)
{
	for (int i = 0, in_group[PLAN_MAX_ARMS] = {0}; i < l->p->narms; i++) {
		const struct plan_arm *a = &l->p->arms[i];
		const struct placement *pl = &placed[a->group][in_group[a->group]++];

		for (int k = 0; k < a->npartitions; k++) {
			struct place where = {a, &a->partitions[k], pl->counts[k]};
			int rc;

			if (where.part->memory == 0 || where.tasks == 0)
				continue;
			rc = check_memory(at, t, c, &where, e);
			if (rc == 0)
				rc = check_batch(l, t, c, &where, e);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static void free_placed(const struct plan *p, struct placement **placed)
{
	for (int g = 0; g < p->ngroups; g++) {
		for (int i = 0; placed[g] && i < p->groups[g].narms; i++)
			placement_free(&placed[g][i]);
		free(placed[g]);
	}
	free(placed);
}

static int place_all(const struct loader *l, int ntasks, struct placement **placed, struct err *e)
{
	int rc = 0;

	for (int g = 0; g < l->p->ngroups && rc == 0; g++) {
		cleanup_placer struct placer *placer = NULL;

		placed[g] = calloc((size_t)l->p->groups[g].narms, sizeof(**placed));
		if (!placed[g])
			return err_set(e, ENOMEM, "no memory for a plan");
		rc = placer_new(&placer, l->p, g, l->t, e);
		if (rc == 0)
			rc = placer_place(placer, ntasks, placed[g], e);
	}
	return rc;
}

int needs_check(const struct loader *l, const struct at *list, struct err *e)
{
	for (int i = 0; l->c && i < l->p->ntests; i++) {
		const struct plan_test *t = &l->p->tests[i];
		const struct catalog_test *c = catalog_find(l->c, t->family, t->test);
		struct placement **placed = calloc((size_t)l->p->ngroups, sizeof(*placed));
		struct at at = {.up = list, .index = (size_t)i};
		int rc;

		if (!placed)
			return err_set(e, ENOMEM, "no memory for a plan");
		/* Needs grow with the tasks, so the largest count decides. */
		rc = place_all(l, t->tasks[t->ntasks - 1], placed, e);
		if (rc == 0 && c)
			rc = check_largest(l, &at, t, c, placed, e);
		free_placed(l->p, placed);
		if (rc < 0)
			return rc;
	}
	return 0;
}
