/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_GUARD_H
#define MKSPLIT_MACHINE_GUARD_H

#include <jansson.h>

#include "harness/machine/topology.h"

/*
 * What surrounds a run on a borrowed machine: it is refused when the machine is busy or runs
 * guests; file systems are synced; the machine is kept from going to sleep; and
 * what changed behind one's back is compared after the last change was undone.
 */
struct guard {
	const struct root *root;
	json_t *before; /* snapshot.h */
	int inhibitor; /* a pipe: closing it lets the machine sleep again; -1 for none */
	void (*say)(void *arg, const char *line);
	void *arg;
};

#define GUARD_INIT ((struct guard){.inhibitor = -1})

/*
 * Before the first change. -EBUSY with what is wrong, what to do, and the --ignore that
 * would go on. say() gets warnings. ignore: names of checks (check.h) and "sleep".
 */
int guard_begin(struct guard *g, const struct root *r, const struct topology *t, char *const *ignore,
		int nignore, void (*say)(void *arg, const char *line), void *arg, struct err *e);

/* After the last change was undone: says what is different now. Returns how many things. */
int guard_end(struct guard *g);

#endif
