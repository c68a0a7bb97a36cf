// SPDX-License-Identifier: GPL-2.0-or-later
/* From a plan to the pool, the instances and the steps, on machines whose ids were written by hand. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/mklinux/own.h"
#include "harness/plan/load.h"
#include "harness/plan/plan.h"
#include "tests/unit/fake_machine.h"

#define GIB (UINT64_C(1) << 30)

/* The machine of the ABI's worked example: CPU n is APIC 2n, CPU 24+m is APIC 128+2m. */
static struct fake_cpu worked[48];
/* Sparse and out of order: the second package is numbered first, hardware threads are last. */
static const struct fake_cpu odd[] = {
	{0, 64, 1, 0, 1, 1}, {1, 66, 1, 1, 1, 1}, {2, 4, 0, 0, 0, 0}, {3, 6, 0, 1, 0, 0},
	{4, 65, 1, 0, 1, 1}, {5, 67, 1, 1, 1, 1}, {6, 5, 0, 0, 0, 0}, {7, 7, 0, 1, 0, 0},
};

struct bed {
	struct fake_machine m;
	struct root root;
	struct topology t;
	struct plan *p;
	struct backend b;
};

static void open_bed(struct bed *d, const struct fake_cpu *cpus, int n, const char *json)
{
	cleanup_free char *text = strdup(json);
	struct err e = ERR_INIT;

	*d = (struct bed){.m = {.cpus = cpus, .ncpus = n, .node_mib = 65536}};
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	fake_machine_make(&d->m);
	fake_machine_file(&d->m, "/sys/devices/system/memory/block_size_bytes", "8000000\n");
	fake_machine_file(&d->m, "/proc/filesystems", "nodev\tsysfs\n");
	fake_machine_file(&d->m, "/proc/cmdline", "root=/dev/sda1 mitigations=off quiet\n");
	fake_machine_topology(&d->m, &d->t);
	assert_int_equal(root_open(&d->root, d->m.dir, &e), 0);
	if (plan_parse(&d->p, "x.json", text, strlen(text), &d->t, NULL, NULL, &e) < 0)
		fail_msg("%s", e.text);
	d->b = (struct backend){.ops = &backend_mklinux,
				.env = {.root = &d->root,
					.topology = &d->t,
					.plan = d->p,
					.run_dir = "/run/x",
					.token = "TOKEN"}};
	if (backend_mklinux.open(&d->b, &e))
		fail_msg("%s", e.text);
}

static void close_bed(struct bed *d)
{
	backend_mklinux.close(&d->b);
	plan_free(&d->p);
	topology_free(&d->t);
	root_close(&d->root);
	fake_machine_remove(&d->m);
}

#define PLAN(arms)                                                                                \
	"{'format': 1, 'name': 'x', 'quiet': 'none', 'kernels': {'k': {'image': '/boot/vmlinux'," \
	" 'append': 'apparmor=0'}}, 'arms': [" arms                                               \
	"], 'tests': [{'test': 'getppid1'}], 'tasks': '2',"                                       \
	" 'blocks': 2}"

static const char two_spawns[] =
	PLAN("{'name': 'split', 'backend': 'mklinux', 'partitions': ["
	     "{'name': 'west', 'cpus': '4-23', 'kernel': 'k', 'memory': '16G'},"
	     "{'name': 'east', 'cpus': '24-47', 'kernel': 'k', 'memory': '16G'}]}");

static int setup(void **state)
{
	for (int i = 0; i < 48; i++)
		worked[i] = (struct fake_cpu){
			i, i < 24 ? 2 * i : 128 + 2 * (i - 24), i / 24, i % 24, i / 24, i / 24};
	return 0;
}

static const struct step *find(const struct steps *s, const char *kind, int partition)
{
	for (int i = 0; i < s->n; i++)
		if (strcmp(s->v[i].kind, kind) == 0 && s->v[i].partition == partition)
			return &s->v[i];
	return NULL;
}

static const char *dts(const struct step *s)
{
	return json_string_value(json_object_get(json_array_get(s->blob, 0), "dts"));
}

static void test_worked_example(void **state)
{
	struct bed d;
	struct steps s = {0};
	struct err e = ERR_INIT;
	const struct mk_own *o;
	struct layout none = {0}, want;
	static const char *const order[] = {"mount",	       "take-pool",   "create-instance",
					    "connect-console", "load-kernel", "create-instance",
					    "connect-console", "load-kernel", "boot-kernel",
					    "boot-kernel"};

	open_bed(&d, worked, 48, two_spawns);
	o = mk_own(&d.b);
	assert_int_equal(o->pool.nids, 44);
	assert_int_equal(o->pool.ids[0].v, 8);
	assert_int_equal(o->pool.ids[20].v, 128);
	assert_int_equal(o->pool.ids[43].v, 174);
	/* 16 GiB and a quarter of slack a node, in memory blocks. */
	assert_int_equal(o->pool.nchunks, 2);
	assert_int_equal(o->pool.chunks[1].size, 16 * GIB + GIB / 4);
	assert_int_equal(o->pool.chunks[1].node, 1);

	want.arm = &d.p->arms[0];
	assert_int_equal(mk_plan(&d.b, &none, &want, &s, &e), 0);
	assert_int_equal(s.n, sizeof(order) / sizeof(*order));
	for (int i = 0; i < s.n; i++)
		assert_string_equal(s.v[i].kind, order[i]);
	assert_non_null(
		strstr(dts(find(&s, "create-instance", 1)), "instance-name = \"mksplit-east\";"));
	assert_non_null(
		strstr(dts(find(&s, "create-instance", 1)), "cpus = /bits/ 64 <128 130 132 "));
	assert_non_null(strstr(dts(find(&s, "create-instance", 1)), "numa-nodes = <1>;"));
	assert_non_null(strstr(find(&s, "load-kernel", 0)->what,
			       "mksplit.token=TOKEN mitigations=off apparmor=0"));
	/* A dry run changes nothing. */
	assert_int_equal(mk_step_apply(&d.b, &s.v[0], &e), -EROFS);
	assert_int_equal(d.b.ops->agent_cpu(&d.b, 1, 24), 0);
	assert_int_equal(d.b.ops->agent_cpu(&d.b, 1, 47), 23);
	assert_int_equal(d.b.ops->agent_cpu(&d.b, 0, 47), -1);
	steps_free(&s);
	close_bed(&d);
}

/* Quiet CPUs boot a kernel; the host's own partition takes its CPUs home. */
static void test_odd_machine_and_host(void **state)
{
	struct bed d;
	struct steps s = {0};
	struct err e = ERR_INIT;
	const struct mk_own *o;
	const struct mk_kernel *k;
	struct layout none = {0}, want;

	open_bed(&d, odd, 8,
		 "{'format': 1, 'name': 'x', 'quiet': '3,7,0,4', 'kernels': {'k': {'image': "
		 "'/v'}}, 'arms': ["
		 "{'name': 'one', 'backend': 'mklinux', 'partitions': ["
		 " {'name': 'whole', 'host': true, 'cpus': 'all'}]},"
		 "{'name': 'two', 'backend': 'mklinux', 'partitions': ["
		 " {'name': 'host', 'host': true, 'cpus': '0,1,4,5'},"
		 " {'name': 'spawn', 'cpus': '2,3,6,7', 'kernel': 'k', 'memory': '1G'}]}],"
		 " 'tests': [{'test': 'getppid1'}], 'tasks': '2', 'blocks': 2}");
	o = mk_own(&d.b);
	assert_int_equal(o->pool.nids, 4);
	/* CPUs 2, 3, 6, 7 in their order. */
	assert_int_equal(o->pool.ids[0].v, 4);
	assert_int_equal(o->pool.ids[1].v, 6);
	assert_int_equal(o->pool.ids[2].v, 5);
	assert_int_equal(o->pool.ids[3].v, 7);
	assert_true(cpumask_equal(&o->pool.home, &o->pool.cpus));

	want.arm = &d.p->arms[0];
	assert_int_equal(mk_plan(&d.b, &none, &want, &s, &e), 0);
	assert_non_null(find(&s, "cpus-home", -1));
	assert_non_null(strstr(dts(find(&s, "cpus-home", -1)), "cpu@5 {"));
	assert_non_null(find(&s, "start-agent", 0));
	assert_null(find(&s, "create-instance", 0));
	steps_free(&s);

	want.arm = &d.p->arms[1];
	assert_int_equal(mk_plan(&d.b, &none, &want, &s, &e), 0);
	assert_null(find(&s, "cpus-home", -1));
	assert_non_null(find(&s, "boot-kernel", 1));
	k = &o->kernels.v[1];
	assert_int_equal(k->ncpus, 4);
	/* The quiet core (CPUs 3 and 7) is in front. */
	assert_int_equal(k->ids[0].v, 6);
	assert_int_equal(k->ids[1].v, 7);
	assert_int_equal(k->ids[2].v, 4);
	assert_int_equal(d.b.ops->agent_cpu(&d.b, 1, 2), 2);
	assert_int_equal(d.b.ops->agent_cpu(&d.b, 0, 5), 5);
	steps_free(&s);
	close_bed(&d);
}

static void refused(const char *json, const char *why)
{
	struct bed d;
	struct steps s = {0};
	struct err e = ERR_INIT;
	struct layout none = {0}, want;

	open_bed(&d, worked, 48, json);
	want.arm = &d.p->arms[0];
	assert_int_equal(mk_plan(&d.b, &none, &want, &s, &e), -EINVAL);
	assert_int_equal(e.exit, EXIT_USAGE);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" should have said \"%s\"", e.text, why);
	assert_int_equal(s.n, 0);
	close_bed(&d);
}

static void test_refused(void **state)
{
	refused(PLAN("{'name': 'a', 'backend': 'mklinux', 'partitions': [{'name': 'w', 'cpus': "
		     "'package:0',"
		     " 'kernel': 'k', 'memory': '1G'}]}"),
		"CPU 0, which cannot leave the host");
	refused("{'format': 1, 'name': 'x', 'quiet': 'none', 'kernels': {'k': {}}, 'arms': ["
		"{'name': 'a', 'backend': 'mklinux', 'partitions': [{'name': 'w', 'cpus': '20-27',"
		" 'kernel': 'k', 'memory': '1G'}]},"
		"{'name': 'b', 'backend': 'mklinux', 'partitions': [{'name': 'w', 'cpus': '20-27',"
		" 'kernel': 'k', 'memory': '1G'}]}], 'tests': [{'test': 'getppid1'}], 'tasks': '2',"
		" 'compare': [{'base': 'a', 'with': 'b'}], 'blocks': 2}",
		"spans NUMA nodes");
	refused(PLAN("{'name': 'a', 'backend': 'mklinux', 'settings': {'overlay': {'apply': '/x'}},"
		     " 'partitions': [{'name': 'w', 'cpus': '4-7', 'kernel': 'k', 'memory': "
		     "'1G'}]}"),
		"overlay");
}

static void test_chunks(void **state)
{
	struct bed d;
	const struct mk_own *o;

	open_bed(&d, worked, 48,
		 PLAN("{'name': 'a', 'backend': 'mklinux', 'settings': {'pool_chunk': '4G'}, "
		      "'partitions': ["
		      "{'name': 'w', 'cpus': '4-7', 'kernel': 'k', 'memory': '9G'}]},"
		      "{'name': 'b', 'backend': 'mklinux', 'partitions': ["
		      "{'name': 'w', 'cpus': '4-5', 'kernel': 'k', 'memory': '3G'},"
		      "{'name': 'v', 'cpus': '6-7', 'kernel': 'k', 'memory': '3G'}]}"));
	o = mk_own(&d.b);
	/* The larger of 9 and 3 + 3 GiB, with slack: 4 + 4 + 1.25. */
	assert_int_equal(o->pool.nchunks, 3);
	assert_int_equal(o->pool.chunks[0].size, 4 * GIB);
	assert_int_equal(o->pool.chunks[2].size, GIB + GIB / 4);
	assert_int_equal(o->pool.nids, 4);
	close_bed(&d);
}

/* Which generation, from what a machine shows. */
static void test_generations(void **state)
{
	static const struct {
		const char *mounts, *release, *cmdline;
		bool overlays;
		enum mk_generation g;
	} cases[] = {
		{"none /sys/fs/multikernel multikernel rw 0 0\n", "7.0.0", "x", false, MK_GEN_G0},
		{"none /sys/fs/multikernel multikernel rw 0 0\n", "7.0.0-mk2", "x", true, MK_GEN_G2A},
		{"none /sys/fs/multikernel multikernel rw 0 0\n", "7.0.0-mk5+", "x", true, MK_GEN_G2B},
		{"none /sys/fs/multikernel multikernel rw 0 0\n", "7.0.0-mk1+", "x", true, MK_GEN_G1},
		{"none /sys/fs/multikernel multikernel rw 0 0\n", "7.0.0-mk1+", "mkkernel_pool=4G",
		 true, MK_GEN_G1A},
		{"none /sys/fs/multikernel multikernel rw 0 0\n", "7.0.0", "x", true, MK_GEN_UNKNOWN},
		{"none /proc proc rw 0 0\n", "7.0.0-mk2", "x", false, MK_GEN_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fake_machine m = {.cpus = odd, .ncpus = 8};
		cleanup_root struct root root = ROOT_INIT;
		struct mk_detection d;
		struct err e = ERR_INIT;
		struct mk_host h;
		char tree[128];

		fake_machine_make(&m);
		fake_machine_file(&m, "/proc/filesystems",
				  "nodev\tsysfs\nnodev\tmultikernel\n\text4\n");
		fake_machine_file(&m, "/proc/mounts", "%s", cases[i].mounts);
		fake_machine_file(&m, "/proc/sys/kernel/osrelease", "%s\n", cases[i].release);
		fake_machine_file(&m, "/proc/cmdline", "%s\n", cases[i].cmdline);
		if (cases[i].overlays) {
			fake_machine_file(&m, "/sys/fs/multikernel/overlays/new", "%s", "");
			fake_machine_file(&m, "/sys/fs/multikernel/device_tree", "%s", "");
			snprintf(tree, sizeof(tree), "%s/sys/fs/multikernel/device_tree", m.dir);
			assert_int_equal(truncate(tree, 0), 0);
		}
		assert_int_equal(root_open(&root, m.dir, &e), 0);
		mk_host_init(&h, &root, "t");
		assert_int_equal(mk_detect(&d, &h, false, &e), 0);
		assert_int_equal(d.generation, cases[i].g);
		assert_true(*d.evidence);
		if (d.generation == MK_GEN_G2A || d.generation == MK_GEN_G2B)
			assert_int_equal(mk_check_generation(&d, &e), 0);
		else
			assert_int_equal(mk_check_generation(&d, &e), -ENODEV);
		fake_machine_remove(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worked_example), cmocka_unit_test(test_odd_machine_and_host),
		cmocka_unit_test(test_refused),	       cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_generations),
	};

	return cmocka_run_group_tests_name("mklinux-steps", tests, setup, NULL);
}
