// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "bench/agent.h"
#include "bench/loopback.h"
#include "bench/mounts.h"
#include "bench/tty.h"
#include "common/cleanup.h"
#include "common/io.h"

/* Descriptors for poll2's 128 a thread on some thousand CPUs. */
#define OPEN_FILES (1 << 20)

static void say(const char *what, const char *why)
{
	dprintf(STDERR_FILENO, "mksplit: %s: %s\n", what, why);
}

/* Each in order; what a kernel was built without is not there, and a fact tells. */
static const struct {
	const char *type, *where;
	unsigned long flags;
	const char *options;
} mounts[] = {
	{"proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
	{"sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
	{"devtmpfs", "/dev", MS_NOSUID, "mode=755"},
	{"devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "mode=620,ptmxmode=666"},
	{"securityfs", "/sys/kernel/security", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
	{"cgroup2", "/sys/fs/cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
};

static void mount_all(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].where, 0755);
		/* EBUSY: the kernel has mounted devtmpfs itself. */
		if (mount(mounts[i].type, mounts[i].where, mounts[i].type, mounts[i].flags,
			  mounts[i].options) < 0 &&
		    errno != EBUSY)
			say(mounts[i].where, strerror(errno));
	}
	for (const char *const *where = (const char *const[]){"/tmp", "/dev/shm", NULL}; *where;
	     where++) {
		mkdir(*where, 01777);
		if (mount_test_tmpfs(*where) < 0)
			say(*where, strerror(errno));
	}
}

/* The value of a word of the kernel command line; the caller frees, NULL if it is not there. */
static char *parameter(const char *name)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	size_t len = strlen(name);

	if (read_file_at(AT_FDCWD, "/proc/cmdline", 1 << 16, &text, NULL, &e) < 0)
		return NULL;
	for (char *save, *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
		if (strncmp(w, name, len) == 0 && w[len] == '=')
			return strdup(w + len + 1);
	return NULL;
}

static const char *end_name(enum agent_end end)
{
	static const char *const names[] = {
		[AGENT_OFF] = "told to power off",
		[AGENT_LEASE] = "nobody spoke to the agent for too long",
		[AGENT_LINK] = "the link has closed",
		[AGENT_SIGNAL] = "a signal asked for the end",
	};

	return names[end];
}

static int serve(void)
{
	cleanup_free char *link = parameter("mksplit.link"), *token = parameter("mksplit.token");
	struct err e = ERR_INIT;
	enum agent_end end;
	int fd;

	if (!link || !token) {
		say("kernel command line", "mksplit.link=TTY and mksplit.token=WORD are wanted");
		return -1;
	}
	fd = tty_open(link, &e);
	if (fd < 0) {
		say("link", e.text);
		return -1;
	}
	end = agent_run(fd, token, true);
	tcdrain(fd); /* the answer to OFF is on its way */
	say("powering off", end_name(end));
	return 0;
}

void init_main(void)
{
	struct rlimit files = {OPEN_FILES, OPEN_FILES};
	int ret;

	/* The kernel opened /dev/console for us if it was there (init/main.c, console_on_rootfs). */
	umask(022);
	mount_all();
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		say("limit of open files", strerror(errno));
	ret = loopback_up();
	if (ret < 0)
		say("lo", strerror(-ret));
	setenv("PATH", "/", 1);
	serve();
	sync();
	reboot(RB_POWER_OFF);
	/* A machine that cannot power off halts; its host sees that nobody answers. */
	reboot(RB_HALT_SYSTEM);
	for (;;)
		pause();
}
