/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_TABLES_H
#define MKSPLIT_BENCH_TABLES_H

#include "bench/scale/scale.h"

/* One table a file of this folder. table.c lists them. */
extern const struct test_table process_tests; /* process.c */
extern const struct test_table futex_tests; /* futex.c */
extern const struct test_table lock_tests; /* lock.c */
extern const struct test_table path_tests; /* path.c */
extern const struct test_table read_tests; /* read.c */
extern const struct test_table write_tests; /* write.c */
extern const struct test_table file_tests; /* file.c */
extern const struct test_table poll_tests; /* poll.c */
extern const struct test_table mapping_tests; /* mapping.c */
extern const struct test_table fault_tests; /* fault.c */
extern const struct test_table ipc_tests; /* ipc.c */
extern const struct test_table net_tests; /* net.c */

#endif
