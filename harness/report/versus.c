// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "harness/report/format.h"
#include "harness/report/json_number.h"
#include "harness/report/reproduction.h"

int versus_text(FILE *f, const struct versus *v, const struct analysis *a, const struct analysis *b)
{
	char dir[200], when[FORMAT_ROOM];

	fprintf(f, "A: %s, %s\n", clean_text(dir, sizeof(dir), a->m->dir),
		format_utc(when, a->m->begin));
	fprintf(f, "B: %s, %s\n", clean_text(dir, sizeof(dir), b->m->dir),
		format_utc(when, b->m->begin));
	for (size_t i = 0; i < v->nobstacles; i++)
		fprintf(f, "%sdiffers: %s\n", i ? "" : "\nCompared although they differ.\n",
			clean_text(dir, sizeof(dir), v->obstacles[i]));
	fprintf(f, "\n%-20s %5s %-17s %8s %8s %8s %-13s %s\n", "test", "tasks", "arms", "ratio A",
		"ratio B", "B/A", "95 % interval", "");
	for (size_t i = 0; i < v->nrows; i++) {
		const struct versus_row *x = &v->rows[i];
		const struct mcompare *c = &a->m->compares[x->a->compare];
		char label[96], test[96], arms[64], pair[130], ra[FORMAT_ROOM], rb[FORMAT_ROOM],
			change[FORMAT_ROOM], ci[FORMAT_ROOM], lo[FORMAT_ROOM], hi[FORMAT_ROOM];

		mtest_label(&a->m->tests[x->a->test], label, sizeof(label));
		snprintf(pair, sizeof(pair), "%.60s/%.60s", a->m->arms[c->with].name,
			 a->m->arms[c->base].name);
		snprintf(ci, sizeof(ci), "-");
		if (interval_valid(x->ci))
			snprintf(ci, sizeof(ci), "%.30s-%.30s", format_ratio(lo, x->ci.lo),
				 format_ratio(hi, x->ci.hi));
		fprintf(f, "%-20s %5d %-17s %8s %8s %8s %-13s %s\n",
			clean_text(test, sizeof(test), label), x->a->tasks,
			clean_text(arms, sizeof(arms), pair), format_mean(ra, &x->a->d),
			format_mean(rb, &x->b->d), format_ratio(change, x->change), ci,
			change_name(x->verdict));
	}
	return ferror(f) ? -EIO : 0;
}

int versus_json(FILE *f, const struct versus *v, const struct analysis *a, const struct analysis *b)
{
	json_t *rows = json_array(), *obstacles = json_array(), *o;
	int ret;

	for (size_t i = 0; i < v->nobstacles; i++)
		json_array_append_new(obstacles, json_string(v->obstacles[i]));
	for (size_t i = 0; i < v->nrows; i++) {
		const struct versus_row *x = &v->rows[i];
		const struct mcompare *c = &a->m->compares[x->a->compare];
		const struct mtest *t = &a->m->tests[x->a->test];

		json_array_append_new(
			rows,
			json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:o, s:o, s:o, "
				  "s:[o,o], s:s}",
				  "base", a->m->arms[c->base].name, "with", a->m->arms[c->with].name,
				  "family", t->family, "test", t->test, "variant", t->variant,
				  "mode", x->a->threads ? "threads" : "processes", "tasks",
				  x->a->tasks, "metric", a->m->metrics[x->a->metric].name, "a",
				  json_number(exp(x->a->d.mean)), "b", json_number(exp(x->b->d.mean)),
				  "change", json_number(x->change), "ci95", json_number(x->ci.lo),
				  json_number(x->ci.hi), "verdict", change_name(x->verdict)));
	}
	o = json_pack("{s:i, s:s, s:s, s:o, s:o}", "format", 1, "a", a->m->dir, "b", b->m->dir,
		      "obstacles", obstacles, "rows", rows);
	if (!o)
		return -ENOMEM;
	ret = json_dumpf(o, f, JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	json_decref(o);
	fputc('\n', f);
	return ret < 0 || ferror(f) ? -EIO : 0;
}
