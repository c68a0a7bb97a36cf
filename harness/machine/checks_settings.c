// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/checks.h"

#define CPU_DIR "/sys/devices/system/cpu"

/* Counts each distinct text of a per-CPU file: "performance 0-3; powersave 4". */
struct texts {
	struct {
		char *text;
		struct cpumask cpus;
	} v[16];
	int n;
};

static void texts_free(struct texts *t)
{
	for (int i = 0; i < t->n; i++) {
		free(t->v[i].text);
		cpumask_free(&t->v[i].cpus);
	}
}

static int texts_add(struct texts *t, char *text, int cpu)
{
	int i = 0;

	while (i < t->n && strcmp(t->v[i].text, text) != 0)
		i++;
	if (i == t->n) {
		if (t->n == (int)(sizeof(t->v) / sizeof(t->v[0]))) {
			free(text);
			return 0;
		}
		t->v[t->n++].text = text;
	} else {
		free(text);
	}
	return cpumask_set(&t->v[i].cpus, cpu);
}

static void texts_print(const struct texts *t, char *out, size_t size)
{
	size_t len = 0;

	*out = '\0';
	for (int i = 0; i < t->n && len < size; i++) {
		cleanup_free char *list = cpumask_format(&t->v[i].cpus);

		len += (size_t)snprintf(out + len, size - len, "%s%s on CPUs %s", i ? "; " : "",
					t->v[i].text, list ? list : "?");
	}
}

CHECK_FN(check_governor)
{
	cleanup(texts_free) struct texts all = {0};
	char text[600];
	bool good = true;

	for (int i = 0; i < env->topology->ncpus; i++) {
		int cpu = env->topology->cpus[i].cpu;
		struct err absent = ERR_INIT;
		char *governor = NULL;

		if (root_read(env->root, &governor, &absent,
			      CPU_DIR "/cpu%d/cpufreq/scaling_governor", cpu) < 0)
			continue;
		good &= strcmp(governor, "performance") == 0;
		if (texts_add(&all, governor, cpu) < 0)
			return -ENOMEM;
	}
	if (all.n == 0)
		return check_add(out, self->name, CHECK_PASS, NULL,
				 "the kernel does not control CPU frequency here");
	texts_print(&all, text, sizeof(text));
	return check_add(out, self->name, good ? CHECK_PASS : CHECK_WARN,
			 good ? NULL : "run with --tune, which sets \"performance\" and puts it back",
			 "%s", text);
}

CHECK_FN(check_boost)
{
	struct err absent = ERR_INIT;
	long long value;
	bool boost;

	if (root_read_number(env->root, &value, &absent, CPU_DIR "/intel_pstate/no_turbo") == 0)
		boost = value == 0;
	else if (root_read_number(env->root, &value, &absent, CPU_DIR "/cpufreq/boost") == 0)
		boost = value != 0;
	else
		return check_add(out, self->name, CHECK_PASS, NULL, "no switch for it here");
	return check_add(
		out, self->name, boost ? CHECK_WARN : CHECK_PASS,
		boost ? "the frequency depends on how many cores are busy; --tune switches it "
			"off and on again"
		      : NULL,
		boost ? "on" : "off");
}

/* A switch that should read 0. */
static int check_zero(const struct check_env *env, const struct machine_check *self,
		      struct check_results *out, const char *path, const char *advice)
{
	struct err absent = ERR_INIT;
	long long value;

	if (root_read_number(env->root, &value, &absent, "%s", path) < 0)
		return check_add(out, self->name, CHECK_PASS, NULL, "not there");
	return check_add(out, self->name, value ? CHECK_WARN : CHECK_PASS, value ? advice : NULL,
			 value ? "on (%s is %lld)" : "off (%s is %lld)", path, value);
}

CHECK_FN(check_numa_balancing)
{
	/* With one node the kernel has nothing to balance, whatever the switch says. */
	if (env->topology->nnodes <= 1)
		return check_add(out, self->name, CHECK_PASS, NULL, "one node");
	return check_zero(env, self, out, "/proc/sys/kernel/numa_balancing",
			  "it unmaps pages to see who uses them; --tune switches it off");
}

CHECK_FN(check_watchdog)
{
	return check_zero(env, self, out, "/proc/sys/kernel/watchdog",
			  "spawn kernels run without; --tune switches it off for the run");
}

CHECK_FN(check_ksm)
{
	return check_zero(env, self, out, "/sys/kernel/mm/ksm/run",
			  "merged pages fault again when written: echo 0 > /sys/kernel/mm/ksm/run");
}

CHECK_FN(check_thp)
{
	cleanup_free char *text = NULL;
	struct err absent = ERR_INIT;

	if (root_read(env->root, &text, &absent, "/sys/kernel/mm/transparent_hugepage/enabled") < 0)
		return check_add(out, self->name, CHECK_PASS, NULL, "not there");
	return check_add(out, self->name, CHECK_PASS, NULL, "%s (must be the same in every kernel)",
			 text);
}

CHECK_FN(check_swap)
{
	cleanup_free char *text = NULL;
	struct err absent = ERR_INIT;
	unsigned long long total = 0, available = 0;
	const char *line;

	if (root_read(env->root, &text, &absent, "/proc/meminfo") < 0)
		return check_add(out, self->name, CHECK_SKIP, NULL, "/proc/meminfo cannot be read");
	line = strstr(text, "SwapTotal:");
	if (line)
		sscanf(line, "SwapTotal: %llu", &total);
	line = strstr(text, "SwapFree:");
	if (line)
		sscanf(line, "SwapFree: %llu", &available);
	if (total == available)
		return check_add(out, self->name, CHECK_PASS, NULL, "nothing is swapped out");
	return check_add(out, self->name, CHECK_WARN, "free memory, then swapoff -a",
			 "%llu MiB are swapped out", (total - available) >> 10);
}

CHECK_FN(check_clocksource)
{
	/* Those that are read without a system call, or a trap into a hypervisor. */
	static const char *const fast[] = {"tsc",
					   "arch_sys_counter",
					   "kvm-clock",
					   "hyperv_clocksource_tsc_page",
					   "riscv_clocksource",
					   "timebase"};
	cleanup_free char *text = NULL;
	struct err absent = ERR_INIT;

	if (root_read(env->root, &text, &absent,
		      "/sys/devices/system/clocksource/clocksource0/current_clocksource") < 0)
		return check_add(out, self->name, CHECK_SKIP, NULL, "not to be found");
	for (size_t i = 0; i < sizeof(fast) / sizeof(fast[0]); i++)
		if (strcmp(text, fast[i]) == 0)
			return check_add(out, self->name, CHECK_PASS, NULL, "%s", text);
	return check_add(
		out, self->name, CHECK_WARN,
		"every reading of the clock is slow; the kernel's log says why tsc was given up",
		"%s", text);
}

CHECK_FN(check_virtual)
{
	cleanup_free char *text = NULL;
	struct err absent = ERR_INIT;
	const char *flags;

	if (root_read_big(env->root, &text, &absent, "/proc/cpuinfo") < 0)
		return check_add(out, self->name, CHECK_SKIP, NULL, "/proc/cpuinfo cannot be read");
	/* x86 alone has such a flag. */
	flags = strstr(text, "\nflags");
	if (flags) {
		const char *end = strchr(flags + 1, '\n');
		const char *bit = strstr(flags, " hypervisor");

		if (bit && (!end || bit < end))
			return check_add(
				out, self->name, CHECK_WARN,
				"other guests may take time (steal) and caches; ratios measured "
				"here hold for this guest",
				"this machine is itself a guest");
	}
	return check_add(out, self->name, CHECK_PASS, NULL, "no hypervisor is seen");
}

CHECK_FN(check_throttle)
{
	long long sum = 0;
	bool any = false;

	for (int i = 0; i < env->topology->ncpus; i++) {
		struct err absent = ERR_INIT;
		long long n;

		if (root_read_number(env->root, &n, &absent,
				     CPU_DIR "/cpu%d/thermal_throttle/core_throttle_count",
				     env->topology->cpus[i].cpu) < 0)
			continue;
		any = true;
		sum += n;
	}
	if (!any)
		return check_add(out, self->name, CHECK_PASS, NULL, "no counters here");
	return check_add(out, self->name, sum ? CHECK_WARN : CHECK_PASS,
			 sum ? "see to the cooling before a long run" : NULL,
			 "%lld times since boot, over all CPUs", sum);
}
