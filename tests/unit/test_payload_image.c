// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel images: which are refused, and vmlinux out of a bzImage, for every packing. */
#include "tests/unit/unit.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/payload/bzimage.h"
#include "harness/payload/image.h"
#include "harness/payload/kconfig.h"
#include "harness/payload/vmlinux.h"

/* A kernel as small as the loader takes: a note and two segments, and text behind them. */
struct tiny {
	Elf64_Ehdr h;
	Elf64_Phdr p[3];
	struct __attribute__((packed)) {
		Elf64_Nhdr n;
		char name[8];
		uint64_t entry;
	} note;
	char text[4096], data[516];
};

static struct tiny make(void)
{
	struct tiny t = {
		.h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		      .e_type = ET_EXEC,
		      .e_machine = EM_X86_64,
		      .e_version = EV_CURRENT,
		      .e_phoff = offsetof(struct tiny, p),
		      .e_phentsize = sizeof(Elf64_Phdr),
		      .e_phnum = 3},
		.p = {{.p_type = PT_NOTE,
		       .p_offset = offsetof(struct tiny, note),
		       .p_filesz = 28,
		       .p_memsz = 28},
		      {.p_type = PT_LOAD,
		       .p_offset = offsetof(struct tiny, text),
		       .p_filesz = 4096,
		       .p_paddr = 0x1000000,
		       .p_memsz = 4096},
		      {.p_type = PT_LOAD,
		       .p_offset = offsetof(struct tiny, data),
		       .p_filesz = 516,
		       .p_paddr = 0x1200000,
		       .p_memsz = 0x100000}},
		.note = {{6, 8, 0x4d4b}, "Linux", 0x1000040},
	};

	for (size_t i = 0; i < sizeof(t.text); i++)
		t.text[i] = (char)(i * 7);
	return t;
}

static void test_elf_good(void **state)
{
	struct tiny t = make();
	struct vmlinux_info info;
	struct err e = ERR_INIT;

	assert_int_equal(vmlinux_check(&t, sizeof(t), &info, &e), 0);
	assert_int_equal(info.entry, 0x1000040);
	assert_int_equal(info.lowest, 0x1000000);
	assert_int_equal(info.highest, 0x1300000);
	assert_int_equal(info.end, sizeof(t));
	assert_true(vmlinux_memory_needed(&info, 1 << 20) > 0x300000 + (1 << 20));
}

static void test_elf_bad(void **state)
{
	struct vmlinux_info info;

#define REFUSED(words, change)                                                       \
	do {                                                                         \
		struct tiny t = make();                                              \
		struct err e = ERR_INIT;                                             \
		change;                                                              \
		assert_int_equal(vmlinux_check(&t, sizeof(t), &info, &e), -ENOEXEC); \
		assert_non_null(strstr(e.text, words));                              \
	} while (0)
	REFUSED("no ELF", t.h.e_ident[0] = 0);
	REFUSED("32 bits", t.h.e_ident[EI_CLASS] = ELFCLASS32);
	REFUSED("architecture", t.h.e_machine = EM_AARCH64);
	REFUSED("no program", t.h.e_type = ET_REL);
	REFUSED("unknown size", t.h.e_phentsize = 64);
	REFUSED("no program headers", t.h.e_phnum = 0);
	REFUSED("cut off", t.h.e_phoff = sizeof(t) - 10);
	REFUSED("cut off", t.h.e_phoff = UINT64_MAX - 8);
	REFUSED("cut off", t.p[1].p_offset = sizeof(t) - 4095);
	REFUSED("cut off", t.p[1].p_offset = UINT64_MAX - 100);
	REFUSED("cut off", t.p[0].p_offset = sizeof(t));
	REFUSED("more bytes in the file", t.p[2].p_memsz = 511);
	REFUSED("wraps", t.p[2].p_memsz = UINT64_MAX - 0x1000000);
	REFUSED("overlap", t.p[2].p_paddr = 0x1000800);
	REFUSED("ascend", t.p[2].p_paddr = 0x800000);
	REFUSED("nothing to load", (t.p[1].p_type = PT_NULL, t.p[2].p_type = PT_NULL));
	REFUSED("without the multikernel note", t.note.n.n_type = 1);
	REFUSED("without the multikernel note", t.note.name[0] = 'X');
	REFUSED("without the multikernel note", t.note.entry = 0);
	REFUSED("without the multikernel note", t.note.n.n_descsz = 0xfffffff0);
	REFUSED("without the multikernel note", t.note.n.n_namesz = 0xfffffffd);
	REFUSED("points out", t.note.entry = 0x1001000);
	for (size_t n = 0; n < sizeof(struct tiny); n++) {
		struct tiny t = make();
		cleanup_free char *cut = malloc(n ? n : 1);
		struct err e = ERR_INIT;

		memcpy(cut, &t, n);
		assert_int_equal(vmlinux_check(cut, n, &info, &e), -ENOEXEC);
	}
}

/* A boot image around `len` bytes of payload; *total gets its length. */
static unsigned char *wrap(const void *payload, size_t len, size_t *total)
{
	size_t start = 5 * 512 + 100;
	unsigned char *b = calloc(1, start + len + 300);

	b[0x1F1] = 0; /* means 4 */
	b[0x1FE] = 0x55;
	b[0x1FF] = 0xAA;
	memcpy(b + 0x202, "HdrS", 4);
	b[0x206] = 0x0f;
	b[0x207] = 0x02;
	b[0x248] = 100;
	memcpy(b + 0x24C, &(uint32_t){(uint32_t)len}, 4);
	memcpy(b + start, payload, len);
	*total = start + len + 300;
	return b;
}

static size_t pack(int (*filter)(struct archive *), const void *data, size_t len, void *out,
		   size_t room)
{
	struct archive *a = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	size_t used = 0;

	assert_int_equal(filter(a), ARCHIVE_OK);
	archive_write_set_format_raw(a);
	archive_write_set_bytes_in_last_block(a, 1);
	assert_int_equal(archive_write_open_memory(a, out, room, &used), ARCHIVE_OK);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_pathname(entry, "x");
	assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
	assert_int_equal(archive_write_data(a, data, len), len);
	archive_entry_free(entry);
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
	return used;
}

static void unpacks(const void *payload, size_t len, const char *name)
{
	struct tiny t = make();
	cleanup_free unsigned char *image = NULL;
	cleanup_free void *out = NULL;
	const char *format = NULL;
	struct err e = ERR_INIT;
	size_t total, n = 0;

	image = wrap(payload, len, &total);
	assert_true(bzimage_is(image, total));
	if (bzimage_unpack(image, total, 1 << 20, &out, &n, &format, &e))
		fail_msg("%s: %s", name, e.text);
	assert_string_equal(format, name);
	assert_int_equal(n, sizeof(t));
	assert_memory_equal(out, &t, n);
	/* Bounded, whatever the payload says. */
	free(take_ptr(out));
	assert_int_equal(bzimage_unpack(image, total, 1000, &out, &n, &format, &e), -EFBIG);
	assert_null(out);
}

static void test_every_packing(void **state)
{
	static const struct {
		const char *name;
		int (*filter)(struct archive *);
		bool sized;
	} cases[] = {
		{"gzip", archive_write_add_filter_gzip, false},
		{"xz", archive_write_add_filter_xz, true},
		{"bzip2", archive_write_add_filter_bzip2, true},
		{"zstd", archive_write_add_filter_zstd, true},
		{"lzma", archive_write_add_filter_lzma, true},
		{"lz4", archive_write_add_filter_lz4, true},
	};
	struct tiny t = make();
	char packed[2 * sizeof(t)];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t n = pack(cases[i].filter, &t, sizeof(t), packed, sizeof(packed));

		if (cases[i].sized) {
			memcpy(packed + n, &(uint32_t){sizeof(t)}, 4);
			n += 4;
		}
		unpacks(packed, n, cases[i].name);
	}
}

/* The old lz4 framing, which kernels use and lz4's own library does not know: one literal run. */
static void test_lz4_legacy(void **state)
{
	static const unsigned char magic[] = {0x02, 0x21, 0x4c, 0x18};
	struct tiny t = make();
	unsigned char packed[2 * sizeof(t)], *p = packed + 8;
	size_t rest = sizeof(t) - 15;

	memcpy(packed, magic, 4);
	*p++ = 0xf0;
	for (; rest >= 255; rest -= 255)
		*p++ = 255;
	*p++ = (unsigned char)rest;
	memcpy(p, &t, sizeof(t));
	p += sizeof(t);
	memcpy(packed + 4, &(uint32_t){(uint32_t)(p - packed - 8)}, 4);
	memcpy(p, &(uint32_t){sizeof(t)}, 4);
	unpacks(packed, (size_t)(p + 4 - packed), "lz4");
}

static void test_refused_images(void **state)
{
	static const unsigned char lzo[] = {0x89, 'L', 'Z', 'O', 0, 13, 10, 26, 10, 0, 0, 0};
	cleanup_free unsigned char *image = NULL;
	struct tiny t = make();
	char packed[2 * sizeof(t)];
	const char *format;
	struct err e = ERR_INIT;
	void *out = NULL;
	size_t total, n;

	image = wrap(lzo, sizeof(lzo), &total);
	assert_int_equal(bzimage_unpack(image, total, 1 << 20, &out, &n, &format, &e), -EOPNOTSUPP);
	assert_non_null(strstr(e.text, "LZO"));
	free(take_ptr(image));

	/* A size that does not match what comes out. */
	n = pack(archive_write_add_filter_zstd, &t, sizeof(t), packed, sizeof(packed));
	memcpy(packed + n, &(uint32_t){sizeof(t) + 1}, 4);
	image = wrap(packed, n + 4, &total);
	assert_int_equal(bzimage_unpack(image, total, 1 << 20, &out, &n, &format, &e), -EBADMSG);
	/* Cut anywhere. */
	for (size_t i = 0; i < total - 300; i += 7)
		assert_true(bzimage_unpack(image, i, 1 << 20, &out, &n, &format, &e) < 0);
	/* Every byte of the packed part damaged in turn. */
	for (size_t i = 5 * 512 + 100; i < total - 300; i++) {
		image[i] ^= 0x55;
		out = NULL;
		if (!bzimage_unpack(image, total, 1 << 20, &out, &n, &format, &e))
			free(out);
		image[i] ^= 0x55;
	}
}

static void test_file(void **state)
{
	struct tiny t = make();
	char packed[2 * sizeof(t) + 8], path[] = "/tmp/mksplit-image-XXXXXX";
	cleanup_free unsigned char *image = NULL;
	cleanup_kernel_image struct kernel_image i = KERNEL_IMAGE_INIT;
	struct err e = ERR_INIT;
	size_t n, total;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	/* With a relocation table behind the image, which must not be loaded. */
	{
		char whole[sizeof(t) + 64];

		memcpy(whole, &t, sizeof(t));
		memset(whole + sizeof(t), 0xee, 64);
		n = pack(archive_write_add_filter_gzip, whole, sizeof(whole), packed, sizeof(packed));
	}
	image = wrap(packed, n, &total);
	assert_int_equal(write_all(fd, image, total), 0);
	assert_int_equal(kernel_image_open(&i, path, &e), 0);
	assert_string_equal(i.kind, "bzImage (gzip)");
	assert_int_equal(i.size, sizeof(t));
	assert_int_equal(lseek(i.fd, 0, SEEK_END), sizeof(t));
	assert_int_equal(write(i.fd, "x", 1), -1);
	kernel_image_close(&i);
	assert_int_equal(truncate(path, 700), 0);
	assert_int_equal(kernel_image_open(&i, path, &e), -EBADMSG);
	assert_non_null(strstr(e.text, path));
	close(fd);
	unlink(path);
	assert_int_equal(kernel_image_open(&i, path, &e), -ENOENT);
	assert_int_equal(kernel_image_open(&i, "/dev/null", &e), -EINVAL);
}

static void test_kernel_options(void **state)
{
	static const char list[] =
		"# a comment\n# need: all of it\nCONFIG_MULTIKERNEL=y\n# want: console\n"
		"CONFIG_MKTTY=m\nCONFIG_NR_CPUS=64\n# need: off\n# CONFIG_BAD is not set\n";
	struct kconfig_misses m = {0};
	struct err e = ERR_INIT;

	assert_int_equal(kconfig_check(&m, list,
				       "CONFIG_MULTIKERNEL=y\nCONFIG_MKTTY=y\nCONFIG_NR_CPUS=64\n",
				       &e),
			 0);
	assert_int_equal(m.n, 0);
	assert_int_equal(m.checked, 4);
	assert_int_equal(
		kconfig_check(&m, list,
			      "XCONFIG_MULTIKERNEL=y\nCONFIG_MULTIKERNEL_X=y\nCONFIG_NR_CPUS=640\n"
			      "CONFIG_BAD=y\n",
			      &e),
		0);
	assert_int_equal(m.n, 4);
	assert_string_equal(m.v[0].option, "CONFIG_MULTIKERNEL");
	assert_string_equal(m.v[0].found, "n");
	assert_true(m.v[0].need && !m.v[1].need && m.v[3].need);
	assert_string_equal(m.v[2].found, "640");
	assert_string_equal(m.v[3].why, "off");
	kconfig_misses_free(&m);
	assert_int_equal(kconfig_check(&m, "MULTIKERNEL=y\n", "", &e), -EINVAL);
	kconfig_misses_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elf_good),       cmocka_unit_test(test_elf_bad),
		cmocka_unit_test(test_every_packing),  cmocka_unit_test(test_lz4_legacy),
		cmocka_unit_test(test_refused_images), cmocka_unit_test(test_file),
		cmocka_unit_test(test_kernel_options),
	};

	return cmocka_run_group_tests_name("payload-image", tests, NULL, NULL);
}
