// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "harness/machine/checks.h"
#include "harness/machine/idle.h"

/* Below this share of idle time a run is refused: one busy CPU of a hundred. */
#define IDLE_ENOUGH 0.99

int idle_read(struct idle_times *t, const struct root *r, struct err *e)
{
	cleanup_free char *text = NULL;
	unsigned long long v[8] = {0};
	int rc = root_read_big(r, &text, e, "/proc/stat");

	if (rc < 0)
		return rc;
	/* user nice system idle iowait irq softirq steal, in ticks (proc(5)) */
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6], &v[7]) < 4)
		return err_set(e, EINVAL, "/proc/stat does not begin with the line \"cpu\"");
	*t = (struct idle_times){.idle = v[3] + v[4]};
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		t->total += v[i];
	return 0;
}

double idle_share(const struct idle_times *before, const struct idle_times *after)
{
	/* iowait may run backwards (proc(5)). */
	if (after->total <= before->total || after->idle < before->idle)
		return 0;
	return (double)(after->idle - before->idle) / (double)(after->total - before->total);
}

static void pause_ms(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * NSEC_PER_MSEC};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

CHECK_FN(check_idle)
{
	struct idle_times before, after;
	double idle;
	int rc;

	if (env->idle_ms <= 0)
		return check_add(out, self->name, CHECK_SKIP, NULL, "not watched");
	rc = idle_read(&before, env->root, e);
	if (rc < 0)
		return rc;
	pause_ms(env->idle_ms);
	rc = idle_read(&after, env->root, e);
	if (rc < 0)
		return rc;
	idle = idle_share(&before, &after);
	return check_add(out, self->name, idle >= IDLE_ENOUGH ? CHECK_PASS : CHECK_FAIL,
			 idle >= IDLE_ENOUGH ? NULL
					     : "find what runs here with top(1); others' work and "
					       "a measurement disturb each other",
			 "%.1f %% idle over %.1f s", 100 * idle, env->idle_ms / 1000.0);
}

/* The names of running processes that begin with one of the given words. */
static int find_processes(const struct root *r, const char *const *names, size_t nnames,
			  char *found, size_t size)
{
	cleanup_dir DIR *dir = root_opendir(r, "/proc");
	struct dirent *d;
	size_t len = 0;
	int n = 0;

	*found = '\0';
	while (dir && (d = readdir(dir))) {
		cleanup_free char *comm = NULL;
		struct err gone = ERR_INIT;

		if (!isdigit((unsigned char)d->d_name[0]) ||
		    root_read(r, &comm, &gone, "/proc/%s/comm", d->d_name) < 0)
			continue;
		for (size_t i = 0; i < nnames; i++) {
			if (strncmp(comm, names[i], strlen(names[i])) != 0)
				continue;
			n++;
			if (len < size)
				len += (size_t)snprintf(found + len, size - len, "%s%s (%s)",
							n > 1 ? ", " : "", comm, d->d_name);
			break;
		}
	}
	return n;
}

CHECK_FN(check_guests)
{
	/* What runs KVM guests; a name is cut at 15 characters (proc(5), comm). */
	static const char *const names[] = {"qemu-system",  "qemu-kvm",	       "kvm-nx",
					    "firecracker",  "cloud-hyperviso", "crosvm",
					    "VBoxHeadless", "vmware-vmx"};
	char found[400];
	int n = find_processes(env->root, names, sizeof(names) / sizeof(names[0]), found,
			       sizeof(found));

	if (n == 0)
		return check_add(out, self->name, CHECK_PASS, NULL, "none run");
	return check_add(out, self->name, CHECK_FAIL,
			 "stop them: CPUs and memory would be taken from them", "%d run: %s", n,
			 found);
}

CHECK_FN(check_daemons)
{
	static const char *const names[] = {"irqbalance",      "tuned",	   "numad",
					    "unattended-upgr", "thermald", "power-profiles-",
					    "auto-cpufreq",    "ksmtuned"};
	char found[400];
	int n = find_processes(env->root, names, sizeof(names) / sizeof(names[0]), found,
			       sizeof(found));

	if (n == 0)
		return check_add(out, self->name, CHECK_PASS, NULL,
				 "none of those known to interfere");
	return check_add(out, self->name, CHECK_WARN,
			 "stop them for the time of a run (systemctl stop NAME)", "%s", found);
}
