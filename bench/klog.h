/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_KLOG_H
#define MKSPLIT_BENCH_KLOG_H

#include <stddef.h>

/*
 * New messages of the kernel (/dev/kmsg), so that a warning or a throttled CPU in a cell is
 * seen. NULL stands for a log that may not be read.
 */
struct klog;

struct klog *klog_open(void);
void klog_close(struct klog *k);

/* Passes over everything up to now. */
void klog_skip(struct klog *k);

/*
 * What came since, "LEVEL SECONDS TEXT" lines, at most 64 KiB (the rest is counted in a last
 * line); the caller frees. "" for nothing, or where the log may not be read; NULL without memory.
 */
char *klog_new(struct klog *k, size_t *len);

#endif
