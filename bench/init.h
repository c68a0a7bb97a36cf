/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_INIT_H
#define MKSPLIT_BENCH_INIT_H

/*
 * The first process of a spawn kernel or guest: mounts, limits, lo, then the agent on the
 * tty that the kernel command line names (mksplit.link=ttyS1, mksplit.token=WORD). When the agent
 * ends the machine is powered off. Does not return.
 */
void init_main(void) __attribute__((noreturn));

#endif
