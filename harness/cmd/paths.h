/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_PATHS_H
#define MKSPLIT_CMD_PATHS_H

#include "common/err.h"

/*
 * Where the benchmark binary is: $MKSPLIT_BENCH, else mksplit-bench beside this program (both
 * in a build tree's folders), else where it is installed. The caller frees *path.
 */
int find_bench(char **path, struct err *e);

/*
 * Where a data file of the project is ("results/published/published.json", "configs/kernel/host.config"):
 * in the source tree that this program was built from, while it is run from its build tree, else in
 * the data folder that was installed with it. The caller frees *path.
 */
int find_data(char **path, const char *name, struct err *e);

#endif
