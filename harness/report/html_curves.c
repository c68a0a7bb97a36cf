// SPDX-License-Identifier: GPL-2.0-or-later
/* One figure a test: rate over tasks in every arm, with what was predicted and published. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/format.h"
#include "harness/report/html.h"
#include "harness/report/svg.h"

enum {
	WIDTH = 330,
	HEIGHT = 216,
	LEFT = 46,
	RIGHT = 12,
	TOP = 12,
	BOTTOM = 30,
	POINTS_MAX = 256
};

/* The curves of one test and mode, one an arm at most. */
struct figure {
	int test;
	bool threads;
	const struct scaling *curve[64]; /* by arm */
	size_t narms;
	struct scale x, y;
	const struct pub_curve *pub;
	double pub_factor; /* brings the published one-task rate to ours */
};

static const struct scaling *first_curve(const struct figure *g)
{
	for (size_t i = 0; i < g->narms; i++)
		if (g->curve[i])
			return g->curve[i];
	return NULL;
}

static bool predicts(const struct page *p, const struct figure *g, size_t compare)
{
	const struct mcompare *c = &p->m->compares[compare];

	return (size_t)c->base < g->narms && (size_t)c->with < g->narms && g->curve[c->base] &&
	       g->curve[c->with] && p->m->arms[c->with].npartitions > 1 &&
	       p->m->arms[c->base].npartitions == 1;
}

/* k kernels that share nothing, from the single kernel's own curve; returns the points. */
static size_t predict(const struct page *p, const struct figure *g, size_t compare, struct point *out)
{
	const struct mcompare *c = &p->m->compares[compare];
	const struct scaling *single = g->curve[c->base], *split = g->curve[c->with];
	int kernels = p->m->arms[c->with].npartitions;
	size_t n = 0;

	for (size_t k = 0; k < split->n && n < POINTS_MAX; k++) {
		int tasks = split->points[k].tasks;
		double rate = predicted_split(single->points, single->n, tasks, kernels);

		if (isfinite(rate))
			out[n++] = (struct point){tasks, rate};
	}
	return n;
}

static void fit(const struct page *p, struct figure *g)
{
	struct point promised[POINTS_MAX];
	double least = INFINITY, most = 1, top = 0;

	for (size_t i = 0; i < g->narms; i++) {
		const struct scaling *c = g->curve[i];

		for (size_t k = 0; c && k < c->n; k++) {
			least = fmin(least, c->points[k].tasks);
			most = fmax(most, c->points[k].tasks);
			top = fmax(top, c->points[k].rate);
		}
	}
	for (size_t k = 0; g->pub && k < g->pub->n; k++)
		if (g->pub->points[k].tasks <= most)
			top = fmax(top, g->pub->points[k].rate * g->pub_factor);
	for (size_t i = 0; i < p->m->ncompares; i++) {
		size_t n = predicts(p, g, i) ? predict(p, g, i, promised) : 0;

		for (size_t k = 0; k < n; k++)
			top = fmax(top, promised[k].rate);
	}
	/* Linear: what scales is then a straight line. */
	g->x = (struct scale){least, most, LEFT, WIDTH - LEFT - RIGHT, false};
	g->y = (struct scale){0, top * 1.06, HEIGHT - BOTTOM, -(HEIGHT - TOP - BOTTOM), false};
}

static void put_axes(FILE *f, const struct figure *g, const struct page *p)
{
	const struct scaling *c = first_curve(g);
	const char *unit = p->m->metrics[c->metric].unit;
	double ticks[8], last = -1e9;
	size_t n = scale_ticks(&g->y, ticks, 5);

	for (size_t i = 0; i < n; i++) {
		char text[FORMAT_ROOM];
		double y = scale_at(&g->y, ticks[i]);

		svg_line(f, "gridline", LEFT, y, WIDTH - RIGHT, y);
		svg_text(f, "", LEFT - 6, y + 4, SVG_END, format_tick(text, ticks[i]));
	}
	svg_text(f, "", 2, HEIGHT - 6, SVG_START, unit);
	for (size_t i = 0; i < c->n; i++) {
		char text[FORMAT_ROOM];
		double x = scale_at(&g->x, c->points[i].tasks);

		svg_line(f, "axis", x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 4);
		/* Labels that would touch their left neighbour are left out, never the last. */
		if (x - last < 18 || (i + 1 < c->n && WIDTH - RIGHT - x < 18))
			continue;
		snprintf(text, sizeof(text), "%d", c->points[i].tasks);
		svg_text(f, "", x, HEIGHT - BOTTOM + 16, SVG_MIDDLE, text);
		last = x;
	}
	svg_line(f, "axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM);
}

static void put_edges(FILE *f, const struct figure *g, const struct page *p)
{
	const struct scaling *c = first_curve(g);
	struct edge edges[16];
	size_t n = edges_of(p->m, c->arm, edges, 16);

	for (size_t i = 0; i < n; i++) {
		double x = (scale_at(&g->x, edges[i].inside) + scale_at(&g->x, edges[i].outside)) / 2;
		bool same = false;

		if (edges[i].inside < g->x.from || edges[i].outside > g->x.to)
			continue;
		/* Where several edges fall together, the widest unit names the place. */
		for (size_t k = i + 1; k < n; k++)
			same = same || edges[k].outside == edges[i].outside;
		svg_line(f, "edge", x, TOP, x, HEIGHT - BOTTOM);
		if (!same)
			svg_text(f, "", x + 3, TOP + 9, SVG_START, edge_name(edges[i].kind));
	}
}

static void put_line(FILE *f, const struct figure *g, const struct scaling *c)
{
	struct xy at[POINTS_MAX];
	size_t n = c->n < POINTS_MAX ? c->n : POINTS_MAX;
	char css[32];

	for (size_t i = 0; i < n; i++)
		at[i] = (struct xy){scale_at(&g->x, c->points[i].tasks),
				    scale_at(&g->y, c->points[i].rate)};
	svg_polyline(f, arm_class(c->arm), at, n);
	for (size_t i = 0; i < n; i++) {
		const struct series *s = c->series[i];
		struct estimate e = estimate_of(s->x, s->nblocks);
		struct interval ci = interval_exp(interval_mean(&e, 0.95));

		if (interval_valid(ci)) {
			snprintf(css, sizeof(css), "whisker %s", arm_class(c->arm));
			svg_line(f, css, at[i].x, scale_clamped(&g->y, ci.lo), at[i].x,
				 scale_clamped(&g->y, ci.hi));
		}
		snprintf(css, sizeof(css), "fill %s", arm_class(c->arm));
		if (c->arm % 2)
			svg_square(f, css, at[i].x, at[i].y, 2.8);
		else
			svg_circle(f, css, at[i].x, at[i].y, 3);
	}
}

static void put_prediction(FILE *f, const struct figure *g, const struct page *p)
{
	for (size_t i = 0; i < p->m->ncompares; i++) {
		struct point promised[POINTS_MAX];
		struct xy at[POINTS_MAX];
		size_t n = predicts(p, g, i) ? predict(p, g, i, promised) : 0;

		for (size_t k = 0; k < n; k++)
			at[k] = (struct xy){scale_at(&g->x, promised[k].tasks),
					    scale_at(&g->y, promised[k].rate)};
		svg_polyline(f, "ghost", at, n);
	}
}

static void put_published(FILE *f, const struct figure *g)
{
	struct xy at[POINTS_MAX];
	size_t n = 0;

	for (size_t i = 0; g->pub && i < g->pub->n && n < POINTS_MAX; i++) {
		const struct point *p = &g->pub->points[i];

		if (p->tasks >= g->x.from && p->tasks <= g->x.to)
			at[n++] = (struct xy){scale_at(&g->x, p->tasks),
					      scale_clamped(&g->y, p->rate * g->pub_factor)};
	}
	svg_polyline(f, "published", at, n);
}

static void put_words(FILE *f, const struct figure *g, const struct page *p)
{
	fputs("<span class=\"say\">", f);
	for (size_t i = 0; i < g->narms; i++) {
		const struct scaling *c = g->curve[i];

		if (!c)
			continue;
		put_html(f, "%s ", p->m->arms[i].name);
		if (c->shape.negative)
			fprintf(f, "peaks at %d, falls to %.0f %% of it. ",
				c->points[c->shape.peak].tasks, 100 * c->shape.left);
		else if (c->shape.bends)
			fprintf(f, "bends at %d. ", c->points[c->shape.knee].tasks);
		else
			fprintf(f, "scales, %.0f %% efficient at %d. ",
				100 * efficiency_at(c->points, c->n - 1), c->points[c->n - 1].tasks);
	}
	fputs("</span>", f);
}

static int by_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void put_table(FILE *f, const struct figure *g, const struct page *p)
{
	int tasks[POINTS_MAX * 4];
	size_t n = 0;

	for (size_t i = 0; i < g->narms; i++)
		for (size_t k = 0; g->curve[i] && k < g->curve[i]->n; k++)
			if (n < sizeof(tasks) / sizeof(tasks[0]))
				tasks[n++] = g->curve[i]->points[k].tasks;
	qsort(tasks, n, sizeof(tasks[0]), by_int);
	fputs("<details><summary>Numbers</summary><table><thead><tr><th scope=\"col\">Tasks</th>", f);
	for (size_t i = 0; i < g->narms; i++)
		if (g->curve[i])
			put_html(f, "<th scope=\"col\">%s</th><th scope=\"col\">efficiency</th>",
				 p->m->arms[i].name);
	fputs("</tr></thead><tbody>", f);
	for (size_t k = 0; k < n; k++) {
		if (k > 0 && tasks[k] == tasks[k - 1])
			continue;
		fprintf(f, "<tr><th scope=\"row\">%d</th>", tasks[k]);
		for (size_t i = 0; i < g->narms; i++) {
			const struct scaling *c = g->curve[i];
			char rate[FORMAT_ROOM];
			size_t at = 0;

			if (!c)
				continue;
			while (at < c->n && c->points[at].tasks != tasks[k])
				at++;
			if (at == c->n)
				fputs("<td>-</td><td>-</td>", f);
			else
				fprintf(f, "<td>%s</td><td>%.0f %%</td>",
					format_value(rate, c->points[at].rate,
						     p->m->metrics[c->metric].unit),
					100 * efficiency_at(c->points, at));
		}
		fputs("</tr>", f);
	}
	fputs("</tbody></table></details>", f);
}

static void put_figure(FILE *f, struct figure *g, const struct page *p)
{
	char label[96], title[160];

	fit(p, g);
	mtest_label(&p->m->tests[g->test], label, sizeof(label));
	snprintf(title, sizeof(title), "%s%s: rate over tasks", label,
		 g->threads ? " (threads)" : "");
	put_html(f, "<figure class=\"curve\"><figcaption>%s%s", label,
		 g->threads ? " (threads)" : "");
	put_words(f, g, p);
	fputs("</figcaption>", f);
	svg_begin(f, WIDTH, HEIGHT, title, "");
	put_axes(f, g, p);
	put_edges(f, g, p);
	put_published(f, g);
	put_prediction(f, g, p);
	for (size_t i = 0; i < g->narms; i++)
		if (g->curve[i])
			put_line(f, g, g->curve[i]);
	svg_end(f);
	put_table(f, g, p);
	fputs("</figure>\n", f);
}

static void put_key(struct page *p, bool prediction, bool published)
{
	FILE *f = p->f;

	fputs("<p>", f);
	for (size_t i = 0; i < p->m->narms; i++) {
		const struct xy line[] = {{1, 6}, {25, 6}};
		char css[32];

		fputs("<span class=\"key\">", f);
		svg_begin_hidden(f, 26, 12, "");
		svg_polyline(f, arm_class(i), line, 2);
		snprintf(css, sizeof(css), "fill %s", arm_class(i));
		if (i % 2)
			svg_square(f, css, 13, 6, 3.2);
		else
			svg_circle(f, css, 13, 6, 3.4);
		svg_end(f);
		put_html(f, "%s</span>", p->m->arms[i].name);
	}
	if (prediction) {
		const struct xy line[] = {{1, 6}, {25, 6}};

		fputs("<span class=\"key\">", f);
		svg_begin_hidden(f, 26, 12, "");
		svg_polyline(f, "ghost", line, 2);
		svg_end(f);
		fputs("predicted: k times one kernel at N/k</span>", f);
	}
	if (published) {
		const struct xy line[] = {{1, 6}, {25, 6}};

		fputs("<span class=\"key\">", f);
		svg_begin_hidden(f, 26, 12, "");
		svg_polyline(f, "published", line, 2);
		svg_end(f);
		fputs("published single kernel, scaled to the same one-task rate</span>", f);
	}
	fputs("</p>", f);
}

static bool figure_of(struct page *p, int test, bool threads, struct figure *g)
{
	bool drawn = false;

	*g = (struct figure){.test = test, .threads = threads, .narms = p->m->narms};
	if (g->narms > sizeof(g->curve) / sizeof(g->curve[0]))
		g->narms = sizeof(g->curve) / sizeof(g->curve[0]);
	for (size_t i = 0; i < g->narms; i++) {
		g->curve[i] = scaling_find(&p->curves, i, test, threads);
		drawn = drawn || (g->curve[i] && g->curve[i]->n >= 3);
	}
	if (!drawn)
		return false;
	if (p->pub)
		g->pub = published_curve(p->pub, p->m->tests[test].test, "single", threads,
					 "xeon5418y");
	if (g->pub) {
		const struct scaling *c = first_curve(g);
		double theirs = rate_at(g->pub->points, g->pub->n, 1);
		double ours = rate_at(c->points, c->n, 1);

		g->pub_factor = ours / theirs;
		/* Only a curve from one task on can be brought to the same start. */
		if (!isfinite(g->pub_factor))
			g->pub = NULL;
	}
	return true;
}

int html_curves(struct page *p)
{
	bool any = false, prediction = false, published = false;
	struct figure g;

	for (size_t t = 0; t < 2 * p->m->ntests; t++) {
		if (!figure_of(p, t / 2, t % 2, &g))
			continue;
		any = true;
		published = published || g.pub;
	}
	if (!any)
		return 0;
	for (size_t i = 0; i < p->m->ncompares; i++)
		prediction = prediction || (p->m->arms[p->m->compares[i].with].npartitions > 1 &&
					    p->m->arms[p->m->compares[i].base].npartitions == 1);
	fputs("<section><h2>Scaling</h2><p class=\"note\">Rate of all tasks together. Whiskers: 95 "
	      "% "
	      "interval over boots. Dashed verticals: where the first arm's tasks reach one more "
	      "LLC, "
	      "node or package. A curve bends where a further task brings less than half of what "
	      "the "
	      "first one did.</p>",
	      p->f);
	put_key(p, prediction, published);
	fputs("<div class=\"grid\">\n", p->f);
	for (size_t t = 0; t < 2 * p->m->ntests; t++)
		if (figure_of(p, t / 2, t % 2, &g))
			put_figure(p->f, &g, p);
	fputs("</div></section>\n", p->f);
	return 0;
}
