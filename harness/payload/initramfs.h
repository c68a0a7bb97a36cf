/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PAYLOAD_INITRAMFS_H
#define MKSPLIT_PAYLOAD_INITRAMFS_H

#include "common/err.h"

/*
 * Writes the initramfs of a spawn kernel or guest to fd: a gzip-compressed newc archive
 * of /dev, /dev/console (5:1) and /init, which is the file `init` without its symbols. The same
 * input gives the same bytes. gzip, because every kernel configuration that has an initramfs at
 * all is built with it unless somebody took it out.
 */
int initramfs_write(int fd, const char *init, struct err *e);

#endif
