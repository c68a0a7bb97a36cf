// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *where, *what;
	int ms;
} kinds[FAULT_KINDS] = {
	[FAULT_ERRNO] = {"EXXX", "any step", "fails with that errno, nothing is done", 0},
	[FAULT_OVERLAY_FAIL] = {"overlay-fail", "overlay", "status is failed, nothing is done", 0},
	[FAULT_APPLIED_WITHOUT_CPUS] =
		{"applied-without-cpus", "overlay",
		 "applied, but a created instance has no CPU and no CPU moves", 0},
	[FAULT_APPLIED_BUT_ERROR] = {"applied-but-error", "baseline, overlay",
				     "everything is done, but it reports a failure", 0},
	[FAULT_BLOB_CUT] = {"blob-cut", "overlay", "only half of the blob is taken", 0},
	[FAULT_TX_LOST] = {"tx-lost", "overlay", "done, but no transaction appears", 0},
	[FAULT_CONSOLE_DROP] = {"console-drop", "boot", "the console loses bytes all the time", 0},
	[FAULT_CONSOLE_PRINTK] = {"console-printk", "boot",
				  "kernel messages stand inside of console lines", 0},
	[FAULT_CONSOLE_DEAD] = {"console-dead", "boot", "the console falls silent after a while",
				3000},
	[FAULT_BOOT_HANG] = {"boot-hang", "boot", "active, but nothing ever runs", 0},
	[FAULT_PANIC] = {"panic", "boot", "the kernel panics after a while", 3000},
	[FAULT_SILENT_HANG] = {"silent-hang", "boot", "everything freezes after a while", 3000},
	[FAULT_HALT_TIMEOUT] = {"halt-timeout", "halt", "ETIMEDOUT after 30 s, still active", 30000},
	[FAULT_FORCE_HALT_LATE] = {"force-halt-late", "force-halt",
				   "the CPUs stop a while after the success", 3000},
	[FAULT_POOL_ENOMEM] = {"pool-enomem", "baseline, overlay",
			       "the last chunk cannot be allocated", 0},
	[FAULT_POOL_BUSY] = {"pool-busy", "baseline, overlay",
			     "a CPU cannot be taken, a chunk cannot be given back", 0},
	[FAULT_MOVE_TIMEOUT] = {"move-timeout", "overlay",
				"a running kernel acknowledges a CPU only after the time-out", 10000},
	[FAULT_CPU_LATE] = {"cpu-late", "overlay", "a running kernel sees new CPUs a while later",
			    3000},
	[FAULT_LOAD_DANGLING] = {"load-dangling", "load", "ENOEXEC, and the instance is poisoned", 0},
	[FAULT_STATUS_STALE] = {"status-stale", "any step of an instance",
				"its status file shows the old state for a while", 3000},
	[FAULT_KILL_BEFORE] = {"kill-before", "any step", "SIGKILL to the client, nothing is done", 0},
	[FAULT_KILL_AFTER] = {"kill-after", "any step", "SIGKILL to the client when it is done", 0},
};

static const struct {
	int value;
	const char *name;
} errnos[] = {
#define E(x)          \
	{             \
		x, #x \
	}
	E(EPERM),     E(ENOENT), E(EINTR),	  E(EIO),      E(E2BIG),      E(ENOEXEC),
	E(EBADF),     E(EAGAIN), E(ENOMEM),	  E(EACCES),   E(EFAULT),     E(EBUSY),
	E(EEXIST),    E(ENODEV), E(EINVAL),	  E(ETXTBSY),  E(EFBIG),      E(ENOSPC),
	E(ERANGE),    E(ENOSYS), E(ENODATA),	  E(EBADMSG),  E(EOPNOTSUPP), E(EADDRNOTAVAIL),
	E(ETIMEDOUT), E(ENOKEY), E(EKEYREJECTED), E(ENOTCONN),
#undef E
};

const char *errno_name(int error)
{
	static char unknown[32];

	for (size_t i = 0; i < sizeof(errnos) / sizeof(*errnos); i++)
		if (errnos[i].value == abs(error))
			return errnos[i].name;
	snprintf(unknown, sizeof(unknown), "errno %d", abs(error));
	return unknown;
}

const char *fault_name(enum fault_kind kind)
{
	return kinds[kind].name;
}

static bool find_kind(const char *name, size_t len, struct fault *f)
{
	for (size_t i = 0; i < sizeof(errnos) / sizeof(*errnos); i++) {
		if (strlen(errnos[i].name) == len && strncmp(errnos[i].name, name, len) == 0) {
			f->kind = FAULT_ERRNO;
			f->error = -errnos[i].value;
			return true;
		}
	}
	for (int k = FAULT_ERRNO + 1; k < FAULT_KINDS; k++) {
		if (strlen(kinds[k].name) == len && strncmp(kinds[k].name, name, len) == 0) {
			f->kind = k;
			f->ms = kinds[k].ms;
			return true;
		}
	}
	return false;
}

int fault_parse(struct fault_list *l, const char *text, struct err *e)
{
	const char *at = strchr(text, '@');
	struct fault f = {0}, *grown;
	double seconds;
	char *end;

	if (!at || !find_kind(text, at - text, &f))
		return err_usage(e, "--fault %s: not NAME@STEP with a known name", text);
	f.step = strtol(at + 1, &end, 10);
	if (end == at + 1 || f.step < 1 || (*end && *end != '+'))
		return err_usage(e, "--fault %s: not a step number", text);
	if (*end == '+') {
		const char *number = end + 1;

		seconds = strtod(number, &end);
		if (end == number || *end || !(seconds >= 0 && seconds < 86400))
			return err_usage(e, "--fault %s: not a number of seconds", text);
		f.ms = (int)(seconds * 1000);
	}
	grown = realloc(l->v, (l->n + 1) * sizeof(*grown));
	if (!grown)
		return err_set(e, ENOMEM, "no memory");
	l->v = grown;
	l->v[l->n++] = f;
	return 0;
}

void fault_list_free(struct fault_list *l)
{
	free(l->v);
	*l = (struct fault_list){0};
}

const struct fault *fault_at(struct fault_list *l, int step)
{
	for (int i = 0; l && i < l->n; i++) {
		if (l->v[i].step == step) {
			l->v[i].struck = true;
			return &l->v[i];
		}
	}
	return NULL;
}

void fault_print_table(struct buf *out)
{
	for (int k = 0; k < FAULT_KINDS; k++)
		buf_printf(out, "%-21s %-24s %s\n", kinds[k].name, kinds[k].where, kinds[k].what);
}
