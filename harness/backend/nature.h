/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BACKEND_NATURE_H
#define MKSPLIT_BACKEND_NATURE_H

#include "harness/backend/backend.h"

/*
 * What the running kernel itself runs on: native hardware, a virtual machine, an emulated CPU
 * (QEMU's TCG says so in CPUID leaf 0x40000000), or a machine that mksim plays (MKSIM=1 is in
 * the environment then). A backend's numbers are never better evidence than that.
 */
enum nature machine_nature(const struct root *root);

/* The weaker of two as evidence. */
enum nature nature_worse(enum nature a, enum nature b);

#endif
