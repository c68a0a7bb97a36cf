/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PLAN_VARY_H
#define MKSPLIT_PLAN_VARY_H

#include "harness/plan/read.h"

/*
 * "vary" of a plan: each entry repeats every arm of guests or spawn kernels with one setting changed,
 * as ARM.NAME, and every comparison between such arms. Changes the document in place, before
 * anything else is read from it: afterwards the arms stand there as if somebody had written them,
 * each with "varies" that says what it was made of. Errors are the user's and name the place.
 */
int plan_vary(json_t *plan, const struct at *root, struct err *e);

#endif
