/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_INTERNAL_H
#define MKSPLIT_MACHINE_INTERNAL_H

#include "harness/machine/topology.h"

/* Parts of topology_read(), each over the CPUs that are already listed in t->cpus. */

/* hwloc's view: node, last-level cache, kind, memory of nodes, allowed (under a dump). */
int topology_read_hwloc(struct topology *t, const struct root *r, struct err *e);

/* Physical ids, model name and architecture. What cannot be found stays unknown. */
int topology_read_phys(struct topology *t, const struct root *r, struct err *e);

/* CPU quota of the control groups this process is in; 0 for none. */
double topology_read_quota(const struct root *r);

#endif
