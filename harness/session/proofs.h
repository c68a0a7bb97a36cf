/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SESSION_PROOFS_H
#define MKSPLIT_SESSION_PROOFS_H

#include "harness/session/internal.h"

/*
 * Proofs: what an attempt has to show before its numbers are taken without a remark. Each is a
 * row of the table in proofs.c. One that does not hold flags the cell by name; it never changes or
 * drops a number.
 */
struct proof_view {
	const struct attempt *attempt;
	const struct part *part;
	const struct plan *plan;
	const struct plan_test *test;
	const struct result *result; /* of this part */
	json_t *flags; /* array, what flag_add() fills */
	const char *name; /* of the proof under way */
};

struct proof {
	const char *name;
	/* The threshold and why it lies there, a sentence for people. */
	const char *threshold;
	void (*check)(struct proof_view *v);
};

extern const struct proof proofs[];
extern const int nproofs;

/* value is the number that was compared with the threshold. */
void flag_add(struct proof_view *v, double value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
