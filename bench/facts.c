// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/facts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <gnu/libc-version.h>

#include "bench/mounts.h"
#include "common/cleanup.h"
#include "common/cpumask.h"
#include "common/frame.h"
#include "common/io.h"

#define FILE_MAX_BYTES (1 << 20)

/* A fact's value is for comparing, so what is longer than a screenful of flags is cut. */
#define VALUE_MAX 4000

struct fact {
	const char *key;
	/* Fills value (VALUE_MAX bytes) from arg; leaves it empty where there is nothing. */
	void (*read)(const char *arg, char *value);
	const char *arg;
};

static char *slurp(const char *path)
{
	struct err e = ERR_INIT;
	char *text = NULL;

	return read_file_at(AT_FDCWD, path, FILE_MAX_BYTES, &text, NULL, &e) < 0 ? NULL : text;
}

/* White space of any kind becomes one blank, and none stays at the ends. */
static void set(char *value, const char *text)
{
	size_t n = 0;
	bool gap = false;

	for (; *text && n + 2 < VALUE_MAX; text++) {
		if (isspace((unsigned char)*text)) {
			gap = n > 0;
			continue;
		}
		if (gap)
			value[n++] = ' ';
		gap = false;
		value[n++] = *text;
	}
	value[n] = '\0';
}

static void whole_file(const char *path, char *value)
{
	cleanup_free char *text = slurp(path);

	if (text)
		set(value, text);
}

/* The word in brackets of "always [madvise] never". */
static void chosen(const char *path, char *value)
{
	cleanup_free char *text = slurp(path);
	char *from = text ? strchr(text, '[') : NULL, *to = from ? strchr(from, ']') : NULL;

	if (to) {
		*to = '\0';
		set(value, from + 1);
	} else if (text) {
		set(value, text);
	}
}

/* "PATH KEY": the rest of the first line of PATH that begins with KEY, without its colon. */
static void field(const char *arg, char *value)
{
	const char *key = strchr(arg, ' ') + 1;
	cleanup_free char *path = strndup(arg, key - 1 - arg);
	cleanup_free char *text = path ? slurp(path) : NULL;
	size_t len = strlen(key);

	for (char *line = text; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		char *p = line + len;

		if (strncmp(line, key, len) != 0)
			continue;
		p += strspn(p, " \t");
		if (*p == ':')
			p++;
		p[strcspn(p, "\n")] = '\0';
		set(value, p);
		return;
	}
}

/* "DIR FILE": what DIR/N/FILE says for every entry, each different answer once with its number. */
static void each(const char *arg, char *value)
{
	const char *file = strchr(arg, ' ') + 1;
	cleanup_free char *dir = strndup(arg, file - 1 - arg);
	struct dirent **entries;
	int n = dir ? scandir(dir, &entries, NULL, versionsort) : -1;
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		cleanup_free char *path = NULL, *text = NULL;

		if (entries[i]->d_name[0] != '.' &&
		    asprintf(&path, "%s/%s/%s", dir, entries[i]->d_name, file) >= 0)
			text = slurp(path);
		if (text) {
			text[strcspn(text, "\n")] = '\0';
			len += snprintf(value + len, len < VALUE_MAX ? VALUE_MAX - len : 0,
					"%s%s:%s", len ? " " : "", entries[i]->d_name, text);
			len = len < VALUE_MAX ? len : VALUE_MAX - 1;
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

/*
 * The command line without what names this run: the token is drawn anew for each, and so is the
 * place of what a boot loader or kexec put into memory.
 */
static void command_line(const char *arg, char *value)
{
	cleanup_free char *text = slurp("/proc/cmdline");
	char kept[VALUE_MAX] = "";
	size_t len = 0;

	(void)arg;
	for (char *save, *w = text ? strtok_r(text, " \n", &save) : NULL; w;
	     w = strtok_r(NULL, " \n", &save)) {
		if (strncmp(w, "mksplit.token=", 14) == 0 || strncmp(w, "elfcorehdr=", 11) == 0)
			continue;
		len += snprintf(kept + len, len < sizeof(kept) ? sizeof(kept) - len : 0, " %s", w);
		len = len < sizeof(kept) ? len : sizeof(kept) - 1;
	}
	set(value, kept);
}

static void uname_field(const char *arg, char *value)
{
	struct utsname u;

	uname(&u);
	set(value, strcmp(arg, "release") == 0	 ? u.release
		   : strcmp(arg, "version") == 0 ? u.version
						 : u.machine);
}

static void libc(const char *arg, char *value)
{
	(void)arg;
	snprintf(value, VALUE_MAX, "glibc %s", gnu_get_libc_version());
}

static void memory_per_cpu(const char *arg, char *value)
{
	struct sysinfo info;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	(void)arg;
	if (sysinfo(&info) == 0 && cpus > 0)
		snprintf(value, VALUE_MAX, "%" PRIu64,
			 (uint64_t)info.totalram * info.mem_unit / (1 << 20) / cpus);
}

/*
 * A change of the committed memory of at least this many pages takes the counter's one lock:
 * RAM pages / present CPUs / 4, at least 32 and twice the CPUs (mm/mm_init.c).
 */
static void commit_batch(const char *arg, char *value)
{
	struct sysinfo info;
	long cpus = sysconf(_SC_NPROCESSORS_CONF), page = sysconf(_SC_PAGESIZE);
	uint64_t batch;

	(void)arg;
	if (sysinfo(&info) < 0 || cpus <= 0)
		return;
	batch = (uint64_t)info.totalram * info.mem_unit / page / cpus / 4;
	if (batch < 32)
		batch = 32;
	if (batch < 2 * (uint64_t)cpus)
		batch = 2 * (uint64_t)cpus;
	snprintf(value, VALUE_MAX, "%" PRIu64, batch);
}

static void limit(const char *arg, char *value)
{
	static const struct {
		const char *name;
		int which;
	} limits[] = {
		{"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE},
		{"nproc", RLIMIT_NPROC},     {"sigpending", RLIMIT_SIGPENDING},
		{"stack", RLIMIT_STACK},
	};
	struct rlimit l;
	size_t i = 0;

	while (strcmp(limits[i].name, arg) != 0)
		i++;
	if (getrlimit(limits[i].which, &l) < 0)
		return;
	if (l.rlim_cur == RLIM_INFINITY)
		strcpy(value, "unlimited");
	else
		snprintf(value, VALUE_MAX, "%llu", (unsigned long long)l.rlim_cur);
}

static void mount_of(const char *path, char *value)
{
	mount_options_of(path, value, VALUE_MAX);
}

static void namespace_of(const char *path, char *value)
{
	struct stat own, init;

	/* Whether it is that of PID 1, which is the same word in every kernel. */
	if (stat(path, &own) < 0)
		return;
	cleanup_free char *other = NULL;

	if (asprintf(&other, "/proc/1/ns/%s", strrchr(path, '/') + 1) < 0) {
		other = NULL;
		return;
	}
	if (stat(other, &init) < 0)
		strcpy(value, "unknown");
	else
		strcpy(value, own.st_ino == init.st_ino ? "init's" : "own");
}

static void mitigations(const char *arg, char *value)
{
	struct dirent **entries;
	int n = scandir(arg, &entries, NULL, alphasort);
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		cleanup_free char *path = NULL, *text = NULL;

		if (entries[i]->d_name[0] != '.' &&
		    asprintf(&path, "%s/%s", arg, entries[i]->d_name) >= 0)
			text = slurp(path);
		if (text) {
			/* What SMT or the host adds to the sentence belongs to other facts. */
			text[strcspn(text, ";\n")] = '\0';
			len += snprintf(value + len, len < VALUE_MAX ? VALUE_MAX - len : 0,
					"%s%s: %s", len ? ", " : "", entries[i]->d_name, text);
			len = len < VALUE_MAX ? len : VALUE_MAX - 1;
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static void hypervisor(const char *arg, char *value)
{
	cleanup_free char *text = slurp("/proc/cpuinfo");

	(void)arg;
	if (text)
		strcpy(value, strstr(text, " hypervisor") ? "yes" : "no");
}

static void count_of(const char *dir, char *value)
{
	cleanup_dir DIR *d = opendir(dir);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		snprintf(value, VALUE_MAX, "%d", n - 2);
}

#define SYSCTL(key, path)                                    \
	{                                                    \
		"sysctl." key, whole_file, "/proc/sys/" path \
	}
#define THP "/sys/kernel/mm/transparent_hugepage/"
#define KSM "/sys/kernel/mm/ksm/"
#define CPU "/sys/devices/system/cpu/"

/* Sorted by key: a list of facts is then sorted as well. */
static const struct fact facts[] = {
	{"audit.enabled", whole_file, "/proc/sys/kernel/audit_enabled"},
	{"boot.id", whole_file, "/proc/sys/kernel/random/boot_id"},
	{"cgroup.path", whole_file, "/proc/self/cgroup"},
	{"clock.available", whole_file,
	 "/sys/devices/system/clocksource/clocksource0/available_clocksource"},
	{"clock.source", whole_file,
	 "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
	{"cpu.boost", whole_file, CPU "cpufreq/boost"},
	{"cpu.cpufreq.driver", whole_file, CPU "cpu0/cpufreq/scaling_driver"},
	{"cpu.cpufreq.governor", each, "/sys/devices/system/cpu/cpufreq scaling_governor"},
	{"cpu.cpufreq.max", each, "/sys/devices/system/cpu/cpufreq scaling_max_freq"},
	{"cpu.cpufreq.min", each, "/sys/devices/system/cpu/cpufreq scaling_min_freq"},
	{"cpu.cpuidle.disabled", each, CPU "cpu0/cpuidle disable"},
	{"cpu.cpuidle.driver", whole_file, CPU "cpuidle/current_driver"},
	{"cpu.cpuidle.governor", whole_file, CPU "cpuidle/current_governor"},
	{"cpu.cpuidle.names", each, CPU "cpu0/cpuidle name"},
	{"cpu.cpuidle.states", count_of, CPU "cpu0/cpuidle"},
	{"cpu.flags", field, "/proc/cpuinfo flags"},
	{"cpu.hypervisor", hypervisor, NULL},
	{"cpu.isolated", whole_file, CPU "isolated"},
	{"cpu.microcode", field, "/proc/cpuinfo microcode"},
	{"cpu.mitigations", mitigations, CPU "vulnerabilities"},
	{"cpu.model", field, "/proc/cpuinfo model name"},
	{"cpu.no_turbo", whole_file, CPU "intel_pstate/no_turbo"},
	{"cpu.nohz_full", whole_file, CPU "nohz_full"},
	{"cpu.online", whole_file, CPU "online"},
	{"cpu.possible", whole_file, CPU "possible"},
	{"cpu.present", whole_file, CPU "present"},
	{"cpu.smt", whole_file, CPU "smt/control"},
	{"hypervisor.type", whole_file, "/sys/hypervisor/type"},
	{"kernel.build", uname_field, "version"},
	{"kernel.cmdline", command_line, NULL},
	{"kernel.machine", uname_field, "machine"},
	{"kernel.release", uname_field, "release"},
	{"kernel.tainted", whole_file, "/proc/sys/kernel/tainted"},
	{"libc", libc, NULL},
	{"limit.memlock", limit, "memlock"},
	{"limit.nofile", limit, "nofile"},
	{"limit.nproc", limit, "nproc"},
	{"limit.sigpending", limit, "sigpending"},
	{"limit.stack", limit, "stack"},
	{"lsm.active", whole_file, "/sys/kernel/security/lsm"},
	{"lsm.apparmor", whole_file, "/sys/module/apparmor/parameters/enabled"},
	{"lsm.apparmor.profile", whole_file, "/proc/self/attr/current"},
	{"lsm.lockdown", chosen, "/sys/kernel/security/lockdown"},
	{"lsm.selinux", whole_file, "/sys/fs/selinux/enforce"},
	{"mem.commit_batch_pages", commit_batch, NULL},
	{"mem.directmap.1g", field, "/proc/meminfo DirectMap1G"},
	{"mem.directmap.2m", field, "/proc/meminfo DirectMap2M"},
	{"mem.directmap.4k", field, "/proc/meminfo DirectMap4k"},
	{"mem.hugepages", field, "/proc/meminfo HugePages_Total"},
	{"mem.ksm.merged", whole_file, KSM "pages_sharing"},
	{"mem.ksm.run", whole_file, KSM "run"},
	{"mem.lru_gen", whole_file, "/sys/kernel/mm/lru_gen/enabled"},
	{"mem.mb_per_cpu", memory_per_cpu, NULL},
	{"mem.swap", field, "/proc/meminfo SwapTotal"},
	{"mem.thp.defrag", chosen, THP "defrag"},
	{"mem.thp.enabled", chosen, THP "enabled"},
	{"mem.thp.khugepaged", whole_file, THP "khugepaged/defrag"},
	{"mem.thp.shmem", chosen, THP "shmem_enabled"},
	{"mem.thp.sizes", each, "/sys/kernel/mm/transparent_hugepage enabled"},
	{"mem.thp.zero_page", whole_file, THP "use_zero_page"},
	{"mem.total", field, "/proc/meminfo MemTotal"},
	{"mount.dev_shm", mount_of, "/dev/shm"},
	{"mount.tmp", mount_of, "/tmp"},
	{"namespace.ipc", namespace_of, "/proc/self/ns/ipc"},
	{"namespace.mnt", namespace_of, "/proc/self/ns/mnt"},
	{"namespace.net", namespace_of, "/proc/self/ns/net"},
	{"namespace.pid", namespace_of, "/proc/self/ns/pid"},
	{"namespace.time", namespace_of, "/proc/self/ns/time"},
	{"namespace.user", namespace_of, "/proc/self/ns/user"},
	{"numa.balancing", whole_file, "/proc/sys/kernel/numa_balancing"},
	{"numa.nodes", whole_file, "/sys/devices/system/node/online"},
	{"numa.nodes_with_memory", whole_file, "/sys/devices/system/node/has_memory"},
	{"numa.zone_reclaim", whole_file, "/proc/sys/vm/zone_reclaim_mode"},
	{"process.capabilities", field, "/proc/self/status CapEff"},
	{"process.no_new_privs", field, "/proc/self/status NoNewPrivs"},
	{"process.seccomp", field, "/proc/self/status Seccomp"},
	{"process.threads_max", whole_file, "/proc/sys/kernel/threads-max"},
	SYSCTL("kernel.nmi_watchdog", "kernel/nmi_watchdog"),
	SYSCTL("kernel.perf_event_paranoid", "kernel/perf_event_paranoid"),
	SYSCTL("kernel.randomize_va_space", "kernel/randomize_va_space"),
	SYSCTL("kernel.sched_autogroup", "kernel/sched_autogroup_enabled"),
	SYSCTL("kernel.sched_rt_runtime", "kernel/sched_rt_runtime_us"),
	SYSCTL("kernel.watchdog", "kernel/watchdog"),
	SYSCTL("net.ip_local_port_range", "net/ipv4/ip_local_port_range"),
	SYSCTL("net.somaxconn", "net/core/somaxconn"),
	SYSCTL("vm.dirty_ratio", "vm/dirty_ratio"),
	SYSCTL("vm.max_map_count", "vm/max_map_count"),
	SYSCTL("vm.overcommit_memory", "vm/overcommit_memory"),
	SYSCTL("vm.overcommit_ratio", "vm/overcommit_ratio"),
	SYSCTL("vm.swappiness", "vm/swappiness"),
};

char *facts_collect(size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f)
		return NULL;
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		char value[VALUE_MAX] = "", word[3 * VALUE_MAX];

		facts[i].read(facts[i].arg, value);
		if (word_escape(word, sizeof(word), value, strlen(value)) >= 0)
			fprintf(f, "%s=%s\n", facts[i].key, word);
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

#if defined(__x86_64__) || defined(__i386__)
#define PHYSICAL_FIELD "apicid"
#elif defined(__riscv)
#define PHYSICAL_FIELD "hart"
#else
#define PHYSICAL_FIELD NULL /* arm64 shows no MPIDR to programs */
#endif

/* The physical id that /proc/cpuinfo gives for a CPU, or -1. */
static long physical_of(const char *cpuinfo, int cpu)
{
	const char *field_name = PHYSICAL_FIELD;
	int at = -1;

	for (const char *line = cpuinfo; field_name && line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		long value;

		if (sscanf(line, "processor : %ld", &value) == 1)
			at = (int)value;
		else if (at == cpu && strncmp(line, field_name, strlen(field_name)) == 0 &&
			 sscanf(line + strlen(field_name), " : %ld", &value) == 1)
			return value;
	}
	return -1;
}

int facts_cpus(char *online, size_t online_size, char *physical, size_t physical_size)
{
	cleanup_free char *list = slurp(CPU "online"), *cpuinfo = slurp("/proc/cpuinfo");
	cleanup_cpumask struct cpumask cpus = CPUMASK_INIT;
	struct err e = ERR_INIT;
	size_t len = 0;

	if (!list || cpumask_parse(&cpus, list, &e) < 0)
		return -1;
	list[strcspn(list, "\n")] = '\0';
	if ((size_t)snprintf(online, online_size, "%s", list) >= online_size)
		return -1;
	physical[0] = '\0';
	cpumask_for_each(cpu, &cpus) {
		long id = cpuinfo ? physical_of(cpuinfo, cpu) : -1;

		if (len + 24 > physical_size)
			return -1;
		len += id < 0 ? snprintf(physical + len, physical_size - len, "%s?", len ? "," : "")
			      : snprintf(physical + len, physical_size - len, "%s%ld",
					 len ? "," : "", id);
	}
	return 0;
}
