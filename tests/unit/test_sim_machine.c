// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io.h"
#include "sim/buf.h"
#include "sim/machine.h"

static const struct machine_options options = {UINT64_C(64) << 30};

static void test_synthetic(void **state)
{
	struct machine m;
	struct err e = ERR_INIT;

	/* The table of docs/mklinux-abi.md section 15, by hand. */
	assert_int_equal(machine_read(&m, "pack:2 numa:1 core:24 pu:1", &options, &e), 0);
	assert_int_equal(m.ncpus, 48);
	assert_int_equal(m.nnodes, 2);
	for (int n = 0; n < 24; n++) {
		assert_int_equal(m.cpus[n].phys, 2 * n);
		assert_int_equal(m.cpus[24 + n].phys, 128 + 2 * n);
		assert_int_equal(m.cpus[n].node, 0);
		assert_int_equal(m.cpus[24 + n].node, 1);
	}
	assert_int_equal(machine_cpu_of(&m, 174), 47);
	assert_int_equal(machine_cpu_of(&m, 1), -1);
	assert_int_equal(m.nodes[0].memory, options.node_memory);
	assert_string_equal(store_get(&m.sys, "cpu/cpu24/topology/physical_package_id")->text,
			    "1\n");
	assert_string_equal(store_get(&m.sys, "cpu/cpu24/topology/core_siblings_list")->text,
			    "24-47\n");
	machine_free(&m);
}

static void test_smt(void **state)
{
	struct machine m;
	struct err e = ERR_INIT;

	assert_int_equal(machine_read(&m, "pack:2 [numa(memory=1GB)] core:2 pu:2", &options, &e), 0);
	assert_int_equal(m.cpus[0].phys, 0);
	assert_int_equal(m.cpus[1].phys, 1);
	assert_int_equal(m.cpus[2].phys, 2);
	assert_int_equal(m.cpus[4].phys, 128);
	assert_string_equal(store_get(&m.sys, "cpu/cpu1/topology/thread_siblings_list")->text,
			    "0-1\n");
	/* What the specification says of memory is believed. */
	assert_in_range(m.nodes[1].memory, 1000000000, 1 << 30);
	machine_free(&m);
}

static void test_memory_layout(void **state)
{
	struct machine m;
	struct err e = ERR_INIT;
	uint64_t end = 0;

	assert_int_equal(machine_read(&m, "numa:4 core:2 pu:1", &options, &e), 0);
	for (int n = 0; n < m.nnodes; n++) {
		uint64_t sum = 0;

		for (int r = 0; r < m.nodes[n].nranges; r++) {
			/* Ascending, apart, and none in the hole below 4 GiB. */
			const struct range *g = &m.nodes[n].ranges[r];

			assert_true(g->base >= end);
			end = g->base + g->size;
			assert_true(end <= UINT64_C(0xc0000000) || g->base >= UINT64_C(1) << 32);
			sum += g->size;
		}
		assert_in_range(m.nodes[n].memory - sum, 0, 1 << 20);
	}
	machine_free(&m);
}

static void put_file(const char *dir, const char *path, const char *text)
{
	cleanup_free char *full = NULL;
	struct err e = ERR_INIT;

	assert_true(asprintf(&full, "%s/%s", dir, path) > 0);
	for (char *p = strchr(full + strlen(dir) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	assert_int_equal(replace_file(full, text, strlen(text), 0644, &e), 0);
}

/* A dump with a hole: CPU 1 is offline, CPU 3 only possible; ids are sparse. */
static void test_dump(void **state)
{
	char dir[] = "/tmp/sim-dump-XXXXXX", command[200];
	struct machine m;
	struct err e = ERR_INIT;

	assert_non_null(mkdtemp(dir));
	put_file(dir, "proc/cpuinfo",
		 "processor\t: 0\napicid\t\t: 16\ninitial apicid\t: 0\n\n"
		 "processor\t: 2\napicid\t\t: 48\ninitial apicid\t: 32\n");
	put_file(dir, "sys/devices/system/cpu/online", "0,2\n");
	put_file(dir, "sys/devices/system/cpu/present", "0-2\n");
	put_file(dir, "sys/devices/system/cpu/possible", "0-3\n");
	put_file(dir, "sys/devices/system/cpu/cpu2/topology/physical_package_id", "1\n");
	put_file(dir, "sys/devices/system/node/node0/cpulist", "0\n");
	put_file(dir, "sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:  1000000 kB\n");
	put_file(dir, "sys/devices/system/node/node7/cpumap", "00000004\n");
	put_file(dir, "sys/devices/system/node/node7/meminfo", "Node 7 MemTotal:  0 kB\n");

	assert_int_equal(machine_read(&m, dir, &options, &e), 0);
	assert_int_equal(m.ncpus, 4);
	assert_int_equal(m.cpus[0].phys, 16);
	assert_int_equal(m.cpus[2].phys, 48);
	assert_int_equal(m.cpus[2].package, 1);
	assert_true(m.cpus[1].present && !m.cpus[1].online);
	assert_false(m.cpus[3].present);
	assert_int_equal(m.nnodes, 2);
	assert_int_equal(m.nodes[1].node, 7);
	assert_int_equal(m.nodes[1].memory, 0);
	assert_int_equal(m.cpus[2].node, 7);
	assert_int_equal(m.nodes[0].memory, UINT64_C(1000000) * 1024);
	machine_free(&m);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

static void test_refused(void **state)
{
	struct machine m;
	struct err e = ERR_INIT;

	assert_int_equal(machine_read(&m, "nonsense", &options, &e), -EINVAL);
	assert_int_equal(e.exit, EXIT_USAGE);
	assert_true(machine_read(&m, "/dev/null", &options, &e) < 0);
}

static void test_cpumap(void **state)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT, back = CPUMASK_INIT;
	cleanup_free char *text = NULL;

	cpumask_set(&m, 0);
	cpumask_set(&m, 33);
	text = format_cpumap(&m, 40);
	assert_string_equal(text, "02,00000001");
	assert_int_equal(parse_cpumap(&back, "02,00000001\n"), 0);
	assert_true(cpumask_equal(&m, &back));
	assert_int_equal(parse_cpumap(&back, "0g"), -EINVAL);
}

static void test_store(void **state)
{
	struct store s = {0};

	/* "a-b" sorts before "a/b" in ASCII, yet is not below "a". */
	assert_int_equal(store_put(&s, "a-b", "1", false), 0);
	assert_int_equal(store_put(&s, "a/b", "2", false), 0);
	assert_int_equal(store_put(&s, "ab", "3", false), 0);
	store_sort(&s);
	assert_true(store_has_folder(&s, "a"));
	assert_false(store_has_folder(&s, "ab"));
	assert_string_equal(store_get(&s, "a/b")->text, "2");
	assert_int_equal(store_set(&s, "a/b", "new"), 0);
	assert_string_equal(store_get(&s, "a/b")->text, "new");
	assert_string_equal(store_get(&s, "a/b")->original, "2");
	assert_int_equal(store_set(&s, "a/c", "new"), -ENOENT);
	store_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_synthetic),     cmocka_unit_test(test_smt),
		cmocka_unit_test(test_memory_layout), cmocka_unit_test(test_dump),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_cpumap),
		cmocka_unit_test(test_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
