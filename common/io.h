/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_COMMON_IO_H
#define MKSPLIT_COMMON_IO_H

#include <stddef.h>

#include "common/err.h"

/*
 * Reads a whole file of at most max bytes, relative to dirfd (AT_FDCWD for the usual
 * meaning), into a new NUL-terminated buffer that the caller frees; *len (may be NULL)
 * gets the length without that NUL. Works for files of /proc and /sys, whose size
 * reads as 0. A longer file fails with EFBIG.
 */
int read_file_at(int dirfd, const char *path, size_t max, char **data, size_t *len,
		 struct err *e);

/* Writes all of it, over short writes and EINTR. Returns 0 or a negative errno. */
int write_all(int fd, const void *data, size_t len);

/*
 * Replaces path by a file with this content and mode: written under a temporary name
 * in the same folder, flushed to disk, renamed.
 */
int replace_file(const char *path, const void *data, size_t len, unsigned mode, struct err *e);

#endif
