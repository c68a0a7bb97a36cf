// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "common/io.h"
#include "sim/calls_impl.h"
#include "sim/child.h"
#include "sim/fault.h"
#include "sim/rooms.h"

/* mount(2), statfs(2) and uname(2): the control file system looks like the real one. */

enum {
	MKFS_MAGIC = 0x6d6b6673,
	PATH_LIMIT = 4096
};

/* An absolute path without "." and "..", double and trailing slashes; links are not followed. */
static int absolute(const struct call *c, const char *path, char *out, size_t size)
{
	char joined[2 * PATH_LIMIT], link[64], *save = NULL;
	size_t used = 0;

	if (*path == '/') {
		snprintf(joined, sizeof(joined), "%s", path);
	} else {
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/%d/cwd", c->req.pid);
		n = readlink(link, joined, PATH_LIMIT);
		if (n < 0)
			return -errno;
		snprintf(joined + n, sizeof(joined) - n, "/%s", path);
	}
	for (char *p = strtok_r(joined, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
		if (strcmp(p, ".") == 0)
			continue;
		if (strcmp(p, "..") == 0) {
			while (used && out[--used] != '/')
				;
			continue;
		}
		if (used + strlen(p) + 2 > size)
			return -ENAMETOOLONG;
		used += (size_t)sprintf(out + used, "/%s", p);
	}
	strcpy(out + used, used ? "" : "/");
	return 0;
}

/* Whether a path of the caller lies on a mount of the control file system. */
static bool on_control_fs(const struct call *c, const char *path, bool exact)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char file[64], *save = NULL;

	snprintf(file, sizeof(file), "/proc/%d/mountinfo", c->req.pid);
	if (read_file_at(AT_FDCWD, file, 4 << 20, &text, NULL, &e) < 0)
		return false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char root[256], point[PATH_LIMIT];
		size_t len;

		if (!strstr(line, " - fuse mksim ") ||
		    sscanf(line, "%*d %*d %*s %255s %4095s", root, point) != 2 ||
		    strcmp(root, "/mk") != 0)
			continue;
		len = strlen(point);
		if (strncmp(path, point, len) == 0 &&
		    (path[len] == '\0' || (path[len] == '/' && !exact)))
			return true;
	}
	return false;
}

/* In a child process: the mount namespace of the caller is not ours. */
static int mount_there(pid_t tid, const char *path)
{
	char ns[64];
	int tree = room_clone("mk"), fd, ret;

	if (tree < 0)
		return tree;
	snprintf(ns, sizeof(ns), "/proc/%d/ns/mnt", tid);
	fd = open(ns, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNS) < 0)
		return -errno;
	ret = room_place(tree, path);
	return ret == -ENOTDIR || ret == -EINVAL ? -ENOTDIR : ret;
}

static void on_mounted(void *arg, int status)
{
	struct call *c = arg;
	int error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;

	log_line(&c->listener->calls->sim->log, "mount of the control file system -> %s",
		 error ? errno_name(error) : "ok");
	call_answer(c, -error);
}

long call_mount(struct call *c)
{
	const __u64 *a = c->req.data.args;
	struct sim *s = c->listener->calls->sim;
	char type[64], target[PATH_LIMIT], path[PATH_LIMIT];
	struct call *kept;
	pid_t pid;

	if (!a[2] || call_read_string(c, a[2], type, sizeof(type)) < 0)
		return ANSWER_CONTINUE;
	if (c->listener->spawn) {
		/*
		 * The room has its /proc, /sys and /dev already, with the simulated machine in
		 * them; a fresh one would show the real machine, and devtmpfs the real devices.
		 */
		if (call_read_string(c, a[1], target, sizeof(target)) == 0 &&
		    absolute(c, target, path, sizeof(path)) == 0 &&
		    ((strcmp(type, "proc") == 0 && strcmp(path, "/proc") == 0) ||
		     (strcmp(type, "sysfs") == 0 && strcmp(path, "/sys") == 0) ||
		     (strcmp(type, "devtmpfs") == 0 && strcmp(path, "/dev") == 0)))
			return 0;
		return ANSWER_CONTINUE;
	}
	if (strcmp(type, "multikernel") != 0)
		return ANSWER_CONTINUE;
	if (!task_capable(c->req.pid, CAP_SYS_ADMIN))
		return -EPERM;
	if (call_read_string(c, a[1], target, sizeof(target)) < 0)
		return -EFAULT;
	if (absolute(c, target, path, sizeof(path)) < 0)
		return -ENOENT;
	if (on_control_fs(c, path, true))
		return -EBUSY;
	kept = call_keep(c);
	if (!kept)
		return -ENOMEM;
	pid = fork();
	if (pid == 0)
		_exit(-mount_there(kept->req.pid, path));
	if (pid < 0 || child_watch(s->loop, pid, on_mounted, kept) < 0) {
		free(kept);
		return -ENOMEM;
	}
	return ANSWER_LATER;
}

long call_fsopen(struct call *c)
{
	char type[64];

	/* mount(8) falls back to mount(2) when the newer calls are not there. */
	if (call_read_string(c, c->req.data.args[0], type, sizeof(type)) == 0 &&
	    strcmp(type, "multikernel") == 0)
		return -ENOSYS;
	return ANSWER_CONTINUE;
}

static long answer_statfs(struct call *c, uint64_t address)
{
	struct statfs st = {
		.f_type = MKFS_MAGIC, .f_bsize = SIM_PAGE, .f_namelen = 255, .f_frsize = SIM_PAGE};

	return call_write(c, address, &st, sizeof(st));
}

long call_statfs(struct call *c)
{
	char text[PATH_LIMIT], path[PATH_LIMIT];

	if (call_read_string(c, c->req.data.args[0], text, sizeof(text)) < 0 ||
	    absolute(c, text, path, sizeof(path)) < 0 || !on_control_fs(c, path, false))
		return ANSWER_CONTINUE;
	return answer_statfs(c, c->req.data.args[1]);
}

long call_fstatfs(struct call *c)
{
	char link[64], path[PATH_LIMIT];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", c->req.pid, (int)c->req.data.args[0]);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return ANSWER_CONTINUE;
	path[n] = '\0';
	if (!on_control_fs(c, path, false))
		return ANSWER_CONTINUE;
	return answer_statfs(c, c->req.data.args[1]);
}

long call_uname(struct call *c)
{
	struct sim *s = c->listener->calls->sim;
	cleanup_close int mine = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC), its = -1;
	struct utsname u;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/uts", c->req.pid);
	its = open(path, O_RDONLY | O_CLOEXEC);
	/* The host name is the caller's; there is one thread, so that nobody else notices. */
	if (mine < 0 || its < 0 || setns(its, CLONE_NEWUTS) < 0)
		return ANSWER_CONTINUE;
	uname(&u);
	if (setns(mine, CLONE_NEWUTS) < 0)
		return ANSWER_CONTINUE;
	snprintf(u.release, sizeof(u.release), "%s", abi_release(s->options.abi));
	snprintf(u.version, sizeof(u.version), "#1 SMP PREEMPT_DYNAMIC simulated");
	return call_write(c, c->req.data.args[0], &u, sizeof(u));
}
