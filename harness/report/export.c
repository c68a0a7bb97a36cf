// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "harness/report/format.h"
#include "harness/report/json_number.h"
#include "harness/report/report.h"

static json_t *ratio_json(const struct estimate *d)
{
	struct interval mean = interval_exp(interval_mean(d, 0.95));
	struct interval next = interval_exp(interval_next(d, 0.95));

	return json_pack("{s:I, s:o, s:[o,o], s:[o,o], s:o}", "blocks", (json_int_t)d->n, "ratio",
			 json_number(exp(d->mean)), "ci95", json_number(mean.lo),
			 json_number(mean.hi), "next95", json_number(next.lo), json_number(next.hi),
			 "sd_log", json_number(d->sd));
}

static json_t *row_json(const struct analysis *a, const struct row *r)
{
	const struct model *m = a->m;
	const struct mtest *t = &m->tests[r->test];
	const struct mmetric *x = &m->metrics[r->metric];
	json_t *o = json_pack("{s:s%, s:s%, s:s%, s:s, s:i, s:s%, s:s%, s:b, s:b, s:b, s:b}",
			      "family", t->family, strlen(t->family), "test", t->test,
			      strlen(t->test), "variant", t->variant, strlen(t->variant), "mode",
			      r->threads ? "threads" : "processes", "tasks", r->tasks, "metric",
			      x->name, strlen(x->name), "unit", x->unit, strlen(x->unit), "main",
			      r->main, "control", r->control, "headline", r->headline, "primary",
			      t->primary);

	json_object_update_new(
		o, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:I, "
			     "s:I, s:I, "
			     "s:I, s:o}",
			     "cause", cause_name(r->cause), "cause_why", r->cause_why, "base",
			     json_number(r->base_rate), "with", json_number(r->with_rate), "raw",
			     ratio_json(&r->d), "one_task", ratio_json(&r->anchor), "quotient",
			     ratio_json(&r->quotient), "normalised", ratio_json(&r->normalised),
			     "verdict", verdict_name(r->verdict), "why", r->why, "p",
			     json_number(r->p), "p_family", json_number(r->p_family),
			     "blocks_needed", (json_int_t)r->blocks_needed, "cells",
			     (json_int_t)r->cells, "flagged", (json_int_t)r->flagged, "unsteady",
			     (json_int_t)r->unsteady, "imbalance", json_number(r->imbalance)));
	return o;
}

static json_t *compare_json(const struct analysis *a, size_t compare)
{
	const struct mcompare *c = &a->m->compares[compare];
	const struct pairing *p = &a->pairings[compare];
	json_t *rows = json_array(), *facts = json_array();

	for (size_t i = 0; i < a->nrows; i++)
		if (a->rows[i].compare == (int)compare)
			json_array_append_new(rows, row_json(a, &a->rows[i]));
	for (size_t i = 0; i < a->nfacts; i++) {
		const struct fact_difference *d = &a->facts[i];

		if (d->compare == (int)compare)
			json_array_append_new(
				facts, json_pack("{s:s, s:s, s:s, s:b, s:s?}", "name", d->name,
						 "base", d->base, "with", d->with, "declared",
						 d->declared != NULL, "harmless", d->harmless));
	}
	return json_pack("{s:s, s:s, s:b, s:b, s:b, s:I, s:o, s:o}", "base",
			 a->m->arms[c->base].name, "with", a->m->arms[c->with].name, "no_evidence",
			 p->no_evidence, "fresh", !p->not_fresh, "controls_stand", p->controls_stand,
			 "primary_tests", (json_int_t)p->family, "rows", rows, "facts", facts);
}

static json_t *series_json(const struct analysis *a, const struct series *s)
{
	const struct mtest *t = &a->m->tests[s->test];
	json_t *blocks = json_array();

	for (size_t i = 0; i < s->nblocks; i++)
		json_array_append_new(blocks,
				      json_pack("[i,o]", s->block[i], json_number(exp(s->x[i]))));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:o, s:b, s:o}", "arm",
			 a->m->arms[s->arm].name, "family", t->family, "test", t->test, "variant",
			 t->variant, "mode", s->threads ? "threads" : "processes", "tasks",
			 s->tasks, "metric", a->m->metrics[s->metric].name, "value",
			 json_number(series_rate(s)), "anchor", s->anchor, "blocks", blocks);
}

int report_json(FILE *f, const struct analysis *a)
{
	const struct model *m = a->m;
	json_t *compares = json_array(), *series = json_array(), *cells = json_object(), *o;
	int ret;

	for (size_t c = 0; c < m->ncompares; c++)
		json_array_append_new(compares, compare_json(a, c));
	for (size_t i = 0; i < a->set.n; i++)
		json_array_append_new(series, series_json(a, &a->set.series[i]));
	for (int s = 0; s < CELL_STATUSES; s++)
		json_object_set_new(cells, cell_status_name(s), json_integer(m->by_status[s]));
	o = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:o, s:o, s:I, s:o, s:o}", "format",
		      1, "plan", m->plan, "hostname", m->hostname, "kernel", m->kernel, "cpu_model",
		      m->cpu_model, "seed", m->seed, "quick", m->quick, "complete",
		      m->ended && !m->interrupted, "margin", json_number(m->margin), "cells", cells,
		      "damaged_lines", (json_int_t)m->damaged_lines, "compare", compares, "series",
		      series);
	if (!o)
		return -ENOMEM;
	ret = json_dumpf(o, f, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	json_decref(o);
	fputc('\n', f);
	return ret < 0 || ferror(f) ? -EIO : 0;
}

/* Quotes doubled; no control characters, since CSV may be printed to a terminal. */
static void clean(FILE *f, const char *s)
{
	cleanup_free char *plain = malloc(strlen(s) + 1);

	if (!plain)
		return;
	for (s = clean_text(plain, strlen(s) + 1, s); *s; s++) {
		if (*s == '"')
			fputc('"', f);
		fputc(*s, f);
	}
}

/* RFC 4180: quoted where it has to be, quotes doubled. */
static void csv_text(FILE *f, const char *s)
{
	/* A cell that begins like a formula would be run as one by a spreadsheet. */
	bool formula = s[0] && strchr("=+-@\t\r", s[0]);

	if (!formula && !strpbrk(s, ",\"\r\n")) {
		clean(f, s);
		return;
	}
	fputc('"', f);
	if (formula)
		fputc('\'', f);
	clean(f, s);
	fputc('"', f);
}

static void csv_number(FILE *f, double x)
{
	if (isfinite(x))
		fprintf(f, ",%.9g", x);
	else
		fputc(',', f);
}

static void csv_ratio(FILE *f, const struct estimate *d)
{
	struct interval i = interval_exp(interval_mean(d, 0.95));

	csv_number(f, exp(d->mean));
	csv_number(f, i.lo);
	csv_number(f, i.hi);
}

int report_csv(FILE *f, const struct analysis *a)
{
	fprintf(f, "base,with,family,test,variant,mode,tasks,metric,unit,control,primary,blocks,"
		   "base_value,with_value,ratio,ratio_lo,ratio_hi,one_task,one_task_lo,one_task_hi,"
		   "quotient,quotient_lo,quotient_hi,normalised,normalised_lo,normalised_hi,"
		   "verdict,cause,p,p_family,blocks_needed,cells,flagged,unsteady,why\n");
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];
		const struct mtest *t = &a->m->tests[r->test];
		const struct mmetric *x = &a->m->metrics[r->metric];
		const struct mcompare *c = &a->m->compares[r->compare];
		const char *texts[] = {a->m->arms[c->base].name,
				       a->m->arms[c->with].name,
				       t->family,
				       t->test,
				       t->variant,
				       r->threads ? "threads" : "processes"};

		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
			csv_text(f, texts[k]);
			fputc(',', f);
		}
		fprintf(f, "%d,", r->tasks);
		csv_text(f, x->name);
		fputc(',', f);
		csv_text(f, x->unit);
		fprintf(f, ",%d,%d,%zu", r->control, t->primary, r->d.n);
		csv_number(f, r->base_rate);
		csv_number(f, r->with_rate);
		csv_ratio(f, &r->d);
		csv_ratio(f, &r->anchor);
		csv_ratio(f, &r->quotient);
		csv_ratio(f, &r->normalised);
		fputc(',', f);
		csv_text(f, verdict_name(r->verdict));
		fputc(',', f);
		csv_text(f, cause_name(r->cause));
		csv_number(f, r->p);
		csv_number(f, r->p_family);
		fprintf(f, ",%zu,%zu,%zu,%zu,", r->blocks_needed, r->cells, r->flagged, r->unsteady);
		csv_text(f, r->why);
		fputc('\n', f);
	}
	return ferror(f) ? -EIO : 0;
}
