/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_PLAN_PRINT_H
#define MKSPLIT_CMD_PLAN_PRINT_H

#include <stdio.h>

#include "harness/plan/schedule.h"

/* What a dry run shows. */
struct plan_view {
	const struct plan *p;
	const struct schedule *s;
	const struct topology *t;
	json_t *steps; /* of each arm: an array of {number, kind, partition, what, seconds}, or {error} */
};

int plan_print_text(const struct plan_view *v, FILE *f);
int plan_print_json(const struct plan_view *v, FILE *f);

#endif
