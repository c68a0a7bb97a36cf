// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "sim/image.h"

static struct buf good(void)
{
	struct buf image;

	assert_int_equal(image_write_stand_in(&image), 0);
	return image;
}

static Elf64_Phdr *segment(struct buf *image, int k)
{
	return (Elf64_Phdr *)(void *)(image->data + sizeof(Elf64_Ehdr)) + k;
}

static int check(const struct buf *image, const char **unsafe)
{
	struct image_info info;
	struct err e = ERR_INIT;

	return image_check(image->data, image->len, &info, unsafe, &e);
}

static void test_good(void **state)
{
	cleanup_buf struct buf image = good();
	struct image_info info;
	struct err e = ERR_INIT;
	const char *unsafe;

	assert_int_equal(image_check(image.data, image.len, &info, &unsafe, &e), 0);
	assert_null(unsafe);
	assert_int_equal(info.entry, 0);
	assert_int_equal(info.span, 0x400000);
}

static void test_refused(void **state)
{
	cleanup_buf struct buf image = good();
	const char *unsafe;

	((Elf64_Ehdr *)(void *)image.data)->e_machine = EM_AARCH64;
	assert_int_equal(check(&image, &unsafe), -ENOEXEC);
	buf_free(&image);
	image = good();
	segment(&image, 1)->p_type = PT_NULL; /* no note */
	assert_int_equal(check(&image, &unsafe), -ENOEXEC);
	buf_free(&image);
	image = good();
	((Elf64_Ehdr *)(void *)image.data)->e_phoff = 1 << 20;
	assert_int_equal(check(&image, &unsafe), -EINVAL);
}

/* What the loader does not check itself. */
static void test_unsafe(void **state)
{
	cleanup_buf struct buf image = good();
	const char *unsafe;

	segment(&image, 0)->p_filesz = 0x10000;
	check(&image, &unsafe);
	assert_non_null(unsafe);
	buf_free(&image);
	image = good();
	segment(&image, 0)->p_memsz = 8;
	check(&image, &unsafe);
	assert_non_null(unsafe);
	buf_free(&image);
	image = good();
	segment(&image, 0)->p_paddr = 0x2000000; /* the entry is in no segment any more */
	check(&image, &unsafe);
	assert_non_null(unsafe);
}

static void test_any_length(void **state)
{
	cleanup_buf struct buf image = good();

	for (size_t len = 0; len < image.len; len += len < 300 ? 1 : 97) {
		cleanup_free char *copy = malloc(len ? len : 1);
		struct image_info info;
		struct err e = ERR_INIT;
		const char *unsafe;

		memcpy(copy, image.data, len);
		assert_true(image_check(copy, len, &info, &unsafe, &e) < 0 || unsafe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_unsafe),
		cmocka_unit_test(test_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
