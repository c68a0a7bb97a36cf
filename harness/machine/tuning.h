/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_TUNING_H
#define MKSPLIT_MACHINE_TUNING_H

#include <jansson.h>

#include "harness/change/journal.h"
#include "harness/machine/topology.h"

/*
 * Settings of the machine for the time of a run ("tune" of a plan, and --tune), each a
 * journalled change of a file with what was there before:
 *
 *	"governor": "performance"	frequency governor of every online CPU
 *	"boost": false			turbo, by whichever of its two switches there is
 *	"dma_latency": 0		us a CPU may take to wake up; 0 keeps it awake
 *	"numa_balancing": false
 *	"thp": "madvise"		always, madvise or never
 *	"watchdog": false		lockup detectors
 *	"irqs": "away"			interrupts off the CPUs that carry tasks
 *
 * What cannot be set is a warning with the reason, not an error.
 */

/* Checks a plan's "tune" object. The message names the key. */
int tuning_check(const json_t *wish, struct err *e);

/* What --tune without further words means: a new reference. */
json_t *tuning_default(void);

struct tuning; /* what must be held open while it lasts */

/*
 * Makes the changes. `measured`: the CPUs that carry tasks. warn() gets a sentence for
 * each thing that could not be done. An error only where the journal or memory fails;
 * what was done by then is in the journal.
 */
int tuning_apply(struct tuning **t, const json_t *wish, const struct root *r,
		 const struct topology *topology, const struct cpumask *measured, struct journal *j,
		 void (*warn)(void *arg, const char *line), void *arg, struct err *e);

/* Lets go of what is held open; the journal undoes the rest. */
void tuning_release(struct tuning **t);

#endif
