// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "sim/blob.h"

static struct buf sample(void)
{
	struct blob_writer w = {0};
	struct buf out;

	blob_begin(&w, "");
	blob_put_string(&w, "mk,resources", "nonce");
	blob_begin(&w, "fragment@0");
	blob_put_string(&w, "target-path", "/resources");
	blob_begin(&w, "__overlay__");
	blob_begin(&w, "cpu-add@1");
	blob_begin(&w, "cpu@8");
	blob_put_u64s(&w, "reg", (uint64_t[]){0x100000008}, 1);
	blob_end(&w);
	blob_begin(&w, "cpu@9");
	blob_put_u32(&w, "reg", 9);
	blob_put(&w, "flag", NULL, 0);
	blob_end(&w);
	blob_end(&w);
	blob_end(&w);
	blob_end(&w);
	blob_end(&w);
	assert_int_equal(blob_finish(&w, &out), 0);
	return out;
}

static void test_write_and_read(void **state)
{
	cleanup_buf struct buf bytes = sample();
	struct err e = ERR_INIT;
	struct blob b;
	int overlay, add, cpu;
	uint32_t len;

	assert_int_equal(blob_open(&b, bytes.data, bytes.len, &e), 0);
	assert_string_equal(blob_name(&b, blob_root(&b)), "");
	assert_string_equal(blob_string(&b, blob_root(&b), "mk,resources"), "nonce");
	overlay = blob_find(&b, blob_find(&b, blob_root(&b), "fragment@0"), "__overlay__");
	assert_true(overlay > 0);
	/* As libfdt: a name without a unit finds the node with one, never half a name. */
	add = blob_find(&b, overlay, "cpu-add");
	assert_true(add > 0);
	assert_int_equal(blob_find(&b, overlay, "cpu"), -1);
	assert_int_equal(blob_find(&b, overlay, "cpu-add@2"), -1);
	cpu = blob_child(&b, add);
	assert_string_equal(blob_name(&b, cpu), "cpu@8");
	assert_int_equal(blob_u64(blob_get(&b, cpu, "reg", &len)), 0x100000008);
	assert_int_equal(len, 8);
	cpu = blob_next(&b, cpu);
	assert_string_equal(blob_name(&b, cpu), "cpu@9");
	assert_int_equal(blob_u32(blob_get(&b, cpu, "reg", &len)), 9);
	assert_non_null(blob_get(&b, cpu, "flag", &len));
	assert_int_equal(len, 0);
	assert_null(blob_get(&b, cpu, "re", &len));
	assert_null(blob_string(&b, cpu, "flag"));
	assert_int_equal(blob_next(&b, cpu), -1);
}

static void test_print(void **state)
{
	cleanup_buf struct buf bytes = sample(), text = BUF_INIT;
	struct err e = ERR_INIT;
	struct blob b;

	assert_int_equal(blob_open(&b, bytes.data, bytes.len, &e), 0);
	blob_print(&b, &text);
	assert_non_null(strstr(text.data, "    __overlay__ {\n      cpu-add@1 {\n"));
	assert_non_null(strstr(text.data, "reg = /bits/ 64 <0x100000008>;"));
	assert_non_null(strstr(text.data, "reg = <0x9>;"));
}

/* Every shorter blob and every changed byte: refused, or read without leaving the blob. */
static void test_damaged(void **state)
{
	cleanup_buf struct buf bytes = sample();

	for (size_t len = 0; len < bytes.len; len++) {
		/* An exact copy, so that a sanitizer sees a byte too far. */
		cleanup_free char *copy = malloc(len ? len : 1);
		struct err e = ERR_INIT;
		struct blob b;

		memcpy(copy, bytes.data, len);
		assert_int_equal(blob_open(&b, copy, len, &e), -EINVAL);
	}
	for (size_t at = 0; at < bytes.len; at++) {
		static const uint8_t values[] = {0, 1, 2, 3, 9, 0x7f, 0x80, 0xff};

		for (size_t v = 0; v < sizeof(values); v++) {
			cleanup_free char *copy = malloc(bytes.len);
			cleanup_buf struct buf text = BUF_INIT;
			struct err e = ERR_INIT;
			struct blob b;

			memcpy(copy, bytes.data, bytes.len);
			copy[at] = (char)values[v];
			if (blob_open(&b, copy, bytes.len, &e) == 0)
				blob_print(&b, &text);
			else
				assert_true(e.text[0] != '\0');
		}
	}
}

static void test_depth(void **state)
{
	struct blob_writer w = {0};
	cleanup_buf struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	struct blob b;

	for (int i = 0; i < 100; i++)
		blob_begin(&w, i ? "deep" : "");
	for (int i = 0; i < 100; i++)
		blob_end(&w);
	assert_int_equal(blob_finish(&w, &out), 0);
	assert_int_equal(blob_open(&b, out.data, out.len, &e), -EINVAL);
	assert_non_null(strstr(e.text, "levels deep"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_and_read),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
