/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_MOUNTS_H
#define MKSPLIT_BENCH_MOUNTS_H

#include <stddef.h>

/*
 * Mounts the tmpfs that test files go to, with every option that matters stated, so that it is
 * the same on all backends: half of the memory and a limit on inodes (tmpfs's own defaults,
 * which take the lock that goes with such a limit), no huge pages. Returns 0 or -1 with errno.
 */
int mount_test_tmpfs(const char *where);

/*
 * Type and options of the file system that holds a path, from /proc/self/mountinfo:
 * "tmpfs rw,relatime rw,size=1024k"; "?" where it cannot be told.
 */
void mount_options_of(const char *path, char *out, size_t size);

#endif
