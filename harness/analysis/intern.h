/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_INTERN_H
#define MKSPLIT_ANALYSIS_INTERN_H

#include <stddef.h>

/*
 * Each different string once. A results folder repeats the same few hundred names in every
 * cell, and equal names are then equal pointers.
 */
struct intern;

struct intern *intern_new(void);
void intern_free(struct intern *in);

/* The stored copy of s, which lives as long as the pool; NULL without memory. */
const char *intern(struct intern *in, const char *s);

#endif
