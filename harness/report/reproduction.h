/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_REPORT_REPRODUCTION_H
#define MKSPLIT_REPORT_REPRODUCTION_H

#include <stdio.h>

#include "harness/analysis/agreement.h"
#include "harness/analysis/versus.h"

/*
 * A run beside published figures, and two runs beside each other. Each writes to f and returns
 * 0, -ENOMEM or -EIO.
 */
int reproduction_text(FILE *f, const struct reproduction *r, const struct analysis *a,
		      size_t compare, const struct published *p);
int reproduction_json(FILE *f, const struct reproduction *r, const struct analysis *a,
		      size_t compare);

int versus_text(FILE *f, const struct versus *v, const struct analysis *a, const struct analysis *b);
int versus_json(FILE *f, const struct versus *v, const struct analysis *a, const struct analysis *b);

#endif
