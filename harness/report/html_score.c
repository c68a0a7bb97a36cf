// SPDX-License-Identifier: GPL-2.0-or-later
/* The scoreboard: what each test gave, as a forest plot inside a table; and its gates. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/format.h"
#include "harness/report/html.h"
#include "harness/report/svg.h"

/*
 * A plot is as high as a table cell at least; what it draws over its own edges fills a higher
 * one, so that lines run through from row to row (the cell cuts them off).
 */
enum {
	OVER = 60,
	PLOT_WIDTH = 260,
	ROW_HEIGHT = 34,
	AXIS_HEIGHT = 22
};

/* Wide enough for every interval and published figure, and for the margin itself. */
static void widen(struct scale *s, double ratio)
{
	if (!isfinite(ratio) || ratio <= 0)
		return;
	s->from = fmin(s->from, ratio);
	s->to = fmax(s->to, ratio);
}

static void widen_by(struct scale *s, const struct estimate *d)
{
	struct interval i = interval_exp(interval_mean(d, 0.95));

	widen(s, exp(d->mean));
	/* An interval from two blocks can be absurdly wide: cut off at a factor of 3. */
	widen(s, fmax(i.lo, exp(d->mean) / 3));
	widen(s, fmin(i.hi, exp(d->mean) * 3));
}

static struct scale start_scale(const struct model *m)
{
	return (struct scale){.from = 1 / (1 + 2 * m->margin),
			      .to = 1 + 2 * m->margin,
			      .start = 8,
			      .length = PLOT_WIDTH - 16,
			      .log = true};
}

static void pad_scale(struct scale *s)
{
	double pad = pow(s->to / s->from, 0.05);

	s->from /= pad;
	s->to *= pad;
}

static void put_axis(FILE *f, const struct scale *s)
{
	double ticks[8];
	size_t n = scale_ticks(s, ticks, 6);

	fputs("<th scope=\"col\" class=\"plot\">", f);
	svg_begin(f, PLOT_WIDTH, AXIS_HEIGHT, "Plot of the ratio", "");
	for (size_t i = 0; i < n; i++) {
		char text[FORMAT_ROOM];

		snprintf(text, sizeof(text), "%.3g", ticks[i]);
		svg_text(f, "", scale_at(s, ticks[i]), AXIS_HEIGHT - 8, SVG_MIDDLE, text);
		svg_line(f, "axis", scale_at(s, ticks[i]), AXIS_HEIGHT - 4, scale_at(s, ticks[i]),
			 AXIS_HEIGHT);
	}
	svg_end(f);
	fputs("</th>", f);
}

static void put_forest(FILE *f, const struct model *m, const struct scale *s,
		       const struct estimate *d, double published, const char *dot)
{
	struct interval i = interval_exp(interval_mean(d, 0.95));
	double middle = ROW_HEIGHT / 2.0, x = scale_clamped(s, exp(d->mean));
	double band = scale_clamped(s, 1 - m->margin);
	double ticks[8];
	size_t n = scale_ticks(s, ticks, 6);

	fputs("<td class=\"plot\">", f);
	svg_begin_hidden(f, PLOT_WIDTH, ROW_HEIGHT, "");
	svg_rect(f, "band", band, -OVER, scale_clamped(s, 1 + m->margin) - band,
		 ROW_HEIGHT + 2 * OVER, 0);
	for (size_t k = 0; k < n; k++)
		svg_line(f, "gridline", scale_at(s, ticks[k]), -OVER, scale_at(s, ticks[k]),
			 ROW_HEIGHT + OVER);
	svg_line(f, "one", scale_at(s, 1), -OVER, scale_at(s, 1), ROW_HEIGHT + OVER);
	if (isfinite(published))
		svg_circle(f, "pub", scale_clamped(s, published), middle, 5.5);
	if (interval_valid(i))
		svg_line(f, dot, scale_clamped(s, i.lo), middle, scale_clamped(s, i.hi), middle);
	if (isfinite(d->mean))
		svg_square(f, dot, x, middle, 4);
	svg_end(f);
	fputs("</td>", f);
}

static const char *dot_class(enum verdict v)
{
	switch (v) {
	case VERDICT_FASTER:
	case VERDICT_FASTER_SMALL:
		return "dot d-good";
	case VERDICT_SLOWER:
	case VERDICT_SLOWER_SMALL:
		return "dot d-bad";
	case VERDICT_CONFOUNDED:
		return "dot d-warn";
	default:
		return "dot";
	}
}

/* below, a second line under the name, may be "". */
static void put_test_name(FILE *f, const struct page *p, const struct row *r, const char *below)
{
	char label[96];

	put_html(f, "<th scope=\"row\" class=\"l\">%s%s%s",
		 mtest_label(&p->m->tests[r->test], label, sizeof(label)),
		 r->threads ? " (threads)" : "", r->main ? "" : " ");
	if (!r->main)
		put_html(f, "%s", p->m->metrics[r->metric].name);
	if (below[0])
		put_html(f, "<span class=\"shared\">%s</span>", below);
	fputs("</th>", f);
}

static void put_ratio_cell(FILE *f, const char *css, const struct estimate *d)
{
	char ratio[FORMAT_ROOM], interval[FORMAT_ROOM];

	fprintf(f, "<td class=\"%s\"><span class=\"big\">%s</span>", css, format_mean(ratio, d));
	if (d->n >= 2)
		fprintf(f, "<span class=\"ci\">%s</span>", format_interval(interval, d, 0.95));
	fputs("</td>", f);
}

static void put_score_row(struct page *p, const struct row *r, const struct scale *s, bool rings)
{
	const struct pub_row *pub = page_published(p, r);
	const char *unit = p->m->metrics[r->metric].unit;
	char number[FORMAT_ROOM], verdict[FORMAT_ROOM];
	FILE *f = p->f;

	fputs("<tr>", f);
	put_test_name(f, p, r, pub ? pub->shared_state : "");
	fprintf(f, "<td class=\"wide\">%d</td>", r->tasks);
	put_td(f, "wide", format_value(number, r->base_rate, unit));
	put_td(f, "wide", format_value(number, r->with_rate, unit));
	put_forest(f, p->m, s, &r->d, page_published_ratio(p, r), dot_class(r->verdict));
	put_ratio_cell(f, "", &r->d);
	put_td(f, "wide", format_mean(number, &r->anchor));
	put_html(f, "<td class=\"l\"><span class=\"%s\"", verdict_class(r->verdict));
	if (r->why[0])
		put_html(f, " title=\"%s\"", r->why);
	put_html(f, ">%s</span>", row_verdict_text(r, verdict, sizeof(verdict)));
	if (r->cause_why[0])
		put_html(f, "<span class=\"ci\">%s</span>", r->cause_why);
	fputs("</td>", f);
	if (rings)
		put_td(f, "wide", format_ratio(number, page_published_ratio(p, r)));
	fputs("</tr>\n", f);
}

static int by_ratio(const void *a, const void *b)
{
	const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;

	if (x->family != y->family)
		return x->family ? -1 : 1;
	return (x->d.mean < y->d.mean) - (x->d.mean > y->d.mean);
}

/* Headline rows of one pair that are no controls; primary ones first, by falling ratio. */
static const struct row **headlines(const struct analysis *a, size_t compare, size_t *n)
{
	const struct row **rows = calloc(a->nrows + 1, sizeof(*rows));

	*n = 0;
	for (size_t i = 0; rows && i < a->nrows; i++) {
		const struct row *r = &a->rows[i];

		if (r->compare == (int)compare && r->headline && !r->control)
			rows[(*n)++] = r;
	}
	if (rows)
		qsort(rows, *n, sizeof(*rows), by_ratio);
	return rows;
}

static void put_group(FILE *f, const char *text, bool published)
{
	fprintf(f, "<tr><th scope=\"rowgroup\" class=\"l\" colspan=\"%d\">%s</th></tr>\n",
		published ? 9 : 8, text);
}

static int put_score(struct page *p, size_t compare)
{
	const struct mcompare *c = &p->m->compares[compare];
	const char *base = p->m->arms[c->base].name, *with = p->m->arms[c->with].name;
	struct scale s = start_scale(p->m);
	cleanup_free const struct row **rows = NULL;
	bool rings = false;
	FILE *f = p->f;
	size_t n;

	rows = headlines(p->a, compare, &n);
	if (!rows)
		return -ENOMEM;
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		widen_by(&s, &rows[i]->d);
		widen(&s, page_published_ratio(p, rows[i]));
		rings = rings || isfinite(page_published_ratio(p, rows[i]));
	}
	pad_scale(&s);
	put_html(f, "<section><h2>%s against %s</h2>", with, base);
	put_html(f,
		 "<p class=\"note\">Each test at the largest task count that both arms have. "
		 "Square and "
		 "line: ratio with its 95 %% interval. Shaded: the margin.%s</p>",
		 rings ? " Ring: the published ratio, from another machine and kernel." : "");
	put_html(f,
		 "<div class=\"card scroll\" tabindex=\"0\" role=\"region\" "
		 "aria-label=\"Scoreboard of %s "
		 "against %s\"><table><thead><tr><th scope=\"col\" class=\"l\">Test, and what its "
		 "tasks "
		 "share</th><th scope=\"col\" class=\"wide\">Tasks</th><th scope=\"col\" "
		 "class=\"wide\">%s</th>"
		 "<th scope=\"col\" class=\"wide\">%s</th>",
		 with, base, base, with);
	put_axis(f, &s);
	fputs("<th scope=\"col\">Ratio</th><th scope=\"col\" class=\"wide\">One task a kernel</th>"
	      "<th scope=\"col\" class=\"l\">Verdict</th>",
	      f);
	if (rings)
		fputs("<th scope=\"col\" class=\"wide\">Published</th>", f);
	fputs("</tr></thead><tbody>\n", f);
	for (size_t i = 0; i < n; i++) {
		if (rows[0]->family && i > 0 && rows[i - 1]->family && !rows[i]->family)
			put_group(f, "Exploratory", rings);
		put_score_row(p, rows[i], &s, rings);
	}
	fputs("</tbody></table></div></section>\n", f);
	return 0;
}

int html_score(struct page *p)
{
	for (size_t c = 0; c < p->m->ncompares; c++)
		if (put_score(p, c) < 0)
			return -ENOMEM;
	return 0;
}

static const char *gate_text(enum gate g)
{
	static const char *const texts[] = {
		[GATE_STANDS] = "stands still",
		[GATE_MOVED] = "moved",
		[GATE_UNSURE] = "not shown to stand still",
		[GATE_NONE] = "too few blocks to say",
	};

	return texts[g];
}

static void put_gate_row(struct page *p, const struct row *r, const struct estimate *d,
			 const char *what, const struct scale *s)
{
	FILE *f = p->f;

	fputs("<tr>", f);
	put_test_name(f, p, r, what);
	put_forest(f, p->m, s, d, NAN, r->gate == GATE_STANDS ? "dot d-good" : "dot d-warn");
	put_ratio_cell(f, "", d);
	fprintf(f, "<td class=\"l\"><span class=\"%s\">%s</span></td><td class=\"wide\">%zu</td></tr>\n",
		r->gate == GATE_STANDS ? "badge v-good"
		: r->gate == GATE_NONE ? "badge"
				       : "badge v-warn",
		gate_text(r->gate), d->n);
}

/*
 * A gate that this row stands for: itself when it is a control, else its anchor, once a curve. Controls
 * that stand at the smaller task counts are left to the table of every number.
 */
static const struct estimate *gate_estimate(const struct row *r)
{
	if (r->control && r->main && (r->headline || r->gate != GATE_STANDS))
		return &r->d;
	return !r->control && r->headline && r->anchor.n > 0 ? &r->anchor : NULL;
}

static size_t quiet_controls(const struct analysis *a, size_t compare)
{
	size_t n = 0;

	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];

		n += r->compare == (int)compare && r->control && r->main && !gate_estimate(r);
	}
	return n;
}

static int put_gates(struct page *p, size_t compare)
{
	struct scale s = start_scale(p->m);
	const struct analysis *a = p->a;
	FILE *f = p->f;
	bool any = false;

	for (size_t i = 0; i < a->nrows; i++) {
		const struct estimate *d = gate_estimate(&a->rows[i]);

		if (a->rows[i].compare != (int)compare || !d)
			continue;
		widen_by(&s, d);
		any = true;
	}
	if (!any)
		return 0;
	pad_scale(&s);
	put_html(f,
		 "<section><h2>What must not move: %s against %s</h2><p class=\"note\">Controls "
		 "share no "
		 "kernel state, and with one task a kernel no test does. Each is looked at by "
		 "itself: the "
		 "interval must lie inside the shaded margin.",
		 p->m->arms[p->m->compares[compare].with].name,
		 p->m->arms[p->m->compares[compare].base].name);
	if (quiet_controls(a, compare))
		fprintf(f, " %zu more controls at smaller task counts stand still.",
			quiet_controls(a, compare));
	put_html(f,
		 "</p><div class=\"card scroll\" tabindex=\"0\" role=\"region\" "
		 "aria-label=\"Gates of %s against %s\"><table class=\"tight\"><thead><tr><th "
		 "scope=\"col\" "
		 "class=\"l\">Test</th>",
		 p->m->arms[p->m->compares[compare].with].name,
		 p->m->arms[p->m->compares[compare].base].name);
	put_axis(f, &s);
	fputs("<th scope=\"col\">Ratio</th><th scope=\"col\" class=\"l\">Gate</th>"
	      "<th scope=\"col\" class=\"wide\">Blocks</th></tr></thead><tbody>\n",
	      f);
	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < a->nrows; i++) {
			const struct row *r = &a->rows[i];
			const struct estimate *d = gate_estimate(r);
			char what[64];

			if (r->compare != (int)compare || !d || r->control != (pass == 0))
				continue;
			if (r->control)
				snprintf(what, sizeof(what), "control, %d task%s", r->tasks,
					 r->tasks == 1 ? "" : "s");
			else
				snprintf(what, sizeof(what), "one task a kernel");
			put_gate_row(p, r, d, what, &s);
		}
	}
	fputs("</tbody></table></div></section>\n", f);
	return 0;
}

int html_gates(struct page *p)
{
	for (size_t c = 0; c < p->m->ncompares; c++)
		if (put_gates(p, c) < 0)
			return -ENOMEM;
	return 0;
}
