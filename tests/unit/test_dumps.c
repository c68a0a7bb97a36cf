// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dumps of real machines, where the folder with them is there ($MKSPLIT_MACHINES, or
 * shared/machines beside the source tree): the tables below were written by hand from each
 * machine's /proc/cpuinfo and node lists.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "harness/machine/check.h"
#include "harness/plan/cpuset.h"
#include "harness/plan/placement.h"
#include "tests/unit/fake_machine.h"

static const char *folder;

static void open_dump(struct fake_machine *m, const char *name)
{
	char file[600];

	if (!folder)
		skip();
	fake_machine_folder(m);
	snprintf(file, sizeof(file), "%s/%s.tar.bz2", folder, name);
	fake_machine_unpack(file, m->dir, true);
}

struct row {
	int cpu;
	long phys;
	int package, node, kind;
};

static void check_rows(const struct topology *t, const struct row *rows, int n)
{
	for (int i = 0; i < n; i++) {
		const struct topo_cpu *c = topology_cpu(t, rows[i].cpu);

		assert_non_null(c);
		assert_int_equal(c->phys.v, rows[i].phys);
		assert_int_equal(c->package, rows[i].package);
		assert_int_equal(c->node, rows[i].node);
		assert_int_equal(c->kind, rows[i].kind);
	}
}

static void check_set(const struct topology *t, const char *text, const char *list)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	cleanup_free char *got = NULL;
	struct err e = ERR_INIT;

	if (cpuset_parse(&m, text, t, false, &e) < 0)
		fail_msg("%s", e.text);
	got = cpumask_format(&m);
	assert_string_equal(got, list);
}

#define ROWS(rows) rows, (int)(sizeof(rows) / sizeof(rows[0]))

static void test_two_packages(void **state)
{
	static const struct row rows[] = {{0, 0, 0, 0, 0},  {1, 2, 0, 0, 0},  {2, 4, 0, 0, 0},
					  {3, 6, 0, 0, 0},  {4, 8, 0, 0, 0},  {5, 10, 0, 0, 0},
					  {6, 12, 0, 0, 0}, {7, 14, 0, 0, 0}, {8, 32, 1, 1, 0},
					  {9, 34, 1, 1, 0}, {15, 46, 1, 1, 0}};
	struct fake_machine m;
	cleanup_topology struct topology t = {0};
	cleanup_free char *possible = NULL;

	open_dump(&m, "32em64t-2n8c+dax+nvme+mic+dimms");
	fake_machine_topology(&m, &t);
	assert_int_equal(t.ncpus, 16);
	check_rows(&t, ROWS(rows));
	possible = cpumask_format(&t.possible);
	assert_string_equal(possible, "0-127");
	check_set(&t, "all/2.1", "8-15");
	check_set(&t, "llc:1", "8-15");
	check_set(&t, "numa:0/2.1", "4-7");
	fake_machine_remove(&m);
}

static void test_round_robin_packages(void **state)
{
	static const struct row rows[] = {{0, 0, 0, 0, 0},    {1, 64, 1, 1, 0},	 {2, 128, 2, 2, 0},
					  {3, 192, 3, 3, 0},  {4, 2, 0, 0, 0},	 {12, 16, 0, 0, 0},
					  {13, 80, 1, 1, 0},  {20, 32, 0, 0, 0}, {25, 98, 1, 1, 0},
					  {38, 178, 2, 2, 0}, {39, 242, 3, 3, 0}};
	struct fake_machine m;
	cleanup_topology struct topology t = {0};
	cleanup_checks struct check_results checks = {0};
	cleanup_root struct root r = ROOT_INIT;
	struct err e = ERR_INIT;
	struct check_env env = {.root = &r, .topology = &t};

	open_dump(&m, "40intel64-4n10c+pci-conflicts");
	fake_machine_topology(&m, &t);
	assert_int_equal(t.ncpus, 40);
	assert_int_equal(t.npackages, 4);
	assert_int_equal(t.nllcs, 4);
	check_rows(&t, ROWS(rows));
	check_set(&t, "package:1", "1,5,9,13,17,21,25,29,33,37");
	check_set(&t, "all/2.0", "0-1,4-5,8-9,12-13,16-17,20-21,24-25,28-29,32-33,36-37");
	check_set(&t, "all[0-1]", "0,4");
	/* One of its files contradicts the others: said, not hidden. */
	assert_int_equal(root_open(&r, m.dir, &e), 0);
	assert_int_equal(machine_checks_run(&env, false, &checks, &e), 0);
	assert_string_equal(checks.v[0].name, "topology");
	assert_int_equal(checks.v[0].status, CHECK_WARN);
	fake_machine_remove(&m);
}

static void test_offline_and_cpuset(void **state)
{
	static const struct row rows[] = {{0, 16, 0, 0, 0},  {1, 17, 0, 0, 0}, {3, 19, 1, 1, 0},
					  {5, 21, 2, 2, 0},  {6, 22, 3, 3, 0}, {7, 23, 3, 3, 0},
					  {14, 30, 7, 7, 0}, {15, 31, 7, 7, 0}};
	struct fake_machine m;
	cleanup_topology struct topology t = {0};
	cleanup_free char *offline = NULL;
	cleanup_cpumask struct cpumask set = CPUMASK_INIT;
	struct err e = ERR_INIT;

	open_dump(&m, "16amd64-8n2c-cpusets");
	fake_machine_topology(&m, &t);
	assert_int_equal(t.ncpus, 15);
	assert_null(topology_cpu(&t, 4));
	check_rows(&t, ROWS(rows));
	offline = cpumask_format(&t.offline);
	assert_string_equal(offline, "4");
	/* The cpuset of the process that was dumped: 0-6,12-15. */
	check_set(&t, "all", "0-3,5-6,12-15");
	check_set(&t, "package:2", "5");
	assert_true(cpuset_parse(&set, "3-5", &t, false, &e) < 0);
	assert_non_null(strstr(e.text, "CPU 4 is not online (online: 0-3,5-15)"));
	fake_machine_remove(&m);
}

static void test_hybrid(void **state)
{
	static const struct row rows[] = {{0, 0, 0, 0, 1},   {1, 1, 0, 0, 1},	{2, 8, 0, 0, 1},
					  {11, 41, 0, 0, 1}, {12, 48, 0, 0, 0}, {13, 50, 0, 0, 0},
					  {19, 62, 0, 0, 0}};
	struct fake_machine m;
	cleanup_topology struct topology t = {0};

	open_dump(&m, "20em64t-hybrid-1p6c2t+2ca4co1t");
	fake_machine_topology(&m, &t);
	assert_int_equal(t.ncpus, 20);
	assert_int_equal(t.ncores, 14);
	assert_int_equal(t.nkinds, 2);
	check_rows(&t, ROWS(rows));
	check_set(&t, "core:0,6", "0-1,12");
	check_set(&t, "all[0-6]", "0,2,4,6,8,10,12");
	fake_machine_remove(&m);
}

static void find_folder(void)
{
	static const char *const places[] = {MKSPLIT_SOURCE_DIR "/../shared/machines",
					     MKSPLIT_SOURCE_DIR "/../../shared/machines"};
	const char *named = getenv("MKSPLIT_MACHINES");

	if (named && *named)
		folder = named;
	for (size_t i = 0; !folder && i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			folder = places[i];
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_packages),
		cmocka_unit_test(test_round_robin_packages),
		cmocka_unit_test(test_offline_and_cpuset),
		cmocka_unit_test(test_hybrid),
	};

	find_folder();
	return cmocka_run_group_tests_name("dumps", tests, NULL, NULL);
}
