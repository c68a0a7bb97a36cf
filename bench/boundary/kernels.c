// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/boundary/kernels.h"

#include <stdint.h>

#define FACTOR 3.0

/*
 * No vectors, no call of memcpy() or memset() in the place of a loop. Loops begin on 32 bytes: one
 * that straddles two lines of instructions was measured to write at half the rate.
 */
#ifdef __clang__
#define VECTOR	    __attribute__((noinline, aligned(64)))
#define SCALAR	    VECTOR
#define SCALAR_LOOP _Pragma("clang loop vectorize(disable) interleave(disable) unroll(disable)")
#else
#define VECTOR __attribute__((noinline, aligned(64), optimize("align-loops=32")))
#define SCALAR                                                         \
	__attribute__((noinline, aligned(64),                          \
		       optimize("align-loops=32", "no-tree-vectorize", \
				"no-tree-loop-distribute-patterns")))
#define SCALAR_LOOP
#endif

/* What was read must be seen to be used. */
#define USE(x) __asm__ volatile("" ::"g"(x))

/* The width that every x86-64 and arm64 has; wider ones would need code chosen at run time. */
typedef double vec __attribute__((vector_size(16)));
typedef uint64_t words __attribute__((vector_size(16)));
#define LANES (sizeof(vec) / sizeof(double))

static SCALAR void read_scalar(double *a, double *b, double *c, size_t n)
{
	const uint64_t *p = (const uint64_t *)a;
	uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;

	SCALAR_LOOP
	for (size_t i = 0; i + 4 <= n; i += 4) {
		s0 ^= p[i];
		s1 ^= p[i + 1];
		s2 ^= p[i + 2];
		s3 ^= p[i + 3];
	}
	USE(s0 ^ s1 ^ s2 ^ s3);
}

static SCALAR void write_scalar(double *a, double *b, double *c, size_t n)
{
	SCALAR_LOOP
	for (size_t i = 0; i < n; i++)
		a[i] = FACTOR;
}

static SCALAR void copy_scalar(double *a, double *b, double *c, size_t n)
{
	SCALAR_LOOP
	for (size_t i = 0; i < n; i++)
		a[i] = b[i];
}

static SCALAR void triad_scalar(double *a, double *b, double *c, size_t n)
{
	SCALAR_LOOP
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + FACTOR * c[i];
}

static VECTOR void read_vector(double *a, double *b, double *c, size_t n)
{
	words s0 = {0}, s1 = {0};

	for (size_t i = 0; i + 2 * LANES <= n; i += 2 * LANES) {
		s0 ^= *(const words *)(a + i);
		s1 ^= *(const words *)(a + i + LANES);
	}
	s0 ^= s1;
	USE(s0[0] ^ s0[1]);
}

static VECTOR void write_vector(double *a, double *b, double *c, size_t n)
{
	const vec v = {FACTOR, FACTOR};

	for (size_t i = 0; i + LANES <= n; i += LANES) {
		*(vec *)(a + i) = v;
		__asm__ volatile("" ::: "memory");
	}
}

static VECTOR void copy_vector(double *a, double *b, double *c, size_t n)
{
	for (size_t i = 0; i + LANES <= n; i += LANES) {
		*(vec *)(a + i) = *(const vec *)(b + i);
		__asm__ volatile("" ::: "memory");
	}
}

static VECTOR void triad_vector(double *a, double *b, double *c, size_t n)
{
	for (size_t i = 0; i + LANES <= n; i += LANES)
		*(vec *)(a + i) = *(const vec *)(b + i) + FACTOR * *(const vec *)(c + i);
}

#ifdef __SSE2__
#include <emmintrin.h>

static VECTOR void write_nt(double *a, double *b, double *c, size_t n)
{
	for (size_t i = 0; i + 2 <= n; i += 2)
		_mm_stream_pd(a + i, _mm_set1_pd(FACTOR));
	_mm_sfence();
}

static VECTOR void copy_nt(double *a, double *b, double *c, size_t n)
{
	for (size_t i = 0; i + 2 <= n; i += 2)
		_mm_stream_pd(a + i, _mm_load_pd(b + i));
	_mm_sfence();
}

static VECTOR void triad_nt(double *a, double *b, double *c, size_t n)
{
	for (size_t i = 0; i + 2 <= n; i += 2)
		_mm_stream_pd(a + i, _mm_add_pd(_mm_load_pd(b + i),
						_mm_mul_pd(_mm_set1_pd(FACTOR), _mm_load_pd(c + i))));
	_mm_sfence();
}
#else
#define write_nt NULL
#define copy_nt	 NULL
#define triad_nt NULL
#endif

/*
 * The first is the default. The published read has two words an instruction: gcc makes pairs of
 * its four accumulators at -O2, and the figures that are compared are of that code.
 */
const struct kernel kernels[] = {
	{"triad", 3, 24, triad_scalar},	 {"read", 1, 8, read_vector},
	{"write", 1, 8, write_scalar},	 {"copy", 2, 16, copy_scalar},
	{"read8", 1, 8, read_scalar},	 {"writevec", 1, 8, write_vector},
	{"copyvec", 2, 16, copy_vector}, {"triadvec", 3, 24, triad_vector},
	{"writent", 1, 8, write_nt},	 {"copynt", 2, 16, copy_nt},
	{"triadnt", 3, 24, triad_nt},
};

const char *const kernel_names[] = {
	"triad",   "read",     "write",	  "copy",   "read8",   "writevec",
	"copyvec", "triadvec", "writent", "copynt", "triadnt", NULL,
};
