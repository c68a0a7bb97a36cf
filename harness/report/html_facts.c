// SPDX-License-Identifier: GPL-2.0-or-later
/* What differs, what was flagged, what failed; every row; the surroundings. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/format.h"
#include "harness/report/html.h"
#include "harness/report/svg.h"

static void put_values(FILE *f, const char *first, size_t values)
{
	if (values == 0)
		fputs("<td class=\"l\">-</td>", f);
	else
		put_html(f,
			 values > 1 ? "<td class=\"l\"><code>%s</code> and others</td>"
				    : "<td class=\"l\"><code>%s</code></td>",
			 first);
}

static void put_fact_rows(struct page *p, bool open)
{
	const struct analysis *a = p->a;
	FILE *f = p->f;

	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Facts that "
	      "differ\"><table>"
	      "<thead><tr><th scope=\"col\" class=\"l\">Fact</th><th scope=\"col\" "
	      "class=\"l\">First arm</th>"
	      "<th scope=\"col\" class=\"l\">Second arm</th><th scope=\"col\" class=\"l\">Why it "
	      "is "
	      "there</th></tr></thead><tbody>",
	      f);
	for (size_t i = 0; i < a->nfacts; i++) {
		const struct fact_difference *d = &a->facts[i];

		if (open != (!d->declared && !d->harmless))
			continue;
		put_html(f, "<tr><th scope=\"row\" class=\"l\"><code>%s</code></th>", d->name);
		put_values(f, d->base, d->base_values);
		put_values(f, d->with, d->with_values);
		if (d->declared)
			put_html(f, "<td class=\"l\">declared by the plan as %s</td></tr>\n",
				 d->declared);
		else
			put_html(f, "<td class=\"l\">%s</td></tr>\n",
				 d->harmless ? d->harmless
					     : "not declared, not known to be harmless");
	}
	fputs("</tbody></table></div>", f);
}

static void put_facts(struct page *p)
{
	size_t open = 0;

	for (size_t i = 0; i < p->a->nfacts; i++)
		open += !p->a->facts[i].declared && !p->a->facts[i].harmless;
	if (p->m->nfacts == 0)
		return;
	fputs("<section><h2>Facts that differ between arms</h2>", p->f);
	if (open == 0)
		fputs("<p>No fact differs that the plan does not declare or that is not known to "
		      "be "
		      "harmless.</p>",
		      p->f);
	else
		put_fact_rows(p, true);
	if (p->a->nfacts > open) {
		fprintf(p->f, "<details><summary>%zu declared or harmless</summary>",
			p->a->nfacts - open);
		put_fact_rows(p, false);
		fputs("</details>", p->f);
	}
	fputs("</section>\n", p->f);
}

/* How often each flag was raised, with one example. */
struct flag_count {
	const char *name;
	const struct mflag *example;
	size_t n;
};

static int by_count(const void *a, const void *b)
{
	const struct flag_count *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

static void put_flags(struct page *p)
{
	enum {
		NAMES_MAX = 64
	};
	struct flag_count counts[NAMES_MAX];
	size_t n = 0, unsteady = 0;
	FILE *f = p->f;

	for (size_t i = 0; i < p->m->ncells; i++) {
		const struct mcell *c = &p->m->cells[i];

		for (size_t k = 0; k < c->nflags; k++) {
			size_t at = 0;

			while (at < n && counts[at].name != c->flags[k].name)
				at++;
			if (at == n && n < NAMES_MAX)
				counts[n++] = (struct flag_count){c->flags[k].name, &c->flags[k], 0};
			if (at < n)
				counts[at].n++;
		}
	}
	for (size_t i = 0; i < p->a->set.n; i++)
		unsteady += p->a->set.series[i].nunsteady;
	if (n == 0 && unsteady == 0)
		return;
	qsort(counts, n, sizeof(counts[0]), by_count);
	fputs("<section><h2>Flags</h2><p class=\"note\">Flagged cells carry numbers and are "
	      "used.</p>"
	      "<ul class=\"plain\">",
	      f);
	for (size_t i = 0; i < n; i++) {
		put_html(f, "<li><b>%s</b>", counts[i].name);
		fprintf(f, " in %zu cells", counts[i].n);
		put_html(f, ", for example: %s</li>", counts[i].example->text);
	}
	if (unsteady)
		fprintf(f,
			"<li><b>drift</b> in %zu series of samples: more than %.0f %% over their "
			"window, by "
			"least squares</li>",
			unsteady, 100 * STEADY_LIMIT);
	fputs("</ul></section>\n", f);
}

static void put_failures(struct page *p)
{
	enum {
		SHOWN_MAX = 200
	};
	size_t n = 0;
	FILE *f = p->f;

	for (size_t i = 0; i < p->m->ncells; i++) {
		const struct mcell *c = &p->m->cells[i];

		if (c->status == CELL_OK || c->status == CELL_FLAGGED)
			continue;
		if (n++ == 0)
			fputs("<section><h2>Without numbers</h2><ul class=\"plain\">", f);
		if (n <= SHOWN_MAX)
			put_html(f, "<li><code>%s</code> %s: %s</li>\n", c->key,
				 cell_status_name(c->status), c->reason);
	}
	if (n > SHOWN_MAX)
		fprintf(f, "<li>and %zu more</li>", n - SHOWN_MAX);
	if (n > 0)
		fputs("</ul></section>\n", f);
}

int html_problems(struct page *p)
{
	put_facts(p);
	put_flags(p);
	put_failures(p);
	return 0;
}

static void put_row(struct page *p, const struct row *r)
{
	const struct mmetric *x = &p->m->metrics[r->metric];
	char label[96], number[FORMAT_ROOM], verdict[FORMAT_ROOM];
	FILE *f = p->f;

	put_html(f, "<tr><th scope=\"row\" class=\"l\">%s%s%s</th>",
		 mtest_label(&p->m->tests[r->test], label, sizeof(label)),
		 r->threads ? " (threads) " : "", r->main ? "" : x->name);
	fprintf(f, "<td>%d</td><td>%zu</td>", r->tasks, r->d.n);
	put_td(f, "", format_value(number, r->base_rate, x->unit));
	put_td(f, "", format_value(number, r->with_rate, x->unit));
	put_td(f, "", format_mean(number, &r->d));
	put_td(f, "", format_interval(number, &r->d, 0.95));
	put_td(f, "", format_mean(number, &r->anchor));
	put_td(f, "", format_mean(number, &r->quotient));
	put_td(f, "", format_mean(number, &r->normalised));
	put_html(f, "<td class=\"l\">%s</td></tr>\n", row_verdict_text(r, verdict, sizeof(verdict)));
}

static void put_reasons(struct page *p, size_t compare)
{
	const struct analysis *a = p->a;
	bool any = false;

	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];
		bool told = !r->why[0] || r->compare != (int)compare;

		for (size_t k = 0; k < i && !told; k++)
			told = a->rows[k].compare == r->compare &&
			       strcmp(a->rows[k].why, r->why) == 0;
		if (told)
			continue;
		if (!any)
			fputs("<h3>Reasons</h3><ul class=\"plain\">", p->f);
		any = true;
		put_html(p->f, "<li>%s: %s</li>", verdict_name(r->verdict), r->why);
	}
	if (any)
		fputs("</ul>", p->f);
}

int html_rows(struct page *p)
{
	for (size_t c = 0; c < p->m->ncompares; c++) {
		const struct mcompare *pair = &p->m->compares[c];
		const char *base = p->m->arms[pair->base].name, *with = p->m->arms[pair->with].name;

		put_html(p->f, "<section><h2>Every number: %s against %s</h2>", with, base);
		put_html(p->f,
			 "<details><summary>All tests at all task counts</summary><div "
			 "class=\"scroll\" "
			 "tabindex=\"0\" role=\"region\" aria-label=\"All rows of %s against "
			 "%s\"><table>"
			 "<thead><tr><th scope=\"col\" class=\"l\">Test</th><th "
			 "scope=\"col\">Tasks</th>"
			 "<th scope=\"col\">Blocks</th><th scope=\"col\">%s</th><th "
			 "scope=\"col\">%s</th>",
			 with, base, base, with);
		fputs("<th scope=\"col\">Ratio</th><th scope=\"col\">95 % interval</th>"
		      "<th scope=\"col\">One task a kernel</th><th scope=\"col\">Quotient</th>"
		      "<th scope=\"col\">Normalised</th><th scope=\"col\" "
		      "class=\"l\">Verdict</th></tr>"
		      "</thead><tbody>\n",
		      p->f);
		for (size_t i = 0; i < p->a->nrows; i++)
			if (p->a->rows[i].compare == (int)c)
				put_row(p, &p->a->rows[i]);
		fputs("</tbody></table></div></details>", p->f);
		put_reasons(p, c);
		fputs("</section>\n", p->f);
	}
	return 0;
}

static void put_pair(FILE *f, const char *name, const char *value)
{
	if (value[0])
		put_html(f, "<tr><th scope=\"row\" class=\"l\">%s</th><td class=\"l\">%s</td></tr>",
			 name, value);
}

int html_environment(struct page *p)
{
	const struct model *m = p->m;
	char text[200], begin[FORMAT_ROOM], end[FORMAT_ROOM];
	FILE *f = p->f;

	fputs("<section><h2>Surroundings</h2><div class=\"card\"><table><tbody>", f);
	put_pair(f, "Machine", m->hostname);
	put_pair(f, "Processor", m->cpu_model);
	snprintf(text, sizeof(text), "%d packages, %d nodes, %d LLCs, %d cores, %zu CPUs",
		 m->packages, m->nodes, m->llcs, m->cores, m->ncpus);
	put_pair(f, "Topology", text);
	put_pair(f, "Running kernel", m->kernel);
	put_pair(f, "Architecture", m->arch);
	put_pair(f, "mksplit", m->version);
	put_pair(f, "Plan", m->plan);
	put_pair(f, "SHA-256 of the plan", m->plan_sha256);
	put_pair(f, "Seed", m->seed);
	snprintf(text, sizeof(text), "%s to %s", format_utc(begin, m->begin),
		 format_utc(end, m->end));
	put_pair(f, "Time", text);
	snprintf(text, sizeof(text), "%.3g s warm-up, %d samples of %.3g s", m->warmup,
		 m->planned_samples, m->interval);
	put_pair(f, "A repetition", text);
	fputs("</tbody></table></div></section>\n", f);
	return 0;
}
