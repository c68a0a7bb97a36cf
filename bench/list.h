/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_LIST_H
#define MKSPLIT_BENCH_LIST_H

/*
 * What tests there are: a line each for people; one JSON object, which `mksplit` reads
 * (harness/plan/catalog.h); or docs/tests.md. argv[1] is --json, --markdown, or missing. Returns the
 * exit status.
 */
int list_main(int argc, char **argv);

#endif
