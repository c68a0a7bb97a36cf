/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_CMD_H
#define MKSPLIT_CMD_CMD_H

/*
 * One file a subcommand, each with its own argp parser. They print, and they alone choose
 * the exit status: 0, EXIT_FAILURE (1), EXIT_USAGE (2); 130 after SIGINT.
 */
struct command {
	const char *name;
	int (*main)(int argc, char **argv); /* argv[0] is "mksplit NAME" */
	const char *summary;
};

int cmd_doctor(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_try(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_reproduce(int argc, char **argv);
int cmd_console(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_cleanup(int argc, char **argv);
int cmd_list(int argc, char **argv);

#endif
