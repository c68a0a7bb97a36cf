// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every blob of the ABI's worked example (docs/mklinux-abi.md 15, G2) and every file of overlays/,
 * compiled by dtc, against what the harness writes for the same request.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <libfdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "harness/mklinux/request.h"
#include "harness/mklinux/tree.h"
#include "tests/unit/dtb.h"

#define PAGE 4096
#define GIB  (UINT64_C(1) << 30)

static struct phys_id pool[44], moved[4] = {{168}, {170}, {172}, {174}};
static const struct mk_chunk chunks[] = {{.size = 20 * GIB, .node = 0},
					 {.size = 20 * GIB, .node = 1}};
static const struct mk_chunk taken[] = {{.base = 0x2000000000, .size = 20 * GIB, .node = 0},
					{.base = 0x6000000000, .size = 20 * GIB, .node = 1}};

static int setup(void **state)
{
	for (int i = 0; i < 20; i++)
		pool[i].v = 8 + 2 * i;
	for (int i = 0; i < 24; i++)
		pool[20 + i].v = 128 + 2 * i;
	return 0;
}

static void equal(const char *path, const struct mk_request *r, const char *nonce)
{
	cleanup_blob struct mk_blob b = MK_BLOB_INIT;
	cleanup_free char *ours = NULL, *theirs = NULL;
	cleanup_free void *blob = NULL;
	struct err e = ERR_INIT;
	size_t done = 0, len;

	assert_int_equal(mk_blob_next(&b, r, nonce, PAGE, &done, &e), 0);
	assert_int_equal(done, mk_request_items(r));
	blob = dtb_compile(path, &len);
	ours = dtb_text(b.data, b.len);
	theirs = dtb_text(blob, len);
	assert_string_equal(ours, theirs);
	/* Packed, as the kernel wants it; libfdt aligns the empty reservation list to 16, dtc to 8. */
	assert_int_equal(b.len, len + 8);
}

static void test_worked_example(void **state)
{
	struct mk_request r = {
		.op = MK_BASELINE, .cpus = pool, .ncpus = 44, .chunks = chunks, .nchunks = 2};

	equal("tests/fixtures/abi15/baseline.dts", &r, NULL);
	r = (struct mk_request){.op = MK_INSTANCE_CREATE,
				.instance = "west",
				.id = 1,
				.cpus = pool,
				.ncpus = 20,
				.memory = 16 * GIB,
				.node = 0};
	equal("tests/fixtures/abi15/west.dts", &r, "ctl-0001");
	r = (struct mk_request){.op = MK_INSTANCE_CREATE,
				.instance = "east",
				.id = 2,
				.cpus = pool + 20,
				.ncpus = 24,
				.memory = 16 * GIB,
				.node = 1};
	equal("tests/fixtures/abi15/east.dts", &r, "ctl-0002");
	r = (struct mk_request){
		.op = MK_INSTANCE_CPU_REMOVE, .instance = "east", .cpus = moved, .ncpus = 4};
	equal("tests/fixtures/abi15/move-out.dts", &r, "ctl-0003");
	r = (struct mk_request){
		.op = MK_INSTANCE_CPU_ADD, .instance = "west", .cpus = moved, .ncpus = 4};
	equal("tests/fixtures/abi15/move-in.dts", &r, "ctl-0004");
	r = (struct mk_request){.op = MK_INSTANCE_REMOVE, .instance = "west"};
	equal("tests/fixtures/abi15/remove-west.dts", &r, "ctl-0005");
	r = (struct mk_request){.op = MK_INSTANCE_REMOVE, .instance = "east"};
	equal("tests/fixtures/abi15/remove-east.dts", &r, "ctl-0006");
	r = (struct mk_request){.op = MK_POOL_CPU_REMOVE, .cpus = pool, .ncpus = 44};
	equal("tests/fixtures/abi15/cpus-home.dts", &r, "ctl-0007");
	r = (struct mk_request){.op = MK_POOL_MEMORY_REMOVE, .chunks = taken, .nchunks = 2};
	equal("tests/fixtures/abi15/memory-home.dts", &r, "ctl-0008");
}

static void test_overlays_folder(void **state)
{
	static const struct phys_id four[] = {{8}, {10}, {128}, {130}}, three[] = {{8}, {10}, {12}};
	static const struct mk_chunk old = {.base = 0x1000000000, .size = 20 * GIB};
	static const char *const device[] = {"0000:65:00.0"};
	static const struct {
		const char *file;
		struct mk_request r;
	} cases[] = {
		{"baseline.dts",
		 {MK_BASELINE, .cpus = four, .ncpus = 4, .chunks = chunks, .nchunks = 2}},
		{"pool-cpu-add.dtso", {MK_POOL_CPU_ADD, .cpus = moved, .ncpus = 2}},
		{"pool-cpu-remove.dtso", {MK_POOL_CPU_REMOVE, .cpus = moved, .ncpus = 2}},
		{"pool-memory-add.dtso", {MK_POOL_MEMORY_ADD, .chunks = chunks, .nchunks = 1}},
		{"pool-memory-remove.dtso", {MK_POOL_MEMORY_REMOVE, .chunks = &old, .nchunks = 1}},
		{"pool-device-add.dtso", {MK_POOL_DEVICE_ADD, .devices = device, .ndevices = 1}},
		{"pool-device-remove.dtso", {MK_POOL_DEVICE_REMOVE, .devices = device, .ndevices = 1}},
		{"instance-create.dtso",
		 {MK_INSTANCE_CREATE, "west", 1, three, 3, .memory = 16 * GIB, .node = 0}},
		{"instance-remove.dtso", {MK_INSTANCE_REMOVE, "west"}},
		{"instance-cpu-add.dtso", {MK_INSTANCE_CPU_ADD, "west", .cpus = moved, .ncpus = 2}},
		{"instance-cpu-remove.dtso",
		 {MK_INSTANCE_CPU_REMOVE, "east", .cpus = moved, .ncpus = 2}},
		{"instance-device-add.dtso",
		 {MK_INSTANCE_DEVICE_ADD, "west", .devices = device, .ndevices = 1}},
		{"instance-device-remove.dtso",
		 {MK_INSTANCE_DEVICE_REMOVE, "west", .devices = device, .ndevices = 1}},
	};

	assert_int_equal(sizeof(cases) / sizeof(*cases), MK_NOPS);
	for (size_t i = 0; i < MK_NOPS; i++) {
		char path[128];

		assert_int_equal(cases[i].r.op, i);
		snprintf(path, sizeof(path), "overlays/%s", cases[i].file);
		equal(path, &cases[i].r, cases[i].r.op == MK_BASELINE ? NULL : "example");
	}
}

/* 300 CPUs do not fit one page of cpu@ nodes: several blobs, each whole in itself. */
static void test_split(void **state)
{
	struct phys_id ids[600];
	struct mk_request r = {.op = MK_POOL_CPU_REMOVE, .cpus = ids, .ncpus = 300};
	size_t done = 0, blobs = 0, cpus = 0;
	struct err e = ERR_INIT;

	for (int i = 0; i < 600; i++)
		ids[i].v = 2 * i + 2;
	while (done < mk_request_items(&r)) {
		cleanup_blob struct mk_blob b = MK_BLOB_INIT;
		int op;

		assert_int_equal(mk_blob_next(&b, &r, "n", PAGE, &done, &e), 0);
		assert_in_range(b.len, 1, PAGE);
		op = fdt_path_offset(b.data, "/fragment@0/__overlay__/cpu-remove");
		assert_true(op > 0);
		for (int n = fdt_first_subnode(b.data, op); n >= 0; n = fdt_next_subnode(b.data, n)) {
			const void *reg = fdt_getprop(b.data, n, "reg", NULL);

			assert_int_equal(fdt64_ld(reg), ids[cpus].v);
			cpus++;
		}
		assert_int_equal(cpus, done);
		blobs++;
	}
	assert_int_equal(cpus, 300);
	assert_int_equal(blobs, 3);

	/* A create that is too large gets the rest of its CPUs while it is stopped. */
	r = (struct mk_request){MK_INSTANCE_CREATE, "big", 3, ids, 600, .memory = GIB,
				.node = MK_NODE_ANY};
	done = 0;
	{
		cleanup_blob struct mk_blob b = MK_BLOB_INIT;
		int len;

		assert_int_equal(mk_blob_next(&b, &r, "n", PAGE, &done, &e), 0);
		assert_in_range(done, 400, 520);
		fdt_getprop(b.data,
			    fdt_path_offset(b.data,
					    "/fragment@0/__overlay__/instance-create/resources"),
			    "cpus", &len);
		assert_int_equal(len, 8 * done);
		assert_int_equal(mk_blob_next(&b, &r, "n", PAGE, &done, &e), 0);
		assert_true(fdt_path_offset(b.data, "/fragment@0/__overlay__/cpu-add") > 0);
		assert_string_equal(fdt_getprop(b.data, fdt_path_offset(b.data, "/fragment@0"),
						"target-path", NULL),
				    "/instances/big");
		assert_true(done > 520);
	}
	assert_int_equal(e.code, 0);
}

static void test_refused(void **state)
{
	static const struct phys_id zero[] = {{0}, {2}}, twice[] = {{2}, {2}}, unknown[] = {{-1}},
				    ok[] = {{2}};
	static const struct mk_chunk odd = {.size = 4097}, none = {.size = 0};
	char long_name[80];
	const struct mk_request bad[] = {
		{MK_POOL_CPU_ADD, .cpus = zero, .ncpus = 2},
		{MK_POOL_CPU_ADD, .cpus = twice, .ncpus = 2},
		{MK_POOL_CPU_ADD, .cpus = unknown, .ncpus = 1},
		{MK_POOL_CPU_ADD},
		{MK_POOL_MEMORY_ADD, .chunks = &odd, .nchunks = 1},
		{MK_POOL_MEMORY_ADD, .chunks = &none, .nchunks = 1},
		{MK_INSTANCE_CREATE, "a/b", 1, ok, 1, .memory = GIB},
		{MK_INSTANCE_CREATE, "..", 1, ok, 1, .memory = GIB},
		{MK_INSTANCE_CREATE, long_name, 1, ok, 1, .memory = GIB},
		{MK_INSTANCE_CREATE, "a", 0, ok, 1, .memory = GIB},
		{MK_INSTANCE_CREATE, "a", 512, ok, 1, .memory = GIB},
		{MK_INSTANCE_CREATE, "a", 1, ok, 0, .memory = GIB},
		{MK_INSTANCE_CREATE, "a", 1, ok, 1, .memory = 0},
		{MK_INSTANCE_REMOVE, NULL},
		{MK_INSTANCE_DEVICE_ADD, "a"},
		{MK_BASELINE, .cpus = ok, .ncpus = 1},
	};

	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		cleanup_blob struct mk_blob b = MK_BLOB_INIT;
		struct err e = ERR_INIT;
		size_t done = 0;

		assert_int_equal(mk_blob_next(&b, &bad[i], "n", PAGE, &done, &e), -EINVAL);
		assert_null(b.data);
		assert_int_equal(done, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worked_example),
		cmocka_unit_test(test_overlays_folder),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("mklinux-blobs", tests, setup, NULL);
}
