// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/machine/tuning.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/file_value.h"

#define CPU_DIR "/sys/devices/system/cpu"

struct tuning {
	int dma_latency; /* the kernel keeps the request as long as the file is open */
};

struct job {
	struct tuning *t;
	const struct root *r;
	const struct topology *topology;
	const struct cpumask *measured;
	struct journal *j;
	void (*warn)(void *arg, const char *line);
	void *arg;
	struct err *e;
};

static void warn(struct job *job, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct job *job, const char *fmt, ...)
{
	char line[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (job->warn)
		job->warn(job->arg, line);
}

/* One switch: in the journal first, then written, then read back. */
enum outcome {
	DONE,
	REFUSED /* by the kernel: why is in job->e's twin */
};

static int set_value(struct job *job, const char *path, const char *value, struct err *why)
{
	cleanup_free char *before = NULL, *after = NULL;
	json_t *entry;
	int number, rc;

	if (file_value_read(job->r, path, &before, why) < 0)
		return REFUSED;
	if (strcmp(before, value) == 0)
		return DONE;
	entry = file_value_entry(job->r, path, before, value);
	if (!entry)
		return err_set(job->e, ENOMEM, "no memory for the journal");
	number = journal_before(job->j, FILE_VALUE_KIND, entry, job->e);
	if (number < 0)
		return number;
	if (root_write(job->r, value, why, "%s", path) == 0)
		return DONE;
	/* A refused write can still have had an effect: undo what there is to undo. */
	if (file_value_read(job->r, path, &after, why) == 0 && strcmp(after, before) != 0)
		return REFUSED;
	rc = journal_gone(job->j, number, job->e);
	return rc < 0 ? rc : REFUSED;
}

/* The same, with a warning when the kernel refuses. what: "turbo" */
static int set_or_warn(struct job *job, const char *what, const char *path, const char *value)
{
	struct err why = ERR_INIT;
	int rc = set_value(job, path, value, &why);

	if (rc == REFUSED) {
		if (why.code == -ENOENT)
			warn(job, "%s cannot be set: this kernel has no %s", what, path);
		else
			warn(job, "%s cannot be set: %s", what, why.text);
		return 0;
	}
	return rc;
}

static int tune_governor(struct job *job, const json_t *v)
{
	const char *governor = json_string_value(v);
	int without = 0;

	for (int i = 0; i < job->topology->ncpus; i++) {
		int cpu = job->topology->cpus[i].cpu, rc;
		char path[100];

		snprintf(path, sizeof(path), CPU_DIR "/cpu%d/cpufreq/scaling_governor", cpu);
		if (!root_exists(job->r, "%s", path)) {
			without++;
			continue;
		}
		rc = set_or_warn(job, "the frequency governor", path, governor);
		if (rc < 0)
			return rc;
	}
	if (without == job->topology->ncpus)
		warn(job, "the frequency governor cannot be set: this kernel does not control CPU "
			  "frequency");
	else if (without)
		warn(job, "%d of %d CPUs have no frequency governor", without, job->topology->ncpus);
	return 0;
}

static int tune_boost(struct job *job, const json_t *v)
{
	static const char no_turbo[] = CPU_DIR "/intel_pstate/no_turbo";
	static const char boost[] = CPU_DIR "/cpufreq/boost";
	bool on = json_is_true(v);

	if (root_exists(job->r, no_turbo))
		return set_or_warn(job, "turbo", no_turbo, on ? "0" : "1");
	if (root_exists(job->r, boost))
		return set_or_warn(job, "turbo", boost, on ? "1" : "0");
	warn(job, "turbo cannot be set: there is no switch for it");
	return 0;
}

/* Documentation/power/pm_qos_interface.rst of the kernel: a binary 32-bit number, us. */
static int tune_dma_latency(struct job *job, const json_t *v)
{
	int32_t us = (int32_t)json_integer_value(v);
	int fd = root_open_file(job->r, O_WRONLY, "/dev/cpu_dma_latency");

	if (fd < 0 || write(fd, &us, sizeof(us)) != sizeof(us)) {
		warn(job, "the wake-up latency cannot be limited: /dev/cpu_dma_latency: %s",
		     strerror(errno));
		if (fd >= 0)
			close(fd);
		return 0;
	}
	job->t->dma_latency = fd;
	return 0;
}

static int tune_numa_balancing(struct job *job, const json_t *v)
{
	if (job->topology->nnodes <= 1)
		return 0;
	return set_or_warn(job, "NUMA balancing", "/proc/sys/kernel/numa_balancing",
			   json_is_true(v) ? "1" : "0");
}

static int tune_thp(struct job *job, const json_t *v)
{
	return set_or_warn(job, "transparent huge pages",
			   "/sys/kernel/mm/transparent_hugepage/enabled", json_string_value(v));
}

static int tune_watchdog(struct job *job, const json_t *v)
{
	return set_or_warn(job, "the watchdog", "/proc/sys/kernel/watchdog",
			   json_is_true(v) ? "1" : "0");
}

/* Where an interrupt may go: its own CPUs without the measured ones, else all other CPUs. */
static char *elsewhere(const struct job *job, const struct cpumask *now)
{
	cleanup_cpumask struct cpumask rest = CPUMASK_INIT;

	if (cpumask_copy(&rest, now) < 0)
		return NULL;
	cpumask_and(&rest, &job->topology->online);
	cpumask_andnot(&rest, job->measured);
	if (cpumask_weight(&rest) == 0) {
		if (cpumask_copy(&rest, &job->topology->online) < 0)
			return NULL;
		cpumask_andnot(&rest, job->measured);
	}
	return cpumask_format(&rest);
}

static int tune_irqs(struct job *job, const json_t *v)
{
	cleanup_dir DIR *dir = root_opendir(job->r, "/proc/irq");
	int stuck = 0;
	struct dirent *d;
	struct err why = ERR_INIT;

	if (cpumask_subset(&job->topology->online, job->measured)) {
		warn(job, "interrupts cannot be moved: every CPU carries tasks");
		return 0;
	}
	while (dir && (d = readdir(dir))) {
		cleanup_cpumask struct cpumask now = CPUMASK_INIT;
		cleanup_free char *list = NULL;
		struct err absent = ERR_INIT;
		char path[PATH_MAX];
		int rc;

		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/irq/%s/smp_affinity_list", d->d_name);
		if (root_read_cpulist(job->r, &now, &absent, "%s", path) < 0 ||
		    !cpumask_intersects(&now, job->measured))
			continue;
		list = elsewhere(job, &now);
		if (!list)
			return err_set(job->e, ENOMEM, "no memory for an interrupt's CPUs");
		rc = set_value(job, path, list, &why);
		if (rc < 0)
			return rc;
		stuck += rc == REFUSED;
	}
	/* Per-CPU and driver-managed interrupts refuse with EIO. */
	if (stuck)
		warn(job, "%d interrupt%s cannot be moved off the CPUs that carry tasks (%s)",
		     stuck, stuck == 1 ? "" : "s", why.text);
	return 0;
}

static const struct setting {
	const char *key;
	int (*apply)(struct job *job, const json_t *v);
} settings[] = {
	{"governor", tune_governor},
	{"boost", tune_boost},
	{"dma_latency", tune_dma_latency},
	{"numa_balancing", tune_numa_balancing},
	{"thp", tune_thp},
	{"watchdog", tune_watchdog},
	{"irqs", tune_irqs},
};

enum {
	NSETTINGS = sizeof(settings) / sizeof(settings[0])
};

int tuning_apply(struct tuning **out, const json_t *wish, const struct root *r,
		 const struct topology *topology, const struct cpumask *measured, struct journal *j,
		 void (*say)(void *arg, const char *line), void *arg, struct err *e)
{
	struct tuning *t = calloc(1, sizeof(*t));
	struct job job = {t, r, topology, measured, j, say, arg, e};
	int rc = t ? tuning_check(wish, e) : err_set(e, ENOMEM, "no memory for tuning");

	if (t)
		t->dma_latency = -1;
	for (int i = 0; i < NSETTINGS && rc == 0; i++) {
		json_t *v = json_object_get(wish, settings[i].key);

		if (v)
			rc = settings[i].apply(&job, v);
	}
	if (rc < 0) {
		tuning_release(&t);
		return rc;
	}
	*out = t;
	return 0;
}

void tuning_release(struct tuning **tp)
{
	if (*tp && (*tp)->dma_latency >= 0)
		close((*tp)->dma_latency);
	free(*tp);
	*tp = NULL;
}
