// SPDX-License-Identifier: GPL-2.0-or-later
/* From counts and values to the metrics of a cell. */
#include <math.h>
#include <string.h>

#include "harness/session/internal.h"

static const struct result_metric *metric_named(const struct result *r, const char *name)
{
	for (int i = 0; i < r->nmetrics; i++)
		if (strcmp(r->metrics[i].name, name) == 0)
			return &r->metrics[i];
	return NULL;
}

/* The instant that a reading stands for. */
static double middle(const struct result_sample *s)
{
	return s->before + (s->after - s->before) / 2.0;
}

static double rate_between(const struct result_sample *a, const struct result_sample *b, int ntasks)
{
	double counted = 0;

	for (int i = 0; i < ntasks; i++)
		counted += b->counts[i] - a->counts[i];
	return counted / ((middle(b) - middle(a)) / 1e9);
}

/* Rates of the windows into list; the rate over all of them, NAN without samples. */
static double rates(const struct result *r, int metric, json_t *list)
{
	const struct result_sample *first = NULL, *last = NULL;

	for (int i = 0; i < r->nsamples; i++) {
		const struct result_sample *s = &r->samples[i];

		if (s->metric != metric)
			continue;
		if (last)
			json_array_append_new(list, json_real(rate_between(last, s, r->ntasks)));
		else
			first = s;
		last = s;
	}
	return first && first != last ? rate_between(first, last, r->ntasks) : NAN;
}

/* The values as they are into list; their mean, NAN where there is none. */
static double values(const struct result *r, int metric, json_t *list)
{
	double sum = 0;
	int n = 0;

	for (int i = 0; i < r->nvalues; i++) {
		if (r->values[i].metric != metric)
			continue;
		json_array_append_new(list, json_real(r->values[i].v));
		sum += r->values[i].v;
		n++;
	}
	return n ? sum / n : NAN;
}

static json_t *number_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* One metric over all parts. Where partitions have no common value, one alone is the arm's. */
static json_t *metric_json(const struct attempt *a, const struct result_metric *m)
{
	json_t *parts = json_array();
	double sum = 0, one = NAN;
	int n = 0;

	for (int i = 0; i < a->n; i++) {
		const struct result *r = &a->parts[i].result;
		const struct result_metric *own = metric_named(r, m->name);
		json_t *list = json_array();
		double v = NAN;

		if (own)
			v = rates(r, own->id, list);
		if (own && !isfinite(v) && m->kind != METRIC_HISTOGRAM)
			v = values(r, own->id, list);
		json_array_append_new(parts, json_pack("{s:s,s:o,s:o}", "name",
						       a->parts[i].m->partition->name, "value",
						       number_or_null(v), "samples", list));
		sum += v;
		one = v;
		n++;
	}
	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:o,s:o}", "name", m->name, "unit", m->unit,
			 "better", m->more ? "more" : "less", "kind", metric_kind_name(m->kind),
			 "combine", metric_combine_name(m->combine), "value",
			 number_or_null(m->combine == COMBINE_SUM ? sum
					: n == 1		  ? one
								  : NAN),
			 "partitions", parts);
}

json_t *attempt_metrics(const struct attempt *a)
{
	json_t *list = json_array();

	for (int m = 0; a->n > 0 && m < a->parts[0].result.nmetrics; m++)
		json_array_append_new(list, metric_json(a, &a->parts[0].result.metrics[m]));
	return list;
}
