// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/spawn_room.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "sim/calls.h"
#include "sim/rooms.h"

/* The part of spawn_process.c that runs in the child. */

static int complain(const char *what, const char *path)
{
	int ret = errno ? -errno : -EIO;

	fprintf(stderr, "mksim: spawn: %s %s: %s\n", what, path, strerror(-ret));
	return ret;
}

/*
 * The clocks of a kernel begin at its boot. Both offsets are the same, and leave a second,
 * because CLOCK_MONOTONIC_RAW may be behind CLOCK_MONOTONIC.
 */
static int set_clock(void)
{
	struct timespec mono, raw, boot;
	char text[128];
	cleanup_close int fd = -1;
	long long m;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	m = (mono.tv_sec < raw.tv_sec ? mono.tv_sec : raw.tv_sec) - 1;
	snprintf(text, sizeof(text), "monotonic %lld 0\nboottime %lld 0\n", -m,
		 -(long long)(boot.tv_sec - 1));
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write_all(fd, text, strlen(text)) < 0)
		return complain("cannot set", "the clock's offset");
	return 0;
}

struct archives {
	struct archive *in, *out;
};

static void archives_free(struct archives *a)
{
	if (a->in)
		archive_read_free(a->in);
	if (a->out)
		archive_write_free(a->out);
}

/* Unpacks into the root folder, which is an empty file system of the room by now. */
static int unpack(int fd)
{
	cleanup(archives_free) struct archives a = {archive_read_new(), archive_write_disk_new()};
	struct archive_entry *entry;
	int ret;

	if (!a.in || !a.out)
		return -ENOMEM;
	archive_read_support_format_cpio(a.in);
	archive_read_support_filter_gzip(a.in);
	archive_read_support_filter_xz(a.in);
	archive_read_support_filter_zstd(a.in);
	archive_read_support_filter_lz4(a.in);
	archive_read_support_filter_bzip2(a.in);
	archive_write_disk_set_options(a.out, ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_OWNER |
						      ARCHIVE_EXTRACT_SECURE_NODOTDOT);
	if (archive_read_open_fd(a.in, fd, 65536) != ARCHIVE_OK) {
		fprintf(stderr, "mksim: spawn: initrd: %s\n", archive_error_string(a.in));
		return -EINVAL;
	}
	while ((ret = archive_read_next_header(a.in, &entry)) == ARCHIVE_OK || ret == ARCHIVE_WARN) {
		/* The room has devices of its own. */
		if (archive_entry_filetype(entry) == AE_IFCHR ||
		    archive_entry_filetype(entry) == AE_IFBLK)
			continue;
		if (archive_read_extract2(a.in, entry, a.out) != ARCHIVE_OK) {
			fprintf(stderr, "mksim: spawn: initrd: %s: %s\n",
				archive_entry_pathname(entry), archive_error_string(a.in));
			return -EINVAL;
		}
	}
	return ret == ARCHIVE_EOF ? 0 : -EINVAL;
}

static const struct {
	const char *from, *to;
} places[] = {
	{"cpuinfo", "/proc/cpuinfo"},
	{"meminfo", "/proc/meminfo"},
	{"stat", "/proc/stat"},
	{"cmdline", "/proc/cmdline"},
	{"version", "/proc/version"},
	{"filesystems", "/proc/filesystems"},
	{"iomem", "/proc/iomem"},
	{"config.gz", "/proc/config.gz"},
	{"osrelease", "/proc/sys/kernel/osrelease"},
	{"cpu", "/sys/devices/system/cpu"},
	{"node", "/sys/devices/system/node"},
	{"bus-cpu", "/sys/bus/cpu/devices"},
	{"bus-node", "/sys/bus/node/devices"},
};

enum {
	NPLACES = sizeof(places) / sizeof(*places)
};

static int clone_view(int id, int trees[NPLACES])
{
	for (int k = 0; k < NPLACES; k++) {
		char path[64];

		snprintf(path, sizeof(path), "spawn/%d/%s", id, places[k].from);
		trees[k] = room_clone(path);
		if (trees[k] < 0)
			return trees[k];
	}
	return 0;
}

static int clone_tty(const char *tty)
{
	int fd = syscall(SYS_open_tree, AT_FDCWD, tty, 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);

	return fd < 0 ? complain("cannot clone", tty) : fd;
}

/* An empty root of its own; what was mounted before is not reachable any more. */
static int new_root(void)
{
	if (mount("rootfs", ROOMS_BASE, "tmpfs", 0, "mode=0755") < 0 || chdir(ROOMS_BASE) < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return complain("cannot make", "a root");
	return 0;
}

static int make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return complain("cannot make", path);
	close(fd);
	return 0;
}

static int make_devices(const int ttys[2])
{
	static const struct {
		const char *path;
		unsigned major, minor;
	} devices[] = {
		{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
		{"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
	};
	static const char *const consoles[2] = {"/dev/console", "/dev/mktty0"};

	mkdir("/dev", 0755);
	if (mount("devtmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=0755,size=4m") < 0)
		return complain("cannot mount", "/dev");
	for (size_t k = 0; k < sizeof(devices) / sizeof(*devices); k++) {
		if (mknod(devices[k].path, S_IFCHR | 0666,
			  makedev(devices[k].major, devices[k].minor)) < 0)
			return complain("cannot make", devices[k].path);
		chmod(devices[k].path, 0666);
	}
	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620") < 0 ||
	    symlink("pts/ptmx", "/dev/ptmx") < 0)
		return complain("cannot mount", "/dev/pts");
	for (int k = 0; k < 2; k++) {
		if (make_file(consoles[k]) < 0)
			return -EIO;
		if (room_place(ttys[k], consoles[k]) < 0)
			return complain("cannot place", consoles[k]);
	}
	return 0;
}

static int mount_all(const int trees[NPLACES])
{
	mkdir("/proc", 0555);
	mkdir("/sys", 0555);
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return complain("cannot mount", "/proc");
	/* The switches below are the real machine's, which a spawn must not touch. */
	if (mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, "/proc/sys", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return complain("cannot protect", "/proc/sys");
	if (mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return complain("cannot mount", "/sys");
	for (int k = 0; k < NPLACES; k++) {
		struct stat st;

		if (lstat(places[k].to, &st) < 0) {
			close(trees[k]);
			continue;
		}
		if (room_place(trees[k], places[k].to) < 0)
			return complain("cannot cover", places[k].to);
	}
	return 0;
}

static int take_console(void)
{
	int fd;

	setsid();
	fd = open("/dev/console", O_RDWR);
	if (fd < 0)
		return complain("cannot open", "/dev/console");
	ioctl(fd, TIOCSCTTY, 0);
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	return fd;
}

/* PID 1 of the room. */
static void run_init(const struct spawn_room *r, int control, int initrd)
{
	static char *const argv[] = {"/init", NULL};
	static char *const envp[] = {"HOME=/", "TERM=linux", "PATH=/sbin:/usr/sbin:/bin:/usr/bin",
				     NULL};
	int trees[NPLACES], ttys[2], console, filter;
	sigset_t none;
	char byte;

	room_die_with(0);
	if (clone_view(r->id, trees) < 0)
		_exit(125);
	ttys[0] = clone_tty(r->tty);
	ttys[1] = clone_tty(r->tty);
	if (ttys[0] < 0 || ttys[1] < 0 || new_root() < 0 || mount_all(trees) < 0)
		_exit(125);
	if (lseek(initrd, 0, SEEK_SET) < 0 || unpack(initrd) < 0)
		_exit(125);
	if (make_devices(ttys) < 0)
		_exit(125);
	(void)sethostname("(none)", 6);
	console = take_console();
	if (console < 0)
		_exit(125);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	filter = calls_install(CALLS_SPAWN);
	if (filter < 0) {
		errno = -filter;
		complain("cannot install", "the system call filter");
		_exit(125);
	}
	if (send_fd(control, filter) < 0 || recv(control, &byte, 1, 0) != 1)
		_exit(125);
	dup2(console, STDERR_FILENO);
	close_range(3, ~0u, 0);
	execve(argv[0], argv, envp);
	dprintf(STDERR_FILENO, "Failed to execute /init (error -%d)\r\n", errno);
	_exit(126);
}

void spawn_room_run(const struct spawn_room *r)
{
	enum {
		CONTROL = 3,
		INITRD = 4
	};
	int status;
	int32_t pid;

	room_die_with(r->parent);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	/* Nothing of mksim's own stays open here, least of all the FUSE connection. */
	int control = fcntl(r->control, F_DUPFD_CLOEXEC, 10);
	int initrd = r->initrd < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC)
				   : fcntl(r->initrd, F_DUPFD_CLOEXEC, 10);

	dup3(control, CONTROL, O_CLOEXEC);
	dup3(initrd, INITRD, O_CLOEXEC);
	close_range(INITRD + 1, ~0u, 0);
	if (unshare(CLONE_NEWTIME | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET |
		    CLONE_NEWPID | CLONE_NEWCGROUP) < 0) {
		complain("cannot make", "namespaces");
		_exit(125);
	}
	if (set_clock() < 0)
		_exit(125);
	pid = fork();
	if (pid == 0)
		run_init(r, CONTROL, INITRD);
	if (pid < 0 || send(CONTROL, &pid, sizeof(pid), MSG_NOSIGNAL) < 0)
		_exit(125);
	close(CONTROL);
	close(INITRD);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
