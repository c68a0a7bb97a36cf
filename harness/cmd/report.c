// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/analysis/analysis.h"
#include "harness/analysis/published.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/paths.h"
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
	const char *output;
	const char *results;
};

enum {
	OPT_JSON = 256,
	OPT_CSV,
	OPT_HTML
};

static const struct argp_option argp_options[] = {
	{"json", OPT_JSON, NULL, 0, "Print one JSON object", 0},
	{"csv", OPT_CSV, NULL, 0, "Print one CSV line a row", 0},
	{"html", OPT_HTML, NULL, 0, "Write one HTML page (default file: RESULTS/report.html)", 0},
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
	.doc = "Computes the comparison again from the events stored in the folder RESULTS.",
};

/* The published figures stand beside our own where they are installed; a page goes without. */
static int print_html(FILE *f, const struct analysis *a)
{
	cleanup_published struct published *pub = NULL;
	cleanup_free char *path = NULL;
	struct err e = ERR_INIT;

	if (find_data(&path, "results/published/published.json", &e) == 0)
		published_read(&pub, path, &e);
	return report_html(f, a, pub);
}

static int print(FILE *f, const struct analysis *a, const struct options *o)
{
	switch (o->format) {
	case FORMAT_HTML:
		return print_html(f, a);
	case FORMAT_JSON:
		return report_json(f, a);
	case FORMAT_CSV:
		return report_csv(f, a);
	default:
		return report_text(f, a, &o->text);
	}
}

static int open_output(FILE **file, const struct options *o, struct err *e)
{
	cleanup_free char *path = NULL;

	if (asprintf(&path, o->output ? "%s" : "%s/report.html",
		     o->output ? o->output : o->results) < 0) {
		path = NULL;
		return err_set(e, ENOMEM, "no memory");
	}
	*file = fopen(path, "we");
	return *file ? 0 : err_sys(e, "%s", path);
}

static int report(const struct options *o, struct err *e)
{
	cleanup_model struct model *m = NULL;
	cleanup_analysis struct analysis *a = NULL;
	cleanup_file FILE *file = NULL;
	FILE *f = stdout;
	int ret;

	ret = model_read(&m, o->results, e);
	if (ret < 0)
		return ret;
	ret = analyse(&a, m, e);
	if (ret < 0)
		return ret;
	if (o->output || o->format == FORMAT_HTML) {
		ret = open_output(&file, o, e);
		if (ret < 0)
			return ret;
		f = file;
	}
	ret = print(f, a, o);
	if (ret == 0 && fflush(f) == EOF)
		ret = -errno;
	if (ret < 0)
		return err_set(e, ret, "cannot write the report: %s", strerror(-ret));
	if (o->format == FORMAT_HTML && !o->output)
		printf("%s/report.html\n", o->results);
	return 0;
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
