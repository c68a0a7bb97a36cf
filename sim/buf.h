/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_BUF_H
#define MKSPLIT_SIM_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "common/cleanup.h"

/*
 * A growing buffer, NUL-terminated whenever data is not NULL. Running out of memory is
 * remembered in failed and makes every later call do nothing, so that a writer of many
 * pieces has one check at its end.
 */
struct buf {
	char *data;
	size_t len, size;
	bool failed;
};

#define BUF_INIT ((struct buf){0})

void buf_add(struct buf *b, const void *data, size_t len);
void buf_str(struct buf *b, const char *text);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_free(struct buf *b);
#define cleanup_buf cleanup(buf_free)

#endif
