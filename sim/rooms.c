// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/rooms.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/io.h"
#include "sim/buf.h"
#include "sim/calls.h"
#include "sim/image.h"

#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 0x00000004
#endif
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif

struct rooms {
	struct cpumask real;
	int *list; /* the same, as an array */
	int n;
	unsigned major, minor; /* of the FUSE file system */
	int *hidden; /* mount ids that we made in the client's room */
	int nhidden;
};

int rooms_enter(struct sim *s, struct err *e)
{
	struct rooms *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(e, ENOMEM, "no memory");
	s->rooms = r;
	if (cpumask_get_affinity(&r->real, 0, e) < 0)
		return e->code;
	r->list = calloc(cpumask_weight(&r->real), sizeof(*r->list));
	if (!r->list)
		return err_set(e, ENOMEM, "no memory");
	cpumask_for_each(cpu, &r->real)
		r->list[r->n++] = cpu;
	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(e, "cannot make a mount namespace (mksim needs root)");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(e, "cannot make mounts private");
	return 0;
}

void rooms_free(struct sim *s)
{
	if (!s->rooms)
		return;
	cpumask_free(&s->rooms->real);
	free(s->rooms->list);
	free(s->rooms->hidden);
	free(s->rooms);
	s->rooms = NULL;
}

int rooms_fold(const struct sim *s, int cpu)
{
	/* Without rooms there is nothing that runs: the model is tested alone. */
	return s->rooms ? s->rooms->list[cpu % s->rooms->n] : 0;
}

const struct cpumask *rooms_real_cpus(const struct sim *s)
{
	return &s->rooms->real;
}

bool rooms_is_ours(const struct sim *s, unsigned major, unsigned minor)
{
	return major == s->rooms->major && minor == s->rooms->minor;
}

/* Calls fn for each line of a mountinfo file. */
static int each_mount(pid_t pid, void (*fn)(void *arg, const char *line), void *arg)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char path[64], *save = NULL;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	if (read_file_at(AT_FDCWD, path, 4 << 20, &text, NULL, &e) < 0)
		return e.code;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		fn(arg, line);
	return 0;
}

static void note_device(void *arg, const char *line)
{
	struct rooms *r = arg;

	if (strstr(line, " - fuse mksim "))
		sscanf(line, "%*d %*d %u:%u", &r->major, &r->minor);
}

static void note_id(void *arg, const char *line)
{
	struct rooms *r = arg;
	int *grown = realloc(r->hidden, (r->nhidden + 1) * sizeof(*grown));

	if (!grown)
		return;
	r->hidden = grown;
	grown[r->nhidden++] = atoi(line);
}

/*
 * The room's namespace began as a copy of ours: what is there now, and was there then, has
 * lower ids than everything that furnishing added.
 */
struct split {
	struct rooms *rooms;
	int highest; /* of the copy */
};

static void note_new(void *arg, const char *line)
{
	struct split *split = arg;

	if (atoi(line) > split->highest)
		note_id(split->rooms, line);
}

void rooms_remember_mounts(struct sim *s, pid_t pid)
{
	struct split split = {s->rooms, s->rooms->nhidden ? s->rooms->hidden[0] : 0};

	s->rooms->nhidden = 0;
	each_mount(pid, note_new, &split);
}

bool rooms_hides(const struct sim *s, int mount_id)
{
	for (int k = 0; k < s->rooms->nhidden; k++)
		if (s->rooms->hidden[k] == mount_id)
			return true;
	return false;
}

void room_die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have gone before the line above. */
	if (parent && getppid() != parent)
		_exit(125);
}

static int complain(const char *what, const char *path)
{
	int ret = -errno;

	fprintf(stderr, "mksim: %s %s: %s\n", what, path, strerror(-ret));
	return ret;
}

static int clone_tree(const char *path, bool recursive)
{
	int fd = syscall(SYS_open_tree, AT_FDCWD, path,
			 OPEN_TREE_CLONE | O_CLOEXEC | AT_SYMLINK_NOFOLLOW |
				 (recursive ? AT_RECURSIVE : 0));

	return fd < 0 ? -errno : fd;
}

int room_clone(const char *path)
{
	char full[512];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", ROOMS_BASE, path);
	fd = clone_tree(full, false);
	if (fd < 0) {
		errno = -fd;
		return complain("cannot clone", full);
	}
	return fd;
}

int room_place(int tree, const char *target)
{
	/* Without MOVE_MOUNT_T_SYMLINKS a link (/proc/mounts) is covered itself. */
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0) {
		int ret = -errno;

		close(tree);
		return ret;
	}
	close(tree);
	return 0;
}

struct entry {
	char *name;
	char *link; /* target, for a symbolic link */
	int tree; /* a clone of it, otherwise */
	bool folder;
};

struct entries {
	struct entry *v;
	int n;
};

static void entries_free(struct entries *l)
{
	for (int k = 0; k < l->n; k++) {
		free(l->v[k].name);
		free(l->v[k].link);
		if (l->v[k].tree >= 0)
			close(l->v[k].tree);
	}
	free(l->v);
}

static int take_entry(struct entries *l, DIR *d, const char *folder, const char *name)
{
	char path[1024], target[1024];
	struct entry *grown = realloc(l->v, (l->n + 1) * sizeof(*grown));
	struct entry *n;
	struct stat st;
	ssize_t len;

	if (!grown)
		return -ENOMEM;
	l->v = grown;
	n = &grown[l->n];
	*n = (struct entry){.tree = -1};
	if (fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (S_ISLNK(st.st_mode)) {
		len = readlinkat(dirfd(d), name, target, sizeof(target) - 1);
		if (len < 0)
			return 0;
		target[len] = '\0';
		n->link = strdup(target);
	} else {
		n->folder = S_ISDIR(st.st_mode);
		n->tree = clone_tree(path, n->folder);
		if (n->tree < 0)
			return 0; /* it has gone meanwhile, or cannot be bound */
	}
	n->name = strdup(name);
	l->n++;
	return n->name ? 0 : -ENOMEM;
}

static int put_entry(const char *folder, struct entry *n)
{
	char path[1024];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, n->name);
	if (n->link)
		return symlink(n->link, path);
	if (n->folder) {
		if (mkdir(path, 0755) < 0)
			return -1;
	} else {
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			return -1;
		close(fd);
	}
	return room_place(take_fd(n->tree), path);
}

int room_shadow(const char *folder)
{
	cleanup(entries_free) struct entries l = {0};
	cleanup_dir DIR *d = opendir(folder);
	struct dirent *entry;

	if (!d)
		return complain("cannot read", folder);
	while ((entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (take_entry(&l, d, folder, entry->d_name) < 0)
			return complain("no memory for", folder);
	}
	if (mount("mksim", folder, "tmpfs", MS_NOSUID, "mode=0755,size=4m") < 0)
		return complain("cannot cover", folder);
	for (int k = 0; k < l.n; k++)
		put_entry(folder, &l.v[k]);
	return 0;
}

/* What of the host's view covers what. A file that the real machine lacks is left out. */
static const struct {
	const char *from, *to;
	bool make; /* in a shadowed folder: make the place first */
} places[] = {
	{"host/cpuinfo", "/proc/cpuinfo", false},
	{"host/meminfo", "/proc/meminfo", false},
	{"host/stat", "/proc/stat", false},
	{"host/iomem", "/proc/iomem", false},
	{"host/filesystems", "/proc/filesystems", false},
	{"host/version", "/proc/version", false},
	{"host/mounts", "/proc/mounts", false},
	{"host/config.gz", "/proc/config.gz", false},
	{"host/osrelease", "/proc/sys/kernel/osrelease", false},
	{"host/kexec_load_disabled", "/proc/sys/kernel/kexec_load_disabled", true},
	{"host/kexec_load_limit_reboot", "/proc/sys/kernel/kexec_load_limit_reboot", true},
	{"host/cpu", "/sys/devices/system/cpu", false},
	{"host/node", "/sys/devices/system/node", false},
	{"host/bus-cpu", "/sys/bus/cpu/devices", false},
	{"host/bus-node", "/sys/bus/node/devices", false},
	{"host/block_size_bytes", "/sys/devices/system/memory/block_size_bytes", false},
	{"host/mktty", "/dev/mktty", true},
	{"host/kmsg", "/dev/kmsg", true},
};

enum {
	NPLACES = sizeof(places) / sizeof(*places)
};

static int make_place(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return complain("cannot make", path);
	close(fd);
	return 0;
}

/*
 * The image of the running kernel, where a distribution's kernel has it, so that a client that looks for
 * it finds one: the stand-in. Left out where there is no such folder.
 */
static int place_kernel(void)
{
	static const char modules[] = "/lib/modules";
	cleanup_buf struct buf image = BUF_INIT;
	char release[128] = "", path[300];
	FILE *f = fopen("/proc/sys/kernel/osrelease", "re");
	int fd, ret;

	if (f) {
		if (!fgets(release, sizeof(release), f))
			release[0] = '\0';
		fclose(f);
	}
	release[strcspn(release, "\n")] = '\0';
	if (!*release || strchr(release, '/') || access(modules, F_OK) < 0)
		return 0;
	if (image_write_stand_in(&image) < 0 || room_shadow(modules) < 0)
		return -EIO;
	snprintf(path, sizeof(path), "%s/%s", modules, release);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return complain("cannot make", path);
	snprintf(path, sizeof(path), "%s/%s/vmlinux", modules, release);
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return complain("cannot make", path);
	ret = write_all(fd, image.data, image.len);
	close(fd);
	return ret;
}

static int furnish(void)
{
	static const char *const shadows[] = {"/proc/sys/kernel", "/dev", "/sys/fs"};
	int trees[NPLACES];

	for (int k = 0; k < NPLACES; k++) {
		trees[k] = room_clone(places[k].from);
		if (trees[k] < 0)
			return trees[k];
	}
	/* In this namespace the place under /sys/fs/fuse shall be what it was. */
	if (umount2(ROOMS_BASE, MNT_DETACH) < 0)
		return complain("cannot unmount", ROOMS_BASE);
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return complain("cannot mount", "/proc");
	for (size_t k = 0; k < sizeof(shadows) / sizeof(*shadows); k++)
		if (room_shadow(shadows[k]) < 0)
			return -EIO;
	if (mkdir("/sys/fs/multikernel", 0755) < 0)
		return complain("cannot make", "/sys/fs/multikernel");
	for (int k = 0; k < NPLACES; k++) {
		struct stat st;
		int ret;

		if (lstat(places[k].to, &st) < 0) {
			if (!places[k].make) {
				close(trees[k]);
				continue;
			}
			if (make_place(places[k].to) < 0)
				return -EIO;
		}
		ret = room_place(trees[k], places[k].to);
		if (ret < 0) {
			errno = -ret;
			return complain("cannot cover", places[k].to);
		}
	}
	return place_kernel();
}

int send_fd(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(socket, &m, 0) < 0 ? -errno : 0;
}

int receive_fd(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;
	int fd;

	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -EBADMSG;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* The client's process: filter, then its program. */
static void run_client(char **argv, int control)
{
	sigset_t none;
	char byte;
	int fd;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setenv("MKSIM", "1", 1);
	fd = calls_install(CALLS_CLIENT);
	if (fd < 0) {
		fprintf(stderr, "mksim: cannot install the system call filter: %s%s\n",
			strerror(-fd), fd == -EBUSY ? " (mksim inside of mksim?)" : "");
		_exit(125);
	}
	/* From the filter on, calls wait for mksim: it has to have the descriptor first. */
	if (send_fd(control, fd) < 0 || read(control, &byte, 1) != 1)
		_exit(125);
	close(fd);
	close(control);
	execvp(argv[0], argv);
	fprintf(stderr, "mksim: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* PID 1 of the client's room: passes signals on, reaps, and ends with the client. */
static void run_init(char **argv, int control)
{
	sigset_t wanted;
	siginfo_t info;
	pid_t client;
	int status;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGHUP);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGQUIT);
	sigprocmask(SIG_SETMASK, &wanted, NULL);
	client = fork();
	if (client < 0)
		_exit(125);
	if (client == 0)
		run_client(argv, control);
	close(control);
	for (;;) {
		pid_t pid;

		if (sigwaitinfo(&wanted, &info) < 0)
			continue;
		/* The terminal sends its signals to the client itself. */
		if (info.si_signo == SIGTERM || info.si_signo == SIGHUP)
			kill(client, info.si_signo);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid != client)
				continue;
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
		}
	}
}

pid_t rooms_start_client(struct sim *s, char **argv, int *control, struct err *e)
{
	int pair[2];
	pid_t parent = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "cannot make a socket pair");
	each_mount(parent, note_device, s->rooms);
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return err_sys(e, "cannot make a PID namespace");
	}
	if (pid == 0) {
		/* Seen from inside its parent has number 0. */
		room_die_with(0);
		/* Nothing of mksim's own stays open here, least of all the FUSE connection. */
		dup2(pair[1], 3);
		close_range(4, ~0u, 0);
		fcntl(3, F_SETFD, FD_CLOEXEC);
		if (furnish() < 0)
			_exit(125);
		run_init(argv, 3);
	}
	close(pair[1]);
	*control = pair[0];
	return pid;
}
