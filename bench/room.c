// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/room.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bench/loopback.h"
#include "bench/mounts.h"
#include "common/cleanup.h"
#include "common/io.h"

static void missing(struct room *r, const char *what, int code)
{
	size_t len = strlen(r->missing);

	snprintf(r->missing + len, sizeof(r->missing) - len, "%s%s:%s", len ? "," : "", what,
		 strerrorname_np(code) ?: "?");
}

/*
 * Charging to a cgroup of its own changes what page allocation touches, so tasks are in the
 * root one. Under version 1 each controller has a tree of its own; only memory's matters.
 */
static void root_cgroup(struct room *r)
{
	static const char *const files[] = {"/sys/fs/cgroup/cgroup.procs",
					    "/sys/fs/cgroup/memory/cgroup.procs",
					    "/sys/fs/cgroup/unified/cgroup.procs"};
	int code = ENOENT;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		cleanup_close int fd = open(files[i], O_WRONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (write(fd, "0", 1) == 1)
			return;
		code = errno;
	}
	/* A kernel without cgroups has nothing to leave. */
	if (access("/proc/self/cgroup", F_OK) == 0 && code != ENOENT)
		missing(r, "cgroup", code);
}

static bool own_tmpfs(struct room *r, const char *where)
{
	mkdir(where, 01777);
	if (mount_test_tmpfs(where) < 0) {
		missing(r, where, errno);
		return false;
	}
	return true;
}

static bool own_mounts(struct room *r)
{
	if (unshare(CLONE_NEWNS) < 0) {
		missing(r, "mount", errno);
		return false;
	}
	/* Nothing that is mounted here is seen outside. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		missing(r, "mount", errno);
		return false;
	}
	return true;
}

static void own_network(struct room *r)
{
	int ret;

	if (unshare(CLONE_NEWNET) < 0) {
		missing(r, "net", errno);
		return;
	}
	ret = loopback_up();
	if (ret < 0)
		missing(r, "lo", -ret);
}

static bool is_tmpfs(const char *dir)
{
	struct statfs fs;

	return statfs(dir, &fs) == 0 && (unsigned long)fs.f_type == TMPFS_MAGIC;
}

/* A folder of ours in what there is: memory before disk, since a disk is only used when named. */
static int shared_dir(struct room *r, const char *where, struct err *e)
{
	static const char *const candidates[] = {"/tmp", "/dev/shm"};
	int n;

	for (size_t i = 0; !where && i < sizeof(candidates) / sizeof(*candidates); i++)
		if (is_tmpfs(candidates[i]) && access(candidates[i], W_OK) == 0)
			where = candidates[i];
	if (!where)
		return err_set(
			e, EOPNOTSUPP,
			"neither /tmp nor /dev/shm is a tmpfs that can be written to, and there "
			"is no privilege to mount one; name a folder with --dir");
	n = snprintf(r->dir, sizeof(r->dir), "%s/mksplit-XXXXXX", where);
	if (n < 0 || (size_t)n >= sizeof(r->dir))
		return err_set(e, ENAMETOOLONG, "%s: the name is too long", where);
	if (!mkdtemp(r->dir))
		return err_sys(e, "cannot make a folder in %s", where);
	r->made = true;
	return 0;
}

int room_enter(struct room *r, const char *where, struct err *e)
{
	bool mounts;
	int ret = 0;

	*r = (struct room){0};
	root_cgroup(r);
	mounts = own_mounts(r);
	own_network(r);
	if (unshare(CLONE_NEWIPC) < 0)
		missing(r, "ipc", errno);
	/* A user's folder may be below /tmp, which then has to stay. */
	if (mounts && !where && own_tmpfs(r, "/tmp")) {
		own_tmpfs(r, "/dev/shm");
		strcpy(r->dir, "/tmp");
		r->private_dir = true;
	} else {
		ret = shared_dir(r, where, e);
	}
	if (ret == 0)
		mount_options_of(r->dir, r->options, sizeof(r->options));
	return ret;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path);
	return 0;
}

void room_remove(const char *dir)
{
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void room_leave(struct room *r)
{
	if (r->made)
		room_remove(r->dir);
	r->made = false;
}
