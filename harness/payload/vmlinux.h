/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PAYLOAD_VMLINUX_H
#define MKSPLIT_PAYLOAD_VMLINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Is this a kernel that a multikernel host may be given? The host's loader does not check that
 * segments lie inside the file, ascend, or have more memory than file: it would read or write
 * beyond its buffers (docs/mklinux-abi.md 8.4). So all of it is checked here, first.
 */
struct vmlinux_info {
	uint64_t entry; /* physical, from the note */
	uint64_t lowest, highest; /* physical range of the segments; highest is one behind */
	size_t end; /* bytes of the file that belong to the image; the rest can be cut */
	int segments;
};

/* A kernel image that fits no check is refused with -ENOEXEC and what is wrong with it. */
int vmlinux_check(const void *data, size_t len, struct vmlinux_info *info, struct err *e);

/*
 * Memory that an instance needs for this kernel, an initramfs of that size and to run at all, in
 * bytes: a load that does not fit can crash the host (8.8).
 */
uint64_t vmlinux_memory_needed(const struct vmlinux_info *info, uint64_t initrd);

#endif
