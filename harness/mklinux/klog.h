/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_KLOG_H
#define MKSPLIT_MKLINUX_KLOG_H

#include <stddef.h>

/*
 * The errno of a failed overlay is nowhere but in the kernel log (docs/mklinux-abi.md 6.5): the
 * log is opened before the write and read after it. Diagnostics only; nothing is decided by it.
 */

/* Where the log ends now: a descriptor to close, or -1 where the log cannot be read. */
int klog_mark(void);

/* Adds what was logged since, the messages alone, one a line, to text. */
void klog_since(int fd, char *text, size_t size);

/*
 * Looks for "Failed to apply overlay transaction <tx>: <-errno>" in lines of a log. Returns the errno
 * (positive), or 0; why gets the line before it, which is more specific, or "".
 */
int klog_overlay_errno(const char *log, int tx, char *why, size_t size);

#endif
