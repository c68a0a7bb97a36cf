/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_CALLS_H
#define MKSPLIT_MKLINUX_CALLS_H

#include "common/err.h"
#include "harness/mklinux/host.h"

/*
 * The system calls of a multikernel host, behind the guards that the kernel does not have
 * (docs/mklinux-abi.md 8, 9): nothing is called unless the control file system is mounted (a
 * stock kernel would take a load for an ordinary kexec) and the instance is in a state in which the
 * call is safe. An EBUSY is tried again for a few seconds. Errors are sentences of mk_explain().
 */

/* Image and initramfs are descriptors of readable files; -1 for no initramfs. */
int mk_load(const struct mk_host *h, const char *name, int id, int image_fd, int initrd_fd,
	    const char *cmdline, struct err *e);
/* Only what is "loaded": unloading a running instance frees its memory under it. */
int mk_unload(const struct mk_host *h, const char *name, int id, struct err *e);
/* Only what is "loaded". Returns when its CPUs were released, before the kernel is up. */
int mk_boot(const struct mk_host *h, const char *name, int id, struct err *e);
/*
 * Ends a kernel for certain: waits patience_ms for it to go down by itself (its agent was told to),
 * then halts it, then by force. It is not "active" afterwards, or an error. Other instances
 * cannot boot or halt meanwhile (9.1).
 */
int mk_stop(const struct mk_host *h, const char *name, int id, int patience_ms, struct err *e);

/* Waits for a status; -ETIMEDOUT with what it was instead. */
int mk_wait_status(const struct mk_host *h, const char *name, const char *status, int timeout_ms,
		   struct err *e);

#endif
