// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The smallest agent that can be greeted (docs/protocol.md): /init of spawn kernels, and the host's agent, in
 * tests where the benchmark itself is not what is tested.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <termios.h>
#include <unistd.h>

#include "common/frame.h"

static void say(uint32_t seq, const char *payload)
{
	static char line[FRAME_LINE_MAX];
	size_t n = frame_encode(line, sizeof(line), FRAME_FROM_AGENT, seq, payload);

	if (write(STDOUT_FILENO, line, n) < 0)
		_exit(1);
}

static void use_console(void)
{
	struct termios t;
	int fd;

	/* A guest has an empty /dev; a namespace of mksim has its console there already. */
	if (access("/dev/mktty0", F_OK))
		mount("dev", "/dev", "devtmpfs", 0, NULL);
	fd = open("/dev/mktty0", O_RDWR | O_NOCTTY);
	if (fd < 0)
		fd = open("/dev/console", O_RDWR | O_NOCTTY);
	if (fd < 0)
		return;
	if (tcgetattr(fd, &t) == 0) {
		cfmakeraw(&t);
		tcsetattr(fd, TCSANOW, &t);
	}
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
}

static void answer(uint32_t seq, const char *request, int *greeted)
{
	if (strncmp(request, "HI ", 3) == 0) {
		*greeted = 1;
		say(seq, "OK 1 test 77 1");
	} else if (strncmp(request, "OFF ", 4) == 0) {
		say(seq, "OK");
		usleep(200000); /* until the console has it */
		if (getpid() == 1)
			reboot(RB_POWER_OFF);
		_exit(0);
	} else {
		say(seq, "NO unknown");
	}
}

int main(int argc, char **argv)
{
	struct frame_reader r;
	int greeted = 0;

	/* As the host's partition starts it: `agent --fd 3`. */
	if (argc > 1 && strcmp(argv[1], "agent") == 0) {
		dup2(3, STDIN_FILENO);
		dup2(3, STDOUT_FILENO);
	} else if (argc > 1 && strcmp(argv[1], "list") == 0) {
		return 1; /* it has no tests */
	} else {
		use_console();
	}
	frame_reader_init(&r, FRAME_FROM_HOST);
	for (;;) {
		struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
		const char *request;
		char data[4096];
		size_t used, at = 0;
		uint32_t seq;
		ssize_t n;

		if (poll(&p, 1, 1000) == 0) {
			if (!greeted)
				say(1, "HELLO 1 test 77");
			continue;
		}
		n = read(STDIN_FILENO, data, sizeof(data));
		if (n <= 0) {
			if (n == 0 && argc > 1)
				return 0; /* mksplit is gone */
			usleep(100000);
			continue;
		}
		while (frame_reader_push(&r, data + at, (size_t)n - at, &used, &seq, &request)) {
			at += used;
			answer(seq, request, &greeted);
		}
	}
}
