// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "common/cleanup.h"

#define WAIT_MS	      5000
#define LOOK_EVERY_MS 50

int tty_open(const char *name, struct err *e)
{
	cleanup_close int fd = -1;
	char path[PATH_MAX];
	struct termios t;

	snprintf(path, sizeof(path), "%s%s", name[0] == '/' ? "" : "/dev/", name);
	for (int ms = 0;; ms += LOOK_EVERY_MS) {
		fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 || (errno != ENOENT && errno != ENXIO) || ms >= WAIT_MS)
			break;
		poll(NULL, 0, LOOK_EVERY_MS);
	}
	if (fd < 0)
		return err_sys(e, "%s", path);
	if (tcgetattr(fd, &t) < 0)
		return err_sys(e, "%s is no terminal", path);
	cfmakeraw(&t);
	t.c_cflag |= CLOCAL | CREAD;
	t.c_cflag &= ~CRTSCTS;
	cfsetispeed(&t, B115200);
	cfsetospeed(&t, B115200);
	if (tcsetattr(fd, TCSANOW, &t) < 0)
		return err_sys(e, "%s cannot be made raw", path);
	return take_fd(fd);
}
