// SPDX-License-Identifier: GPL-2.0-or-later
/* The archive that a guest or spawn kernel boots with. BENCH names mksplit-bench. */
#include "tests/unit/unit.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/payload/initramfs.h"
#include "harness/payload/strip.h"

/* What the project allows itself: every spawn kernel unpacks it into its own memory. */
#define SIZE_MAX_BYTES (3 << 19)

static int write_one(void)
{
	int fd = memfd_create("initramfs", 0);
	struct err e = ERR_INIT;

	assert_true(fd >= 0);
	if (initramfs_write(fd, getenv("BENCH"), &e) < 0)
		fail_msg("%s", e.text);
	return fd;
}

static void test_same_bytes_twice_and_small(void **state)
{
	int a = write_one(), b = write_one();
	struct stat sa, sb;
	void *ma, *mb;

	fstat(a, &sa);
	fstat(b, &sb);
	assert_int_equal(sa.st_size, sb.st_size);
#ifndef __SANITIZE_ADDRESS__ /* whose runtime is larger than the program */
	assert_true(sa.st_size < SIZE_MAX_BYTES);
#endif
	ma = mmap(NULL, sa.st_size, PROT_READ, MAP_SHARED, a, 0);
	mb = mmap(NULL, sb.st_size, PROT_READ, MAP_SHARED, b, 0);
	assert_memory_equal(ma, mb, sa.st_size);
	munmap(ma, sa.st_size);
	munmap(mb, sb.st_size);
	close(a);
	close(b);
}

static void test_entries(void **state)
{
	static const struct {
		const char *path;
		mode_t mode;
	} want[] = {
		{"dev", S_IFDIR | 0755}, {"dev/console", S_IFCHR | 0600}, {"init", S_IFREG | 0755}};
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	int fd = write_one();
	size_t n = 0;

	lseek(fd, 0, SEEK_SET);
	archive_read_support_filter_gzip(a);
	archive_read_support_format_cpio(a);
	assert_int_equal(archive_read_open_fd(a, fd, 65536), ARCHIVE_OK);
	while (archive_read_next_header(a, &entry) == ARCHIVE_OK) {
		assert_true(n < sizeof(want) / sizeof(*want));
		assert_string_equal(archive_entry_pathname(entry), want[n].path);
		assert_int_equal(archive_entry_mode(entry), want[n].mode);
		assert_int_equal(archive_entry_mtime(entry), 0);
		if (S_ISCHR(want[n].mode)) {
			assert_int_equal(archive_entry_rdevmajor(entry), 5);
			assert_int_equal(archive_entry_rdevminor(entry), 1);
		}
		n++;
	}
	assert_int_equal(n, sizeof(want) / sizeof(*want));
	archive_read_free(a);
	close(fd);
}

/* A damaged or foreign file is left as it is, whatever its header claims. */
static void test_strip_bounds(void **state)
{
	unsigned char file[256] = {0};
	Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phoff = sizeof(h),
			.e_phnum = 1,
			.e_shnum = 9};
	Elf64_Phdr p = {.p_offset = 0, .p_filesz = 200};

	memcpy(file, &h, sizeof(h));
	memcpy(file + sizeof(h), &p, sizeof(p));
	assert_int_equal(elf_loaded_length(file, sizeof(file)), 200);
	for (size_t len = 0; len < 200; len++)
		assert_int_equal(elf_loaded_length(file, len), len);
	p.p_filesz = UINT64_MAX;
	memcpy(file + sizeof(h), &p, sizeof(p));
	assert_int_equal(elf_loaded_length(file, sizeof(file)), sizeof(file));
	h.e_phoff = UINT64_MAX - 8;
	memcpy(file, &h, sizeof(h));
	assert_int_equal(elf_loaded_length(file, sizeof(file)), sizeof(file));
	h.e_phoff = sizeof(h);
	h.e_phnum = 60000;
	memcpy(file, &h, sizeof(h));
	assert_int_equal(elf_loaded_length(file, sizeof(file)), sizeof(file));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes_twice_and_small),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_strip_bounds),
	};

	return cmocka_run_group_tests_name("initramfs", tests, NULL, NULL);
}
