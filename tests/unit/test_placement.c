// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/placement.h"
#include "tests/unit/fake_machine.h"

/* A plan of host-less arms, each given as its partitions' CPU sets. */
struct arm_text {
	const char *sets[12];
};

static void machine(struct topology *t, int packages, int cores, int threads)
{
	cleanup_free struct fake_cpu *cpus = fake_cpus(packages, cores, threads);
	struct fake_machine m = {
		.cpus = cpus, .ncpus = packages * cores * threads, .node_mib = 1L << 20};

	fake_machine_make(&m);
	fake_machine_topology(&m, t);
	fake_machine_remove(&m);
}

static struct plan *make_plan(const struct topology *t, const struct arm_text *arms, int narms,
			      const char *quiet)
{
	cleanup_free char *text = NULL;
	struct plan *p = NULL;
	struct err e = ERR_INIT;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "{\"format\":1,\"name\":\"t\",\"quiet\":\"%s\",\"tasks\":\"1\",\"arms\":[", quiet);
	for (int i = 0; i < narms; i++) {
		fprintf(f, "%s{\"name\":\"a%d\",\"backend\":\"mklinux\",\"partitions\":[",
			i ? "," : "", i);
		for (int k = 0; arms[i].sets[k]; k++)
			fprintf(f, "%s{\"name\":\"p%d\",\"cpus\":\"%s\"}", k ? "," : "", k,
				arms[i].sets[k]);
		fprintf(f, "]}");
	}
	fprintf(f, "],\"tests\":[{\"test\":\"unlink1\"}]}");
	fclose(f);
	if (plan_parse(&p, "test.json", text, len, t, NULL, NULL, &e) < 0)
		fail_msg("%s\n%s", e.text, text);
	return p;
}

static void phys_of(const struct placement *p, const struct topology *t, struct cpumask *m)
{
	for (int i = 0; i < p->ntasks; i++) {
		assert_false(cpumask_test(m, (int)topology_cpu(t, p->cpus[i])->phys.v));
		cpumask_set(m, (int)topology_cpu(t, p->cpus[i])->phys.v);
	}
}

/* Every count of every arm: the same CPUs, each once, inside its partition, never a quiet one. */
static void check(const struct plan *p, const struct topology *t)
{
	int n = cpumask_weight(&p->groups[0].usable);
	struct placement *out = calloc((size_t)p->narms, sizeof(*out));
	cleanup_placer struct placer *placer = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(p->ngroups, 1);
	assert_int_equal(placer_new(&placer, p, 0, t, &e), 0);
	for (int tasks = 1; tasks <= n; tasks++) {
		cleanup_cpumask struct cpumask first = CPUMASK_INIT;

		if (placer_place(placer, tasks, out, &e) < 0)
			fail_msg("%s", e.text);
		phys_of(&out[0], t, &first);
		for (int a = 0; a < p->narms; a++) {
			cleanup_cpumask struct cpumask ids = CPUMASK_INIT;
			int at = 0;

			assert_int_equal(out[a].ntasks, tasks);
			phys_of(&out[a], t, &ids);
			assert_true(cpumask_equal(&ids, &first));
			for (int k = 0; k < p->arms[a].npartitions; k++) {
				if (tasks >= p->arms[a].npartitions)
					assert_true(out[a].counts[k] >= 1);
				for (int i = 0; i < out[a].counts[k]; i++, at++) {
					int cpu = out[a].cpus[at];

					assert_true(cpumask_test(&p->arms[a].partitions[k].cpus, cpu));
					assert_false(cpumask_test(&p->quiet, cpu));
				}
			}
			assert_int_equal(at, tasks);
			placement_free(&out[a]);
		}
	}
	assert_true(placer_place(placer, n + 1, out, &e) < 0);
	assert_int_equal(e.exit, EXIT_USAGE);
	assert_true(placer_place(placer, 0, out, &e) < 0);
	free(out);
}

static void check_arms(int packages, int cores, int threads, const struct arm_text *arms, int narms,
		       const char *quiet)
{
	cleanup_topology struct topology t = {0};
	cleanup_plan struct plan *p = NULL;

	machine(&t, packages, cores, threads);
	p = make_plan(&t, arms, narms, quiet);
	check(p, &t);
}

/* Two packages of 24: at 24 tasks both arms use the same 24 physical CPUs, 12 a package. */
static void test_two_sockets(void **state)
{
	static const struct arm_text arms[] = {{{"all"}}, {{"package:0", "package:1"}}};
	cleanup_topology struct topology t = {0};
	cleanup_plan struct plan *p = NULL;
	cleanup_placer struct placer *placer = NULL;
	cleanup_cpumask struct cpumask one = CPUMASK_INIT, two = CPUMASK_INIT, want = CPUMASK_INIT;
	struct placement out[2];
	struct err e = ERR_INIT;

	machine(&t, 2, 24, 1);
	p = make_plan(&t, arms, 2, "auto");
	check(p, &t);
	assert_int_equal(placer_new(&placer, p, 0, &t, &e), 0);
	assert_int_equal(placer_place(placer, 24, out, &e), 0);
	phys_of(&out[0], &t, &one);
	phys_of(&out[1], &t, &two);
	assert_true(cpumask_equal(&one, &two));
	/* CPU 0 and the first core of package 1 (APIC id 32) are quiet. */
	assert_int_equal(cpumask_parse(&want, "1-12,33-44", &e), 0);
	assert_true(cpumask_equal(&one, &want));
	assert_int_equal(out[1].counts[0], 12);
	assert_int_equal(out[1].counts[1], 12);
	placement_free(&out[0]);
	placement_free(&out[1]);
}

/* 4 + 20: tasks in proportion, and never two on one CPU. */
static void test_four_and_twenty(void **state)
{
	static const struct arm_text arms[] = {{{"all"}}, {{"0-3", "4-23"}}};
	cleanup_topology struct topology t = {0};
	cleanup_plan struct plan *p = NULL;
	cleanup_placer struct placer *placer = NULL;
	struct placement out[2];
	struct err e = ERR_INIT;
	static const int expect[][3] = {{24, 4, 20}, {12, 2, 10}, {2, 1, 1}, {1, 0, 1}, {18, 3, 15}};

	machine(&t, 1, 24, 1);
	p = make_plan(&t, arms, 2, "none");
	check(p, &t);
	assert_int_equal(placer_new(&placer, p, 0, &t, &e), 0);
	for (size_t i = 0; i < sizeof(expect) / sizeof(expect[0]); i++) {
		assert_int_equal(placer_place(placer, expect[i][0], out, &e), 0);
		assert_int_equal(out[1].counts[0], expect[i][1]);
		assert_int_equal(out[1].counts[1], expect[i][2]);
		placement_free(&out[0]);
		placement_free(&out[1]);
	}
}

/* Arms whose partitions cut across one another, and more than two of them. */
static void test_crossing(void **state)
{
	static const struct arm_text halves[] = {{{"0-3", "4-7"}}, {{"0,2,4,6", "1,3,5,7"}}};
	static const struct arm_text three[] = {{{"all"}},
						{{"0-11", "12-23"}},
						{{"0-5", "6-11", "12-17", "18-23"}},
						{{"0-3", "4-23"}}};
	static const struct arm_text uneven[] = {{{"0-6", "7-23"}}, {{"0-16", "17-23"}}, {{"3-20"}}};

	check_arms(1, 8, 1, halves, 2, "none");
	check_arms(2, 12, 1, three, 4, "none");
	check_arms(2, 12, 1, three, 4, "auto");
	check_arms(2, 12, 1, uneven, 3, "none");
}

/* Second hardware threads are used only when every core is busy. */
static void test_threads_last(void **state)
{
	static const struct arm_text arms[] = {{{"all"}}, {{"package:0", "package:1"}}};
	cleanup_topology struct topology t = {0};
	cleanup_plan struct plan *p = NULL;
	cleanup_placer struct placer *placer = NULL;
	struct placement out[2];
	struct err e = ERR_INIT;

	machine(&t, 2, 4, 2);
	p = make_plan(&t, arms, 2, "none");
	check(p, &t);
	assert_int_equal(placer_new(&placer, p, 0, &t, &e), 0);
	for (int n = 1; n <= 16; n++) {
		int second = 0;

		assert_int_equal(placer_place(placer, n, out, &e), 0);
		for (int i = 0; i < n; i++)
			second += topology_cpu(&t, out[0].cpus[i])->smt;
		assert_int_equal(second, n > 8 ? n - 8 : 0);
		placement_free(&out[0]);
		placement_free(&out[1]);
	}
}

/* Arms that cannot agree: each of the four CPUs is a kernel here, and a pair there. */
static void test_many_arms_at_once(void **state)
{
	static const struct arm_text arms[] = {{{"0", "1", "2", "3", "4", "5", "6", "7"}},
					       {{"0-1", "2-3", "4-5", "6-7"}},
					       {{"0,7", "1,6", "2,5", "3,4"}},
					       {{"0-3", "4-7"}}};

	check_arms(1, 8, 1, arms, 4, "none");
}

static void test_anchor(void **state)
{
	static const struct arm_text arms[] = {{{"all"}}, {{"package:0", "package:1"}}};
	cleanup_topology struct topology t = {0};
	cleanup_plan struct plan *p = NULL;
	cleanup_placer struct placer *placer = NULL;
	struct placement out[2];
	struct err e = ERR_INIT;

	machine(&t, 2, 4, 1);
	p = make_plan(&t, arms, 2, "auto");
	assert_int_equal(placer_new(&placer, p, 0, &t, &e), 0);
	assert_int_equal(placer_anchor(placer, out, &e), 0);
	assert_int_equal(out[0].ntasks, 1);
	assert_int_equal(out[1].ntasks, 2);
	assert_int_equal(out[1].cpus[0], 1);
	assert_int_equal(out[1].cpus[1], 5);
	assert_int_equal(out[0].cpus[0], 1);
	assert_int_equal(out[1].counts[0], 1);
	assert_int_equal(out[1].counts[1], 1);
	placement_free(&out[0]);
	placement_free(&out[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_sockets),	  cmocka_unit_test(test_four_and_twenty),
		cmocka_unit_test(test_crossing),	  cmocka_unit_test(test_threads_last),
		cmocka_unit_test(test_many_arms_at_once), cmocka_unit_test(test_anchor),
	};

	return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
