// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "common/io.h"
#include "sim/calls_impl.h"
#include "sim/fault.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/*
 * quiet calls come all the time and are not logged. Those marked always are answered here
 * on every architecture that this kernel can run: nothing may slip through.
 */
static const struct {
	int nr;
	const char *name;
	call_fn fn;
	bool client_only, quiet, always;
} handlers[] = {
	{SCMP_SYS(kexec_file_load), "kexec_file_load", call_kexec_file_load, false, false, true},
	{SCMP_SYS(kexec_load), "kexec_load", call_kexec_load, false, false, true},
	{SCMP_SYS(reboot), "reboot", call_reboot, false, false, true},
	{SCMP_SYS(mount), "mount", call_mount, false, true, false},
	{SCMP_SYS(fsopen), "fsopen", call_fsopen, true, true, false},
	{SCMP_SYS(statfs), "statfs", call_statfs, true, true, false},
	{SCMP_SYS(fstatfs), "fstatfs", call_fstatfs, true, true, false},
	{SCMP_SYS(sched_setaffinity), "sched_setaffinity", call_setaffinity, false, true, false},
	{SCMP_SYS(sched_getaffinity), "sched_getaffinity", call_getaffinity, false, true, false},
	{SCMP_SYS(getcpu), "getcpu", call_getcpu, false, true, false},
	{SCMP_SYS(uname), "uname", call_uname, false, true, false},
};

enum {
	NHANDLERS = sizeof(handlers) / sizeof(*handlers)
};

static int add_rules(scmp_filter_ctx native, scmp_filter_ctx foreign, enum calls_room room)
{
	for (int k = 0; k < NHANDLERS; k++) {
		int ret = 0;

		if (!handlers[k].client_only || room == CALLS_CLIENT)
			ret = seccomp_rule_add(native, SCMP_ACT_NOTIFY, handlers[k].nr, 0);
		if (ret < 0)
			return ret;
		/* 32-bit callers get no simulated machine, but their kexec is stopped too. */
		if (foreign && handlers[k].always) {
			ret = seccomp_rule_add(foreign, SCMP_ACT_ERRNO(EPERM), handlers[k].nr, 0);
			if (ret < 0 && ret != -EDOM && ret != -EINVAL)
				return ret;
		}
	}
	return 0;
}

/* The filter as BPF, through libseccomp. A second context carries the foreign ABIs' rules. */
static int build(enum calls_room room, struct sock_fprog *program)
{
	scmp_filter_ctx native = seccomp_init(SCMP_ACT_ALLOW);
	scmp_filter_ctx foreign = seccomp_init(SCMP_ACT_ALLOW);
	int fd = memfd_create("filter", MFD_CLOEXEC), ret = -ENOMEM;
	off_t size;

	if (native && foreign && fd >= 0) {
		bool merged = false;

		ret = 0;
		/* A call number of an ABI that is unknown here is no call of ours. */
		seccomp_attr_set(native, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
		seccomp_attr_set(foreign, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
		if (seccomp_arch_native() == SCMP_ARCH_X86_64) {
			seccomp_arch_remove(foreign, SCMP_ARCH_NATIVE);
			ret = seccomp_arch_add(foreign, SCMP_ARCH_X86);
			if (ret == 0)
				ret = seccomp_arch_add(foreign, SCMP_ARCH_X32);
		} else {
			seccomp_release(foreign);
			foreign = NULL;
		}
		if (ret == 0)
			ret = add_rules(native, foreign, room);
		if (ret == 0 && foreign) {
			ret = seccomp_merge(native, foreign);
			merged = ret == 0;
		}
		if (merged)
			foreign = NULL;
		if (ret == 0)
			ret = seccomp_export_bpf(native, fd);
	}
	if (native)
		seccomp_release(native);
	if (foreign)
		seccomp_release(foreign);
	size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	if (ret == 0 && size <= 0)
		ret = -EIO;
	if (ret == 0) {
		program->filter = malloc(size);
		program->len = size / sizeof(struct sock_filter);
		if (!program->filter || pread(fd, program->filter, size, 0) != size)
			ret = -EIO;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

int calls_install(enum calls_room room)
{
	struct sock_fprog program = {0};
	int ret = build(room, &program);
	long fd;

	if (ret < 0)
		return ret;
	/* A signal must not make a boot or a load happen twice. */
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		     SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		     &program);
	if (fd < 0 && errno == EINVAL) /* before Linux 5.19 */
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			     &program);
	ret = fd < 0 ? -errno : (int)fd;
	free(program.filter);
	return ret;
}

struct call *call_keep(struct call *c)
{
	struct call *kept = malloc(sizeof(*kept));

	if (kept)
		*kept = *c;
	return kept;
}

static void respond(const struct call *c, long result)
{
	struct seccomp_notif_resp resp = {.id = c->req.id};

	if (result == ANSWER_CONTINUE)
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0)
		resp.error = (int)result;
	else
		resp.val = result;
	/* ENOENT: the caller was killed meanwhile. */
	(void)ioctl(c->listener->fd, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

void call_answer(struct call *kept, long result)
{
	/* The listener may be gone: then so is the caller. */
	for (struct listener *l = kept->listener->calls->listeners; l; l = l->next)
		if (l == kept->listener)
			respond(kept, result);
	free(kept);
}

bool call_alive(const struct call *c)
{
	uint64_t id = c->req.id;

	return ioctl(c->listener->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int call_read(const struct call *c, uint64_t address, void *data, size_t len)
{
	struct iovec local = {data, len}, remote = {(void *)(uintptr_t)address, len};

	if (process_vm_readv(c->req.pid, &local, 1, &remote, 1, 0) != (ssize_t)len || !call_alive(c))
		return -EFAULT;
	return 0;
}

int call_write(const struct call *c, uint64_t address, const void *data, size_t len)
{
	struct iovec local = {(void *)data, len}, remote = {(void *)(uintptr_t)address, len};

	if (!call_alive(c) || process_vm_writev(c->req.pid, &local, 1, &remote, 1, 0) != (ssize_t)len)
		return -EFAULT;
	return 0;
}

int call_read_string(const struct call *c, uint64_t address, char *text, size_t size)
{
	for (size_t n = 0; n < size; n++) {
		/* Up to the end of its page at once: the next one may not be there. */
		size_t part = SIM_PAGE - (address + n) % SIM_PAGE;

		if (part > size - n)
			part = size - n;
		if (call_read(c, address + n, text + n, part) < 0)
			return -EFAULT;
		if (memchr(text + n, '\0', part))
			return 0;
		n += part - 1;
	}
	return -ENAMETOOLONG;
}

struct view call_view(const struct call *c)
{
	struct view w = {.sim = c->listener->calls->sim};

	if (c->listener->spawn)
		w.instance = spawn_instance(c->listener->spawn);
	return w;
}

int task_ns(pid_t tid, const char *ns, char *text, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", tid, ns);
	n = readlink(path, text, size - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

bool call_in_initial_pid_ns(const struct call *c)
{
	char ns[64];

	return task_ns(c->req.pid, "pid", ns, sizeof(ns)) == 0 &&
	       strcmp(ns, c->listener->calls->client_pid_ns) == 0;
}

pid_t task_process(pid_t tid)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	const char *line;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (read_file_at(-1, path, 65536, &text, NULL, &e) < 0)
		return -1;
	line = strstr(text, "\nTgid:");
	return line ? atoi(line + 6) : -1;
}

void calls_set_client(struct sim *s, pid_t pid)
{
	task_ns(pid, "pid", s->calls->client_pid_ns, sizeof(s->calls->client_pid_ns));
}

static void on_call(void *arg, int fd, unsigned events)
{
	struct listener *l = arg;
	struct call c = {.listener = l};
	long result = -ENOSYS;

	if (!(events & POLLIN)) {
		/* Nobody with this filter is left. */
		loop_unwatch(l->calls->sim->loop, fd);
		return;
	}
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &c.req) < 0)
		return;
	for (int k = 0; k < NHANDLERS; k++) {
		if (handlers[k].nr != c.req.data.nr)
			continue;
		result = handlers[k].fn(&c);
		/* Whatever a handler said: these never reach the kernel. */
		if (handlers[k].always && result == ANSWER_CONTINUE)
			result = -EPERM;
		if (!handlers[k].quiet && result != ANSWER_LATER)
			log_line(&l->calls->sim->log, "  %s -> %s", handlers[k].name,
				 result < 0 ? errno_name((int)result) : "ok");
	}
	if (result != ANSWER_LATER)
		respond(&c, result);
}

int calls_watch(struct sim *s, int fd, struct spawn *spawn)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	*l = (struct listener){s->calls->listeners, s->calls, fd, spawn};
	s->calls->listeners = l;
	return loop_watch(s->loop, fd, POLLIN, on_call, l);
}

void calls_unwatch(struct sim *s, struct spawn *spawn)
{
	for (struct listener **at = &s->calls->listeners; *at;) {
		struct listener *l = *at;

		if (l->spawn != spawn) {
			at = &l->next;
			continue;
		}
		loop_unwatch(s->loop, l->fd);
		close(l->fd);
		*at = l->next;
		free(l);
	}
}
