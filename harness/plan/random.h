/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_RANDOM_H
#define MKSPLIT_PLAN_RANDOM_H

#include <stdint.h>

/*
 * Random orders that a stored seed reproduces on any machine: SplitMix64 (Steele, Lea, Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014), a Weyl sequence behind a
 * mixing function. Orders need no more.
 */
struct random {
	uint64_t state;
};

static inline uint64_t random_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t random_next(struct random *r)
{
	r->state += UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio, odd */
	return random_mix(r->state);
}

/* Independent of the streams with other numbers. */
static inline struct random random_stream(uint64_t seed, uint64_t number)
{
	struct random r = {seed};

	r.state = random_next(&r) ^ random_mix(number + 1);
	return r;
}

/* Evenly distributed over [0, n). */
static inline uint64_t random_below(struct random *r, uint64_t n)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % n, v;

	do
		v = random_next(r);
	while (v >= limit);
	return v % n;
}

#endif
