/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_CALLS_IMPL_H
#define MKSPLIT_SIM_CALLS_IMPL_H

#include <linux/seccomp.h>
#include <stdbool.h>

#include "common/cpumask.h"
#include "sim/calls.h"
#include "sim/view.h"

/* Between the files calls*.c only. */

struct calls {
	struct sim *sim;
	struct listener *listeners;
	struct pinned *pinned;
	int pinned_new, pinned_kept; /* since, and at, the last look for ended tasks */
	struct call *waiting; /* reboot calls behind one that is under way */
	bool reboot_busy;
	char client_pid_ns[64];
};

/* One filter's end. */
struct listener {
	struct listener *next;
	struct calls *calls;
	int fd;
	struct spawn *spawn; /* NULL: the client's */
};

/* A call that is being answered. */
struct call {
	struct call *next;
	struct listener *listener;
	struct seccomp_notif req;
};

/* What a handler says instead of a result. */
enum {
	ANSWER_LATER = 1 << 20, /* it has kept the call */
	ANSWER_CONTINUE /* the kernel shall do it */
};

/* Returns a result >= 0, a negative errno, or one of the above. */
typedef long (*call_fn)(struct call *c);

long call_kexec_file_load(struct call *c);
long call_kexec_load(struct call *c);
long call_reboot(struct call *c);
long call_mount(struct call *c);
long call_fsopen(struct call *c);
long call_statfs(struct call *c);
long call_fstatfs(struct call *c);
long call_setaffinity(struct call *c);
long call_getaffinity(struct call *c);
long call_getcpu(struct call *c);
long call_uname(struct call *c);

/* A copy of the call, to be answered with call_answer(), which frees it. NULL: no memory. */
struct call *call_keep(struct call *c);
void call_answer(struct call *kept, long result);

/* The caller's memory. 0 or -EFAULT; a string longer than size - 1 gives -ENAMETOOLONG. */
int call_read(const struct call *c, uint64_t address, void *data, size_t len);
int call_write(const struct call *c, uint64_t address, const void *data, size_t len);
int call_read_string(const struct call *c, uint64_t address, char *text, size_t size);

/* Whether the caller still waits: before anything is done for it. */
bool call_alive(const struct call *c);
struct view call_view(const struct call *c);
/* Whether the caller is in the PID namespace that counts as the initial one. */
bool call_in_initial_pid_ns(const struct call *c);
pid_t task_process(pid_t tid);
/* The link below /proc/TID/ns. */
int task_ns(pid_t tid, const char *ns, char *text, size_t size);

#endif
