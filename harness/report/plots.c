// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Plots for papers: data with a gnuplot script. The scripts are fixed but for names of files that are
 * made here and titles that are quoted, so that nothing from a plan is ever run by gnuplot.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/analysis/curves.h"
#include "harness/report/files.h"

/* A name for a file: letters, digits, dash and underscore; the rest becomes an underscore. */
static void file_name(char *out, size_t size, const char *text)
{
	size_t n = 0;

	for (; text[n] && n + 1 < size; n++)
		out[n] = isalnum((unsigned char)text[n]) || text[n] == '-' ? text[n] : '_';
	out[n] = '\0';
}

/* gnuplot's single quotes: nothing is special but the quote itself, which is doubled. */
static void put_quoted(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', f);
		fputc((unsigned char)*text < 0x20 ? ' ' : *text, f);
	}
	fputc('\'', f);
}

static FILE *open_in(const char *dir, const char *name, const char *suffix, struct err *e)
{
	cleanup_free char *path = NULL;
	FILE *f;

	if (asprintf(&path, "%s/%s.%s", dir, name, suffix) < 0) {
		path = NULL;
		err_set(e, ENOMEM, "no memory");
		return NULL;
	}
	f = fopen(path, "we");
	if (!f)
		err_sys(e, "%s", path);
	return f;
}

/* A comment in a data file: control characters would end it. */
static void put_comment(FILE *f, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 ? ' ' : *text, f);
}

static void put_curve_data(FILE *f, const struct analysis *a, const struct scaling *c)
{
	fprintf(f, "# arm ");
	put_comment(f, a->m->arms[c->arm].name);
	fprintf(f, "\n# tasks rate low high\n");
	for (size_t i = 0; i < c->n; i++) {
		struct estimate e = estimate_of(c->series[i]->x, c->series[i]->nblocks);
		struct interval ci = interval_exp(interval_mean(&e, 0.95));

		if (interval_valid(ci))
			fprintf(f, "%d %.9g %.9g %.9g\n", c->points[i].tasks, c->points[i].rate,
				ci.lo, ci.hi);
		else
			fprintf(f, "%d %.9g %.9g %.9g\n", c->points[i].tasks, c->points[i].rate,
				c->points[i].rate, c->points[i].rate);
	}
	fprintf(f, "\n\n");
}

static int plot_curves(const struct analysis *a, const struct scalings *all, size_t first,
		       const char *dir, struct err *e)
{
	const struct scaling *c = &all->curves[first];
	char label[96], title[120], name[140];
	cleanup_file FILE *data = NULL, *script = NULL;
	size_t n = 0;

	mtest_label(&a->m->tests[c->test], label, sizeof(label));
	snprintf(title, sizeof(title), "%s-%s", label, c->threads ? "threads" : "processes");
	file_name(name, sizeof(name), title);
	data = open_in(dir, name, "dat", e);
	script = data ? open_in(dir, name, "gp", e) : NULL;
	if (!script)
		return e->code;
	fprintf(script, "set terminal svg size 640,420 noenhanced\nset output '%s.svg'\nset title ",
		name);
	put_quoted(script, title);
	fprintf(script, " noenhanced\nset xlabel 'tasks'\nset ylabel ");
	put_quoted(script, a->m->metrics[c->metric].unit);
	fprintf(script, " noenhanced\nset yrange [0:*]\nset key left top noenhanced\nplot ");
	for (size_t i = first; i < all->n; i++) {
		const struct scaling *other = &all->curves[i];

		if (other->test != c->test || other->threads != c->threads)
			continue;
		put_curve_data(data, a, other);
		fprintf(script, "%s'%s.dat' index %zu using 1:2:3:4 with yerrorlines title ",
			n ? ", \\\n     " : "", name, n);
		put_quoted(script, a->m->arms[other->arm].name);
		n++;
	}
	fprintf(script, "\n");
	return ferror(data) || ferror(script) ? err_set(e, EIO, "%s: cannot write", dir) : 0;
}

static int plot_ratios(const struct analysis *a, size_t compare, const char *dir, struct err *e)
{
	const struct mcompare *c = &a->m->compares[compare];
	cleanup_file FILE *data = NULL, *script = NULL;
	char name[40], label[96], title[200];
	size_t n = 0;

	snprintf(name, sizeof(name), "ratios-%zu", compare + 1);
	data = open_in(dir, name, "dat", e);
	script = data ? open_in(dir, name, "gp", e) : NULL;
	if (!script)
		return e->code;
	snprintf(title, sizeof(title), "%.80s against %.80s", a->m->arms[c->with].name,
		 a->m->arms[c->base].name);
	fprintf(script, "set terminal svg size 640,%d noenhanced\nset output '%s.svg'\nset title ",
		480, name);
	put_quoted(script, title);
	fprintf(script, " noenhanced\nset logscale x\nset autoscale xfix\nset xtics (0.25, 0.5, "
			"0.75, 1, 1.5, 2, 3, 4, "
			"6, 8)\nset xlabel 'ratio'\nset ytics ()\n");
	fprintf(data, "# row ratio low high test\n");
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];
		struct interval ci = interval_exp(interval_mean(&r->d, 0.95));
		double ratio = exp(r->d.mean);

		if (r->compare != (int)compare || !r->headline || r->d.n == 0)
			continue;
		mtest_label(&a->m->tests[r->test], label, sizeof(label));
		n++;
		fprintf(data, "%zu %.9g %.9g %.9g # ", n, ratio, interval_valid(ci) ? ci.lo : ratio,
			interval_valid(ci) ? ci.hi : ratio);
		put_comment(data, label);
		fputc('\n', data);
		fprintf(script, "set ytics add (");
		put_quoted(script, label);
		fprintf(script, " %zu)\n", n);
	}
	fprintf(script,
		"set yrange [0.5:%zu.5]\nset arrow from 1,graph 0 to 1,graph 1 nohead\n"
		"plot '%s.dat' using 2:1:3:4 with xerrorbars notitle\n",
		n ? n : 1, name);
	return ferror(data) || ferror(script) ? err_set(e, EIO, "%s: cannot write", dir) : 0;
}

int report_plots(const struct analysis *a, const char *dir, struct err *e)
{
	cleanup_scalings struct scalings all = {0};
	int ret = 0;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "%s", dir);
	if (scalings_of(&all, a) < 0)
		return err_set(e, ENOMEM, "no memory");
	for (size_t i = 0; i < all.n && ret == 0; i++) {
		bool done = false;

		for (size_t k = 0; k < i && !done; k++)
			done = all.curves[k].test == all.curves[i].test &&
			       all.curves[k].threads == all.curves[i].threads;
		if (!done)
			ret = plot_curves(a, &all, i, dir, e);
	}
	for (size_t c = 0; c < a->m->ncompares && ret == 0; c++)
		ret = plot_ratios(a, c, dir, e);
	return ret;
}
