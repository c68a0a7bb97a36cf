// SPDX-License-Identifier: GPL-2.0-or-later
/* The run beside published figures, as `mksplit reproduce` has it. */
#include <errno.h>
#include <math.h>

#include "harness/analysis/agreement.h"
#include "harness/report/format.h"
#include "harness/report/html.h"

static const char *agreement_class(enum agreement a)
{
	switch (a) {
	case AGREE_REPRODUCED:
		return "badge v-good";
	case AGREE_NOT:
		return "badge v-bad";
	case AGREE_OTHER_SIZE:
		return "badge v-warn";
	default:
		return "badge";
	}
}

static const char *format_ends(char *buf, struct interval i)
{
	char lo[FORMAT_ROOM], hi[FORMAT_ROOM];

	if (interval_valid(i))
		snprintf(buf, FORMAT_ROOM, "%.30s-%.30s", format_ratio(lo, i.lo),
			 format_ratio(hi, i.hi));
	else
		snprintf(buf, FORMAT_ROOM, "-");
	return buf;
}

static void put_row(FILE *f, const struct agreement_row *x)
{
	char number[FORMAT_ROOM];

	put_html(f, "<tr><th scope=\"row\" class=\"l\">%s</th>", x->pub->test);
	put_td(f, "", format_ratio(number, x->pub->ratio));
	put_td(f, "", format_mean(number, &x->ours->d));
	put_td(f, "wide", format_interval(number, &x->ours->d, 0.95));
	put_td(f, "wide", format_ends(number, interval_exp(interval_next(&x->ours->d, 0.95))));
	put_td(f, "", format_ratio(number, x->over));
	put_html(f, "<td class=\"l\"><span class=\"%s\">%s</span>", agreement_class(x->agreement),
		 agreement_name(x->agreement));
	if (x->why[0])
		put_html(f, "<span class=\"ci\">%s</span>", x->why);
	fputs("</td></tr>\n", f);
}

static void put_table(struct page *p, size_t compare, const struct reproduction *r)
{
	const struct mcompare *c = &p->m->compares[compare];
	char tau[FORMAT_ROOM];
	FILE *f = p->f;

	put_html(f,
		 "<section><h2>Beside what was published: %s against %s</h2><p class=\"note\">Two "
		 "kernels "
		 "against one, as others published it, without error bars. Reproduced means: the "
		 "published "
		 "ratio could be one more block of this run, and this run is sharp enough to say "
		 "so.</p>",
		 p->m->arms[c->with].name, p->m->arms[c->base].name);
	if (r->ndifferences) {
		fputs("<p>Another class of machine: directions and shapes can be compared, sizes "
		      "cannot.</p>"
		      "<ul class=\"plain\">",
		      f);
		for (size_t i = 0; i < r->ndifferences; i++)
			put_html(f, "<li>%s</li>", r->differences[i]);
		fputs("</ul>", f);
	}
	fprintf(f,
		"<div class=\"card scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Published "
		"figures, "
		"comparison %zu\"><table><thead><tr><th scope=\"col\" class=\"l\">Test</th>"
		"<th scope=\"col\">Published</th><th scope=\"col\">Here</th><th scope=\"col\" "
		"class=\"wide\">95 %% interval</th><th scope=\"col\" class=\"wide\">One more "
		"block</th>"
		"<th scope=\"col\">Here over published</th><th scope=\"col\" "
		"class=\"l\">Agreement</th></tr>"
		"</thead><tbody>\n",
		compare + 1);
	for (size_t i = 0; i < r->nrows; i++)
		put_row(f, &r->rows[i]);
	fprintf(f,
		"</tbody></table></div><p class=\"note\">Same direction in %zu of %zu published "
		"effects. Rank "
		"correlation of the ratios (Kendall): %s. Not the same in any case: kernel, "
		"sockets, and "
		"conditions that <code>mksplit reproduce</code> lists.</p></section>\n",
		r->same_direction, r->effects, format_ratio(tau, r->tau));
}

int html_published(struct page *p)
{
	for (size_t c = 0; p->pub && c < p->m->ncompares; c++) {
		const struct mcompare *pair = &p->m->compares[c];
		cleanup_reproduction struct reproduction r = {0};
		struct err e = ERR_INIT;
		int ret;

		/* The published figures are of one kernel against two, on real CPUs. */
		if (p->a->pairings[c].no_evidence || p->m->arms[pair->base].npartitions != 1 ||
		    p->m->arms[pair->with].npartitions != 2)
			continue;
		ret = reproduce(&r, p->a, c, p->pub, sockets_used(p->m, c), false, &e);
		if (ret == -ENOMEM)
			return ret;
		if (ret == 0)
			put_table(p, c, &r);
	}
	return 0;
}
