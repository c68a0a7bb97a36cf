/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_SPEC_H
#define MKSPLIT_BENCH_SPEC_H

#include <stdbool.h>

#include "bench/test.h"

/*
 * What a cell is asked for, as the words of PREP (docs/protocol.md) say it: "family=scale
 * test=unlink1 mode=processes cpus=3,1 sampler=0 dir=- guard=... p.NAME=VALUE". A by-hand run
 * adds live=1, unpinned=1 and tasks=N.
 */
#define SPEC_PARAMS_MAX 32
#define SPEC_TASKS_MAX	4096

struct spec {
	struct cell cell; /* its strings and arrays are the spec's */
	bool live;
	char *text; /* the words, split */
	int *cpus;
	int tasks; /* as given, or 0 */
	struct param params[SPEC_PARAMS_MAX];
};

/* Fails with the key that is wrong. Free it also after a failure. */
int spec_parse(struct spec *s, const char *text, struct err *e);
void spec_free(struct spec *s);

#endif
