// SPDX-License-Identifier: GPL-2.0-or-later
/* mksplit run: an experiment from plan to report. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/analysis/analysis.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/measure.h"
#include "harness/report/report.h"

struct options {
	const char *plan, *output, *resume;
	bool quick, quiet, verbose, hold;
	bool have_seed;
	uint64_t seed;
	struct care care;
};

enum {
	OPT_QUICK = 256,
	OPT_SEED,
	OPT_HOLD,
	OPT_RESUME
};

static const struct argp_option argp_options[] = {
	{"output", 'o', "DIR", 0, "Make DIR the results folder (default: results/NAME_HOST_UTC)", 0},
	{"resume", OPT_RESUME, "DIR", 0, "Measure only what is missing in results folder DIR", 0},
	{"quick", OPT_QUICK, NULL, 0, "One block and short samples; marked in every output", 0},
	{"seed", OPT_SEED, "N", 0, "Draw the order from N (default: at random, stored)", 0},
	{"quiet", 'q', NULL, 0, "Nothing but what goes wrong, and the report", 0},
	{"verbose", 'v', NULL, 0, "Every step and every cell", 0},
	{"hold-on-failure", OPT_HOLD, NULL, 0, "Leave a failed arm up until Ctrl-C, to look at it", 0},
	CARE_OPTIONS,
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;

	switch (key) {
	case 'o':
		o->output = arg;
		return 0;
	case OPT_RESUME:
		o->resume = arg;
		return 0;
	case OPT_QUICK:
		o->quick = true;
		return 0;
	case OPT_SEED:
		errno = 0;
		o->seed = strtoull(arg, &end, 0);
		o->have_seed = true;
		if (errno || *end || *arg < '0' || *arg > '9')
			argp_error(state, "--seed: \"%s\" is no number", arg);
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPT_HOLD:
		o->hold = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->plan)
			return ARGP_ERR_UNKNOWN;
		o->plan = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->plan == !o->resume)
			argp_error(state, "give either a plan or --resume DIR");
		if (o->resume && (o->output || o->have_seed || o->quick))
			argp_error(state,
				   "--resume goes on as the run began: no --output, --seed or "
				   "--quick with it");
		return 0;
	default:
		return care_parse(&o->care, key, arg, state);
	}
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.args_doc = "PLAN\n--resume DIR",
	.doc = "Boots the arms of PLAN, measures its cells, stores what came of them, and prints "
	       "the "
	       "comparison.",
};

/* Seed and shortness are the first start's: they say which cells there are. */
static int resume_options(const char *dir, struct plan_options *po, struct err *e)
{
	struct store *store = NULL;
	const json_t *run;
	const char *seed;
	int ret = store_open(&store, dir, e);

	if (ret < 0)
		return ret;
	run = store_run(store);
	seed = json_string_value(json_object_get(run, "seed"));
	if (seed) {
		po->seed = strtoull(seed, NULL, 10);
		po->have_seed = true;
		po->quick = json_is_true(json_object_get(run, "quick"));
	} else {
		ret = err_set(e, ENODATA, "%s: the run had not begun: start it again instead", dir);
	}
	store_close(&store);
	return ret;
}

static int load_plan(struct measure *m, const struct options *o, struct err *e)
{
	struct plan_options po = {.quick = o->quick, .have_seed = o->have_seed, .seed = o->seed};
	char path[PATH_MAX];

	if (!o->resume)
		return plan_load(&m->plan, o->plan, &m->topology, m->catalog, &po, e);
	if (resume_options(o->resume, &po, e) < 0)
		return e->code;
	snprintf(path, sizeof(path), "%s/plan.json", o->resume);
	return plan_load(&m->plan, path, &m->topology, m->catalog, &po, e);
}

static int print_report(const char *results, struct err *e)
{
	cleanup_model struct model *model = NULL;
	cleanup_analysis struct analysis *a = NULL;
	const char *no_color = getenv("NO_COLOR");
	struct text_options text = {.color = isatty(STDOUT_FILENO) && !(no_color && *no_color)};
	int ret = model_read(&model, results, e);

	if (ret == 0)
		ret = analyse(&a, model, e);
	if (ret < 0)
		return ret;
	ret = report_text(stdout, a, &text);
	if (ret == 0 && fflush(stdout) == EOF)
		ret = -errno;
	return ret < 0 ? err_set(e, ret, "cannot write the report: %s", strerror(-ret)) : 0;
}

int cmd_run(int argc, char **argv)
{
	cleanup_measure struct measure m = MEASURE_INIT;
	struct options o = {.care = CARE_INIT};
	struct err e = ERR_INIT;
	int ret;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return EXIT_USAGE;
	m.command = argv[0];
	m.output = o.output;
	m.resume = o.resume;
	m.care = o.care;
	m.quiet = o.quiet;
	m.verbose = o.verbose;
	m.hold_on_failure = o.hold;
	ret = measure_open(&m, &e);
	if (ret == 0)
		ret = load_plan(&m, &o, &e);
	for (int i = 0; ret == 0 && !o.quiet && i < m.plan->nwarnings; i++)
		fprintf(stderr, "%s: warning: %s\n", argv[0], m.plan->warnings[i]);
	if (ret == 0)
		ret = measure_go(&m, &e);
	if (ret < 0)
		fprintf(stderr, "%s: %s\n", argv[0], e.text);
	measure_say_end(&m, ret);
	if (ret == 0) {
		struct err report = ERR_INIT;

		if (print_report(m.results, &report) < 0) {
			fprintf(stderr, "%s: %s\n", argv[0], report.text);
			return EXIT_FAILURE;
		}
	}
	return measure_status(&m, ret, &e);
}
