/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_DTS_H
#define MKSPLIT_MKLINUX_DTS_H

#include <stddef.h>

/*
 * A blob of ours as device-tree source that dtc compiles back to the same tree, for people who
 * look at what was, or would be, written. The caller frees; NULL without memory or for no tree.
 */
char *dts_of(const void *blob, size_t len);

/* Lower-case hexadecimal digits of bytes; the caller frees. */
char *hex_of(const void *data, size_t len);

#endif
