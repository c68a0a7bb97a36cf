/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_REPORT_JSON_NUMBER_H
#define MKSPLIT_REPORT_JSON_NUMBER_H

#include <jansson.h>
#include <math.h>

/* JSON knows no NaN: what does not exist is null. */
static inline json_t *json_number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

#endif
