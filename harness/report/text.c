// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/report/format.h"
#include "harness/report/parts.h"
#include "harness/report/report.h"

/* First of all the answers, one a line: those without evidence say so. */
static void print_answers(FILE *f, const struct analysis *a)
{
	char answer[1000], clean[1000];

	for (size_t c = 0; c < a->m->ncompares; c++) {
		report_answer(a, c, answer, sizeof(answer));
		fprintf(f, "%s\n", clean_text(clean, sizeof(clean), answer));
	}
	if (a->m->ncompares)
		fprintf(f, "\n");
}

/* What may be wrong with the run as a whole, a line each. */
static void print_state(FILE *f, const struct model *m)
{
	if (m->quick)
		fprintf(f, "Quick run: one block and short samples, for a look only.\n");
	if (!m->ended)
		fprintf(f, "The run has no end: it was killed or still goes on (run --resume).\n");
	else if (m->interrupted)
		fprintf(f, "The run was interrupted (run --resume goes on with it).\n");
	for (size_t i = 0; i < m->nnotes; i++) {
		char text[300];

		if (strcmp(m->notes[i].kind, "note") == 0)
			fprintf(f, "Note: %s\n", clean_text(text, sizeof(text), m->notes[i].text));
	}
	if (m->damaged_lines)
		fprintf(f, "%zu damaged lines in events.jsonl were skipped.\n", m->damaged_lines);
}

static size_t blocks_done(const struct model *m)
{
	int most = -1;

	for (size_t i = 0; i < m->ncells; i++)
		if (m->cells[i].block > most)
			most = m->cells[i].block;
	return most + 1;
}

static void print_head(FILE *f, const struct model *m)
{
	char plan[96], host[96], model[128], begin[FORMAT_ROOM], seconds[FORMAT_ROOM], seed[32];

	fprintf(f, "%s on %s, %s, %s\n", clean_text(plan, sizeof(plan), m->plan),
		clean_text(host, sizeof(host), m->hostname), format_utc(begin, m->begin),
		format_seconds(seconds, m->end - m->begin));
	if (m->cpu_model[0] || m->cores)
		fprintf(f, "%s, %d packages, %d nodes, %d cores, %zu CPUs\n",
			clean_text(model, sizeof(model), m->cpu_model), m->packages, m->nodes,
			m->cores, m->ncpus);
	fprintf(f, "%zu of %d blocks, margin %.3g %%, seed %s; cells: %zu ok", blocks_done(m),
		m->planned_blocks, m->margin * 100, clean_text(seed, sizeof(seed), m->seed),
		m->by_status[CELL_OK]);
	for (int s = CELL_FLAGGED; s < CELL_STATUSES; s++)
		if (m->by_status[s])
			fprintf(f, ", %zu %s", m->by_status[s], cell_status_name(s));
	if (m->invalid_attempts)
		fprintf(f, "; %zu invalid attempts", m->invalid_attempts);
	fprintf(f, "\n");
	print_state(f, m);
}

static const char *verdict_color(enum verdict v)
{
	switch (v) {
	case VERDICT_FASTER:
	case VERDICT_FASTER_SMALL:
		return "\033[32m";
	case VERDICT_SLOWER:
	case VERDICT_SLOWER_SMALL:
		return "\033[31m";
	case VERDICT_CONFOUNDED:
		return "\033[33m";
	default:
		return "";
	}
}

/* Flag names of a row's cells with how often, "steal 3, unsteady 1". */
static void row_flags(const struct analysis *a, const struct row *r, char *buf, size_t size)
{
	const struct series *arms[] = {r->base, r->with};
	const char *names[8];
	size_t counts[8], n = 0, used = 0;

	buf[0] = '\0';
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < arms[k]->ncells; i++) {
			const struct mcell *c = &a->m->cells[arms[k]->cells[i]];

			for (size_t j = 0; j < c->nflags; j++) {
				size_t at = 0;

				while (at < n && names[at] != c->flags[j].name)
					at++;
				if (at == n && n < 8) {
					names[n] = c->flags[j].name;
					counts[n++] = 0;
				}
				if (at < n)
					counts[at]++;
			}
		}
	}
	if (r->unsteady && n < 8) {
		names[n] = "drift";
		counts[n++] = r->unsteady;
	}
	for (size_t i = 0; i < n && used < size; i++) {
		char name[40];

		used += snprintf(buf + used, size - used, "%s%s %zu", i ? ", " : "",
				 clean_text(name, sizeof(name), names[i]), counts[i]);
	}
}

static void print_row(FILE *f, const struct analysis *a, const struct row *r,
		      const struct text_options *o)
{
	const struct mmetric *x = &a->m->metrics[r->metric];
	char label[96], test[128], base[FORMAT_ROOM], with[FORMAT_ROOM], ratio[FORMAT_ROOM],
		interval[FORMAT_ROOM], anchor[FORMAT_ROOM], quotient[FORMAT_ROOM],
		normalised[FORMAT_ROOM], verdict[FORMAT_ROOM], flags[160];
	const char *color = o->color ? verdict_color(r->verdict) : "";

	mtest_label(&a->m->tests[r->test], label, sizeof(label));
	snprintf(test, sizeof(test), "%s%s%s%s%s",
		 r->control  ? "="
		 : r->family ? "*"
			     : " ",
		 label, r->threads ? " (threads)" : "", r->main ? "" : " ", r->main ? "" : x->name);
	clean_text(label, sizeof(label), test);
	row_flags(a, r, flags, sizeof(flags));
	fprintf(f, "%-20s %5d %11s %11s %7s %-13s %7s %7s %7s  %s%s%s%s%s\n", label, r->tasks,
		format_value(base, r->base_rate, x->unit),
		format_value(with, r->with_rate, x->unit), format_mean(ratio, &r->d),
		format_interval(interval, &r->d, 0.95), format_mean(anchor, &r->anchor),
		format_mean(quotient, &r->quotient), format_mean(normalised, &r->normalised), color,
		row_verdict_text(r, verdict, sizeof(verdict)), color[0] ? "\033[0m" : "",
		flags[0] ? "; " : "", flags);
}

/* Each different reason once, with the tests it stands for. */
static void print_reasons(FILE *f, const struct analysis *a, int compare)
{
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];
		bool told = false;
		size_t rows = 0;
		char why[300];

		if (r->compare != compare || !r->why[0] || r->verdict == VERDICT_UNDECIDED)
			continue;
		for (size_t k = 0; k < a->nrows; k++) {
			if (a->rows[k].compare != compare || strcmp(a->rows[k].why, r->why) != 0)
				continue;
			told = told || k < i;
			rows++;
		}
		if (!told)
			fprintf(f, "%s (%zu rows): %s\n", verdict_name(r->verdict), rows,
				clean_text(why, sizeof(why), r->why));
	}
}

/* The rule behind each cause. */
static void print_causes(FILE *f, const struct analysis *a, int compare)
{
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];
		char label[96], text[300], clean[300];

		if (r->compare != compare || r->cause == CAUSE_UNKNOWN)
			continue;
		mtest_label(&a->m->tests[r->test], label, sizeof(label));
		snprintf(text, sizeof(text), "%s at %d: %s: %s", label, r->tasks,
			 cause_name(r->cause), r->cause_why);
		fprintf(f, "%s\n", clean_text(clean, sizeof(clean), text));
	}
}

/* Where two values begin to differ, at the beginning of the word. */
static size_t difference(const char *a, const char *b)
{
	size_t n = 0, word = 0;

	for (; a[n] && a[n] == b[n]; n++)
		if (a[n] == ' ' || a[n] == ',')
			word = n + 1;
	return word;
}

static void print_facts(FILE *f, const struct analysis *a, int compare)
{
	for (size_t i = 0; i < a->nfacts; i++) {
		const struct fact_difference *d = &a->facts[i];
		char name[80], base[60], with[60];
		size_t from;

		if (d->compare != compare || d->declared || d->harmless)
			continue;
		from = d->base_values && d->with_values ? difference(d->base, d->with) : 0;
		fprintf(f, "not declared, differs: %s: %s%s%s | %s%s%s\n",
			clean_text(name, sizeof(name), d->name), from ? ".. " : "",
			d->base_values ? clean_text(base, sizeof(base), d->base + from) : "(none)",
			d->base_values > 1 ? " and others" : "", from ? ".. " : "",
			d->with_values ? clean_text(with, sizeof(with), d->with + from) : "(none)",
			d->with_values > 1 ? " and others" : "");
	}
}

static void print_compare(FILE *f, const struct analysis *a, int compare,
			  const struct text_options *o)
{
	const struct mcompare *c = &a->m->compares[compare];
	char base[96], with[96];
	bool any = false;

	clean_text(base, sizeof(base), a->m->arms[c->base].name);
	clean_text(with, sizeof(with), a->m->arms[c->with].name);
	fprintf(f, "\n%s against %s\n", with, base);
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];

		if (r->compare != compare || (!r->main && !o->all))
			continue;
		if (!any)
			fprintf(f, "%-20s %5s %11.11s %11.11s %7s %-13s %7s %7s %7s  %s\n", " test",
				"tasks", base, with, "ratio", "95 % interval", "1/krnl", "quot.",
				"norm.", "verdict; flags");
		any = true;
		print_row(f, a, r, o);
	}
	if (!any) {
		fprintf(f, "no test was measured in both at the same task count\n");
		return;
	}
	print_reasons(f, a, compare);
	print_causes(f, a, compare);
	print_facts(f, a, compare);
}

/* Cells without numbers, each with its reason. */
static void print_failures(FILE *f, const struct model *m)
{
	enum {
		SHOWN_MAX = 20
	};
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < m->ncells; i++) {
		const struct mcell *c = &m->cells[i];
		char key[120], reason[400];

		if (c->status == CELL_OK || c->status == CELL_FLAGGED)
			continue;
		if (all++ == 0)
			fprintf(f, "\nwithout numbers\n");
		if (shown++ < SHOWN_MAX)
			fprintf(f, "%s: %s: %s\n", clean_text(key, sizeof(key), c->key),
				cell_status_name(c->status),
				clean_text(reason, sizeof(reason), c->reason));
	}
	if (all > SHOWN_MAX)
		fprintf(f, "and %zu more\n", all - SHOWN_MAX);
}

int report_text(FILE *f, const struct analysis *a, const struct text_options *o)
{
	print_answers(f, a);
	print_head(f, a->m);
	for (size_t c = 0; c < a->m->ncompares; c++)
		print_compare(f, a, c, o);
	if (print_scaling(f, a) < 0 || print_values(f, a) < 0 || print_variance(f, a) < 0)
		return -ENOMEM;
	print_failures(f, a->m);
	if (a->m->ncompares)
		fprintf(f, "\n= control, * primary test (Holm over them at their largest task "
			   "count). ratio: second arm over\n"
			   "first, geometric mean over blocks, with its t interval. 1/krnl: the "
			   "ratio of one task's rate\n"
			   "with one task a kernel, where nothing is shared. quot.: ratio over "
			   "that. norm.: ratio over the\n"
			   "mean of the controls, beside the raw one and never in its place.\n");
	return ferror(f) ? -EIO : 0;
}
