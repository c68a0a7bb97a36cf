/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_LOOPBACK_H
#define MKSPLIT_BENCH_LOOPBACK_H

/* Raises lo in the network namespace of the calling thread. Returns 0 or a negative errno. */
int loopback_up(void);

#endif
