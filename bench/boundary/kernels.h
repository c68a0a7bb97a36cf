/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BOUNDARY_KERNELS_H
#define MKSPLIT_BENCH_BOUNDARY_KERNELS_H

#include <stddef.h>

/*
 * Loops over arrays for the bandwidth test. The published ones are the same code whatever the
 * compiler: write, copy and triad move 8 bytes an instruction, read 16. Vector, 8-byte and
 * non-temporal ones have names of their own.
 */
struct kernel {
	const char *name;
	int arrays; /* 1 to 3, a is written (read by "read"), b and c are read */
	int bytes; /* counted per element of 8 bytes */
	/* n elements; NULL where the architecture has no such stores. */
	void (*run)(double *a, double *b, double *c, size_t n);
};

extern const struct kernel kernels[];
extern const char *const kernel_names[]; /* in the order of kernels[], ends in NULL */

#endif
