// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/values.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/analysis/reader.h"

static int order_ints(int a, int b)
{
	return (a > b) - (a < b);
}

static int by_place(const void *pa, const void *pb)
{
	const struct part_value *a = pa, *b = pb;
	int order = order_ints(a->test, b->test);

	order = order ? order : order_ints(a->threads, b->threads);
	order = order ? order : order_ints(a->metric, b->metric);
	order = order ? order : order_ints(a->tasks, b->tasks);
	order = order ? order : order_ints(a->arm, b->arm);
	return order ? order : order_ints(a->partition, b->partition);
}

static int collect(const struct model *m, struct part_value **all, size_t *n)
{
	for (size_t i = 0; i < m->ncells; i++) {
		const struct mcell *c = &m->cells[i];

		for (size_t k = 0; k < c->nmeasures; k++) {
			const struct mmeasure *x = &c->measures[k];

			if (strcmp(m->metrics[x->metric].combine, "sum") == 0)
				continue;
			for (size_t p = 0; p < x->nparts; p++) {
				struct part_value *v;

				if (!(x->parts[p] > 0))
					continue;
				v = push(all, n);
				if (!v)
					return -ENOMEM;
				*v = (struct part_value){.test = c->test,
							 .tasks = c->tasks,
							 .metric = x->metric,
							 .arm = c->arm,
							 .partition = p,
							 .threads = c->threads,
							 .value = x->parts[p]};
			}
		}
	}
	return 0;
}

int part_values(const struct model *m, struct part_value **values, size_t *n)
{
	cleanup_free struct part_value *all = NULL;
	size_t have = 0, kept = 0;

	*values = NULL;
	*n = 0;
	if (collect(m, &all, &have) < 0)
		return -ENOMEM;
	if (have == 0)
		return 0;
	qsort(all, have, sizeof(*all), by_place);
	for (size_t i = 0; i < have;) {
		struct part_value v = all[i];
		size_t from = i;
		double sum = 0;

		v.least = v.most = v.value;
		for (; i < have && by_place(&all[from], &all[i]) == 0; i++) {
			sum += log(all[i].value);
			v.least = fmin(v.least, all[i].value);
			v.most = fmax(v.most, all[i].value);
		}
		v.ncells = i - from;
		v.value = exp(sum / v.ncells);
		/* Written behind what was read: kept never overtakes from. */
		all[kept++] = v;
	}
	*values = take_ptr(all);
	*n = kept;
	return 0;
}
