/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BOUNDARY_SHOOTDOWN_H
#define MKSPLIT_BENCH_BOUNDARY_SHOOTDOWN_H

#include <stdbool.h>

/* What makes TLB flushes cost what they cost on this machine. */

/* The sum over CPUs of a text of /proc/interrupts' TLB line, -1 without one. */
long shootdowns_in(const char *interrupts);
/* As above, of this machine, now. */
long shootdowns_now(void);

/*
 * Hardware that flushes other CPUs without interrupting them: "INVLPGB" (AMD), "RAR" (Intel),
 * "broadcast TLBI" (arm64); NULL where flushes need interrupts or firmware.
 */
const char *broadcast_in(const char *cpuinfo);
const char *broadcast_hardware(void);

#endif
