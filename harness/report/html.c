// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/report/html.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/analysis/agreement.h"
#include "harness/report/format.h"
#include "harness/report/svg.h"

const char *arm_class(size_t arm)
{
	static const char *const classes[] = {"arm-0", "arm-1", "arm-2", "arm-3"};

	return classes[arm % 4];
}

const char *verdict_class(enum verdict v)
{
	switch (v) {
	case VERDICT_FASTER:
	case VERDICT_FASTER_SMALL:
		return "badge v-good";
	case VERDICT_SLOWER:
	case VERDICT_SLOWER_SMALL:
		return "badge v-bad";
	case VERDICT_CONFOUNDED:
		return "badge v-warn";
	default:
		return "badge";
	}
}

void put_html(FILE *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	for (const char *c = fmt; *c; c++) {
		if (c[0] == '%' && c[1] == 's') {
			put_escaped(f, va_arg(ap, const char *));
			c++;
		} else {
			c += c[0] == '%' && c[1] == '%';
			fputc(*c, f);
		}
	}
	va_end(ap);
}

void put_td(FILE *f, const char *css, const char *text)
{
	if (css[0])
		fprintf(f, "<td class=\"%s\">", css);
	else
		fputs("<td>", f);
	put_escaped(f, text);
	fputs("</td>", f);
}

const struct pub_row *page_published(const struct page *p, const struct row *r)
{
	const struct mcompare *c = &p->m->compares[r->compare];
	const struct marm *with = &p->m->arms[c->with];

	if (!p->pub || r->threads || p->m->arms[c->base].npartitions != 1 || with->npartitions != 2)
		return NULL;
	return published_row(p->pub, p->m->tests[r->test].test, sockets_used(p->m, r->compare));
}

double page_published_ratio(const struct page *p, const struct row *r)
{
	const struct pub_row *pub = page_published(p, r);
	const struct pub_comparison *c = pub ? published_comparison(p->pub, pub->comparison) : NULL;

	if (!c || c->tasks != r->tasks || p->a->pairings[r->compare].no_evidence)
		return NAN;
	return pub->ratio;
}

static void put_fact(FILE *f, const char *name, const char *value)
{
	if (value[0])
		put_html(f, "<div><dt>%s</dt><dd>%s</dd></div>", name, value);
}

static void put_head(struct page *p)
{
	const struct model *m = p->m;
	char number[FORMAT_ROOM], text[200];
	size_t numbers = m->by_status[CELL_OK] + m->by_status[CELL_FLAGGED];
	int blocks = 0;

	for (size_t i = 0; i < m->ncells; i++)
		if (m->cells[i].block >= blocks)
			blocks = m->cells[i].block + 1;
	put_html(p->f, "<header class=\"top\"><h1>mksplit: %s on %s</h1>\n", m->plan, m->hostname);
	for (size_t c = 0; c < m->ncompares; c++) {
		char answer[1000];

		put_html(p->f,
			 p->a->pairings[c].no_evidence ? "<p class=\"answer warn\">%s</p>\n"
						       : "<p class=\"answer\">%s</p>\n",
			 report_answer(p->a, c, answer, sizeof(answer)));
	}
	if (m->ncompares == 0)
		put_html(p->f, "<p class=\"answer\">Scaling curves of %s; nothing is compared.</p>\n",
			 m->narms ? m->arms[0].name : "nothing");
	fputs("<dl class=\"facts\">", p->f);
	put_fact(p->f, "begun", format_utc(number, m->begin));
	put_fact(p->f, "took", format_seconds(number, m->end - m->begin));
	snprintf(text, sizeof(text), "%d of %d", blocks, m->planned_blocks);
	put_fact(p->f, "blocks", text);
	snprintf(text, sizeof(text), "%zu with numbers, %zu of them flagged, %zu without", numbers,
		 m->by_status[CELL_FLAGGED], m->ncells - numbers);
	put_fact(p->f, "cells", text);
	snprintf(text, sizeof(text), "%.3g %%", 100 * m->margin);
	put_fact(p->f, "margin", text);
	put_fact(p->f, "processor", m->cpu_model);
	put_fact(p->f, "seed", m->seed);
	if (m->quick)
		put_fact(p->f, "quick run", "one block, short samples: for a look only");
	if (!m->ended || m->interrupted)
		put_fact(p->f, "incomplete", "the run was interrupted, killed or still goes on");
	fputs("</dl></header>\n<main>\n", p->f);
}

int html_method(struct page *p)
{
	char margin[FORMAT_ROOM];

	snprintf(margin, sizeof(margin), "%.3g", 100 * p->m->margin);
	put_html(
		p->f,
		"<section><h2>How to read this</h2><ul class=\"plain\">"
		"<li>A <b>block</b> is one boot of every arm, in an order drawn at random. The "
		"boot is the "
		"unit of all statistics: what happens inside one boot shares its layout in "
		"memory.</li>"
		"<li><b>Ratio</b>: the geometric mean over blocks of second arm over first, with a "
		"95 %% t "
		"interval on the logarithms.</li>"
		"<li><b>faster</b>, <b>slower</b>: the interval lies beyond 1 &plusmn; %s %%. "
		"<b>same</b>: "
		"the 90 %% interval lies inside (two one-sided tests at 5 %%). <b>small</b>: the "
		"interval "
		"excludes 1, but not the margin. <b>undecided</b>: none of these yet.</li>"
		"<li><b>confounded</b>: a control at the same task count, or the test itself with "
		"one task a "
		"kernel, is not shown to stand still within the margin. Nothing is shared there, "
		"so what "
		"moves is the surroundings.</li>"
		"<li><b>no verdict</b>: fewer than six blocks, an arm that was not booted anew in "
		"each block, "
		"or CPUs that are emulated or simulated.</li>"
		"<li><b>One task a kernel</b>: the ratio of one task's rate where nothing is "
		"shared; the "
		"<b>quotient</b> is the ratio over it. The <b>normalised</b> ratio is the ratio "
		"over the mean "
		"of the controls; it stands beside the raw one, never in its place.</li>"
		"<li>Primary tests are a family: a difference counts only if it holds after Holm's "
		"adjustment. All else is exploratory. Nothing was dropped; outliers are marked and "
		"kept."
		"</li></ul></section>\n",
		margin);
	return 0;
}

int report_html(FILE *f, const struct analysis *a, const struct published *pub)
{
	static int (*const parts[])(struct page *) = {
		html_score,    html_gates,  html_published,   html_curves,
		html_values,   html_blocks, html_machine,     html_timeline,
		html_problems, html_rows,   html_environment, html_method,
	};
	struct page p = {.f = f, .a = a, .m = a->m, .pub = pub};
	int ret;

	if (scalings_of(&p.curves, a) < 0) {
		scalings_free(&p.curves);
		return -ENOMEM;
	}
	/* default-src 'none': not even a mistake in escaping can load or run anything. */
	put_html(f,
		 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "style-src "
		 "'unsafe-inline'\"><meta name=\"viewport\" "
		 "content=\"width=device-width,initial-scale=1\">"
		 "<title>%s: mksplit report</title>\n<style>",
		 a->m->plan);
	fputs(html_style, f);
	fputs("</style></head>\n<body>", f);
	put_head(&p);
	ret = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && ret == 0; i++)
		ret = parts[i](&p);
	fputs("</main></body></html>\n", f);
	scalings_free(&p.curves);
	if (ret < 0)
		return ret;
	return ferror(f) ? -EIO : 0;
}
