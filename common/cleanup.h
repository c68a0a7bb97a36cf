/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_COMMON_CLEANUP_H
#define MKSPLIT_COMMON_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Resources are freed when their variable goes out of scope. Two rules: a variable
 * with a cleanup attribute is initialised where it is declared, and one that is given
 * away is given away with take_ptr() or take_fd(), so that the hand-over can be seen.
 */

#define cleanup(fn) __attribute__((cleanup(fn)))

static inline void cleanup_freep(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_filep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_dirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define cleanup_free  cleanup(cleanup_freep)
#define cleanup_close cleanup(cleanup_closep)
#define cleanup_file  cleanup(cleanup_filep)
#define cleanup_dir   cleanup(cleanup_dirp)

#define take_ptr(p)                                                                                \
	({                                                                                         \
		__auto_type taken_ = (p);                                                          \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#define take_fd(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

#endif
