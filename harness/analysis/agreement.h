/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_AGREEMENT_H
#define MKSPLIT_ANALYSIS_AGREEMENT_H

#include "harness/analysis/analysis.h"
#include "harness/analysis/published.h"

/* Does a run show what was published? The rules are in docs/methodology.md. */
enum agreement {
	AGREE_REPRODUCED,
	AGREE_OTHER_SIZE, /* same direction, other size */
	AGREE_NOT,
	AGREE_UNDECIDED,
	AGREE_SHAPE_ONLY, /* another class of machine: direction and shape, never more */
	AGREE_NO_EVIDENCE, /* emulated or simulated CPUs: plumbing only */
};

const char *agreement_name(enum agreement a);

/*
 * What our block log ratios say about a published ratio without error bars, of which the last
 * printed digit is worth two half_units. Looks at numbers only, not at gates or machines.
 */
enum agreement agreement_of(const struct estimate *d, double published, double half_unit,
			    const struct margin *m);

struct agreement_row {
	const struct row *ours;
	const struct pub_row *pub;
	const struct pub_comparison *of;
	enum agreement agreement;
	const char *why; /* of undecided, "" otherwise */
	/* Ours over the published ratio, with the interval of our mean. */
	double over;
	struct interval over_ci;
};

enum {
	CLASS_KEYS_MAX = 8
};

struct reproduction {
	struct agreement_row *rows;
	size_t nrows;
	/* Keys of the machine class in which ours and theirs differ, as sentences. */
	char differences[CLASS_KEYS_MAX][160];
	size_t ndifferences;
	size_t same_direction, effects; /* of so many published effects, ours point the same way */
	double tau; /* Kendall's, between ours and published ratios */
	size_t by_agreement[AGREE_NO_EVIDENCE + 1];
};

/*
 * Rows of one of the run's compares beside the published ones with so many sockets in use.
 * assume_same skips the check of the machine class. Free with reproduction_free() also after an
 * error; borrows analysis and published set.
 */
int reproduce(struct reproduction *r, const struct analysis *a, size_t compare,
	      const struct published *p, int sockets, bool assume_same, struct err *e);
void reproduction_free(struct reproduction *r);
#define cleanup_reproduction cleanup(reproduction_free)

/* 2 where the second arm's first two partitions lie in different packages, else 1. */
int sockets_used(const struct model *m, size_t compare);

#endif
