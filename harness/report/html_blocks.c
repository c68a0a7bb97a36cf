// SPDX-License-Identifier: GPL-2.0-or-later
/* Every block of every test, and where the noise comes from. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/report/format.h"
#include "harness/report/html.h"
#include "harness/report/parts.h"
#include "harness/report/svg.h"

enum {
	WIDTH = 1040,
	LEFT = 190,
	RIGHT = 14,
	ROW = 22,
	TOP = 8,
	BOTTOM = 30
};

/* Rows of the main metric at the largest task count, with at least two blocks. */
static bool shown(const struct row *r, size_t compare)
{
	return r->compare == (int)compare && r->headline && r->d.n >= 2;
}

static int widest(const struct analysis *a, size_t compare, double *most, size_t *rows)
{
	*most = a->m->margin;
	*rows = 0;
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];
		cleanup_free double *d = NULL;

		if (!shown(r, compare))
			continue;
		(*rows)++;
		d = calloc(r->d.n, sizeof(*d));
		if (!d)
			return -ENOMEM;
		row_blocks(r, d, NULL);
		for (size_t k = 0; k < r->d.n; k++)
			*most = fmax(*most, fabs(expm1(d[k] - r->d.mean)));
	}
	return 0;
}

static int put_dots(FILE *f, const struct analysis *a, const struct row *r, const struct scale *x,
		    double y)
{
	cleanup_free double *d = calloc(r->d.n, sizeof(*d));
	cleanup_free int *block = calloc(r->d.n, sizeof(*block));
	char label[96];
	struct fences fence;

	if (!d || !block)
		return -ENOMEM;
	row_blocks(r, d, block);
	if (fences_of(d, r->d.n, &fence) < 0)
		return -ENOMEM;
	mtest_label(&a->m->tests[r->test], label, sizeof(label));
	svg_text(f, r->family ? "strong" : "", LEFT - 10, y + 4, SVG_END, label);
	svg_line(f, "gridline", LEFT, y, WIDTH - RIGHT, y);
	for (size_t k = 0; k < r->d.n; k++) {
		double at = scale_clamped(x, 100 * expm1(d[k] - r->d.mean));
		char text[24];

		svg_circle(f, "fill light arm-0", at, y, 4);
		if (d[k] >= fence.lo && d[k] <= fence.hi)
			continue;
		svg_circle(f, "outlier", at, y, 6);
		snprintf(text, sizeof(text), "%d", block[k]);
		svg_text(f, "", at, y - 8, SVG_MIDDLE, text);
	}
	return 0;
}

static int put_block_table(FILE *f, const struct analysis *a, size_t compare)
{
	fputs("<details><summary>Numbers</summary><div class=\"scroll\" tabindex=\"0\" "
	      "role=\"region\" "
	      "aria-label=\"Ratio of each block\"><table><thead><tr><th scope=\"col\" "
	      "class=\"l\">Test</th>"
	      "<th scope=\"col\" class=\"l\">Ratio of each block</th><th "
	      "scope=\"col\">Spread</th></tr>"
	      "</thead><tbody>",
	      f);
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];
		cleanup_free double *d = NULL;
		char label[96], ratio[FORMAT_ROOM];

		if (!shown(r, compare))
			continue;
		d = calloc(r->d.n, sizeof(*d));
		if (!d)
			return -ENOMEM;
		row_blocks(r, d, NULL);
		put_html(f, "<tr><th scope=\"row\" class=\"l\">%s</th><td class=\"l\">",
			 mtest_label(&a->m->tests[r->test], label, sizeof(label)));
		for (size_t k = 0; k < r->d.n; k++)
			fprintf(f, "%s%s", k ? ", " : "", format_ratio(ratio, exp(d[k])));
		fprintf(f, "</td><td>%.2f %%</td></tr>", 100 * r->d.sd);
	}
	fputs("</tbody></table></div></details>", f);
	return 0;
}

static int put_blocks(struct page *p, size_t compare)
{
	const struct analysis *a = p->a;
	double most, ticks[12], height, y;
	struct scale x;
	size_t rows, n;
	FILE *f = p->f;

	if (widest(a, compare, &most, &rows) < 0)
		return -ENOMEM;
	if (rows == 0)
		return 0;
	height = TOP + rows * ROW + BOTTOM;
	x = (struct scale){-105 * most, 105 * most, LEFT, WIDTH - LEFT - RIGHT, false};
	n = scale_ticks(&x, ticks, 9);
	put_html(f,
		 "<section><h2>Block by block: %s against %s</h2><p class=\"note\">How far each "
		 "block's "
		 "ratio lies from the mean over blocks. Red rings lie outside Tukey's fences, with "
		 "their "
		 "block's number; they are shown and kept.</p><figure class=\"panel\">",
		 p->m->arms[p->m->compares[compare].with].name,
		 p->m->arms[p->m->compares[compare].base].name);
	fprintf(f,
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Plot of blocks, "
		"comparison %zu\">",
		compare + 1);
	svg_begin(f, WIDTH, height, "Deviation of each block's ratio from the mean, for every test",
		  "");
	svg_rect(f, "band", scale_at(&x, -100 * a->m->margin), TOP,
		 scale_at(&x, 100 * a->m->margin) - scale_at(&x, -100 * a->m->margin), rows * ROW, 0);
	for (size_t i = 0; i < n; i++) {
		char text[FORMAT_ROOM];

		snprintf(text, sizeof(text), "%+.3g %%", ticks[i] + 0.0);
		svg_line(f, ticks[i] == 0 ? "one" : "gridline", scale_at(&x, ticks[i]), TOP,
			 scale_at(&x, ticks[i]), TOP + rows * ROW);
		svg_text(f, "", scale_at(&x, ticks[i]), height - 10, SVG_MIDDLE,
			 ticks[i] == 0 ? "mean" : text);
	}
	y = TOP + ROW / 2.0;
	for (size_t i = 0; i < a->nrows; i++) {
		if (!shown(&a->rows[i], compare))
			continue;
		if (put_dots(f, a, &a->rows[i], &x, y) < 0)
			return -ENOMEM;
		y += ROW;
	}
	svg_end(f);
	fputs("</div>", f);
	if (put_block_table(f, a, compare) < 0)
		return -ENOMEM;
	fputs("</figure></section>\n", f);
	return 0;
}

static int put_noise(struct page *p)
{
	static const char *const names[LEVELS] = {"samples", "repetitions", "boots"};
	struct noise x;
	int n = noise_of(&x, p->a);
	double at = 0;
	FILE *f = p->f;

	if (n <= 0)
		return n;
	fputs("<section><h2>Where the noise comes from</h2><figure class=\"panel\"><figcaption>", f);
	for (int k = LEVELS - 1; k >= 0; k--)
		if (!isnan(x.v.t2[k]))
			fprintf(f,
				"<span class=\"key\"><svg viewBox=\"0 0 26 12\" width=\"26\" "
				"height=\"12\" "
				"aria-hidden=\"true\"><rect class=\"share-%d\" x=\"4\" "
				"width=\"14\" "
				"height=\"12\"/></svg>%s %.0f %% of the variance (sd %.2f "
				"%%)</span>",
				k, names[k], 100 * x.v.share[k], 100 * sqrt(x.v.t2[k]));
	fputs("</figcaption>", f);
	svg_begin_hidden(f, 1000, 26, "");
	for (int k = LEVELS - 1; k >= 0; k--) {
		char css[16];

		if (isnan(x.v.share[k]))
			continue;
		snprintf(css, sizeof(css), "share-%d", k);
		svg_rect(f, css, at, 2, 1000 * x.v.share[k], 22, 0);
		at += 1000 * x.v.share[k];
	}
	svg_end(f);
	fprintf(f,
		"<p class=\"note\">Means over %d curves. By the formula of Kalibera and Jones the "
		"next run "
		"should take %.0f samples a repetition and %.0f repetitions a boot. Block ratios "
		"spread by "
		"%.2f %%",
		n, x.next_samples, x.next_repetitions, 100 * x.sd_block_ratio);
	if (x.blocks_for_2_percent)
		fprintf(f, ": %zu blocks give an interval of &plusmn;2&nbsp;%%.",
			x.blocks_for_2_percent);
	fputs("</p></figure></section>\n", f);
	return 0;
}

int html_blocks(struct page *p)
{
	for (size_t c = 0; c < p->m->ncompares; c++)
		if (put_blocks(p, c) < 0)
			return -ENOMEM;
	return put_noise(p) < 0 ? -ENOMEM : 0;
}
