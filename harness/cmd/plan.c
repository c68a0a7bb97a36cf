// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/paths.h"
#include "harness/cmd/plan_overlays.h"
#include "harness/cmd/plan_print.h"
#include "harness/cmd/plan_steps.h"
#include "harness/plan/catalog.h"

struct options {
	const char *plan, *sysroot, *overlays;
	struct plan_options plan_options;
	bool json;
};

enum {
	OPT_SYSROOT = 256,
	OPT_SEED,
	OPT_QUICK,
	OPT_JSON,
	OPT_OVERLAYS
};

static const struct argp_option argp_options[] = {
	{"sysroot", OPT_SYSROOT, "DIR", 0, "Plan for the machine whose /proc and /sys are in DIR", 0},
	{"seed", OPT_SEED, "N", 0, "Draw the order of arms and tests from this seed", 0},
	{"quick", OPT_QUICK, NULL, 0, "One block with short samples", 0},
	{"json", OPT_JSON, NULL, 0, "Print one JSON object", 0},
	{"overlays", OPT_OVERLAYS, "DIR", 0,
	 "Write every device tree that a run would write into DIR, as .dtbo and as .dts", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;

	switch (key) {
	case OPT_SYSROOT:
		o->sysroot = arg;
		return 0;
	case OPT_SEED:
		errno = 0;
		o->plan_options.seed = strtoull(arg, &end, 10);
		o->plan_options.have_seed = true;
		if (errno || end == arg || *end || *arg == '-')
			argp_error(state, "--seed wants a whole number below 2^64, not \"%s\"", arg);
		return 0;
	case OPT_QUICK:
		o->plan_options.quick = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_OVERLAYS:
		o->overlays = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (o->plan)
			return ARGP_ERR_UNKNOWN;
		o->plan = arg;
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
	.args_doc = "PLAN",
	.doc = "Shows what a plan would do on this machine, and changes nothing: layouts and the "
	       "steps "
	       "to them, the CPUs of every task count, the cells in order, and how long it takes.",
};

/* A dry run goes on without the benchmark binary, and says that it did not check tests. */
static int read_catalog(struct catalog **c, char **bench, char **warning, struct err *e)
{
	struct err missing = ERR_INIT;

	if (find_bench(bench, &missing) == 0 && catalog_load(c, *bench, &missing) == 0)
		return 0;
	if (asprintf(warning, "the tests and what they need are not checked: %s", missing.text) < 0)
		return err_set(e, ENOMEM, "no memory");
	return 0;
}

static int show(const struct options *o, struct err *e)
{
	cleanup_root struct root root = ROOT_INIT;
	cleanup_topology struct topology t = {0};
	cleanup_catalog struct catalog *catalog = NULL;
	cleanup_plan struct plan *p = NULL;
	cleanup_schedule struct schedule s = {0};
	cleanup_free char *bench = NULL, *warning = NULL;
	struct plan_view v = {.s = &s, .t = &t};
	int rc = root_open(&root, o->sysroot, e);

	if (rc == 0)
		rc = topology_read(&t, &root, e);
	if (rc == 0)
		rc = read_catalog(&catalog, &bench, &warning, e);
	if (rc == 0)
		rc = plan_load(&p, o->plan, &t, catalog, &o->plan_options, e);
	if (rc == 0 && warning)
		rc = plan_warn(p, e, "%s", warning);
	if (rc == 0)
		rc = schedule_make(&s, p, &t, e);
	if (rc < 0)
		return rc;
	v.p = p;
	v.steps = plan_steps(p, &t, &root, bench);
	if (!v.steps)
		return err_set(e, ENOMEM, "no memory");
	if (o->overlays)
		rc = plan_overlays(o->overlays, p, v.steps, e);
	if (rc < 0) {
		json_decref(v.steps);
		return rc;
	}
	rc = o->json ? plan_print_json(&v, stdout) : plan_print_text(&v, stdout);
	json_decref(v.steps);
	if (rc < 0 || fflush(stdout) != 0)
		return err_sys(e, "standard output");
	return 0;
}

int cmd_plan(int argc, char **argv)
{
	struct options o = {0};
	struct err e = ERR_INIT;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (show(&o, &e) < 0) {
		fprintf(stderr, "mksplit plan: %s\n", e.text);
		return e.exit;
	}
	return EXIT_SUCCESS;
}
