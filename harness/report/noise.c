// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the noise comes from, and what to choose next time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/analysis/variance.h"
#include "harness/report/parts.h"

enum {
	COUNT_MAX = 30,
	BLOCKS_MAX_ADVICE = 200
};

/* Where a run does not say: what a boot and a warm-up cost on a large machine, in seconds. */
#define USUAL_BOOT   20.0
#define USUAL_WARMUP 5.0

static struct unit_cost cost_of(const struct model *m)
{
	struct unit_cost c = {.seconds = {1, USUAL_WARMUP, USUAL_BOOT}};
	double boots = 0;
	size_t n = 0;

	if (m->interval > 0)
		c.seconds[LEVEL_SAMPLE] = m->interval;
	if (m->warmup > 0)
		c.seconds[LEVEL_REPETITION] = m->warmup;
	for (size_t i = 0; i < m->nboots; i++) {
		if (!m->boots[i].ok || !(m->boots[i].seconds > 0))
			continue;
		boots += m->boots[i].seconds;
		n++;
	}
	if (n > 0)
		c.seconds[LEVEL_BOOT] = boots / n;
	return c;
}

static double median(const double *x, size_t n)
{
	struct fences f;

	return fences_of(x, n, &f) < 0 ? NAN : f.median;
}

static void add(const struct variance *v, double *sum, size_t *seen)
{
	for (int k = 0; k < LEVELS; k++) {
		if (isnan(v->t2[k]))
			continue;
		sum[k] += v->t2[k];
		seen[k]++;
	}
}

int noise_of(struct noise *out, const struct analysis *a)
{
	struct unit_cost cost = cost_of(a->m);
	cleanup_free double *samples = calloc(2 * a->nrows + 1, sizeof(*samples));
	cleanup_free double *repetitions = calloc(2 * a->nrows + 1, sizeof(*repetitions));
	cleanup_free double *sd = calloc(a->nrows + 1, sizeof(*sd));
	double sum[LEVELS] = {0}, total = 0;
	size_t seen[LEVELS] = {0}, n = 0, rows = 0;

	if (!samples || !repetitions || !sd)
		return -ENOMEM;
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *r = &a->rows[i];
		const struct series *arms[] = {r->base, r->with};

		if (!r->headline || r->control || r->d.n < 2)
			continue;
		sd[rows++] = r->d.sd;
		for (size_t k = 0; k < 2; k++) {
			struct variance v;
			struct counts c;

			if (series_variance(arms[k], a->m, &v) < 0)
				return -ENOMEM;
			c = counts_for_next(&v, &cost, COUNT_MAX);
			samples[n] = c.samples;
			repetitions[n++] = c.repetitions;
			add(&v, sum, seen);
		}
	}
	for (int k = 0; k < LEVELS; k++) {
		out->v.t2[k] = seen[k] ? sum[k] / seen[k] : NAN;
		total += seen[k] ? out->v.t2[k] : 0;
	}
	for (int k = 0; k < LEVELS; k++)
		out->v.share[k] = total > 0 ? out->v.t2[k] / total : NAN;
	out->next_samples = median(samples, n);
	out->next_repetitions = median(repetitions, n);
	out->sd_block_ratio = median(sd, rows);
	out->blocks_for_2_percent =
		rows ? blocks_for_half_width(out->sd_block_ratio, 0.95, log(1.02),
					     VERDICT_MIN_BLOCKS, BLOCKS_MAX_ADVICE)
		     : 0;
	return n;
}

int print_variance(FILE *f, const struct analysis *a)
{
	static const char *const names[LEVELS] = {"samples", "repetitions", "boots"};
	struct noise x;
	int n = noise_of(&x, a);

	if (n < 0)
		return n;
	if (n == 0)
		return 0;
	fprintf(f,
		"\nnoise (mean over %d headline curves, standard deviation that each level adds):", n);
	for (int k = LEVELS - 1; k >= 0; k--) {
		if (isnan(x.v.t2[k]))
			fprintf(f, " %s not told apart", names[k]);
		else
			fprintf(f, " %s %.2f %% (%.0f %% of the variance)", names[k],
				100 * sqrt(x.v.t2[k]), 100 * x.v.share[k]);
		fprintf(f, "%s", k ? "," : "\n");
	}
	fprintf(f,
		"next time: %.0f samples a repetition, %.0f repetitions a boot; block ratios "
		"spread "
		"by %.2f %%, so ",
		x.next_samples, x.next_repetitions, 100 * x.sd_block_ratio);
	if (x.blocks_for_2_percent)
		fprintf(f, "%zu blocks give an interval of +-2 %%\n", x.blocks_for_2_percent);
	else
		fprintf(f, "+-2 %% needs more than %d blocks\n", BLOCKS_MAX_ADVICE);
	return 0;
}
