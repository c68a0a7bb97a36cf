/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_REPORT_SVG_H
#define MKSPLIT_REPORT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Inline SVG for the HTML report. Colours and fonts are the page's: every element carries a class
 * and nothing else, so that one style sheet gives light, dark and print. Coordinates are CSS
 * pixels of a drawing `width` wide that scales down with the page.
 */

/* Text becomes safe inside HTML and SVG, in elements and in quoted attributes. */
void put_escaped(FILE *f, const char *text);

/* title is what a screen reader says; describe (may be NULL) is longer. */
void svg_begin(FILE *f, double width, double height, const char *title, const char *css_class);
void svg_end(FILE *f);

/* A drawing that says nothing which is not beside it in words. */
void svg_begin_hidden(FILE *f, double width, double height, const char *css_class);

void svg_line(FILE *f, const char *css, double x1, double y1, double x2, double y2);
void svg_rect(FILE *f, const char *css, double x, double y, double w, double h, double r);
void svg_circle(FILE *f, const char *css, double x, double y, double r);
void svg_square(FILE *f, const char *css, double x, double y, double half);

/* A rectangle with a tooltip, which is also what a screen reader finds. */
void svg_rect_titled(FILE *f, const char *css, double x, double y, double w, double h, double r,
		     const char *title);

enum svg_anchor {
	SVG_START,
	SVG_MIDDLE,
	SVG_END
};
void svg_text(FILE *f, const char *css, double x, double y, enum svg_anchor anchor, const char *text);

struct xy {
	double x, y;
};
void svg_polyline(FILE *f, const char *css, const struct xy *p, size_t n);

/* A mapping of values to pixels, linear or logarithmic. */
struct scale {
	double from, to; /* values */
	double start, length; /* pixels; length may be negative */
	bool log;
};

double scale_at(const struct scale *s, double value);

/* As scale_at(), held inside the drawing. */
double scale_clamped(const struct scale *s, double value);

/* Values at which a person wants a tick, at most max of them, ascending; returns how many. */
size_t scale_ticks(const struct scale *s, double *ticks, size_t max);

#endif
