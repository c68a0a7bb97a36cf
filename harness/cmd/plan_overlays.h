/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_PLAN_OVERLAYS_H
#define MKSPLIT_CMD_PLAN_OVERLAYS_H

#include <jansson.h>

#include "common/err.h"
#include "harness/plan/plan.h"

/*
 * Writes every blob of plan_steps() into a folder, made if it is not there: ARM-STEP-NAME.dtbo as
 * it would be written, and .dts to read. Returns how many blobs, 0 where the plan has no arm
 * that writes any.
 */
int plan_overlays(const char *dir, const struct plan *p, const json_t *steps, struct err *e);

#endif
