/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_IMAGE_H
#define MKSPLIT_SIM_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "sim/buf.h"

/* The loader's look at a kernel image, docs/mklinux-abi.md section 8.4. */
struct image_info {
	uint64_t entry; /* of the note */
	uint64_t span; /* bytes of memory from the lowest to the highest address */
};

/*
 * Returns 0, or what the loader answers: -ENOEXEC for what is no multikernel vmlinux,
 * -EINVAL for a bad ELF header. unsafe gets a sentence when the loader would read or write
 * outside of its buffers instead of refusing (NULL otherwise).
 */
int image_check(const void *data, size_t len, struct image_info *info, const char **unsafe,
		struct err *e);

/* A smallest vmlinux that passes: for rehearsals without a multikernel kernel. */
int image_write_stand_in(struct buf *out);

#endif
