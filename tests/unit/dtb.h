/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_TESTS_DTB_H
#define MKSPLIT_TESTS_DTB_H

#include <stddef.h>

/* A blob as text, "/path/property = hex bytes" a line: nodes in their order, properties sorted. */
char *dtb_text(const void *blob, size_t len);

/* Compiles a device-tree source of the source tree with dtc; the caller frees the blob. */
void *dtb_compile(const char *path, size_t *len);

#endif
