// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/versus.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/analysis/reader.h"

static const char *const names[] = {
	[CHANGE_UP] = "higher",
	[CHANGE_DOWN] = "lower",
	[CHANGE_NONE] = "unchanged",
	[CHANGE_UNDECIDED] = "undecided",
	[CHANGE_UNKNOWN] = "cannot be said",
};

const char *change_name(enum change c)
{
	return names[c];
}

static void obstacle(struct versus *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void obstacle(struct versus *v, const char *fmt, ...)
{
	va_list ap;

	if (v->nobstacles == OBSTACLES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(v->obstacles[v->nobstacles++], sizeof(v->obstacles[0]), fmt, ap);
	va_end(ap);
}

static void differ(struct versus *v, const char *what, const char *a, const char *b)
{
	if (strcmp(a, b) != 0)
		obstacle(v, "%s: %.60s and %.60s", what, a, b);
}

static void find_obstacles(struct versus *v, const struct model *a, const struct model *b)
{
	differ(v, "processor", a->cpu_model, b->cpu_model);
	differ(v, "architecture", a->arch, b->arch);
	if (a->packages != b->packages || a->nodes != b->nodes || a->cores != b->cores ||
	    a->ncpus != b->ncpus)
		obstacle(v, "topology: %d packages, %d nodes, %d cores, %zu CPUs and %d, %d, %d, %zu",
			 a->packages, a->nodes, a->cores, a->ncpus, b->packages, b->nodes, b->cores,
			 b->ncpus);
	if (a->quick != b->quick)
		obstacle(v, "one of them is a quick run");
	for (size_t i = 0; i < a->narms; i++) {
		int k = model_arm(b, a->arms[i].name);

		if (k < 0)
			continue;
		if (a->arms[i].nature != b->arms[k].nature)
			obstacle(v, "CPUs of arm %.40s: %s and %s", a->arms[i].name,
				 nature_name(a->arms[i].nature), nature_name(b->arms[k].nature));
		if (a->arms[i].npartitions != b->arms[k].npartitions)
			obstacle(v, "partitions of arm %.40s: %zu and %zu", a->arms[i].name,
				 a->arms[i].npartitions, b->arms[k].npartitions);
	}
}

static bool same_arm(const struct analysis *a, int x, const struct analysis *b, int y)
{
	return strcmp(a->m->arms[x].name, b->m->arms[y].name) == 0;
}

static bool same_row(const struct analysis *a, const struct row *x, const struct analysis *b,
		     const struct row *y)
{
	const struct mcompare *cx = &a->m->compares[x->compare], *cy = &b->m->compares[y->compare];
	const struct mtest *tx = &a->m->tests[x->test], *ty = &b->m->tests[y->test];
	const struct mmetric *mx = &a->m->metrics[x->metric], *my = &b->m->metrics[y->metric];

	return x->tasks == y->tasks && x->threads == y->threads && strcmp(tx->test, ty->test) == 0 &&
	       strcmp(tx->family, ty->family) == 0 && strcmp(tx->variant, ty->variant) == 0 &&
	       strcmp(mx->name, my->name) == 0 && strcmp(mx->unit, my->unit) == 0 &&
	       same_arm(a, cx->base, b, cy->base) && same_arm(a, cx->with, b, cy->with);
}

static enum change judge(const struct analysis *a, const struct versus_row *x,
			 const struct analysis *b, const struct margin *m)
{
	struct interval wide = interval_welch(&x->b->d, &x->a->d, 0.95);
	struct interval narrow = interval_welch(&x->b->d, &x->a->d, 0.90);

	if (x->a->d.n < VERDICT_MIN_BLOCKS || x->b->d.n < VERDICT_MIN_BLOCKS ||
	    a->pairings[x->a->compare].no_evidence || b->pairings[x->b->compare].no_evidence)
		return CHANGE_UNKNOWN;
	if (wide.lo > m->hi)
		return CHANGE_UP;
	if (wide.hi < m->lo)
		return CHANGE_DOWN;
	return interval_inside(narrow, m->lo, m->hi) ? CHANGE_NONE : CHANGE_UNDECIDED;
}

int versus_of(struct versus *v, const struct analysis *a, const struct analysis *b, struct err *e)
{
	const struct margin m = margin_of(fmax(a->m->margin, b->m->margin));

	*v = (struct versus){0};
	for (size_t i = 0; i < a->nrows; i++) {
		for (size_t k = 0; k < b->nrows; k++) {
			struct versus_row *x;

			if (!same_row(a, &a->rows[i], b, &b->rows[k]))
				continue;
			x = push(&v->rows, &v->nrows);
			if (!x)
				return err_set(e, ENOMEM, "no memory");
			*x = (struct versus_row){.a = &a->rows[i], .b = &b->rows[k]};
			x->change = exp(x->b->d.mean - x->a->d.mean);
			x->ci = interval_exp(interval_welch(&x->b->d, &x->a->d, 0.95));
			x->verdict = judge(a, x, b, &m);
			break;
		}
	}
	if (v->nrows == 0)
		return err_set(e, ENOENT,
			       "the two runs have no test in common that both measured in arms of "
			       "the same "
			       "names at the same task count");
	find_obstacles(v, a->m, b->m);
	return 0;
}

void versus_free(struct versus *v)
{
	free(v->rows);
	*v = (struct versus){0};
}
