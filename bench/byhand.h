/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BYHAND_H
#define MKSPLIT_BENCH_BYHAND_H

/*
 * `mksplit-bench scale TEST`: one test from a shell, with the output of will-it-scale's programs, so
 * that what reads theirs reads ours. Returns the exit status.
 */
int byhand_main(int argc, char **argv);

#endif
