/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_REPORT_HTML_H
#define MKSPLIT_REPORT_HTML_H

#include <stdio.h>

#include "harness/analysis/curves.h"
#include "harness/analysis/published.h"
#include "harness/report/report.h"

/*
 * The parts of report.html, in the order in which they stand there. Each writes one section,
 * or nothing where there is nothing to say; returns 0 or -ENOMEM.
 */
struct page {
	FILE *f;
	const struct analysis *a;
	const struct model *m;
	const struct published *pub; /* may be NULL */
	struct scalings curves;
};

int html_score(struct page *p);
int html_gates(struct page *p);
int html_published(struct page *p);
int html_curves(struct page *p);
int html_values(struct page *p);
int html_blocks(struct page *p);
int html_rows(struct page *p);
int html_machine(struct page *p);
int html_timeline(struct page *p);
int html_problems(struct page *p);
int html_environment(struct page *p);
int html_method(struct page *p);

extern const char html_style[];

/* "arm-0" to "arm-3": the class of an arm's colour. */
const char *arm_class(size_t arm);

/* As fprintf(), with every argument escaped: the only conversions are %s and %%. */
void put_html(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* <td> with a number that is already formatted. */
void put_td(FILE *f, const char *css, const char *text);

/*
 * The published row of a test, or NULL; its ratio is only to be shown beside ours where
 * page_published_ratio() is a number: on real CPUs at the published task count.
 */
const struct pub_row *page_published(const struct page *p, const struct row *r);
double page_published_ratio(const struct page *p, const struct row *r);

/* The mark of a verdict: class of its colour. */
const char *verdict_class(enum verdict v);

#endif
