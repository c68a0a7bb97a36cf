// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/payload/initramfs.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/payload/strip.h"

/* An agent of some megabytes is already too large: every spawn kernel unpacks it into its memory. */
#define INIT_MAX (32 << 20)

static void archive_freep(struct archive **a)
{
	archive_write_free(*a);
}

static int fail(struct archive *a, struct err *e)
{
	return err_set(e, archive_errno(a) ? archive_errno(a) : EIO, "cannot make the initramfs: %s",
		       archive_error_string(a) ? archive_error_string(a)
					       : "libarchive gave no reason");
}

/* Numbers that would differ from one build to the next are all fixed. */
static int add(struct archive *a, const char *path, mode_t mode, int ino, const void *data,
	       size_t len, struct err *e)
{
	struct archive_entry *entry = archive_entry_new();
	int ret = 0;

	if (!entry)
		return err_set(e, ENOMEM, "no memory for the initramfs");
	archive_entry_set_pathname(entry, path);
	archive_entry_set_mode(entry, mode);
	archive_entry_set_ino(entry, ino);
	archive_entry_set_nlink(entry, 1);
	archive_entry_set_uid(entry, 0);
	archive_entry_set_gid(entry, 0);
	archive_entry_set_mtime(entry, 0, 0);
	archive_entry_set_size(entry, len);
	if (S_ISCHR(mode))
		archive_entry_set_rdev(entry, makedev(5, 1)); /* Documentation/admin-guide/devices.txt */
	if (archive_write_header(a, entry) != ARCHIVE_OK ||
	    (len > 0 && archive_write_data(a, data, len) != (la_ssize_t)len))
		ret = fail(a, e);
	archive_entry_free(entry);
	return ret;
}

int initramfs_write(int fd, const char *init, struct err *e)
{
	cleanup(archive_freep) struct archive *a = archive_write_new();
	cleanup_free char *data = NULL;
	size_t len;
	int ret = read_file_at(AT_FDCWD, init, INIT_MAX, &data, &len, e);

	if (ret < 0)
		return ret;
	len = elf_loaded_length((unsigned char *)data, len);
	if (!a)
		return err_set(e, ENOMEM, "no memory for the initramfs");
	if (archive_write_set_format_cpio_newc(a) != ARCHIVE_OK ||
	    archive_write_add_filter_gzip(a) != ARCHIVE_OK ||
	    archive_write_set_options(a, "gzip:compression-level=9,gzip:!timestamp") != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(a, 1) != ARCHIVE_OK ||
	    archive_write_open_fd(a, fd) != ARCHIVE_OK)
		return fail(a, e);
	ret = add(a, "dev", S_IFDIR | 0755, 1, NULL, 0, e);
	if (ret == 0)
		ret = add(a, "dev/console", S_IFCHR | 0600, 2, NULL, 0, e);
	if (ret == 0)
		ret = add(a, "init", S_IFREG | 0755, 3, data, len, e);
	if (ret == 0 && archive_write_close(a) != ARCHIVE_OK)
		ret = fail(a, e);
	return ret;
}
