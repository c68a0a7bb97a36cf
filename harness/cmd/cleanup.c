// SPDX-License-Identifier: GPL-2.0-or-later
/* mksplit cleanup: puts the machine back after a run that died. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"
#include "harness/change/journal.h"
#include "harness/cmd/cmd.h"

struct options {
	bool dry_run;
};

static const struct argp_option argp_options[] = {
	{"dry-run", 'n', NULL, 0, "Only say what would be undone", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	(void)arg;
	if (key != 'n')
		return ARGP_ERR_UNKNOWN;
	o->dry_run = true;
	return 0;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "Undoes what a run that died has left: processes, folders, settings, pools and "
	       "instances. Changes that somebody else made since stay, and are named. Twice is the "
	       "same as once.",
};

static void say(void *arg, const char *line)
{
	(void)arg;
	printf("%s\n", line);
}

int cmd_cleanup(int argc, char **argv)
{
	struct options o = {0};
	struct err e = ERR_INIT;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return EXIT_USAGE;
	if (journal_cleanup(o.dry_run, say, NULL, &e) < 0) {
		fprintf(stderr, "mksplit cleanup: %s\n", e.text);
		return e.exit;
	}
	if (!o.dry_run)
		puts("Nothing of a run is left on this machine.");
	return EXIT_SUCCESS;
}
