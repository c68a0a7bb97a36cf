// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/series.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* One measure of one cell on its way into a series. */
struct item {
	size_t cell, measure;
	const struct mcell *c;
	int metric;
};

static int compare_ints(int a, int b)
{
	return (a > b) - (a < b);
}

static int compare_keys(const struct item *a, const struct item *b)
{
	int order = compare_ints(a->c->test, b->c->test);

	order = order ? order : compare_ints(a->c->threads, b->c->threads);
	order = order ? order : compare_ints(a->metric, b->metric);
	order = order ? order : compare_ints(a->c->tasks, b->c->tasks);
	return order ? order : compare_ints(a->c->arm, b->c->arm);
}

static int by_key_and_time(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;
	int order = compare_keys(a, b);

	order = order ? order : compare_ints(a->c->block, b->c->block);
	order = order ? order : compare_ints(a->c->position, b->c->position);
	order = order ? order : compare_ints(a->c->repetition, b->c->repetition);
	/* Stored order decides the rest, so that equal input gives equal output. */
	return order ? order : a->cell < b->cell ? -1 : a->cell > b->cell;
}

static bool unsteady(const struct mmeasure *x)
{
	return fabs(steadiness_of(x->samples, x->nsamples).drift) > STEADY_LIMIT;
}

static int fill(struct series *s, const struct model *m, const struct item *items, size_t n)
{
	s->block = calloc(n, sizeof(*s->block));
	s->x = calloc(n, sizeof(*s->x));
	s->cells = calloc(n, sizeof(*s->cells));
	s->measures = calloc(n, sizeof(*s->measures));
	if (!s->block || !s->x || !s->cells || !s->measures)
		return -ENOMEM;
	s->arm = items[0].c->arm;
	s->test = items[0].c->test;
	s->tasks = items[0].c->tasks;
	s->threads = items[0].c->threads;
	s->metric = items[0].metric;
	for (size_t i = 0; i < n;) {
		size_t from = i;
		double sum = 0;

		for (; i < n && items[i].c->block == items[from].c->block; i++) {
			const struct mmeasure *x = &items[i].c->measures[items[i].measure];

			sum += log(x->value);
			s->cells[s->ncells] = items[i].cell;
			s->measures[s->ncells++] = items[i].measure;
			s->anchor = s->anchor || items[i].c->anchor;
			s->main = s->main || items[i].measure == 0;
			s->nflagged += items[i].c->nflags > 0;
			s->nunsteady += unsteady(x);
		}
		s->block[s->nblocks] = items[from].c->block;
		s->x[s->nblocks++] = sum / (i - from);
	}
	return 0;
}

int series_collect(struct series_set *set, const struct model *m)
{
	cleanup_free struct item *items = NULL;
	size_t n = 0, most = 0, runs = 0;

	*set = (struct series_set){0};
	for (size_t i = 0; i < m->ncells; i++)
		most += m->cells[i].nmeasures;
	if (most == 0)
		return 0;
	items = calloc(most, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < m->ncells; i++) {
		const struct mcell *c = &m->cells[i];

		for (size_t k = 0; k < c->nmeasures; k++) {
			double value = c->measures[k].value;

			/* Logarithms need a positive value; what has none is in no ratio. */
			if (isfinite(value) && value > 0)
				items[n++] = (struct item){i, k, c, c->measures[k].metric};
		}
	}
	if (n == 0)
		return 0;
	qsort(items, n, sizeof(*items), by_key_and_time);
	for (size_t i = 0; i < n; i++)
		runs += i == 0 || compare_keys(&items[i - 1], &items[i]) != 0;
	set->series = calloc(runs, sizeof(*set->series));
	if (!set->series)
		return -ENOMEM;
	for (size_t i = 0; i < n;) {
		size_t from = i;

		while (i < n && compare_keys(&items[from], &items[i]) == 0)
			i++;
		if (fill(&set->series[set->n++], m, items + from, i - from) < 0)
			return -ENOMEM;
	}
	return 0;
}

void series_free(struct series_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		free(set->series[i].block);
		free(set->series[i].x);
		free(set->series[i].cells);
		free(set->series[i].measures);
	}
	free(set->series);
	*set = (struct series_set){0};
}

static int compare_series(const struct series *s, int test, bool threads, int metric, int tasks,
			  int arm)
{
	int order = compare_ints(s->test, test);

	order = order ? order : compare_ints(s->threads, threads);
	order = order ? order : compare_ints(s->metric, metric);
	order = order ? order : compare_ints(s->tasks, tasks);
	return order ? order : compare_ints(s->arm, arm);
}

const struct series *series_find(const struct series_set *set, int test, bool threads, int metric,
				 int tasks, int arm)
{
	size_t lo = 0, hi = set->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct series *s = &set->series[mid];
		int order = compare_series(s, test, threads, metric, tasks, arm);

		if (order == 0)
			return s;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct series *series_anchor(const struct series_set *set, const struct model *m, int test,
				   bool threads, int metric, int arm)
{
	int kernels = m->arms[arm].npartitions;

	/* Where the same cell serves as anchor and as a point of the curve it may be unmarked. */
	for (size_t i = 0; i < set->n; i++) {
		const struct series *s = &set->series[i];

		if (s->test == test && s->threads == threads && s->metric == metric &&
		    s->arm == arm && s->anchor)
			return s;
	}
	return series_find(set, test, threads, metric, kernels, arm);
}

double series_rate(const struct series *s)
{
	return exp(estimate_of(s->x, s->nblocks).mean);
}

size_t series_pair(const struct series *a, const struct series *b, double *d, int *block)
{
	size_t n = 0;

	for (size_t i = 0, k = 0; i < a->nblocks && k < b->nblocks;) {
		if (a->block[i] < b->block[k]) {
			i++;
		} else if (a->block[i] > b->block[k]) {
			k++;
		} else {
			if (block)
				block[n] = a->block[i];
			d[n++] = a->x[i++] - b->x[k++];
		}
	}
	return n;
}

int series_variance(const struct series *s, const struct model *m, struct variance *v)
{
	cleanup_free size_t *boot = calloc(s->ncells, sizeof(*boot));
	cleanup_free size_t *start = calloc(s->ncells + 1, sizeof(*start));
	cleanup_free double *value = NULL;
	struct nested data = {.nrows = s->ncells, .boot = boot, .start = start};
	size_t n = 0;

	if (!boot || !start)
		return -ENOMEM;
	for (size_t i = 0; i < s->ncells; i++)
		n += m->cells[s->cells[i]].measures[s->measures[i]].nsamples;
	value = calloc(n ? n : 1, sizeof(*value));
	if (!value)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < s->ncells; i++) {
		const struct mcell *c = &m->cells[s->cells[i]];
		const struct mmeasure *x = &c->measures[s->measures[i]];

		boot[i] = c->block;
		start[i] = n;
		for (size_t k = 0; k < x->nsamples; k++)
			if (isfinite(x->samples[k]) && x->samples[k] > 0)
				value[n++] = log(x->samples[k]);
	}
	start[s->ncells] = n;
	data.value = value;
	*v = variance_of(&data);
	return 0;
}
