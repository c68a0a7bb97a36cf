// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/topology.h"

static char tree[] = "/tmp/bench-topology-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *f;

	snprintf(full, sizeof(full), "%s/sys/devices/system/%s", tree, path);
	for (char *p = full + strlen(tree) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0700);
		*p = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_cpu(int cpu, int package, const char *siblings, const char *llc)
{
	char path[200], text[40];

	snprintf(path, sizeof(path), "cpu/cpu%d/topology/physical_package_id", cpu);
	snprintf(text, sizeof(text), "%d\n", package);
	put(path, text);
	snprintf(path, sizeof(path), "cpu/cpu%d/topology/thread_siblings_list", cpu);
	put(path, siblings);
	snprintf(path, sizeof(path), "cpu/cpu%d/cache/index0/level", cpu);
	put(path, "1\n");
	snprintf(path, sizeof(path), "cpu/cpu%d/cache/index0/shared_cpu_list", cpu);
	put(path, siblings);
	snprintf(path, sizeof(path), "cpu/cpu%d/cache/index1/level", cpu);
	put(path, "3\n");
	snprintf(path, sizeof(path), "cpu/cpu%d/cache/index1/shared_cpu_list", cpu);
	put(path, llc);
}

/* Two packages of two cores of two threads; threads numbered last, packages odd and even. */
static void two_packages(bool numa)
{
	put("cpu/online", "0-7\n");
	for (int i = 0; i < 8; i++) {
		char siblings[20];

		snprintf(siblings, sizeof(siblings), "%d,%d\n", i % 4, i % 4 + 4);
		put_cpu(i, i % 2, siblings, i % 2 ? "1,3,5,7\n" : "0,2,4,6\n");
	}
	if (!numa)
		return;
	put("node/online", "0,2\n");
	put("node/node0/cpulist", "0,2,4,6\n");
	put("node/node2/cpulist", "1,3,5,7\n");
}

static int setup(void **state)
{
	strcpy(tree + strlen(tree) - 6, "XXXXXX");
	assert_non_null(mkdtemp(tree));
	return 0;
}

static int drop(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	return nftw(tree, drop, 10, FTW_DEPTH | FTW_PHYS);
}

static void orders_cores_before_threads(void **state)
{
	static const int want[] = {0, 2, 1, 3, 4, 6, 5, 7};
	cleanup_topology struct topology t = TOPOLOGY_INIT;
	struct err e = ERR_INIT;

	two_packages(true);
	assert_int_equal(topology_read(&t, tree, NULL, &e), 0);
	assert_int_equal(t.n, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(t.cpus[i].cpu, want[i]);
	assert_int_equal(topology_cpu(&t, 7)->node, 2);
	assert_int_equal(topology_cpu(&t, 7)->llc, 1);
	assert_int_equal(topology_cpu(&t, 7)->core, 3);
	assert_int_equal(topology_cpu(&t, 7)->thread, 1);
	assert_null(topology_cpu(&t, 8));
}

static void knows_tiers(void **state)
{
	cleanup_topology struct topology t = TOPOLOGY_INIT;
	struct err e = ERR_INIT;
	int a, b;

	two_packages(true);
	assert_int_equal(topology_read(&t, tree, NULL, &e), 0);
	assert_int_equal(topology_tier(&t, 3, 3), TIER_T0);
	assert_int_equal(topology_tier(&t, 3, 7), TIER_T1);
	assert_int_equal(topology_tier(&t, 3, 5), TIER_T2);
	assert_int_equal(topology_tier(&t, 3, 6), TIER_T3);
	assert_int_equal(topology_tier(&t, 3, 9), -ENOENT);
	assert_int_equal(topology_pair(&t, TIER_T1, &a, &b), 0);
	assert_int_equal(a, 0);
	assert_int_equal(b, 4);
	assert_int_equal(topology_pair(&t, TIER_T3, &a, &b), 0);
	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
	assert_int_equal(topology_remote_node(&t, 1), 0);
	assert_int_equal(topology_remote_node(&t, 0), 2);
}

static void keeps_to_the_allowed(void **state)
{
	cleanup_cpumask struct cpumask allowed = CPUMASK_INIT;
	cleanup_topology struct topology t = TOPOLOGY_INIT;
	struct err e = ERR_INIT;
	int a, b;

	two_packages(true);
	assert_int_equal(cpumask_parse(&allowed, "2,6,40", &e), 0);
	assert_int_equal(topology_read(&t, tree, &allowed, &e), 0);
	assert_int_equal(t.n, 2);
	assert_int_equal(topology_pair(&t, TIER_T3, &a, &b), -ENOENT);
	assert_int_equal(topology_remote_node(&t, 2), -1);
	topology_free(&t);
	assert_int_equal(cpumask_parse(&allowed, "40", &e), 0);
	assert_int_equal(topology_read(&t, tree, &allowed, &e), -ENOENT);
}

static void packages_stand_in_for_nodes(void **state)
{
	cleanup_topology struct topology t = TOPOLOGY_INIT;
	struct err e = ERR_INIT;

	two_packages(false);
	assert_int_equal(topology_read(&t, tree, NULL, &e), 0);
	assert_false(t.numa);
	assert_int_equal(topology_tier(&t, 0, 1), TIER_T3);
	assert_int_equal(topology_remote_node(&t, 0), -1);
}

static void works_without_sysfs(void **state)
{
	cleanup_cpumask struct cpumask allowed = CPUMASK_INIT;
	cleanup_topology struct topology t = TOPOLOGY_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(cpumask_parse(&allowed, "1,3", &e), 0);
	assert_int_equal(topology_read(&t, tree, &allowed, &e), 0);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.cpus[1].cpu, 3);
	assert_int_equal(topology_tier(&t, 1, 3), TIER_T2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(orders_cores_before_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(knows_tiers, setup, teardown),
		cmocka_unit_test_setup_teardown(keeps_to_the_allowed, setup, teardown),
		cmocka_unit_test_setup_teardown(packages_stand_in_for_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(works_without_sysfs, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
