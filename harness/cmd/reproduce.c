// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/paths.h"
#include "harness/report/reproduction.h"

struct options {
	const char *results, *against;
	bool json, assume_same;
	int sockets; /* 0: as the arms say */
};

enum {
	OPT_JSON = 256,
	OPT_AGAINST,
	OPT_SOCKETS,
	OPT_SAME
};

static const struct argp_option argp_options[] = {
	{"against", OPT_AGAINST, "FILE", 0,
	 "A file of published figures, or \"published\" for those that come with mksplit", 0},
	{"sockets", OPT_SOCKETS, "N",
	 0, "Compare with the experiment on N sockets (default: as many as the second arm's kernels use)",
	 0},
	{"assume-same-machine", OPT_SAME, NULL, 0,
	 "Compare sizes although the machine is of another class", 0},
	{"json", OPT_JSON, NULL, 0,
	 "Print JSON, an object for each pair of arms, one after the other", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;

	switch (key) {
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_AGAINST:
		o->against = arg;
		return 0;
	case OPT_SOCKETS:
		o->sockets = strtol(arg, &end, 10);
		if (*end || o->sockets < 1 || o->sockets > 2)
			argp_error(state, "--sockets: \"%s\" is neither 1 nor 2", arg);
		return 0;
	case OPT_SAME:
		o->assume_same = true;
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
	.doc = "Puts a run beside what others published, test by test, and says whether it agrees. "
	       "docs/methodology.md has the rules.",
};

static int load_published(struct published **p, const char *against, struct err *e)
{
	cleanup_free char *path = NULL;
	int ret;

	if (strcmp(against, "published") != 0)
		return published_read(p, against, e);
	ret = find_data(&path, "results/published/published.json", e);
	return ret < 0 ? ret : published_read(p, path, e);
}

static int print_one(const struct options *o, const struct analysis *a, size_t compare,
		     const struct published *p, struct err *e)
{
	int sockets = o->sockets ? o->sockets : sockets_used(a->m, compare);
	cleanup_reproduction struct reproduction r = {0};
	int ret = reproduce(&r, a, compare, p, sockets, o->assume_same, e);

	if (ret < 0)
		return ret;
	ret = o->json ? reproduction_json(stdout, &r, a, compare)
		      : reproduction_text(stdout, &r, a, compare, p);
	if (ret < 0)
		return err_set(e, ret, "cannot write: %s", strerror(-ret));
	return 0;
}

static int run(const struct options *o, struct err *e)
{
	cleanup_published struct published *p = NULL;
	cleanup_model struct model *m = NULL;
	cleanup_analysis struct analysis *a = NULL;
	int ret = load_published(&p, o->against ? o->against : "published", e);

	if (ret == 0)
		ret = model_read(&m, o->results, e);
	if (ret == 0)
		ret = analyse(&a, m, e);
	if (ret < 0)
		return ret;
	if (m->ncompares == 0)
		return err_set(e, EINVAL, "%s compares no arms", o->results);
	for (size_t c = 0; c < m->ncompares; c++) {
		ret = print_one(o, a, c, p, e);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int cmd_reproduce(int argc, char **argv)
{
	struct options o = {0};
	struct err e = ERR_INIT;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return EXIT_USAGE;
	if (run(&o, &e) < 0) {
		fprintf(stderr, "mksplit reproduce: %s\n", e.text);
		return e.exit;
	}
	return 0;
}
