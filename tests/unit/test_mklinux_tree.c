// SPDX-License-Identifier: GPL-2.0-or-later
/* Trees that kernels of several releases give, damaged ones, and what a log says of a failure. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "harness/mklinux/explain.h"
#include "harness/mklinux/klog.h"
#include "harness/mklinux/tree.h"
#include "tests/unit/dtb.h"

static void parse(struct mk_tree *t, const char *name)
{
	char path[128];
	cleanup_free void *blob = NULL;
	struct err e = ERR_INIT;
	size_t len;

	snprintf(path, sizeof(path), "tests/fixtures/trees/%s.dts", name);
	blob = dtb_compile(path, &len);
	assert_int_equal(mk_tree_parse(t, blob, len, &e), 0);
}

static void test_root_later(void **state)
{
	cleanup_tree struct mk_tree t = MK_TREE_INIT;

	parse(&t, "root-later");
	assert_int_equal(t.id, 0);
	assert_int_equal(t.ncpus, 4);
	assert_int_equal(t.cpus[3].v, 130);
	assert_int_equal(t.navailable, 2);
	assert_int_equal(t.available[0].v, 10);
	assert_int_equal(t.nchunks, 2);
	assert_int_equal(t.chunks[1].base, 0x6000000000);
	assert_int_equal(t.chunks[1].node, 1);
	assert_true(mk_tree_has_pool(&t));
	assert_true(t.has_cells && t.has_available && !t.has_memory_property && !t.odd_cpu_cells);
}

/* The pair of zero cells that one release shows for "none is free". */
static void test_root_mk2_nothing_free(void **state)
{
	cleanup_tree struct mk_tree t = MK_TREE_INIT;

	parse(&t, "root-mk2");
	assert_int_equal(t.ncpus, 2);
	assert_int_equal(t.navailable, 0);
	assert_int_equal(t.nchunks, 1);
	assert_int_equal(t.chunks[0].node, MK_NODE_ANY);
	assert_true(t.has_cells);
}

static void test_root_before_baseline(void **state)
{
	cleanup_tree struct mk_tree t = MK_TREE_INIT;

	parse(&t, "root-bare");
	assert_false(mk_tree_has_pool(&t));
	assert_int_equal(t.ncpus, 2);
	parse(&t, "root-g1a");
	assert_true(t.odd_cpu_cells && t.has_memory_property);
	assert_int_equal(t.ncpus, 3);
	assert_int_equal(t.cpus[2].v, 6);
}

static void test_instances(void **state)
{
	static const struct phys_id asked[] = {{10}, {8}}, other[] = {{8}, {10}},
				    third[] = {{10}, {8}, {12}};
	struct mk_request create = {MK_INSTANCE_CREATE, "west", 1, asked, 2, .memory = 0x40000000};
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	struct err e = ERR_INIT;

	parse(&t, "instance-later");
	assert_string_equal(t.name, "west");
	assert_int_equal(t.memory, 0x40000000);
	assert_int_equal(t.memory_base, 0x200000a000);
	assert_int_equal(mk_tree_compare(&t, &create, &e), 0);
	create.cpus = other;
	assert_int_equal(mk_tree_compare(&t, &create, &e), -EBADE);
	assert_non_null(strstr(e.text, "boot on physical id 10"));
	create.cpus = third;
	create.ncpus = 3;
	assert_int_equal(mk_tree_compare(&t, &create, &e), -EBADE);
	create.cpus = asked;
	create.ncpus = 2;
	create.memory++;
	assert_int_equal(mk_tree_compare(&t, &create, &e), -EBADE);
	create.memory--;
	create.id = 2;
	assert_int_equal(mk_tree_compare(&t, &create, &e), -EBADE);
	create.id = 1;

	/* mk2 writes the name as the name of the root node; here the kernel gave it no CPU. */
	{
		cleanup_free void *blob = NULL;
		size_t len;

		blob = dtb_compile("tests/fixtures/trees/instance-mk2.dts", &len);
		/* dtc cannot name a root: its four bytes of padding become the name. */
		memcpy((char *)blob + 56 + 4, "lab", 3);
		assert_int_equal(mk_tree_parse(&t, blob, len, &e), 0);
	}
	assert_string_equal(t.name, "lab");
	assert_int_equal(t.id, 1);
	assert_int_equal(mk_tree_compare(&t, &create, &e), -EBADE);
	assert_non_null(strstr(e.text, "without CPUs"));
}

/* Whatever a byte becomes, and wherever the tree is cut: an error or a tree, never a crash. */
static void test_damage(void **state)
{
	cleanup_free unsigned char *blob = NULL, *copy = NULL;
	size_t len;
	int refused = 0;

	blob = dtb_compile("tests/fixtures/trees/root-later.dts", &len);
	copy = malloc(len);
	for (size_t i = 0; i < len; i++) {
		cleanup_tree struct mk_tree t = MK_TREE_INIT;
		struct err e = ERR_INIT;

		assert_int_equal(mk_tree_parse(&t, blob, i, &e), -EBADMSG);
		for (int v = 0; v < 3; v++) {
			memcpy(copy, blob, len);
			copy[i] ^= v == 0 ? 0xff : v == 1 ? 1 : 0x80;
			refused += mk_tree_parse(&t, copy, len, &e) != 0;
		}
	}
	assert_true(refused > 100);
}

static void test_log(void **state)
{
	static const char log[] = "multikernel: CPU 14 (phys 28) is not free\n"
				  "multikernel: Failed to apply overlay transaction 12: -16\n"
				  "multikernel: Failed to apply overlay transaction 1: -22\n";
	char why[80];

	assert_int_equal(klog_overlay_errno(log, 12, why, sizeof(why)), EBUSY);
	assert_string_equal(why, "multikernel: CPU 14 (phys 28) is not free");
	assert_int_equal(klog_overlay_errno(log, 1, why, sizeof(why)), EINVAL);
	assert_int_equal(klog_overlay_errno(log, 2, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	assert_int_equal(klog_overlay_errno("Failed to apply overlay transaction 2: 5", 2, why, 80),
			 0);
}

/* Every errno that the ABI's tables name has a sentence of its own. */
static void test_every_errno_has_a_sentence(void **state)
{
	static const struct {
		enum mk_call call;
		int errnums[20];
	} cases[] = {
		{MK_CALL_BASELINE, {EINVAL, E2BIG, ENODEV, ERANGE, EBUSY, ENOMEM, EOPNOTSUPP}},
		{MK_CALL_OVERLAY_WRITE, {EINVAL, ENOMEM, EFBIG}},
		{MK_CALL_OVERLAY,
		 {EINVAL, EPERM, ENOENT, EEXIST, EBUSY, ENOMEM, ENODEV, ETIMEDOUT, EOPNOTSUPP,
		  ENOSPC}},
		{MK_CALL_LOAD,
		 {EPERM, EINVAL, ENOENT, EBUSY, ENOEXEC, ENOMEM, EADDRNOTAVAIL, EBADF, EFBIG,
		  ETXTBSY, EIO, EKEYREJECTED, ENOKEY, EBADMSG, ENODATA}},
		{MK_CALL_UNLOAD, {ENOENT, EPERM}},
		{MK_CALL_BOOT, {EPERM, EFAULT, EINVAL, ENOENT, EBUSY, ENODEV, ETIMEDOUT, ENOSPC}},
		{MK_CALL_HALT, {EINVAL, ENOENT, ETIMEDOUT, ENODEV, ENOSPC}},
		{MK_CALL_FORCE_HALT, {EINVAL}},
		{MK_CALL_CONSOLE, {ENOTCONN, EINVAL, ENODEV, ENOSPC, ENOMEM}},
	};
	const char *unknown = mk_explain(MK_CALL_LOAD, EXDEV);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int k = 0; cases[i].errnums[k]; k++) {
			struct err e = ERR_INIT;

			assert_string_not_equal(mk_explain(cases[i].call, -cases[i].errnums[k]),
						unknown);
			mk_err(&e, cases[i].call, cases[i].errnums[k]);
			assert_int_equal(e.code, -cases[i].errnums[k]);
			assert_non_null(strstr(e.text, mk_errno_name(cases[i].errnums[k])));
		}
	assert_true(mk_load_poisons(ENOEXEC) && mk_load_poisons(-ENOMEM));
	assert_false(mk_load_poisons(EBUSY) || mk_load_poisons(-EPERM) || mk_load_poisons(ENOENT));
	assert_true(mk_retryable(MK_CALL_OVERLAY, -EBUSY));
	assert_false(mk_retryable(MK_CALL_OVERLAY, -EINVAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_later),
		cmocka_unit_test(test_root_mk2_nothing_free),
		cmocka_unit_test(test_root_before_baseline),
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_every_errno_has_a_sentence),
	};

	return cmocka_run_group_tests_name("mklinux-tree", tests, NULL, NULL);
}
