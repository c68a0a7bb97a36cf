/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_ABI_H
#define MKSPLIT_MKLINUX_ABI_H

#include <stdint.h>

/*
 * The numbers of the multikernel ABI. Sections in parentheses are those of
 * docs/mklinux-abi.md, which names the kernel source behind each.
 */

/* The control file system (1.4, 2). */
#define MK_FS_PATH   "/sys/fs/multikernel"
#define MK_FS_TYPE   "multikernel"
#define MK_FS_MAGIC  0x6d6b6673UL
#define MK_TREE_MAX  (1024u * 1024u) /* largest tree that device_tree takes */
#define MK_NAME_MAX  63 /* of an instance; G1 keeps 64 bytes of it (2.3) */
#define MK_NONCE_MAX 255 /* with its NUL (2.5) */

/* kexec_file_load(2) (8.1, 8.2). Id 1 with these flags is legal on a stock kernel, and loads an
 * ordinary kexec image there: the file system is looked at first. */
#define MK_LOAD_UNLOAD	    0x00000001UL
#define MK_LOAD_NO_INITRD   0x00000004UL
#define MK_LOAD_MULTIKERNEL 0x00000010UL
#define MK_LOAD_ID_SHIFT    5
#define MK_ID_MIN	    1
#define MK_ID_MAX	    511 /* the field has 11 bits; the official client stops here (6.9) */

/* reboot(2) (9.1). */
#define MK_REBOOT_MAGIC1     0xfee1dead
#define MK_REBOOT_MAGIC2     672274793
#define MK_REBOOT_BOOT	     0x4D4B4C49
#define MK_REBOOT_HALT	     0x4D4B4C48
#define MK_REBOOT_HALT_FORCE 0x4D4B4C46

#if defined(__x86_64__)
#define MK_NR_KEXEC_FILE_LOAD 320
#define MK_NR_REBOOT	      169
#else /* arm64 and riscv64 share the generic table */
#define MK_NR_KEXEC_FILE_LOAD 294
#define MK_NR_REBOOT	      142
#endif

/* The console (10.1). */
#define MK_CONSOLE_DEV	"/dev/mktty"
#define MK_CONSOLE_RING 16384
#define MK_CONSOLE_MSG	4080 /* longest message of the ring; writes are cut into these */

/* The line of an image's command line that the booted kernel keeps is 2048 bytes (8.7). */
#define MK_CMDLINE_MAX 2000

/* The note of a vmlinux that a multikernel host can load (8.4). */
#define MK_NOTE_NAME "Linux"
#define MK_NOTE_TYPE 0x4d4b

/* Label of the pool's ranges in /proc/iomem (5.1). */
#define MK_POOL_IOMEM "Multikernel Memory Pool"

#endif
