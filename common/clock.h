/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_COMMON_CLOCK_H
#define MKSPLIT_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC  INT64_C(1000000000)
#define NSEC_PER_MSEC INT64_C(1000000)
#define NSEC_PER_USEC INT64_C(1000)

/*
 * The clock of every measurement: nanoseconds of CLOCK_MONOTONIC_RAW, which no time
 * daemon slews. Each kernel's starts at its own zero.
 */
static inline int64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

#endif
