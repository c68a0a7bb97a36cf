// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/report/svg.h"

#include <math.h>

#include "harness/report/format.h"

void put_escaped(FILE *f, const char *text)
{
	for (const char *c = text; *c; c++) {
		switch (*c) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		case '\'':
			fputs("&#39;", f);
			break;
		default:
			/* Control characters have no place in HTML, not even escaped. */
			fputc((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t' ? '?' : *c, f);
		}
	}
}

/* One digit behind the point is a tenth of a pixel, and half the size of the file. */
static void put(FILE *f, const char *name, double value)
{
	double rounded = round(value * 10) / 10;

	if (rounded == trunc(rounded))
		fprintf(f, " %s=\"%.0f\"", name, rounded + 0.0);
	else
		fprintf(f, " %s=\"%.1f\"", name, rounded);
}

static void open_svg(FILE *f, double width, double height, const char *css)
{
	fprintf(f, "<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\"",
		css, width, height, width, height);
}

void svg_begin(FILE *f, double width, double height, const char *title, const char *css)
{
	open_svg(f, width, height, css);
	fputs(" role=\"img\" aria-label=\"", f);
	put_escaped(f, title);
	fputs("\">", f);
}

void svg_begin_hidden(FILE *f, double width, double height, const char *css)
{
	open_svg(f, width, height, css);
	fputs(" aria-hidden=\"true\">", f);
}

void svg_end(FILE *f)
{
	fputs("</svg>", f);
}

void svg_line(FILE *f, const char *css, double x1, double y1, double x2, double y2)
{
	fprintf(f, "<line class=\"%s\"", css);
	put(f, "x1", x1);
	put(f, "y1", y1);
	put(f, "x2", x2);
	put(f, "y2", y2);
	fputs("/>", f);
}

static void open_rect(FILE *f, const char *css, double x, double y, double w, double h, double r)
{
	fprintf(f, "<rect class=\"%s\"", css);
	put(f, "x", x);
	put(f, "y", y);
	put(f, "width", fmax(0, w));
	put(f, "height", fmax(0, h));
	if (r > 0)
		put(f, "rx", r);
}

void svg_rect(FILE *f, const char *css, double x, double y, double w, double h, double r)
{
	open_rect(f, css, x, y, w, h, r);
	fputs("/>", f);
}

void svg_rect_titled(FILE *f, const char *css, double x, double y, double w, double h, double r,
		     const char *title)
{
	open_rect(f, css, x, y, w, h, r);
	fputs("><title>", f);
	put_escaped(f, title);
	fputs("</title></rect>", f);
}

void svg_circle(FILE *f, const char *css, double x, double y, double r)
{
	fprintf(f, "<circle class=\"%s\"", css);
	put(f, "cx", x);
	put(f, "cy", y);
	put(f, "r", r);
	fputs("/>", f);
}

void svg_square(FILE *f, const char *css, double x, double y, double half)
{
	svg_rect(f, css, x - half, y - half, 2 * half, 2 * half, 0.8);
}

void svg_text(FILE *f, const char *css, double x, double y, enum svg_anchor anchor, const char *text)
{
	static const char *const anchors[] = {"start", "middle", "end"};

	fprintf(f, "<text class=\"%s\"", css);
	put(f, "x", x);
	put(f, "y", y);
	if (anchor != SVG_START)
		fprintf(f, " text-anchor=\"%s\"", anchors[anchor]);
	fputc('>', f);
	put_escaped(f, text);
	fputs("</text>", f);
}

void svg_polyline(FILE *f, const char *css, const struct xy *p, size_t n)
{
	if (n < 2)
		return;
	fprintf(f, "<polyline class=\"%s\" points=\"", css);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s%.1f,%.1f", i ? " " : "", p[i].x, p[i].y);
	fputs("\"/>", f);
}

static double share(const struct scale *s, double value)
{
	if (s->to == s->from)
		return 0.5;
	if (s->log)
		return log(value / s->from) / log(s->to / s->from);
	return (value - s->from) / (s->to - s->from);
}

double scale_at(const struct scale *s, double value)
{
	return s->start + s->length * share(s, value);
}

double scale_clamped(const struct scale *s, double value)
{
	return s->start + s->length * fmin(1, fmax(0, share(s, value)));
}

/* The smallest of 1, 2, 5 times a power of ten that makes at most max steps. */
static double nice_step(double range, size_t max)
{
	double step = pow(10, floor(log10(range / max)));

	while (range / step > max) {
		if (range / (2 * step) <= max)
			return 2 * step;
		if (range / (5 * step) <= max)
			return 5 * step;
		step *= 10;
	}
	return step;
}

static size_t log_ticks(const struct scale *s, double *ticks, size_t max)
{
	/* Coarser sets of multipliers until few enough ticks are left. */
	static const double sets[][4] = {{1, 1.5, 2, 5}, {1, 2, 5, 0}, {1, 3, 0, 0}, {1, 0, 0, 0}};

	for (size_t k = 0; k < sizeof(sets) / sizeof(sets[0]); k++) {
		size_t n = 0;

		for (double decade = pow(10, floor(log10(s->from))); decade <= s->to; decade *= 10) {
			for (size_t i = 0; i < 4 && sets[k][i] > 0; i++) {
				double v = decade * sets[k][i];

				if (v < s->from * 0.999 || v > s->to * 1.001)
					continue;
				if (n < max)
					ticks[n] = v;
				n++;
			}
		}
		if (n <= max)
			return n;
	}
	return 0;
}

size_t scale_ticks(const struct scale *s, double *ticks, size_t max)
{
	size_t n = 0;
	double step;

	if (!(s->to > s->from) || max == 0 || (s->log && !(s->from > 0)))
		return 0;
	/* Less than half a decade: round numbers are nearer to each other than 1, 2 and 5. */
	if (s->log && s->to / s->from > 3.5)
		return log_ticks(s, ticks, max);
	step = nice_step(s->to - s->from, max);
	for (double v = ceil(s->from / step) * step; v <= s->to + step * 1e-9 && n < max; v += step)
		ticks[n++] = fabs(v) < step * 1e-9 ? 0 : v;
	return n;
}
