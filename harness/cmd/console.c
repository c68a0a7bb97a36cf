// SPDX-License-Identifier: GPL-2.0-or-later
/* mksplit console NAME: a partition's console on this terminal. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/running.h"

/* Ctrl-], as telnet and virsh have it. */
#define LEAVE 0x1d

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **name = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*name)
			return ARGP_ERR_UNKNOWN;
		*name = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "NAME",
	.doc = "Attaches this terminal to the console of partition NAME of the run that is under "
	       "way. "
	       "Ctrl-] leaves it.\v"
	       "What is typed is a load on the partition, and so is what it prints: look between "
	       "measurements, or with `run --hold-on-failure`.",
};

static int attach(const char *path, struct err *e)
{
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (fd < 0)
		return err_sys(e, "socket");
	if (strlen(path) >= sizeof(to.sun_path))
		return err_set(e, ENAMETOOLONG, "%s", path);
	strcpy(to.sun_path, path);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return err_sys(e, "%s", path);
	return take_fd(fd);
}

/* Both ways until one side ends. True when the user left. */
static bool carry(int fd)
{
	struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
	char buf[4096];

	for (;;) {
		ssize_t n;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return false;
		if (p[1].revents) {
			n = read(fd, buf, sizeof(buf));
			if (n <= 0 || write_all(STDOUT_FILENO, buf, n) < 0)
				return false;
		}
		if (p[0].revents) {
			char *leave;

			n = read(STDIN_FILENO, buf, sizeof(buf));
			if (n <= 0) {
				p[0].fd = -1; /* end of a file that was fed in: go on listening */
				continue;
			}
			leave = memchr(buf, LEAVE, n);
			if (write_all(fd, buf, leave ? leave - buf : n) < 0)
				return false;
			if (leave)
				return true;
		}
	}
}

static int find_console(const char *name, char *path, size_t size, struct err *e)
{
	struct running r;
	const json_t *consoles, *one;
	const char *key, *found;
	int ret = running_read(&r, e);

	if (ret < 0)
		return ret;
	consoles = json_object_get(r.status, "consoles");
	found = json_string_value(json_object_get(consoles, name));
	if (found) {
		snprintf(path, size, "%s", found);
	} else if (json_object_size(consoles) == 0) {
		ret = err_set(e, ENOENT, "no partition with a console is up now");
	} else {
		char names[400] = "";

		json_object_foreach((json_t *)consoles, key, one) {
			size_t len = strlen(names);

			snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "", key);
		}
		ret = err_set(e, ENOENT, "no partition \"%s\" is up now; there is %s", name, names);
	}
	running_free(&r);
	return ret;
}

int cmd_console(int argc, char **argv)
{
	cleanup_close int fd = -1;
	const char *name = NULL;
	struct err e = ERR_INIT;
	struct termios was, raw;
	char path[PATH_MAX];
	bool terminal, left;

	if (argp_parse(&argp, argc, argv, 0, NULL, &name) != 0)
		return EXIT_USAGE;
	if (find_console(name, path, sizeof(path), &e) == 0)
		fd = attach(path, &e);
	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", argv[0], e.text);
		return EXIT_FAILURE;
	}
	fprintf(stderr, "Console of %s. Ctrl-] leaves it.\n", name);
	terminal = tcgetattr(STDIN_FILENO, &was) == 0;
	if (terminal) {
		raw = was;
		cfmakeraw(&raw);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	left = carry(fd);
	if (terminal)
		tcsetattr(STDIN_FILENO, TCSANOW, &was);
	fprintf(stderr, "\n%s\n", left ? "Left the console." : "The console was closed.");
	return 0;
}
