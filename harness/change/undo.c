// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/change/undo.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"

/* An environment can be as large as the argument area; a larger one is not ours. */
#define ENVIRON_MAX (8 << 20)

/* Between looks at whether they are gone; and looks until SIGTERM is not enough, until we give up. */
#define LOOK_EVERY_NS 20000000
#define LOOKS_TERM    50
#define LOOKS_KILL    500

/*
 * A process that carries the line in its environment, as a descriptor, so that the signal reaches
 * the one that was looked at and not a later one of the same number; -1 for others, ourselves
 * among them. A zombie has no environment any more.
 */
static int open_marked(const char *pid, const char *line)
{
	cleanup_close int fd = -1;
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char path[64];
	size_t len = 0;

	if (atoi(pid) == getpid())
		return -1;
	fd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);
	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	if (fd < 0 || read_file_at(AT_FDCWD, path, ENVIRON_MAX, &text, &len, &e) < 0)
		return -1;
	for (const char *p = text; p < text + len; p += strlen(p) + 1)
		if (strcmp(p, line) == 0)
			return take_fd(fd);
	return -1;
}

/* Signals all of them; returns how many there are. */
static int signal_marked(const char *line, int sig)
{
	cleanup_dir DIR *proc = opendir("/proc");
	struct dirent *d;
	int n = 0;

	while (proc && (d = readdir(proc))) {
		cleanup_close int fd =
			isdigit((unsigned char)d->d_name[0]) ? open_marked(d->d_name, line) : -1;

		if (fd < 0)
			continue;
		n++;
		if (sig)
			syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
	}
	return n;
}

static int end_processes(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
			 struct err *e)
{
	const char *marker = json_string_value(json_object_get(entry, "marker"));
	cleanup_free char *line = NULL;
	char text[80];
	int n;

	if (!marker || !*marker)
		return err_set(e, EINVAL, "a journal entry without marker");
	if (asprintf(&line, UNDO_MARKER "%s", marker) < 0) {
		line = NULL;
		return err_set(e, ENOMEM, "no memory");
	}
	n = signal_marked(line, SIGTERM);
	if (n == 0)
		return 0;
	snprintf(text, sizeof(text), "ending %d process%s of the run", n, n == 1 ? "" : "es");
	say(arg, text);
	for (int look = 0; look < LOOKS_KILL; look++) {
		nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY_NS}, NULL);
		n = signal_marked(line, look >= LOOKS_TERM ? SIGKILL : 0);
		if (n == 0)
			return 0;
	}
	return err_set(e, EBUSY, "%d process%s of the run could not be ended", n, n == 1 ? "" : "es");
}

const struct undo_kind undo_processes = {"processes", end_processes};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	return (type == FTW_DP ? rmdir(path) : unlink(path)) < 0 && errno != ENOENT ? -errno : 0;
}

static int remove_folder(const json_t *entry, void (*say)(void *arg, const char *line), void *arg,
			 struct err *e)
{
	const char *path = json_string_value(json_object_get(entry, "path"));
	char folder[PATH_MAX], line[PATH_MAX + 32];
	size_t len;
	int ret = state_folder(folder, sizeof(folder), e);

	if (ret < 0)
		return ret;
	len = strlen(folder);
	if (!path || strncmp(path, folder, len) != 0 || path[len] != '/' || !path[len + 1] ||
	    strchr(path + len + 1, '/') || path[len + 1] == '.')
		return err_set(e, EINVAL,
			       "a journal entry names the folder %s, which is none of ours",
			       path ? path : "?");
	if (access(path, F_OK) < 0)
		return 0;
	snprintf(line, sizeof(line), "removing %s", path);
	say(arg, line);
	/* Neither through symbolic links nor into another file system. */
	ret = nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	return ret < 0 ? err_set(e, ret == -1 ? errno : ret, "cannot remove %s: %s", path,
				 strerror(ret == -1 ? errno : -ret))
		       : 0;
}

const struct undo_kind undo_folder = {"folder", remove_folder};
