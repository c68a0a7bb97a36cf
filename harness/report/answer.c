// SPDX-License-Identifier: GPL-2.0-or-later
/* The answer in a sentence: what a reader takes away who reads nothing else. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/report/format.h"
#include "harness/report/report.h"

struct text {
	char *buf;
	size_t size, used;
};

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->used, t->size - t->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n < t->size - t->used ? (size_t)n : t->size - t->used - 1;
}

/* The control that is farthest from 1, or NULL. */
static const struct row *worst_control(const struct analysis *a, int compare)
{
	const struct row *worst = NULL;

	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];

		if (r->compare != compare || !r->control || !r->main || r->d.n == 0)
			continue;
		if (!worst || fabs(r->d.mean) > fabs(worst->d.mean))
			worst = r;
	}
	return worst;
}

static const char *label_of(const struct analysis *a, const struct row *r, char *buf, size_t size)
{
	return mtest_label(&a->m->tests[r->test], buf, size);
}

static void say_control(struct text *t, const struct analysis *a, int compare)
{
	const struct row *c = worst_control(a, compare);
	char label[96], ratio[FORMAT_ROOM];

	if (!c)
		return;
	label_of(a, c, label, sizeof(label));
	if (fabs(exp(c->d.mean) - 1) > a->m->margin)
		say(t, "; the control %s, which shares nothing, moved to %s at %d task%s", label,
		    format_mean(ratio, &c->d), c->tasks, c->tasks == 1 ? "" : "s");
	else
		say(t, "; of the controls %s is farthest from 1, with %s", label,
		    format_mean(ratio, &c->d));
}

static void say_no_evidence(struct text *t, const struct analysis *a, int compare)
{
	const struct mcompare *c = &a->m->compares[compare];
	const struct marm *base = &a->m->arms[c->base], *with = &a->m->arms[c->with];

	say(t, "No evidence: the CPUs of ");
	if (base->nature == with->nature)
		say(t, "\"%s\" and \"%s\" are %s", base->name, with->name, nature_name(with->nature));
	else if (!nature_is_no_evidence(with->nature))
		say(t, "\"%s\" are %s", base->name, nature_name(base->nature));
	else if (!nature_is_no_evidence(base->nature))
		say(t, "\"%s\" are %s", with->name, nature_name(with->nature));
	else
		say(t, "\"%s\" are %s, those of \"%s\" %s", base->name, nature_name(base->nature),
		    with->name, nature_name(with->nature));
	say_control(t, a, compare);
	say(t, ". This run shows that the plumbing works, and nothing about kernels.");
}

/* Headline rows of tests that are no controls, with this verdict; their extremes. */
struct tally {
	size_t n;
	const struct row *least, *most;
};

static struct tally count(const struct analysis *a, int compare, bool primary, enum verdict v)
{
	struct tally t = {0};

	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];

		if (r->compare != compare || !r->headline || r->control || r->verdict != v ||
		    a->m->tests[r->test].primary != primary)
			continue;
		t.n++;
		if (!t.least || r->d.mean < t.least->d.mean)
			t.least = r;
		if (!t.most || r->d.mean > t.most->d.mean)
			t.most = r;
	}
	return t;
}

static void say_ratio(struct text *t, const struct analysis *a, const struct row *r)
{
	char label[96], ratio[FORMAT_ROOM];

	say(t, "%s %s", label_of(a, r, label, sizeof(label)), format_mean(ratio, &r->d));
}

static void say_verdicts(struct text *t, const struct analysis *a, int compare)
{
	static const struct {
		enum verdict v;
		const char *words;
	} order[] = {
		{VERDICT_FASTER, "faster in"},
		{VERDICT_SLOWER, "slower in"},
		{VERDICT_FASTER_SMALL, "a little faster in"},
		{VERDICT_SLOWER_SMALL, "a little slower in"},
		{VERDICT_SAME, "the same in"},
		{VERDICT_UNDECIDED, "undecided in"},
		{VERDICT_CONFOUNDED, "confounded in"},
	};
	const struct mcompare *c = &a->m->compares[compare];
	bool primary = a->pairings[compare].family > 0;
	size_t all = 0, told = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		all += count(a, compare, primary, order[i].v).n;
	say(t, "\"%s\" against \"%s\": ", a->m->arms[c->with].name, a->m->arms[c->base].name);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct tally n = count(a, compare, primary, order[i].v);

		if (n.n == 0)
			continue;
		say(t, "%s%s %zu", told++ ? ", " : "", order[i].words, n.n);
		if (told == 1)
			say(t, " of %zu %stest%s", all, primary ? "primary " : "",
			    all == 1 ? "" : "s");
		if (order[i].v == VERDICT_CONFOUNDED || order[i].v == VERDICT_UNDECIDED ||
		    order[i].v == VERDICT_SAME)
			continue;
		say(t, " (");
		say_ratio(t, a, n.least);
		if (n.n > 1) {
			say(t, " to ");
			say_ratio(t, a, n.most);
		}
		say(t, ")");
	}
	if (!told)
		say(t, "no test but controls was measured");
	if (!a->pairings[compare].ncontrols)
		say(t, "; no control was measured");
	else if (a->pairings[compare].controls_stand)
		say(t, "; the controls stand still");
	else
		say_control(t, a, compare);
	say(t, ".");
}

static void say_so_far(struct text *t, const struct analysis *a, int compare, const char *why)
{
	const struct mcompare *c = &a->m->compares[compare];
	size_t told = 0;

	say(t, "%s. \"%s\" against \"%s\" so far:", why, a->m->arms[c->with].name,
	    a->m->arms[c->base].name);
	for (size_t i = 0; i < a->nrows && told < 4; i++) {
		const struct row *r = &a->rows[i];

		if (r->compare != compare || !r->headline || r->control)
			continue;
		say(t, "%s ", told++ ? "," : "");
		say_ratio(t, a, r);
	}
	if (!told)
		say(t, " nothing");
	say_control(t, a, compare);
	say(t, ".");
}

static size_t most_blocks(const struct analysis *a, int compare)
{
	size_t n = 0;

	for (size_t i = 0; i < a->nrows; i++)
		if (a->rows[i].compare == compare && a->rows[i].d.n > n)
			n = a->rows[i].d.n;
	return n;
}

const char *report_answer(const struct analysis *a, int compare, char *buf, size_t size)
{
	const struct pairing *p = &a->pairings[compare];
	struct text t = {buf, size, 0};
	size_t blocks = most_blocks(a, compare);
	char why[120];

	buf[0] = '\0';
	if (blocks == 0) {
		say(&t, "Nothing to compare: no test was measured in both arms.");
	} else if (p->no_evidence) {
		say_no_evidence(&t, a, compare);
	} else if (p->not_fresh) {
		say_so_far(
			&t, a,
			compare, "This host boot only, no verdict: an arm was not booted anew in each block");
	} else if (blocks < VERDICT_MIN_BLOCKS) {
		snprintf(why, sizeof(why), "No verdict: %zu block%s, and it takes %d", blocks,
			 blocks == 1 ? "" : "s", VERDICT_MIN_BLOCKS);
		say_so_far(&t, a, compare, why);
	} else {
		say_verdicts(&t, a, compare);
	}
	return buf;
}
