// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/fake_machine.h"

static void assert_set(const struct cpumask *m, const char *list)
{
	cleanup_free char *text = cpumask_format(m);

	assert_string_equal(text, list);
}

static void assert_cpu(const struct topology *t, int cpu, long phys, int package, int node, int llc,
		       int core, int smt)
{
	const struct topo_cpu *c = topology_cpu(t, cpu);

	assert_non_null(c);
	assert_int_equal(c->phys.v, phys);
	assert_int_equal(c->package, package);
	assert_int_equal(c->node, node);
	assert_int_equal(c->llc, llc);
	assert_int_equal(c->core, core);
	assert_int_equal(c->smt, smt);
	assert_int_equal(topology_logical(t, (struct phys_id){phys}), cpu);
}

/* APIC ids that are not the logical numbers: siblings are n and n+8, ids 0,2,..,14 and 1,3,..,15. */
static void test_apic_ids(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(1, 8, 2);
	struct fake_machine m = {.cpus = cpus, .ncpus = 16, .node_mib = 4096};
	cleanup_topology struct topology t = {0};

	fake_machine_make(&m);
	fake_machine_topology(&m, &t);
	assert_int_equal(t.ncpus, 16);
	assert_int_equal(t.ncores, 8);
	assert_cpu(&t, 0, 0, 0, 0, 0, 0, 0);
	assert_cpu(&t, 7, 14, 0, 0, 0, 7, 0);
	assert_cpu(&t, 8, 1, 0, 0, 0, 0, 1);
	assert_cpu(&t, 15, 15, 0, 0, 0, 7, 1);
	assert_int_equal(t.cpus[1].cpu, 8); /* siblings are neighbours in topology order */
	assert_int_equal(topology_logical(&t, (struct phys_id){16}), -1);
	assert_int_equal(topology_logical(&t, (struct phys_id){-1}), -1);
	assert_string_equal(t.arch, "x86_64");
	assert_string_equal(t.model, "Made up of files");
	assert_int_equal(t.nodes[0].memory, UINT64_C(4096) << 20);
	fake_machine_remove(&m);
}

/* x2APIC ids above 255, and logical numbers that deal the packages round-robin. */
static void test_round_robin(void **state)
{
	struct fake_cpu cpus[8];
	struct fake_machine m = {.cpus = cpus, .ncpus = 8, .node_mib = 100};
	cleanup_topology struct topology t = {0};
	int order[8];

	for (int i = 0; i < 8; i++)
		cpus[i] = (struct fake_cpu){.cpu = i,
					    .phys = 1024 * (i % 4) + i / 4,
					    .package = i % 4,
					    .core = i / 4,
					    .node = i % 4,
					    .llc = i % 4};
	fake_machine_make(&m);
	fake_machine_topology(&m, &t);
	for (int i = 0; i < 8; i++)
		order[i] = t.cpus[i].cpu;
	assert_memory_equal(order, ((int[]){0, 4, 1, 5, 2, 6, 3, 7}), sizeof(order));
	assert_cpu(&t, 7, 3073, 3, 3, 3, 7, 0);
	assert_int_equal(t.npackages, 4);
	assert_int_equal(t.nllcs, 4);
	fake_machine_remove(&m);
}

/* Holes in the online list, and CPUs that are possible but were never there. */
static void test_holes(void **state)
{
	static const int online[] = {0, 3, 4, 5};
	struct fake_cpu cpus[4];
	struct fake_machine m = {.cpus = cpus, .ncpus = 4, .possible = "0-7", .node_mib = 100};
	cleanup_topology struct topology t = {0};

	for (int i = 0; i < 4; i++)
		cpus[i] = (struct fake_cpu){
			.cpu = online[i], .phys = online[i], .core = online[i], .node = 0};
	m.isolated = "3-4";
	m.nohz_full = "(null)";
	fake_machine_make(&m);
	fake_machine_topology(&m, &t);
	assert_int_equal(t.ncpus, 4);
	assert_set(&t.online, "0,3-5");
	assert_set(&t.possible, "0-7");
	assert_set(&t.offline, "1-2,6-7");
	assert_set(&t.isolated, "3-4");
	assert_set(&t.nohz_full, "");
	assert_set(&t.allowed, "0,3-5");
	assert_null(topology_cpu(&t, 1));
	assert_null(topology_cpu(&t, -1));
	assert_null(topology_cpu(&t, 1000000));
	fake_machine_remove(&m);
}

/* core_id repeats over packages; package, node and cache disagree; the kernel may lack NUMA. */
static void test_disagreement(void **state)
{
	struct fake_cpu cpus[8];
	struct fake_machine m = {.cpus = cpus, .ncpus = 8, .node_mib = 100};
	cleanup_topology struct topology t = {0}, u = {0};

	/* Two packages; a node over both, a second one over half of the second; a cache a pair. */
	for (int i = 0; i < 8; i++)
		cpus[i] = (struct fake_cpu){.cpu = i,
					    .phys = i,
					    .package = i / 4,
					    .core = i % 4,
					    .node = i < 6 ? 0 : 3,
					    .llc = i / 2};
	fake_machine_make(&m);
	fake_machine_topology(&m, &t);
	assert_int_equal(t.npackages, 2);
	assert_int_equal(t.nllcs, 4);
	assert_int_equal(t.ncores, 8);
	assert_int_equal(t.nnodes, 2);
	assert_int_equal(t.nodes[1].node, 3);
	assert_set(&t.nodes[0].cpus, "0-5");
	assert_cpu(&t, 5, 5, 1, 0, 2, 5, 0);
	assert_cpu(&t, 6, 6, 1, 3, 3, 6, 0);
	fake_machine_remove(&m);

	for (int i = 0; i < 8; i++)
		cpus[i].node = -1;
	fake_machine_make(&m);
	fake_machine_topology(&m, &u);
	assert_int_equal(u.npackages, 2);
	assert_int_equal(u.ncpus, 8);
	fake_machine_remove(&m);
}

static void test_1280_cpus(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(10, 64, 2);
	struct fake_machine m = {.cpus = cpus, .ncpus = 1280, .node_mib = 1024};
	cleanup_topology struct topology t = {0};

	fake_machine_make(&m);
	fake_machine_topology(&m, &t);
	assert_int_equal(t.ncpus, 1280);
	assert_int_equal(t.npackages, 10);
	assert_int_equal(t.ncores, 640);
	assert_cpu(&t, 1279, 1279, 9, 9, 9, 639, 1);
	fake_machine_remove(&m);
}

static void test_quota(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(1, 4, 1);
	struct fake_machine m = {.cpus = cpus, .ncpus = 4, .node_mib = 100};
	cleanup_topology struct topology t = {0}, u = {0};

	fake_machine_make(&m);
	fake_machine_file(&m, "/proc/self/cgroup", "0::/a/b");
	fake_machine_file(&m, "/sys/fs/cgroup/a/b/cpu.max", "max 100000");
	fake_machine_file(&m, "/sys/fs/cgroup/a/cpu.max", "150000 100000");
	fake_machine_topology(&m, &t);
	assert_true(t.quota > 1.49 && t.quota < 1.51);

	fake_machine_file(&m, "/proc/self/cgroup", "4:cpuset:/x\n3:cpu,cpuacct:/c");
	fake_machine_file(&m, "/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "50000");
	fake_machine_file(&m, "/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000");
	fake_machine_topology(&m, &u);
	assert_true(u.quota > 0.49 && u.quota < 0.51);
	fake_machine_remove(&m);
}

/* riscv hart ids; arm64 MPIDR from the device tree, of one cell and of two. */
static void test_other_ids(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(1, 2, 1);
	struct fake_machine m = {.cpus = cpus, .ncpus = 2, .node_mib = 100};
	cleanup_topology struct topology t = {0}, u = {0};
	char path[200];
	FILE *f;

	fake_machine_make(&m);
	fake_machine_file(&m, "/proc/cpuinfo",
			  "processor\t: 0\nhart\t\t: 4\nuarch\t: some,core\n\n"
			  "processor\t: 1\nhart\t\t: 1\n");
	fake_machine_topology(&m, &t);
	assert_string_equal(t.arch, "riscv64");
	assert_int_equal(topology_cpu(&t, 0)->phys.v, 4);
	assert_int_equal(topology_cpu(&t, 1)->phys.v, 1);

	fake_machine_file(&m, "/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n");
	fake_machine_file(&m, "/sys/devices/system/cpu/cpu0/of_node/reg", "x");
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu0/of_node/reg", m.dir);
	f = fopen(path, "w");
	fwrite("\0\0\0\0\x81\0\x01\0", 1, 8, f);
	fclose(f);
	fake_machine_topology(&m, &u);
	assert_string_equal(u.arch, "aarch64");
	assert_int_equal(topology_cpu(&u, 0)->phys.v, 0x81000100);
	assert_int_equal(topology_cpu(&u, 1)->phys.v, -1);
	fake_machine_remove(&m);
}

/* A link in a dump leads nowhere but into the dump; broken files are errors, not crashes. */
static void test_root(void **state)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(1, 2, 1);
	struct fake_machine m = {.cpus = cpus, .ncpus = 2, .node_mib = 100};
	cleanup_topology struct topology t = {0};
	cleanup_root struct root r = ROOT_INIT;
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char link[200];
	long long n;

	fake_machine_make(&m);
	fake_machine_file(&m, "/etc/passwd", "inside");
	snprintf(link, sizeof(link), "%s/sys/link", m.dir);
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_int_equal(root_open(&r, m.dir, &e), 0);
	assert_int_equal(root_read(&r, &text, &e, "/sys/link"), 0);
	assert_string_equal(text, "inside");
	assert_false(root_exists(&r, "/../../../../../../etc/hostname"));
	assert_int_equal(root_read_number(&r, &n, &e, "/sys/link"), -EINVAL);
	assert_int_equal(root_read_number(&r, &n, &e, "/nothing"), -ENOENT);
	assert_int_equal(root_write(&r, "1", &e, "/nothing"), -ENOENT);
	assert_false(root_exists(&r, "/nothing"));

	fake_machine_file(&m, "/sys/devices/system/cpu/online", "0-4294967295");
	assert_true(topology_read(&t, &r, &e) < 0);
	assert_non_null(strstr(e.text, "CPU numbers end at"));
	fake_machine_remove(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apic_ids),  cmocka_unit_test(test_round_robin),
		cmocka_unit_test(test_holes),	  cmocka_unit_test(test_disagreement),
		cmocka_unit_test(test_1280_cpus), cmocka_unit_test(test_quota),
		cmocka_unit_test(test_other_ids), cmocka_unit_test(test_root),
	};

	return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
