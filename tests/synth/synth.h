/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_TESTS_SYNTH_H
#define MKSPLIT_TESTS_SYNTH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Results with a known truth: an events.jsonl as `mksplit run` would have written it, drawn
 * from a model of where noise comes from. Two arms, "single" with one kernel and "split" with
 * two, compared with each other.
 */

struct synth_test {
	const char *name;
	bool control, primary;
	double ratio; /* true split / single, at more than one task a kernel */
	double anchor; /* the same with one task a kernel, a task; 1 where nothing is shared */
	double rate; /* of one task alone, 1/s */
	double sigma,
		kappa; /* how the single kernel scales: rate n / (1 + sigma (n-1) + kappa n (n-1)) */
};

struct synth {
	uint64_t seed;
	int blocks, repetitions, samples;
	const int *tasks; /* task counts, ascending, even above 1 */
	int ntasks;
	const struct synth_test *tests;
	int ntests;
	/* Standard deviations of the logarithm at each level. */
	double sd_block; /* shared by both arms of a block: drift of the machine */
	double sd_boot, sd_repetition, sd_sample;
	double control_share; /* controls see this share of all noise, 1 for all of it */
	double correlation; /* of a sample with the one before */
	double slow_boot; /* the probability of a boot that is 6 % slow */
	double sample_drift; /* over the window, as a share */
	const char *nature; /* "native" */
	const char *kernel; /* release of the running kernel */
	bool fresh;
	bool per_task; /* counts of each task and sample, as a real run has them */
	int cpus;
	double margin;
};

/* What the evidence in docs/methodology.md was computed with: 10 blocks, 3 x 10 samples. */
extern const struct synth synth_default;

void synth_write(FILE *f, const struct synth *s);

#endif
