/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BOUNDARY_OPTIONS_H
#define MKSPLIT_BENCH_BOUNDARY_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Options are single letters; a letter has the text that was given last, or NULL. Numbers are
 * strict: the whole text, in range, else an error that quotes it.
 */
struct options {
	const char *value[128]; /* by letter; "" for a letter without a value; not owned */
};

/* Fills o from words behind the command; letters as getopt takes them. */
int options_parse(struct options *o, int argc, char **argv, const char *letters, struct err *e);

/*
 * The same options have long names where a plan gives them ("size", "node", "kind"). Returns
 * the letter or 0.
 */
char option_letter(const char *name);
const char *option_name(char letter);

int option_number(const struct options *o, char letter, long fallback, long min, long max,
		  long *out, struct err *e);
int option_seconds(const struct options *o, char letter, double fallback, double *out, struct err *e);
/* Decimal with at most one suffix k, m or g; above 0. */
int option_size(const struct options *o, char letter, uint64_t fallback, uint64_t *out,
		struct err *e);
/* The index of the text in a list of names that ends in NULL. */
int option_kind(const struct options *o, char letter, const char *const *names, int *out,
		struct err *e);
/* A CPU number; 0 or another fallback. */
int option_cpu(const struct options *o, char letter, int fallback, int *out, struct err *e);

/*
 * "0-3,8": order kept, duplicates kept, a falling range is empty, an empty result an error.
 * The caller frees *cpus.
 */
int cpu_list(const char *text, int **cpus, int *n, struct err *e);

#endif
