/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_FILES_H
#define MKSPLIT_BENCH_FILES_H

#include "bench/scale/scale.h"

/* The files of the loops: named willitscale.XXXXXX, mode 0600, in the cell's folder. */

#define TRANSFER 4096 /* bytes of a read or write, whatever the page size */
#define MEBIBYTE (1UL << 20)
#define BIG_SIZE (128 * MEBIBYTE) /* of mappings and of the files behind them */

/* Makes a file with that many zero bytes in it, and closes it. path has PATH_MAX bytes. */
int make_file(const struct scale *s, char *path, size_t zeros, struct err *e);
/* Makes a private folder. */
int make_folder(const struct scale *s, char *path, struct err *e);

/* prepare(): one file for all tasks, in s->path, with no bytes, 4096, 1 MiB, a page a task. */
int one_file(struct scale *s, struct err *e);
int one_file_4k(struct scale *s, struct err *e);
int one_file_1m(struct scale *s, struct err *e);
int one_file_slices(struct scale *s, struct err *e);
/* cleanup() of those. */
void remove_one_file(struct scale *s);

/* task_prepare(): opens s->path as t->fd; with t->offset at the task's slice. */
int open_read_only(struct task *t);
int open_read_write(struct task *t);
int open_slice_read_only(struct task *t);
int open_slice_read_write(struct task *t);

/* task_prepare(): a file of the task's own as t->fd, without a name; with that much in it. */
int own_file(struct task *t);
int own_file_4k(struct task *t);
int own_file_1m(struct task *t);
int own_file_128m_sparse(struct task *t);
int own_file_in(struct task *t, const char *dir, int flags);

/* Writes zeros at the current position. Returns 0 or a negative errno. */
int write_zeros(int fd, size_t n);

#endif
