// SPDX-License-Identifier: GPL-2.0-or-later
/* Death, panic, hang at boot and silent hang, told apart (docs/mklinux-abi.md 9.5, 9.6). */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "harness/mklinux/own.h"

/*
 * A kernel that has not said a word for so long after its boot hangs: its agent says HELLO every
 * second. Long, because a rehearsal may emulate it.
 */
#define BOOT_SILENCE_NS (240 * NSEC_PER_SEC)

/* The panic's own line in a console's last lines, or NULL. */
static const char *panic_line(const char *tail, size_t *len)
{
	static const char *const marks[] = {"Kernel panic - not syncing",
					    "BUG:", "Oops:", "general protection fault"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		const char *at = strstr(tail, marks[i]);

		if (at) {
			*len = strcspn(at, "\n");
			return at;
		}
	}
	return NULL;
}

static void stopped(const char *name, const char *status, const char *tail, char *why, size_t size)
{
	size_t len = 0, n = strlen(tail);
	const char *panic = panic_line(tail, &len);

	if (panic)
		snprintf(why, size, "instance \"%s\" panicked: %.*s", name, (int)len, panic);
	else
		snprintf(why, size,
			 "instance \"%s\" stopped by itself (its status is \"%s\"; it powered off, "
			 "was halted, "
			 "or panicked unheard)%s%s",
			 name, *status ? status : "gone", n ? "; its last words: " : "",
			 n > 600 ? tail + n - 600 : tail);
}

enum kernel_state mk_state(struct backend *b, int partition, char *why, size_t size)
{
	struct mk_own *o = mk_own(b);
	struct mk_live *l = partition < o->kernels.n && o->live ? &o->live[partition] : NULL;
	char status[MK_STATUS_MAX], tail[4200] = "";
	const char *name, *panic;
	size_t len;
	bool spoke;

	why[0] = '\0';
	if (!l)
		return KERNEL_DOWN;
	if (o->kernels.v[partition].partition->host)
		return local_state(&l->agent, why, size);
	if (!l->booted_ns)
		return KERNEL_DOWN;
	name = o->kernels.v[partition].name;
	mk_status(&o->host, name, status);
	if (l->console)
		mk_console_tail(l->console, tail, sizeof(tail));
	while ((len = strlen(tail)) && tail[len - 1] == '\n')
		tail[len - 1] = '\0';
	if (strcmp(status, "active") != 0) {
		stopped(name, status, tail, why, size);
		return KERNEL_DEAD;
	}
	/* A panic whose message to the host was lost leaves the instance "active" for ever. */
	panic = panic_line(tail, &len);
	if (panic && strncmp(panic, "Kernel panic", 12) == 0) {
		snprintf(why, size, "instance \"%s\" panicked, and the host was not told: %.*s",
			 name, (int)len, panic);
		return KERNEL_DEAD;
	}
	spoke = l->console && mk_console_spoke(l->console);
	if (spoke)
		return KERNEL_RUNNING;
	if (clock_ns() - l->booted_ns < BOOT_SILENCE_NS)
		return KERNEL_STARTING;
	snprintf(why,
		 size, "instance \"%s\" hangs at boot: it is \"active\", and its console has said nothing for %d s",
		 name, (int)(BOOT_SILENCE_NS / NSEC_PER_SEC));
	return KERNEL_DEAD;
}
