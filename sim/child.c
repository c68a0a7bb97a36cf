// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/child.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	struct loop *loop;
	pid_t pid;
	void (*fn)(void *arg, int status);
	void *arg;
};

static void on_end(void *arg, int fd, unsigned events)
{
	struct child c = *(struct child *)arg;
	int status;

	if (waitpid(c.pid, &status, WNOHANG) != c.pid)
		return;
	loop_unwatch(c.loop, fd);
	close(fd);
	free(arg);
	c.fn(c.arg, status);
}

int child_watch(struct loop *l, pid_t pid, void (*fn)(void *arg, int status), void *arg)
{
	struct child *c = malloc(sizeof(*c));
	int fd = syscall(SYS_pidfd_open, pid, 0), ret;

	if (!c || fd < 0) {
		ret = c ? -errno : -ENOMEM;
		free(c);
		if (fd >= 0)
			close(fd);
		return ret;
	}
	*c = (struct child){l, pid, fn, arg};
	ret = loop_watch(l, fd, POLLIN, on_end, c);
	if (ret < 0) {
		close(fd);
		free(c);
	}
	return ret;
}
