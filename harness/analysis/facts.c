// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts of two arms compared, default deny: what differs and is neither declared by the plan
 * nor known to be harmless flags the comparison by name.
 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "harness/analysis/analysis.h"
#include "harness/analysis/reader.h"

/* Names (with * and ? as in file names) of facts that differ without meaning anything. */
static const struct {
	const char *name, *why;
} harmless[] = {
	{"boot.id", "each boot draws one"},
};

/*
 * The words that a plan declares differences with, and the facts that follow from them. Any other
 * word of a plan is a fact's name, its beginning up to a dot, or a pattern.
 */
static const struct {
	const char *word, *name;
} follows[] = {
	{"cpus", "cpu.online"},
	{"cpus", "cpu.possible"},
	{"cpus", "cpu.present"},
	{"cpus", "cpu.isolated"},
	{"cpus", "cpu.nohz_full"},
	{"cpus", "numa.nodes*"},
	{"memory", "numa.nodes_with_memory"},
	{"memory", "mem.total"},
	{"memory", "mem.mb_per_cpu"},
	{"memory", "mem.directmap.*"},
	/* Pages that a CPU may commit unseen: from memory and the number of CPUs. */
	{"memory", "mem.commit_batch_pages"},
	{"cpus", "mem.commit_batch_pages"},
	/* The kernel sizes these after its memory. */
	{"memory", "limit.nproc"},
	{"memory", "limit.sigpending"},
	{"memory", "process.threads_max"},
	/* A tmpfs is half of memory unless it is given a size. */
	{"memory", "mount.tmp"},
	{"memory", "mount.dev_shm"},
};

static int by_name_arm(const void *pa, const void *pb)
{
	const struct mfact *a = *(const struct mfact *const *)pa;
	const struct mfact *b = *(const struct mfact *const *)pb;
	int order = strcmp(a->name, b->name);

	order = order ? order : a->arm - b->arm;
	return order ? order : strcmp(a->value, b->value);
}

/* The different values that one arm gave for a fact; sorted input. */
static size_t values_of(const struct mfact **f, size_t n, int arm, const char **first)
{
	const char *last = NULL;
	size_t values = 0;

	*first = "";
	for (size_t i = 0; i < n; i++) {
		if (f[i]->arm != arm || f[i]->value == last)
			continue;
		if (values++ == 0)
			*first = f[i]->value;
		last = f[i]->value;
	}
	return values;
}

/* Interned values: two arms agree when they gave the same set. */
static bool same_values(const struct mfact **f, size_t n, int a, int b)
{
	for (size_t i = 0; i < n; i++) {
		int other = f[i]->arm == a ? b : f[i]->arm == b ? a : -1;
		bool found = other < 0;

		for (size_t k = 0; k < n && !found; k++)
			found = f[k]->arm == other && f[k]->value == f[i]->value;
		if (!found)
			return false;
	}
	return true;
}

static bool follows_from(const char *word, const char *name)
{
	for (size_t i = 0; i < sizeof(follows) / sizeof(follows[0]); i++)
		if (strcmp(follows[i].word, word) == 0 && fnmatch(follows[i].name, name, 0) == 0)
			return true;
	return false;
}

static const char *declared_by(const struct mcompare *c, const char *name)
{
	for (size_t i = 0; i < c->ndifferences; i++) {
		const char *d = c->differences[i];
		size_t len = strlen(d);

		/* "mem" also allows "mem.total". */
		if (follows_from(d, name) || fnmatch(d, name, 0) == 0 ||
		    (strncmp(d, name, len) == 0 && name[len] == '.'))
			return d;
	}
	return NULL;
}

static const char *harmless_because(const char *name)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (fnmatch(harmless[i].name, name, 0) == 0)
			return harmless[i].why;
	return NULL;
}

static int add_difference(struct analysis *a, int compare, const struct mfact **f, size_t n)
{
	const struct mcompare *c = &a->m->compares[compare];
	struct fact_difference *d = push(&a->facts, &a->nfacts);

	if (!d)
		return -ENOMEM;
	*d = (struct fact_difference){.compare = compare,
				      .name = f[0]->name,
				      .declared = declared_by(c, f[0]->name),
				      .harmless = harmless_because(f[0]->name)};
	d->base_values = values_of(f, n, c->base, &d->base);
	d->with_values = values_of(f, n, c->with, &d->with);
	return 0;
}

int compare_facts(struct analysis *a)
{
	const struct model *m = a->m;
	cleanup_free const struct mfact **f = calloc(m->nfacts + 1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < m->nfacts; i++)
		f[i] = &m->facts[i];
	qsort(f, m->nfacts, sizeof(*f), by_name_arm);
	for (size_t c = 0; c < m->ncompares; c++) {
		for (size_t i = 0; i < m->nfacts;) {
			size_t from = i;

			while (i < m->nfacts && f[i]->name == f[from]->name)
				i++;
			if (same_values(f + from, i - from, m->compares[c].base, m->compares[c].with))
				continue;
			if (add_difference(a, c, f + from, i - from) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}
