/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_DETECT_H
#define MKSPLIT_MKLINUX_DETECT_H

#include <stdbool.h>

#include "common/err.h"
#include "harness/mklinux/host.h"

/* Which generation of the ABI the host speaks, and how that is known (docs/mklinux-abi.md 0.4). */
enum mk_generation {
	MK_GEN_NONE, /* no multikernel host */
	MK_GEN_SPAWN, /* inside a spawn kernel */
	MK_GEN_UNKNOWN,
	MK_GEN_G0,
	MK_GEN_G1, /* G1, but not known which half: u32 and u64 CPU cells cannot be told apart */
	MK_GEN_G1A,
	MK_GEN_G1B,
	MK_GEN_G2A, /* v7.0-mk2 */
	MK_GEN_G2B, /* mk3 and later */
};
const char *mk_generation_name(enum mk_generation g);

struct mk_detection {
	enum mk_generation generation;
	char evidence[600];
};

/*
 * Looks, and decides. With `ask` an empty transaction is written where looking does not settle
 * it (step 6): it changes nothing but leaves one folder. An error only where the file system
 * cannot be read at all.
 */
int mk_detect(struct mk_detection *d, struct mk_host *h, bool ask, struct err *e);

/*
 * 0 for a generation that is supported; the reason for refusing, and what to do, otherwise.
 */
int mk_check_generation(const struct mk_detection *d, struct err *e);

#endif
