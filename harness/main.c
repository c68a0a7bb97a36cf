// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of subcommands, and nothing else. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "config.h"
#include "harness/cmd/cmd.h"

static const struct command commands[] = {
	{"doctor", cmd_doctor, "what this machine can do, and what is in the way"},
	{"list", cmd_list, "tests, backends, or results of earlier runs"},
	{"sweep", cmd_sweep, "one kernel, 1 to N tasks: how tests scale"},
	{"plan", cmd_plan, "what a run would do: CPUs, steps, cells, time"},
	{"try", cmd_try, "one mklinux kernel up and down, step by step, with a transcript"},
	{"run", cmd_run, "the experiment"},
	{"status", cmd_status, "which run is under way, and how far it is"},
	{"console", cmd_console, "attach to the console of a partition"},
	{"report", cmd_report, "the comparison, computed again from stored results"},
	{"compare", cmd_compare, "the ratios of two runs, A and B"},
	{"reproduce", cmd_reproduce, "a run beside what others published"},
	{"cleanup", cmd_cleanup, "put the machine back after a crash"},
};

static const size_t ncommands = sizeof(commands) / sizeof(*commands);

static void usage(FILE *out)
{
	fputs("Usage: mksplit COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Does a machine do better under one Linux kernel, or under several?\n\n",
	      out);
	for (size_t i = 0; i < ncommands; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n`mksplit COMMAND --help` shows a command's options; mksplit(1) explains it all.\n",
	      out);
}

int main(int argc, char **argv)
{
	char name[64];

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		usage(stdout);
		return EXIT_SUCCESS;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("mksplit " MKSPLIT_VERSION);
		return EXIT_SUCCESS;
	}
	argp_err_exit_status = EXIT_USAGE;
	for (size_t i = 0; i < ncommands; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		snprintf(name, sizeof(name), "mksplit %s", commands[i].name);
		argv[1] = name;
		return commands[i].main(argc - 1, argv + 1);
	}
	fprintf(stderr, "mksplit: there is no command \"%s\"; see mksplit --help\n", argv[1]);
	return EXIT_USAGE;
}
