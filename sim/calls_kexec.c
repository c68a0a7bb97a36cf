// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/reboot.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/io.h"
#include "sim/calls_impl.h"
#include "sim/fault.h"
#include "sim/mktty.h"
#include "sim/rooms.h"

/*
 * kexec_file_load(2) and reboot(2), sections 8.1 and 9.1. Nothing in this file ever lets the
 * kernel do a call.
 */

enum {
	REBOOT_MK_BOOT = 0x4D4B4C49,
	REBOOT_MK_HALT = 0x4D4B4C48,
	REBOOT_MK_HALT_FORCE = 0x4D4B4C46,
	CMDLINE_LIMIT = 65536,
};

#define FILE_LIMIT (UINT64_C(4) << 30)

/* A descriptor of the caller as one of ours. */
static int steal_fd(const struct call *c, int fd)
{
	cleanup_close int pidfd = -1;
	pid_t process = task_process(c->req.pid);
	int ret;

	if (fd < 0 || process < 0)
		return -EBADF;
	pidfd = syscall(SYS_pidfd_open, process, 0);
	if (pidfd < 0)
		return -EBADF;
	ret = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	return ret < 0 ? -EBADF : ret;
}

/* A regular file that can be read without asking ourselves (we would wait for ever). */
static int check_file(const struct call *c, int fd, uint64_t *size)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) < 0)
		return -errno;
	if (rooms_is_ours(c->listener->calls->sim, st.stx_dev_major, st.stx_dev_minor) ||
	    !S_ISREG(st.stx_mode) || st.stx_size == 0)
		return -EINVAL;
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	*size = st.stx_size;
	return st.stx_size > FILE_LIMIT ? -EFBIG : 0;
}

static int read_kernel(const struct call *c, int fd, void **data, size_t *len)
{
	cleanup_close int file = steal_fd(c, fd);
	uint64_t size;
	int ret = file < 0 ? file : check_file(c, file, &size);

	if (ret < 0)
		return ret;
	*data = malloc(size);
	if (!*data)
		return -ENOMEM;
	for (*len = 0; *len < size;) {
		ssize_t n = pread(file, (char *)*data + *len, size - *len, (off_t)*len);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		*len += n;
	}
	return 0;
}

/* The initrd as a memory file of our own: the caller may close or change its one. */
static int copy_initrd(const struct call *c, int fd, int *copy, uint64_t *size)
{
	cleanup_close int file = steal_fd(c, fd), out = -1;
	cleanup_free char *part = NULL;
	enum {
		PART = 1 << 20
	};
	off_t at = 0;
	int ret = file < 0 ? file : check_file(c, file, size);

	if (ret < 0)
		return ret;
	out = memfd_create("initrd", MFD_CLOEXEC);
	part = malloc(PART);
	if (out < 0 || !part)
		return -ENOMEM;
	for (;;) {
		ssize_t n = pread(file, part, PART, at);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		ret = write_all(out, part, n);
		if (ret < 0)
			return ret;
		at += n;
	}
	*size = at;
	*copy = take_fd(out);
	return 0;
}

static void kill_client(const struct call *c)
{
	pid_t process = task_process(c->req.pid);

	if (process > 1)
		kill(process, SIGKILL);
}

/* kill-before and kill-after: for what the step that comes next says. */
static bool kills(const struct call *c, enum fault_kind kind, int step)
{
	struct sim *s = c->listener->calls->sim;

	if (!fault_is(fault_at(s->options.faults, step), kind))
		return false;
	log_line(&s->log, "  fault %s strikes at step %d", fault_name(kind), step);
	/* What was not done counts as a step too, or the next client would be killed at it again. */
	if (kind == FAULT_KILL_BEFORE)
		s->step++;
	kill_client(c);
	return true;
}

long call_kexec_file_load(struct call *c)
{
	struct sim *s = c->listener->calls->sim;
	const __u64 *a = c->req.data.args;
	struct load_request r = {.flags = a[4], .initrd = -1, .cmdline_len = a[2]};
	cleanup_free char *cmdline = NULL;
	cleanup_free void *kernel = NULL;
	int ret, step = s->step + 1;

	if (c->listener->spawn)
		return -EPERM;
	if (!task_capable(c->req.pid, CAP_SYS_BOOT)) {
		log_line(&s->log, "kexec_file_load without CAP_SYS_BOOT");
		return -EPERM;
	}
	if (kills(c, FAULT_KILL_BEFORE, step))
		return -EINTR;
	if (r.cmdline_len > CMDLINE_LIMIT)
		return -EINVAL;
	if (!(r.flags & LOAD_UNLOAD)) {
		if (r.cmdline_len) {
			cmdline = malloc(r.cmdline_len);
			if (!cmdline)
				return -ENOMEM;
			if (call_read(c, a[3], cmdline, r.cmdline_len) < 0)
				return -EFAULT;
			r.cmdline = cmdline;
		}
		r.kernel_errno = read_kernel(c, (int)a[0], &kernel, &r.kernel_size);
		r.kernel = r.kernel_errno ? NULL : kernel;
		if (!(r.flags & LOAD_NO_INITRD))
			r.initrd_errno = copy_initrd(c, (int)a[1], &r.initrd, &r.initrd_size);
	}
	ret = call_alive(c) ? kexec_load(s, &r) : -EINTR;
	if (r.initrd >= 0)
		close(r.initrd);
	kills(c, FAULT_KILL_AFTER, step);
	return ret;
}

long call_kexec_load(struct call *c)
{
	if (!c->listener->spawn)
		log_strict(&c->listener->calls->sim->log,
			   "kexec_load(2): an ordinary kexec of the host");
	return -EPERM;
}

static void next_reboot(struct calls *calls)
{
	struct call *c = calls->waiting;
	long result;

	if (calls->reboot_busy || !c)
		return;
	calls->waiting = c->next;
	result = call_reboot(c);
	if (result == ANSWER_LATER)
		free(c); /* it has made a copy of its own */
	else
		call_answer(c, result);
	next_reboot(calls);
}

static void on_halted(void *arg, int result)
{
	struct call *c = arg;
	struct calls *calls = c->listener->calls;

	calls->reboot_busy = false;
	log_line(&calls->sim->log, "  halt -> %s", result < 0 ? errno_name(result) : "ok");
	call_answer(c, result);
	next_reboot(calls);
}

static long halt(struct call *c, int id)
{
	struct call *kept = call_keep(c);

	if (!kept)
		return -ENOMEM;
	/* All reboot calls run one after the other, 9.1. */
	c->listener->calls->reboot_busy = true;
	instance_halt(c->listener->calls->sim, id, on_halted, kept);
	return ANSWER_LATER;
}

static long client_reboot(struct call *c, unsigned command)
{
	struct sim *s = c->listener->calls->sim;
	int id, step = s->step + 1;
	long ret;

	switch (command) {
	case REBOOT_MK_BOOT:
	case REBOOT_MK_HALT:
	case REBOOT_MK_HALT_FORCE:
		break;
	case LINUX_REBOOT_CMD_CAD_ON:
	case LINUX_REBOOT_CMD_CAD_OFF:
		return 0;
	default:
		log_strict(&s->log, "reboot(2) command 0x%x: the host itself would stop", command);
		return -EPERM;
	}
	if (!call_in_initial_pid_ns(c))
		return -EINVAL;
	if (call_read(c, c->req.data.args[3], &id, sizeof(id)) < 0) {
		sim_crash(s, "reboot(2) with a bad pointer: its lock may stay held");
		return -EFAULT;
	}
	if (kills(c, FAULT_KILL_BEFORE, step))
		return -EINTR;
	if (command == REBOOT_MK_HALT)
		ret = halt(c, id);
	else if (command == REBOOT_MK_BOOT)
		ret = instance_boot(s, id);
	else
		ret = instance_force_halt(s, id);
	kills(c, FAULT_KILL_AFTER, step);
	return ret;
}

static long spawn_reboot(struct call *c, unsigned command)
{
	static const struct {
		unsigned command;
		const char *how;
	} stops[] = {
		{LINUX_REBOOT_CMD_POWER_OFF, "powered off"},
		{LINUX_REBOOT_CMD_HALT, "halted itself"},
		{LINUX_REBOOT_CMD_RESTART, "asked for a reboot, which is a stop"},
		{LINUX_REBOOT_CMD_RESTART2, "asked for a reboot, which is a stop"},
	};

	for (size_t k = 0; k < sizeof(stops) / sizeof(*stops); k++) {
		if (stops[k].command == command) {
			spawn_process_powered_off(c->listener->spawn, stops[k].how);
			return 0;
		}
	}
	return command == LINUX_REBOOT_CMD_CAD_ON || command == LINUX_REBOOT_CMD_CAD_OFF ? 0
											 : -EINVAL;
}

static bool good_magic(unsigned magic1, unsigned magic2)
{
	return magic1 == LINUX_REBOOT_MAGIC1 &&
	       (magic2 == LINUX_REBOOT_MAGIC2 || magic2 == LINUX_REBOOT_MAGIC2A ||
		magic2 == LINUX_REBOOT_MAGIC2B || magic2 == LINUX_REBOOT_MAGIC2C);
}

long call_reboot(struct call *c)
{
	const __u64 *a = c->req.data.args;

	if (!task_capable(c->req.pid, CAP_SYS_BOOT))
		return -EPERM;
	if (!good_magic((unsigned)a[0], (unsigned)a[1]))
		return -EINVAL;
	if (c->listener->spawn)
		return spawn_reboot(c, (unsigned)a[2]);
	if (c->listener->calls->reboot_busy) {
		struct call *kept = call_keep(c), **at = &c->listener->calls->waiting;

		if (!kept)
			return -ENOMEM;
		kept->next = NULL;
		while (*at)
			at = &(*at)->next;
		*at = kept;
		return ANSWER_LATER;
	}
	return client_reboot(c, (unsigned)a[2]);
}
