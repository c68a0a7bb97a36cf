/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PAYLOAD_IMAGE_H
#define MKSPLIT_PAYLOAD_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "harness/payload/vmlinux.h"

/* A kernel image, checked, ready for a spawn kernel: the file itself, or what a bzImage had. */
struct kernel_image {
	int fd; /* readable from its start; a memory file where it was unpacked */
	size_t size;
	struct vmlinux_info elf;
	char kind[48]; /* "ELF vmlinux", "bzImage (zstd)" */
};
#define KERNEL_IMAGE_INIT ((struct kernel_image){.fd = -1})

/* -ENOEXEC and the like with the path and what is wrong, and what to build instead. */
int kernel_image_open(struct kernel_image *i, const char *path, struct err *e);
void kernel_image_close(struct kernel_image *i);
#define cleanup_kernel_image cleanup(kernel_image_close)

/*
 * Where the image of the running kernel is: boot/vmlinux-RELEASE, the build tree's vmlinux, or
 * boot/vmlinuz-RELEASE, the first that is there. The caller frees; -ENOENT with the places.
 */
int kernel_image_find(char **path, struct err *e);

#endif
