// SPDX-License-Identifier: GPL-2.0-or-later
/* The initramfs: what is in it, that it is the same twice, and that a stripped /init still runs. */
#include "tests/unit/unit.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/payload/initramfs.h"
#include "harness/payload/strip.h"

static int write_one(const char *init, int *fd, struct err *e)
{
	*fd = memfd_create("initramfs", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	return initramfs_write(*fd, init, e);
}

static size_t contents(int fd, char **data)
{
	struct err e = ERR_INIT;
	char path[40];
	size_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(read_file_at(AT_FDCWD, path, 64 << 20, data, &len, &e), 0);
	return len;
}

static void test_same_bytes_twice(void **state)
{
	cleanup_free char *a = NULL, *b = NULL;
	struct err e = ERR_INIT;
	int first, second;
	size_t len;

	(void)state;
	assert_int_equal(write_one(BENCH, &first, &e), 0);
	sleep(1); /* so that a time stamp would show */
	assert_int_equal(write_one(BENCH, &second, &e), 0);
	len = contents(first, &a);
	assert_int_equal(contents(second, &b), len);
	assert_memory_equal(a, b, len);
	close(first);
	close(second);
}

/* What the project promises of its own agent; a build with sanitizers is larger. */
static void test_size(void **state)
{
	struct err e = ERR_INIT;
	struct stat st;
	int fd;

	(void)state;
	if (!STATIC_BENCH)
		skip();
	assert_int_equal(write_one(BENCH, &fd, &e), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_size < 3 << 19);
	close(fd);
}

static void next(struct archive *a, const char *path, mode_t mode)
{
	struct archive_entry *entry;

	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
	assert_string_equal(archive_entry_pathname(entry), path);
	assert_int_equal(archive_entry_mode(entry), mode);
	assert_int_equal(archive_entry_uid(entry), 0);
	assert_int_equal(archive_entry_gid(entry), 0);
	assert_int_equal(archive_entry_mtime(entry), 0);
	if (S_ISCHR(mode))
		assert_true(archive_entry_rdev(entry) == makedev(5, 1));
}

/* The file init as it comes out; runs it with an argument. */
static int run_unpacked(struct archive *a, const char *arg)
{
	int fd = memfd_create("init", 0), status, null = open("/dev/null", O_WRONLY);
	char *argv[] = {"init", (char *)arg, NULL}, *envp[] = {NULL};
	pid_t pid;

	assert_int_equal(archive_read_data_into_fd(a, fd), ARCHIVE_OK);
	pid = fork();
	if (pid == 0) {
		dup2(null, STDOUT_FILENO);
		fexecve(fd, argv, envp);
		_exit(127);
	}
	close(null);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_contents(void **state)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	struct err e = ERR_INIT;
	int fd;

	(void)state;
	assert_int_equal(write_one(BENCH, &fd, &e), 0);
	lseek(fd, 0, SEEK_SET);
	archive_read_support_format_cpio(a);
	archive_read_support_filter_gzip(a);
	assert_int_equal(archive_read_open_fd(a, fd, 10240), ARCHIVE_OK);
	next(a, "dev", S_IFDIR | 0755);
	assert_int_equal(archive_filter_code(a, 0), ARCHIVE_FILTER_GZIP);
	assert_int_equal(archive_format(a), ARCHIVE_FORMAT_CPIO_SVR4_NOCRC);
	next(a, "dev/console", S_IFCHR | 0600);
	next(a, "init", S_IFREG | 0755);
	assert_int_equal(run_unpacked(a, "list"), 0);
	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_EOF);
	archive_read_free(a);
	close(fd);
}

static void test_missing_init(void **state)
{
	struct err e = ERR_INIT;
	int fd;

	(void)state;
	assert_int_equal(write_one("/nonexistent/init", &fd, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nonexistent/init"));
	close(fd);
}

/* What is no executable, or lies about itself, stays as it is. */
static void test_strip_is_careful(void **state)
{
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr p;
		char rest[100];
	} f = {.h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		     .e_phoff = sizeof(Elf64_Ehdr),
		     .e_phentsize = sizeof(Elf64_Phdr),
		     .e_phnum = 1,
		     .e_shoff = 150,
		     .e_shnum = 2},
	       .p = {.p_type = PT_LOAD, .p_offset = 0, .p_filesz = sizeof(f) - 60}},
	  copy;

	(void)state;
	copy = f;
	assert_int_equal(elf_loaded_length((unsigned char *)&copy, sizeof(f)), sizeof(f) - 60);
	assert_int_equal(copy.h.e_shnum, 0);
	for (int fault = 0; fault < 6; fault++) {
		size_t len = sizeof(f);

		copy = f;
		if (fault == 0)
			copy.h.e_ident[1] = 'e';
		if (fault == 1)
			copy.h.e_phnum = 4;
		if (fault == 2)
			copy.h.e_phoff = UINT64_MAX - 8;
		if (fault == 3)
			copy.p.p_filesz = UINT64_MAX - 8;
		if (fault == 4)
			copy.p.p_filesz = 4; /* the header itself would be cut */
		if (fault == 5)
			len = 20;
		assert_int_equal(elf_loaded_length((unsigned char *)&copy, len), len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes_twice), cmocka_unit_test(test_size),
		cmocka_unit_test(test_contents),	 cmocka_unit_test(test_missing_init),
		cmocka_unit_test(test_strip_is_careful),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
