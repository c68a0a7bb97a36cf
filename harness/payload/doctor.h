/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PAYLOAD_DOCTOR_H
#define MKSPLIT_PAYLOAD_DOCTOR_H

#include "harness/backend/backend.h"
#include "harness/machine/root.h"

/* What `mksplit doctor --kernel FILE` says of an image, before anything is loaded. */
int doctor_kernel_image(struct check_results *c, const char *path, struct err *e);

/*
 * The running kernel's options against configs/kernel/<list>.config: one line for what is
 * needed, one for what is wanted. `list` is its text, name "host" or "spawn".
 */
int doctor_kernel_options(struct check_results *c, const struct root *root, const char *name,
			  const char *list, struct err *e);

#endif
