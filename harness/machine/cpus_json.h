/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_CPUS_JSON_H
#define MKSPLIT_MACHINE_CPUS_JSON_H

#include <jansson.h>

#include "common/cpumask.h"

/* "[0,1,8]": the members of a set, in ascending order. A new reference. */
static inline json_t *cpus_json(const struct cpumask *m)
{
	json_t *list = json_array();

	cpumask_for_each(cpu, m)
		json_array_append_new(list, json_integer(cpu));
	return list;
}

#endif
