// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/cmd/cmd.h"
#include "harness/report/reproduction.h"

struct options {
	const char *results[2];
	bool json, force;
};

enum {
	OPT_JSON = 256
};

static const struct argp_option argp_options[] = {
	{"force", 'f', NULL, 0, "Compare also what differs in more than the kernel", 0},
	{"json", OPT_JSON, NULL, 0, "Print JSON", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_JSON:
		o->json = true;
		return 0;
	case 'f':
		o->force = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			return ARGP_ERR_UNKNOWN;
		o->results[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.args_doc = "A B",
	.doc = "Compares the ratios of two runs, test by test: did B's change from A's? Rates are "
	       "not "
	       "compared, since two runs differ in more than one boot.",
};

static int load(struct model **m, struct analysis **a, const char *path, struct err *e)
{
	int ret = model_read(m, path, e);

	return ret < 0 ? ret : analyse(a, *m, e);
}

static int run(const struct options *o, struct err *e)
{
	cleanup_model struct model *ma = NULL, *mb = NULL;
	cleanup_analysis struct analysis *a = NULL, *b = NULL;
	cleanup_versus struct versus v = {0};
	int ret = load(&ma, &a, o->results[0], e);

	if (ret == 0)
		ret = load(&mb, &b, o->results[1], e);
	if (ret == 0)
		ret = versus_of(&v, a, b, e);
	if (ret < 0)
		return ret;
	if (v.nobstacles && !o->force) {
		char all[1500] = "";
		size_t used = 0;

		for (size_t i = 0; i < v.nobstacles && used < sizeof(all); i++)
			used += snprintf(all + used, sizeof(all) - used, "%s%s", i ? "; " : "",
					 v.obstacles[i]);
		err_set(e, EINVAL, "%s", all);
		return err_wrap(e,
				"these runs should not be compared (--force does it), they differ");
	}
	ret = o->json ? versus_json(stdout, &v, a, b) : versus_text(stdout, &v, a, b);
	if (ret < 0)
		return err_set(e, ret, "cannot write: %s", strerror(-ret));
	return 0;
}

int cmd_compare(int argc, char **argv)
{
	struct options o = {0};
	struct err e = ERR_INIT;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return EXIT_USAGE;
	if (run(&o, &e) < 0) {
		fprintf(stderr, "mksplit compare: %s\n", e.text);
		return e.exit;
	}
	return 0;
}
