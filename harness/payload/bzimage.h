/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PAYLOAD_BZIMAGE_H
#define MKSPLIT_PAYLOAD_BZIMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/* An x86 boot image (vmlinuz), by its header; the payload is looked at by bzimage_unpack(). */
bool bzimage_is(const void *data, size_t len);

/*
 * What is packed in a bzImage (docs/mklinux-abi.md 8.5), at most max bytes: a new buffer that the caller
 * frees. *format (static) is "zstd" and the like. -EFBIG above max, -EBADMSG for a damaged
 * one, -EOPNOTSUPP for LZO, which only an external program could unpack.
 */
int bzimage_unpack(const void *data, size_t len, size_t max, void **out, size_t *out_len,
		   const char **format, struct err *e);

/* The same for a bare gzip file such as /proc/config.gz. */
int gzip_unpack(const void *data, size_t len, size_t max, void **out, size_t *out_len, struct err *e);

#endif
