// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/calls.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/explain.h"

/* Nothing tells of a change of state: it is polled (9.6). */
#define POLL_US 100000
/* A kexec lock is held for the time of a load or boot, which is well below a second each. */
#define BUSY_TRIES 10
/* Between a forced halt, which waits for nothing, and the next use of the instance (9.7). */
#define FORCE_REST_US 1000000

struct call {
	enum mk_call name;
	long (*make)(const struct call *c);
	int id;
	int image_fd, initrd_fd;
	const char *cmdline;
	unsigned long command;
};

static long make_load(const struct call *c)
{
	unsigned long flags = MK_LOAD_MULTIKERNEL | (unsigned long)c->id << MK_LOAD_ID_SHIFT;

	if (c->initrd_fd < 0)
		flags |= MK_LOAD_NO_INITRD;
	return syscall(MK_NR_KEXEC_FILE_LOAD, c->image_fd, c->initrd_fd, strlen(c->cmdline) + 1,
		       c->cmdline, flags);
}

static long make_unload(const struct call *c)
{
	unsigned long flags = MK_LOAD_MULTIKERNEL | (unsigned long)c->id << MK_LOAD_ID_SHIFT;

	return syscall(MK_NR_KEXEC_FILE_LOAD, -1, -1, 0UL, NULL, flags | MK_LOAD_UNLOAD);
}

static long make_reboot(const struct call *c)
{
	/* On the stack of a live function: a bad pointer would wedge reboot(2) for ever (9.1). */
	struct {
		int mk_id;
	} arg = {c->id};

	return syscall(MK_NR_REBOOT, MK_REBOOT_MAGIC1, MK_REBOOT_MAGIC2, c->command, &arg);
}

/* Returns 0, or a negative errno with its sentence in e. */
static int make(const struct mk_host *h, const struct call *c, struct err *e)
{
	int rc = 0;

	if (!h->root->real || !mk_is_mounted(h->root))
		return err_set(e, ENODEV, "this is no multikernel host: %s is not called",
			       mk_call_name(c->name));
	for (int i = 0; i < BUSY_TRIES; i++) {
		int64_t from = clock_ns();

		rc = c->make(c) < 0 ? -errno : 0;
		mk_say(h, "%s, id %d: %s in %lld ms", mk_call_name(c->name), c->id,
		       rc ? mk_errno_name(rc) : "0",
		       (long long)((clock_ns() - from) / NSEC_PER_MSEC));
		if (rc != -EBUSY)
			break;
		usleep(POLL_US * (unsigned)(i + 1));
	}
	if (rc)
		mk_err(e, c->name, rc);
	return rc;
}

static int need_status(const struct mk_host *h, const char *name, const char *wanted,
		       const char *what, struct err *e)
{
	char status[MK_STATUS_MAX];

	mk_status(h, name, status);
	if (strcmp(status, wanted) != 0)
		return err_set(e, EBUSY, "instance \"%s\" is \"%s\", not \"%s\": it is not %s",
			       name, status[0] ? status : "gone", wanted, what);
	return 0;
}

int mk_wait_status(const struct mk_host *h, const char *name, const char *status, int timeout_ms,
		   struct err *e)
{
	int64_t end = clock_ns() + timeout_ms * NSEC_PER_MSEC;
	char now[MK_STATUS_MAX];

	for (;;) {
		mk_status(h, name, now);
		if (strcmp(now, status) == 0)
			return 0;
		if (clock_ns() >= end)
			return err_set(e, ETIMEDOUT, "instance \"%s\" is \"%s\", not \"%s\"", name,
				       now[0] ? now : "gone", status);
		usleep(POLL_US);
	}
}

int mk_load(const struct mk_host *h, const char *name, int id, int image_fd, int initrd_fd,
	    const char *cmdline, struct err *e)
{
	struct call c = {.name = MK_CALL_LOAD,
			 .make = make_load,
			 .id = id,
			 .image_fd = image_fd,
			 .initrd_fd = initrd_fd,
			 .cmdline = cmdline};
	int rc = need_status(h, name, "ready", "loaded again", e);

	if (rc)
		return rc;
	if (strlen(cmdline) >= MK_CMDLINE_MAX)
		return err_set(e, E2BIG, "a kernel command line of %zu bytes (at most %d)",
			       strlen(cmdline), MK_CMDLINE_MAX - 1);
	rc = make(h, &c, e);
	return rc ? rc : mk_wait_status(h, name, "loaded", 2000, e);
}

int mk_unload(const struct mk_host *h, const char *name, int id, struct err *e)
{
	struct call c = {.name = MK_CALL_UNLOAD, .make = make_unload, .id = id};
	int rc = need_status(h, name, "loaded", "unloaded", e);

	if (rc)
		return rc;
	rc = make(h, &c, e);
	return rc ? rc : mk_wait_status(h, name, "ready", 2000, e);
}

int mk_boot(const struct mk_host *h, const char *name, int id, struct err *e)
{
	struct call c = {
		.name = MK_CALL_BOOT, .make = make_reboot, .id = id, .command = MK_REBOOT_BOOT};
	int rc = need_status(h, name, "loaded", "booted", e);

	return rc ? rc : make(h, &c, e);
}

static bool is_active(const struct mk_host *h, const char *name)
{
	char status[MK_STATUS_MAX];

	mk_status(h, name, status);
	return strcmp(status, "active") == 0;
}

int mk_stop(const struct mk_host *h, const char *name, int id, int patience_ms, struct err *e)
{
	struct call halt = {
		.name = MK_CALL_HALT, .make = make_reboot, .id = id, .command = MK_REBOOT_HALT};
	struct call force = {.name = MK_CALL_FORCE_HALT,
			     .make = make_reboot,
			     .id = id,
			     .command = MK_REBOOT_HALT_FORCE};
	int64_t end = clock_ns() + patience_ms * NSEC_PER_MSEC;
	struct err first = ERR_INIT;
	int rc;

	while (is_active(h, name) && clock_ns() < end)
		usleep(POLL_US);
	if (!is_active(h, name))
		return 0;
	if (make(h, &halt, &first) == 0 && !is_active(h, name))
		return 0;
	if (!is_active(h, name)) /* went down by itself meanwhile */
		return 0;
	mk_say(h, "%s", first.text);
	rc = make(h, &force, e);
	if (rc && is_active(h, name))
		return rc;
	usleep(FORCE_REST_US);
	if (is_active(h, name))
		return err_set(e, EBUSY, "instance \"%s\" does not stop, not even by force", name);
	*e = ERR_INIT;
	return 0;
}
