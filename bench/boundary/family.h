/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BOUNDARY_FAMILY_H
#define MKSPLIT_BENCH_BOUNDARY_FAMILY_H

#include "bench/test.h"

/*
 * The boundary tests as the runner knows them: a cell's CPUs are the test's, parameters are the
 * options under their long names (options.h), and a test is repeated from start to stop.
 *
 * Two parameters more: tier=T0..T3 asks that the pair of CPUs is of that tier, and
 * node=local|remote|interleave stands for the node of the first CPU, for another one, or for
 * all. What this kernel's CPUs and nodes do not allow is -EOPNOTSUPP.
 */
extern const struct family boundary_family;

#endif
