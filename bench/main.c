// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mksplit-bench: what runs in a partition. Called as PID 1 it is the init of a spawn kernel or
 * guest; called mkbench it takes mkbench's command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/agent.h"
#include "bench/boundary/boundary.h"
#include "bench/byhand.h"
#include "bench/init.h"
#include "bench/list.h"
#include "bench/runner.h"
#include "bench/tty.h"
#include "common/err.h"
#include "config.h"

static int parse_fd(const char *text)
{
	char *end;
	long fd = strtol(text, &end, 10);

	return end == text || *end || fd < 0 || fd > 1 << 20 || fcntl((int)fd, F_GETFD) < 0
		       ? -1
		       : (int)fd;
}

static int agent_main(int argc, char **argv)
{
	static const struct option options[] = {{"fd", required_argument, NULL, 'f'},
						{"tty", required_argument, NULL, 't'},
						{"token", required_argument, NULL, 'k'},
						{0}};
	const char *token = NULL, *tty = NULL;
	struct err e = ERR_INIT;
	int fd = -1, c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'f')
			fd = parse_fd(optarg);
		else if (c == 't')
			tty = optarg;
		else if (c == 'k')
			token = optarg;
		else
			return EXIT_USAGE;
	}
	if (!token || (fd < 0) == !tty || optind != argc) {
		fputs("usage: mksplit-bench agent (--fd N | --tty NAME) --token WORD\n", stderr);
		return EXIT_USAGE;
	}
	if (tty)
		fd = tty_open(tty, &e);
	if (fd < 0) {
		fprintf(stderr, "mksplit-bench: %s\n", e.text);
		return EXIT_FAILURE;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	switch (agent_run(fd, token, false)) {
	case AGENT_OFF:
		return EXIT_SUCCESS;
	case AGENT_LEASE:
		fputs("mksplit-bench: nobody spoke to this agent for too long\n", stderr);
		return EXIT_FAILURE;
	case AGENT_LINK:
		fputs("mksplit-bench: the link has closed\n", stderr);
		return EXIT_FAILURE;
	default:
		return 128 + 15;
	}
}

/* Only a parent of our own starts one. */
static int start_runner(int argc, char **argv)
{
	int fd = argc == 2 ? parse_fd(argv[1]) : -1;

	if (fd < 0)
		return EXIT_USAGE;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return runner_main(fd);
}

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"scale", byhand_main, "run one loop by hand, printing what will-it-scale prints"},
	{"boundary", boundary_main, "run a socket-boundary test by hand, with mkbench's options"},
	{"list", list_main, "the tests: --json, --markdown"},
	{"agent", agent_main, "serve a host over a link (docs/protocol.md)"},
	{"runner", start_runner, NULL},
};

static void usage(FILE *f)
{
	fputs("Usage: mksplit-bench COMMAND [ARGUMENT...]\n\n", f);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (commands[i].summary)
			fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].summary);
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

	if (getpid() == 1 && strcmp(name, "init") == 0)
		init_main();
	if (strcmp(name, "mkbench") == 0)
		return boundary_main(argc, argv);
	if (argc >= 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
		puts("mksplit-bench " MKSPLIT_VERSION);
		return EXIT_SUCCESS;
	}
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		usage(stdout);
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; argc >= 2 && i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].main(argc - 1, argv + 1);
	usage(stderr);
	return EXIT_USAGE;
}
