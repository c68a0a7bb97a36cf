// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/curves.h"

#include <errno.h>
#include <string.h>

#include "harness/analysis/reader.h"

static bool same_curve(const struct series *s, const struct scaling *c)
{
	return s->arm == c->arm && s->test == c->test && s->threads == c->threads &&
	       s->metric == c->metric;
}

static int add_point(struct scaling *c, const struct series *s)
{
	size_t n = c->n;
	struct point *p = push(&c->points, &c->n);
	const struct series **from;

	if (!p)
		return -ENOMEM;
	*p = (struct point){s->tasks, series_rate(s)};
	from = push(&c->series, &n);
	if (!from)
		return -ENOMEM;
	*from = s;
	return 0;
}

int scalings_of(struct scalings *out, const struct analysis *a)
{
	*out = (struct scalings){0};
	/* Series come by test, mode, metric and ascending tasks, arms alternating. */
	for (size_t i = 0; i < a->set.n; i++) {
		const struct series *s = &a->set.series[i];
		struct scaling *c = NULL;

		if (!s->main || strcmp(a->m->metrics[s->metric].combine, "sum") != 0)
			continue;
		for (size_t k = out->n; k > 0 && !c; k--)
			if (same_curve(s, &out->curves[k - 1]))
				c = &out->curves[k - 1];
		if (!c) {
			c = push(&out->curves, &out->n);
			if (!c)
				return -ENOMEM;
			*c = (struct scaling){.arm = s->arm,
					      .test = s->test,
					      .metric = s->metric,
					      .threads = s->threads};
		}
		if (add_point(c, s) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < out->n; i++)
		out->curves[i].shape =
			shape_of(out->curves[i].points, out->curves[i].n, a->m->margin);
	return 0;
}

void scalings_free(struct scalings *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->curves[i].points);
		free(s->curves[i].series);
	}
	free(s->curves);
	*s = (struct scalings){0};
}

const struct scaling *scaling_find(const struct scalings *s, int arm, int test, bool threads)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->curves[i].arm == arm && s->curves[i].test == test &&
		    s->curves[i].threads == threads)
			return &s->curves[i];
	return NULL;
}

static const char *const edge_names[EDGE_KINDS] = {
	[EDGE_LLC] = "LLC",
	[EDGE_NODE] = "NUMA node",
	[EDGE_PACKAGE] = "package",
};

const char *edge_name(enum edge_kind k)
{
	return edge_names[k];
}

static const struct mcpu *cpu_of(const struct model *m, int cpu)
{
	for (size_t i = 0; i < m->ncpus; i++)
		if (m->cpus[i].cpu == cpu)
			return &m->cpus[i];
	return NULL;
}

static int unit_of(const struct mcpu *c, enum edge_kind k)
{
	return k == EDGE_LLC ? c->llc : k == EDGE_NODE ? c->node : c->package;
}

/* How many different units the tasks of a placement touch; 0 where it is not known. */
static size_t units(const struct model *m, const struct mplace *p, enum edge_kind k)
{
	size_t n = 0;

	for (size_t i = 0; i < p->ncpus; i++) {
		const struct mcpu *c = cpu_of(m, p->cpus[i]);
		bool seen = false;

		if (!c || unit_of(c, k) < 0)
			return 0;
		for (size_t j = 0; j < i && !seen; j++)
			seen = unit_of(cpu_of(m, p->cpus[j]), k) == unit_of(c, k);
		n += !seen;
	}
	return n;
}

size_t edges_of(const struct model *m, int arm, struct edge *edges, size_t max)
{
	size_t n = 0;

	for (int k = 0; k < EDGE_KINDS; k++) {
		for (size_t i = 0; i < m->nplaces; i++) {
			const struct mplace *outside = &m->places[i], *inside = NULL;
			size_t here, before;

			if (outside->arm != arm)
				continue;
			for (size_t j = 0; j < m->nplaces; j++) {
				const struct mplace *p = &m->places[j];

				if (p->arm == arm && p->tasks < outside->tasks &&
				    (!inside || p->tasks > inside->tasks))
					inside = p;
			}
			if (!inside || n == max)
				continue;
			here = units(m, outside, k);
			before = units(m, inside, k);
			if (before > 0 && here > before)
				edges[n++] = (struct edge){k, inside->tasks, outside->tasks};
		}
	}
	return n;
}
