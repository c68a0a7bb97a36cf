// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks of the machine, snapshots, dumps. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/machine/check.h"
#include "harness/machine/dump.h"
#include "harness/machine/guard.h"
#include "harness/machine/idle.h"
#include "harness/machine/snapshot.h"
#include "tests/unit/fake_machine.h"

static const struct check_result *find(const struct check_results *c, const char *name)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->v[i].name, name) == 0)
			return &c->v[i];
	fail_msg("there is no check %s", name);
	return NULL;
}

static void run_checks(const struct fake_machine *m, struct check_results *out)
{
	cleanup_root struct root r = ROOT_INIT;
	cleanup_topology struct topology t = {0};
	struct err e = ERR_INIT;
	struct check_env env = {.root = &r, .topology = &t};

	assert_int_equal(root_open(&r, m->dir, &e), 0);
	fake_machine_topology(m, &t);
	if (machine_checks_run(&env, false, out, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(out->n, nmachine_checks);
}

static void expect(const struct check_results *c, const char *name, enum check_status status,
		   const char *value)
{
	const struct check_result *r = find(c, name);

	assert_string_equal(check_status_name(r->status), check_status_name(status));
	if (!strstr(r->value, value))
		fail_msg("%s: \"%s\" should have said \"%s\"", name, r->value, value);
	/* Whoever is warned is told what to do. */
	if (status == CHECK_WARN || status == CHECK_FAIL)
		assert_non_null(r->advice);
}

static void test_good_machine(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(2, 4, 1);
	struct fake_machine m = {.cpus = cpus, .ncpus = 8, .node_mib = 1024};
	cleanup_checks struct check_results c = {0};

	fake_machine_make(&m);
	for (int i = 0; i < 8; i++) {
		char path[100];

		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", i);
		fake_machine_file(&m, path, "performance");
	}
	fake_machine_file(&m, "/sys/devices/system/cpu/cpufreq/boost", "0");
	fake_machine_file(&m, "/proc/sys/kernel/watchdog", "0");
	fake_machine_file(&m, "/proc/sys/kernel/numa_balancing", "0");
	fake_machine_file(&m, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			  "tsc");
	run_checks(&m, &c);
	for (int i = 0; i < c.n; i++)
		if (c.v[i].status != CHECK_PASS && c.v[i].status != CHECK_SKIP)
			fail_msg("%s: %s", c.v[i].name, c.v[i].value);
	/* A dump says nothing of what runs. */
	expect(&c, "idle", CHECK_SKIP, "dump");
	expect(&c, "guests", CHECK_SKIP, "dump");
	assert_null(check_refusal(&c, NULL, 0));
	fake_machine_remove(&m);
}

static void test_bad_machine(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(2, 4, 2);
	struct fake_machine m = {.cpus = cpus, .ncpus = 16, .node_mib = 1024};
	cleanup_checks struct check_results c = {0};

	cpus[3].node = 1; /* a node that lies in both packages */
	cpus[11].node = 1;
	m.possible = "0-31";
	m.isolated = "4-7";
	fake_machine_make(&m);
	for (int i = 0; i < 16; i++) {
		char path[100];

		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", i);
		fake_machine_file(&m, path, i < 4 ? "performance" : "powersave");
	}
	fake_machine_file(&m, "/sys/devices/system/cpu/intel_pstate/no_turbo", "0");
	fake_machine_file(&m, "/proc/sys/kernel/watchdog", "1");
	fake_machine_file(&m, "/proc/sys/kernel/numa_balancing", "1");
	fake_machine_file(&m, "/sys/kernel/mm/ksm/run", "1");
	fake_machine_file(&m, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			  "hpet");
	fake_machine_file(&m, "/proc/self/cgroup", "0::/box");
	fake_machine_file(&m, "/sys/fs/cgroup/box/cpu.max", "50000 100000");
	fake_machine_file(&m, "/sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count",
			  "7");
	fake_machine_file(&m, "/proc/meminfo",
			  "MemTotal: 1000 kB\nSwapTotal: 9000 kB\nSwapFree: 1000 kB");
	run_checks(&m, &c);
	expect(&c, "levels", CHECK_WARN, "NUMA node 1 has CPUs in more than one package");
	expect(&c, "offline", CHECK_WARN, "offline: 16-31");
	expect(&c, "isolated", CHECK_WARN, "isolated: 4-7; nohz_full: none");
	expect(&c, "smt", CHECK_WARN, "16 CPUs on 8 cores");
	expect(&c, "governor", CHECK_WARN, "performance on CPUs 0-3; powersave on CPUs 4-15");
	expect(&c, "boost", CHECK_WARN, "on");
	expect(&c, "watchdog", CHECK_WARN, "on");
	expect(&c, "numa-balancing", CHECK_WARN, "on");
	expect(&c, "ksm", CHECK_WARN, "on");
	expect(&c, "clocksource", CHECK_WARN, "hpet");
	expect(&c, "quota", CHECK_WARN, "0.50 CPUs");
	expect(&c, "throttle", CHECK_WARN, "7 times");
	expect(&c, "swap", CHECK_WARN, "7 MiB");
	fake_machine_remove(&m);
}

static void test_ignore(void **state)
{
	cleanup_checks struct check_results c = {0};
	char *other[] = {"guests"}, *both[] = {"guests", "idle"};

	assert_int_equal(check_add(&c, "topology", CHECK_WARN, "think", "odd"), 0);
	assert_null(check_refusal(&c, NULL, 0));
	assert_int_equal(check_add(&c, "idle", CHECK_FAIL, "wait", "%d %% busy", 12), 0);
	assert_string_equal(check_refusal(&c, NULL, 0)->value, "12 % busy");
	assert_string_equal(check_refusal(&c, other, 1)->name, "idle");
	assert_null(check_refusal(&c, both, 2));
	assert_true(machine_check_known("idle"));
	assert_false(machine_check_known("idel"));
}

static void test_idle(void **state)
{
	struct fake_machine m;
	cleanup_root struct root r = ROOT_INIT;
	struct idle_times a, b;
	struct err e = ERR_INIT;

	fake_machine_folder(&m);
	assert_int_equal(root_open(&r, m.dir, &e), 0);
	assert_true(idle_read(&a, &r, &e) < 0);
	fake_machine_file(&m, "/proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3");
	assert_int_equal(idle_read(&a, &r, &e), 0);
	fake_machine_file(&m, "/proc/stat", "cpu  110 0 110 860 120 0 0 0 0 0\ncpu0 1 2 3");
	assert_int_equal(idle_read(&b, &r, &e), 0);
	assert_true(idle_share(&a, &b) > 0.899 && idle_share(&a, &b) < 0.901);
	assert_true(idle_share(&b, &a) == 0);
	fake_machine_remove(&m);
}

struct lines {
	char text[2000];
};

static void say(void *arg, const char *line)
{
	struct lines *l = arg;

	strncat(l->text, line, sizeof(l->text) - strlen(l->text) - 2);
	strcat(l->text, "\n");
}

static void test_snapshot(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(1, 4, 1);
	struct fake_machine m = {.cpus = cpus, .ncpus = 4, .node_mib = 1024};
	cleanup_root struct root r = ROOT_INIT;
	struct lines l = {""};
	struct err e = ERR_INIT;
	json_t *before, *after;

	fake_machine_make(&m);
	fake_machine_file(&m, "/proc/irq/24/smp_affinity_list", "0-3");
	fake_machine_file(&m, "/proc/irq/25/smp_affinity_list", "2");
	fake_machine_file(&m, "/proc/100/status",
			  "Name:\tdb\nVmSize:\t1 kB\nCpus_allowed_list:\t2-3\n");
	fake_machine_file(&m, "/proc/101/status",
			  "Name:\tsh\nVmSize:\t1 kB\nCpus_allowed_list:\t0-3\n");
	fake_machine_file(&m, "/proc/102/status", "Name:\tkthread\nCpus_allowed_list:\t3\n");
	fake_machine_file(&m, "/sys/fs/cgroup/a/b/cpuset.cpus", "2-3");
	fake_machine_file(&m, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave");
	assert_int_equal(root_open(&r, m.dir, &e), 0);
	before = snapshot_take(&r, &e);
	after = snapshot_take(&r, &e);
	assert_int_equal(snapshot_compare(before, after, say, &l), 0);
	json_decref(after);
	assert_int_equal(json_object_size(json_object_get(before, "pinned mask")), 1);

	/* What happens when CPU 3 goes away and comes back. */
	fake_machine_file(&m, "/proc/irq/24/smp_affinity_list", "0-2");
	fake_machine_file(&m, "/proc/100/status",
			  "Name:\tdb\nVmSize:\t1 kB\nCpus_allowed_list:\t2\n");
	fake_machine_file(&m, "/sys/fs/cgroup/a/b/cpuset.cpus", "2");
	fake_machine_file(&m, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "schedutil");
	fake_machine_file(&m, "/proc/irq/26/smp_affinity_list", "1");
	after = snapshot_take(&r, &e);
	assert_int_equal(snapshot_compare(before, after, say, &l), 4);
	assert_non_null(strstr(l.text,
			       "interrupt affinity of 24 is now \"0-2\", before the run it was "
			       "\"0-3\""));
	assert_non_null(strstr(l.text, "cpuset of /sys/fs/cgroup/a/b is now \"2\""));
	assert_non_null(strstr(l.text, "pinned mask of process 100 is now \"2\""));
	assert_non_null(strstr(l.text, "governor of cpu3 is now \"schedutil\""));
	json_decref(before);
	json_decref(after);
	fake_machine_remove(&m);
}

static void assert_same(const struct topology *a, const struct topology *b)
{
	assert_int_equal(a->ncpus, b->ncpus);
	assert_int_equal(a->nnodes, b->nnodes);
	for (int i = 0; i < a->ncpus; i++)
		assert_memory_equal(&a->cpus[i], &b->cpus[i], sizeof(a->cpus[i]));
	for (int i = 0; i < a->nnodes; i++)
		assert_int_equal(a->nodes[i].memory, b->nodes[i].memory);
	assert_true(cpumask_equal(&a->possible, &b->possible));
	assert_true(cpumask_equal(&a->isolated, &b->isolated));
	assert_string_equal(a->model, b->model);
	assert_string_equal(a->arch, b->arch);
}

/* Around a run: what moved behind one's back is said when it is over. */
static void test_guard(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(1, 4, 1);
	struct fake_machine m = {.cpus = cpus, .ncpus = 4, .node_mib = 1024};
	cleanup_topology struct topology t = {0};
	cleanup_root struct root r = ROOT_INIT;
	struct guard g = GUARD_INIT;
	struct lines l = {""};
	struct err e = ERR_INIT;

	fake_machine_make(&m);
	fake_machine_file(&m, "/proc/irq/24/smp_affinity_list", "0-3");
	fake_machine_file(&m, "/proc/self/cgroup", "0::/box");
	fake_machine_file(&m, "/sys/fs/cgroup/box/cpu.max", "50000 100000");
	fake_machine_topology(&m, &t);
	assert_int_equal(root_open(&r, m.dir, &e), 0);
	assert_int_equal(guard_begin(&g, &r, &t, NULL, 0, say, &l, &e), 0);
	assert_non_null(strstr(l.text, "quota: 0.50 CPUs' worth of time"));
	fake_machine_file(&m, "/proc/irq/24/smp_affinity_list", "0");
	assert_int_equal(guard_end(&g), 1);
	assert_non_null(strstr(l.text, "interrupt affinity of 24 is now \"0\""));
	/* Twice is the same as once. */
	assert_int_equal(guard_end(&g), 0);
	fake_machine_remove(&m);
}

/* The unpacked dump of a machine is that machine; so is the dump of the dump. */
static void dump_and_compare(const char *dir)
{
	struct fake_machine copy;
	cleanup_topology struct topology t = {0}, u = {0};
	cleanup_root struct root r = ROOT_INIT;
	struct err e = ERR_INIT;
	char file[100];

	fake_machine_folder(&copy);
	snprintf(file, sizeof(file), "%s/dump.tar.gz", copy.dir);
	assert_int_equal(root_open(&r, dir, &e), 0);
	assert_int_equal(topology_read(&t, &r, &e), 0);
	if (dump_machine(&r, file, &e) < 10)
		fail_msg("%s", e.text);
	fake_machine_unpack(file, copy.dir, false);
	fake_machine_topology(&copy, &u);
	assert_same(&t, &u);
	fake_machine_remove(&copy);
}

static void test_dump(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(2, 4, 2);
	struct fake_machine m = {.cpus = cpus, .ncpus = 16, .isolated = "3", .node_mib = 1024};
	cleanup_root struct root r = ROOT_INIT;
	struct err e = ERR_INIT;

	fake_machine_make(&m);
	dump_and_compare(m.dir);
	assert_int_equal(root_open(&r, m.dir, &e), 0);
	assert_true(dump_machine(&r, "/nonexistent/x.tar.gz", &e) < 0);
	fake_machine_remove(&m);
	dump_and_compare(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_machine), cmocka_unit_test(test_bad_machine),
		cmocka_unit_test(test_ignore),	     cmocka_unit_test(test_idle),
		cmocka_unit_test(test_snapshot),     cmocka_unit_test(test_dump),
		cmocka_unit_test(test_guard),
	};

	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
