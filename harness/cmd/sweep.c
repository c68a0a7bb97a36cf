// SPDX-License-Identifier: GPL-2.0-or-later
/* mksplit sweep: the scaling curve of one kernel, without writing a plan. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/analysis/analysis.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/measure.h"
#include "harness/report/report.h"

#define TESTS_MAX 200

struct options {
	const char *tests[TESTS_MAX];
	int ntests;
	const char *tasks, *modes, *cpus, *backend, *output, *interval, *warmup;
	long samples;
	bool quiet, verbose;
	struct care care;
};

enum {
	OPT_INTERVAL = 256,
	OPT_WARMUP,
	OPT_CPUS
};

static const struct argp_option argp_options[] = {
	{"tasks", 't', "LIST", 0, "Task counts: \"1,2,4\", \"1-8\", \"sweep\" (default: 1 to all)", 0},
	{"modes", 'm', "LIST", 0, "processes, threads, or both with a comma (default: processes)", 0},
	{"samples", 's', "N", 0, "Windows of each point (default: 5)", 0},
	{"interval", OPT_INTERVAL, "TIME", 0, "Length of a window (default: 1s)", 0},
	{"warmup", OPT_WARMUP, "TIME", 0, "Run before the first window (default: 1s)", 0},
	{"cpus", OPT_CPUS, "SET", 0, "CPUs to use, as in a plan (default: all)", 0},
	{"backend", 'b', "NAME", 0, "host or qemu (default: host)", 0},
	{"output", 'o', "DIR", 0, "Make DIR the results folder (default: results/sweep_HOST_UTC)", 0},
	{"quiet", 'q', NULL, 0, "Nothing but what goes wrong, and the curves", 0},
	CARE_OPTIONS,
	{"verbose", 'v', NULL, 0, "Every step and every cell", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;

	switch (key) {
	case 't':
		o->tasks = arg;
		return 0;
	case 'm':
		o->modes = arg;
		return 0;
	case 's':
		o->samples = strtol(arg, &end, 10);
		if (*end || o->samples < 1 || o->samples > 1000)
			argp_error(state, "--samples: \"%s\" is no number from 1 to 1000", arg);
		return 0;
	case OPT_INTERVAL:
		o->interval = arg;
		return 0;
	case OPT_WARMUP:
		o->warmup = arg;
		return 0;
	case OPT_CPUS:
		o->cpus = arg;
		return 0;
	case 'b':
		o->backend = arg;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->ntests == TESTS_MAX)
			argp_error(state, "more than %d tests", TESTS_MAX);
		o->tests[o->ntests++] = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return EINVAL;
	default:
		return care_parse(&o->care, key, arg, state);
	}
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.args_doc = "TEST...",
	.doc = "Runs each TEST under one kernel with 1 to N tasks and prints how it scales. The "
	       "curves are "
	       "also written into the results folder, as TEST.csv in will-it-scale's columns.\v"
	       "`mksplit list tests` names the tests.",
};

/* The plan that a sweep is, as text: it is stored, and can be resumed like any other. */
static char *plan_text(const struct options *o)
{
	bool host = strcmp(o->backend, "host") == 0;
	json_t *tests = json_array(), *modes = json_array(), *plan, *partition;
	cleanup_free char *list = strdup(o->modes);
	char *text;

	for (int i = 0; i < o->ntests; i++)
		json_array_append_new(tests, json_pack("{s:s}", "test", o->tests[i]));
	for (char *mode = list ? strtok(list, ",") : NULL; mode; mode = strtok(NULL, ","))
		json_array_append_new(modes, json_string(mode));
	for (int i = 0; i < o->ntests; i++)
		json_object_set(json_array_get(tests, i), "modes", modes);
	json_decref(modes);
	partition = host ? json_pack("{s:s,s:b,s:s}", "name", "one", "host", 1, "cpus", o->cpus)
			 : json_pack("{s:s,s:s,s:s,s:s}", "name", "one", "cpus", o->cpus, "kernel",
				     "stock", "memory_per_cpu", "512M");
	plan = json_pack("{s:i,s:s,s:s,s:[{s:s,s:s,s:[o]}],s:o,s:s,s:{s:s,s:i,s:s},s:i}", "format",
			 1, "name", "sweep", "quiet", "none", "arms", "name", "one", "backend",
			 o->backend, "partitions", partition, "tests", tests, "tasks", o->tasks,
			 "measure", "warmup", o->warmup, "samples", (int)o->samples, "interval",
			 o->interval, "blocks", 1);
	if (plan && !host)
		json_object_set_new(plan, "kernels",
				    json_pack("{s:{s:s}}", "stock", "image", "auto"));
	text = plan ? json_dumps(plan, JSON_INDENT(2)) : NULL;
	json_decref(plan);
	return text;
}

static int write_csv(const char *results, const struct analysis *a, int test, struct err *e)
{
	cleanup_file FILE *f = NULL;
	char path[PATH_MAX];
	int ret;

	snprintf(path, sizeof(path), "%s/%s.csv", results, a->m->tests[test].test);
	f = fopen(path, "we");
	if (!f)
		return err_sys(e, "%s", path);
	ret = report_wis_csv(f, a, 0, test);
	if (ret == 0 && fflush(f) == EOF)
		ret = -errno;
	return ret < 0 ? err_set(e, ret, "%s: %s", path, strerror(-ret)) : 0;
}

static int print_curves(const struct measure *m, struct err *e)
{
	cleanup_model struct model *model = NULL;
	cleanup_analysis struct analysis *a = NULL;
	const char *no_color = getenv("NO_COLOR");
	struct text_options text = {.color = isatty(STDOUT_FILENO) && !(no_color && *no_color)};
	int ret = model_read(&model, m->results, e);

	if (ret == 0)
		ret = analyse(&a, model, e);
	if (ret < 0)
		return ret;
	ret = report_text(stdout, a, &text);
	if (ret == 0 && fflush(stdout) == EOF)
		ret = -errno;
	if (ret < 0)
		return err_set(e, ret, "cannot write the curves: %s", strerror(-ret));
	for (size_t i = 0; i < model->ntests; i++) {
		ret = write_csv(m->results, a, i, e);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int cmd_sweep(int argc, char **argv)
{
	cleanup_measure struct measure m = MEASURE_INIT;
	cleanup_free char *text = NULL;
	struct options o = {
		.care = CARE_INIT,
		.tasks = "1-all",
		.modes = "processes",
		.samples = 5,
		.interval = "1s",
		.warmup = "1s",
		.cpus = "all",
		.backend = "host",
	};
	struct plan_options po = {0};
	struct err e = ERR_INIT;
	char all[32];
	int ret;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return EXIT_USAGE;
	m.command = argv[0];
	m.output = o.output;
	m.care = o.care;
	m.quiet = o.quiet;
	m.verbose = o.verbose;
	ret = measure_open(&m, &e);
	if (strcmp(o.tasks, "1-all") == 0) {
		snprintf(all, sizeof(all), "1-%d", cpumask_weight(&m.topology.allowed));
		o.tasks = all;
	}
	text = ret == 0 ? plan_text(&o) : NULL;
	if (ret == 0 && !text)
		ret = err_usage(&e, "the tests' names or the options are not plain text");
	if (ret == 0)
		ret = plan_parse(&m.plan, "sweep", text, strlen(text), &m.topology, m.catalog, &po,
				 &e);
	if (ret == 0)
		ret = measure_go(&m, &e);
	if (ret < 0)
		fprintf(stderr, "%s: %s\n", argv[0], e.text);
	measure_say_end(&m, ret);
	if (ret == 0) {
		struct err report = ERR_INIT;

		if (print_curves(&m, &report) < 0) {
			fprintf(stderr, "%s: %s\n", argv[0], report.text);
			return EXIT_FAILURE;
		}
	}
	return measure_status(&m, ret, &e);
}
