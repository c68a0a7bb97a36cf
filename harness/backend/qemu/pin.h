/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BACKEND_QEMU_PIN_H
#define MKSPLIT_BACKEND_QEMU_PIN_H

#include "harness/backend/qemu/guest.h"

/*
 * Each virtual CPU's thread on its own host CPU, all other threads of QEMU on the quiet CPUs, or,
 * where the plan has none, on the partition's. Read back; a difference is an error.
 */
int guest_pin(const struct guest *g, const struct cpumask *quiet, struct err *e);

#endif
