/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_MACHINE_ARGS_H
#define MKSPLIT_CMD_MACHINE_ARGS_H

#include <jansson.h>

#include "harness/machine/cpus_json.h"
#include "harness/machine/topology.h"

/* What several subcommands print of a machine. */

/* An array of their physical ids (null where one is not known). */
json_t *phys_json(const struct topology *t, const int *cpus, int n);

/* "0-3,8"; physical ids as the same kind of list, "?" when one is not known. Never NULL: the
 * caller frees. */
char *cpus_text(const struct cpumask *m);
char *phys_text(const struct topology *t, const struct cpumask *m);

/* One line: model, packages, nodes, caches, cores, CPUs. The caller frees. */
char *machine_text(const struct topology *t);

/* A drawing of the machine, a character a core. */
struct core_drawing {
	const struct topology *t;
	/* What stands for a core, given its online CPUs. */
	char (*mark)(const struct cpumask *core, void *arg);
	void *arg;
};

/*
 * "qaaaa......|......" with a bar between last-level caches, two spaces between packages; the
 * caller frees.
 */
char *draw_cores(const struct core_drawing *d);

#endif
