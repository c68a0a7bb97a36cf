// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/analysis/analysis.h"
#include "harness/analysis/published.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/paths.h"
#include "harness/report/files.h"
#include "harness/report/report.h"

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_HTML
};

struct options {
	enum format format;
	struct text_options text;
	const char *output, *plots;
	const char *results;
	bool no_files;
};

enum {
	OPT_JSON = 256,
	OPT_CSV,
	OPT_HTML,
	OPT_NO_FILES,
	OPT_PLOTS
};

static const struct argp_option argp_options[] = {
	{"json", OPT_JSON, NULL, 0, "Print one JSON object", 0},
	{"csv", OPT_CSV, NULL, 0, "Print one CSV line a row", 0},
	{"html", OPT_HTML, NULL, 0, "Print one HTML page", 0},
	{"no-files", OPT_NO_FILES, NULL, 0,
	 "Do not write report.html, report.json and report.csv into RESULTS", 0},
	{"plots", OPT_PLOTS, "DIR", 0, "Write the data of every plot and gnuplot scripts into DIR", 0},
	{"all", 'a', NULL, 0, "Show every metric of every test", 0},
	{"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_JSON:
		o->format = FORMAT_JSON;
		return 0;
	case OPT_CSV:
		o->format = FORMAT_CSV;
		return 0;
	case OPT_HTML:
		o->format = FORMAT_HTML;
		return 0;
	case OPT_NO_FILES:
		o->no_files = true;
		return 0;
	case OPT_PLOTS:
		o->plots = arg;
		return 0;
	case 'a':
		o->text.all = true;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (o->results)
			return ARGP_ERR_UNKNOWN;
		o->results = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.args_doc = "RESULTS",
	.doc = "Computes the comparison again from the events stored in the folder RESULTS, prints "
	       "it, and "
	       "writes report.html, report.json and report.csv there.",
};

/* The published figures stand beside our own where they are installed; a page goes without. */
static void load_published(struct published **pub)
{
	cleanup_free char *path = NULL;
	struct err e = ERR_INIT;

	if (find_data(&path, "results/published/published.json", &e) == 0)
		published_read(pub, path, &e);
}

static int print(FILE *f, const struct analysis *a, const struct published *pub,
		 const struct options *o)
{
	switch (o->format) {
	case FORMAT_HTML:
		return report_html(f, a, pub);
	case FORMAT_JSON:
		return report_json(f, a);
	case FORMAT_CSV:
		return report_csv(f, a);
	default:
		return report_text(f, a, &o->text);
	}
}

static int print_one(const struct analysis *a, const struct published *pub, const struct options *o,
		     struct err *e)
{
	cleanup_file FILE *file = NULL;
	FILE *f = stdout;
	int ret;

	if (o->output) {
		f = file = fopen(o->output, "we");
		if (!file)
			return err_sys(e, "%s", o->output);
	}
	ret = print(f, a, pub, o);
	if (ret == 0 && fflush(f) == EOF)
		ret = -errno;
	if (ret < 0)
		return err_set(e, ret, "cannot write the report: %s", strerror(-ret));
	return 0;
}

/* report.html and its like into the folder, if it is one; that it cannot be written is no failure. */
static void write_files(const struct analysis *a, const struct published *pub,
			const struct options *o)
{
	struct err e = ERR_INIT;
	struct stat st;

	if (stat(o->results, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	if (report_files(a, pub, o->results, &e) < 0)
		fprintf(stderr, "mksplit report: %s\n", e.text);
	else
		printf("\nalso as %s/report.html, report.json, report.csv\n", o->results);
}

static int report(const struct options *o, struct err *e)
{
	cleanup_published struct published *pub = NULL;
	cleanup_model struct model *m = NULL;
	cleanup_analysis struct analysis *a = NULL;
	int ret = model_read(&m, o->results, e);

	if (ret == 0)
		ret = analyse(&a, m, e);
	if (ret < 0)
		return ret;
	load_published(&pub);
	if (o->plots) {
		ret = report_plots(a, o->plots, e);
		if (ret < 0)
			return err_wrap(e, "plots");
	}
	ret = print_one(a, pub, o, e);
	if (ret == 0 && o->format == FORMAT_TEXT && !o->output && !o->no_files)
		write_files(a, pub, o);
	return ret;
}

int cmd_report(int argc, char **argv)
{
	struct options o = {0};
	struct err e = ERR_INIT;
	const char *no_color = getenv("NO_COLOR");

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return EXIT_USAGE;
	o.text.color = !o.output && isatty(STDOUT_FILENO) && !(no_color && no_color[0]);
	if (report(&o, &e) < 0) {
		fprintf(stderr, "mksplit report: %s\n", e.text);
		return e.exit;
	}
	return 0;
}
