// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/synth/synth.h"

#include <math.h>

const struct synth synth_default = {
	.seed = 1,
	.blocks = 10,
	.repetitions = 3,
	.samples = 10,
	.sd_block = 0.02,
	.sd_boot = 0.02,
	.sd_repetition = 0.01,
	.sd_sample = 0.01,
	.control_share = 1,
	.correlation = 0.5,
	.nature = "native",
	.kernel = "7.0.0",
	.fresh = true,
	.cpus = 48,
	.margin = 0.03,
};

/* splitmix64: the same numbers on every machine and C library. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

static double uniform(uint64_t *state)
{
	return ((next(state) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
	return sqrt(-2 * log(uniform(state))) * cos(2 * M_PI * uniform(state));
}

static double single_rate(const struct synth_test *t, int n)
{
	return t->rate * n / (1 + t->sigma * (n - 1) + t->kappa * n * (n - 1.0));
}

static double true_rate(const struct synth_test *t, bool split, int n)
{
	if (!split)
		return single_rate(t, n);
	if (n == 1)
		return t->rate * t->anchor;
	return n == 2 ? 2 * t->rate * t->anchor : single_rate(t, n) * t->ratio;
}

/* Seconds since midnight of one fixed day, as every event needs a time. */
static void put_utc(FILE *f, double seconds)
{
	long s = seconds;

	fprintf(f, ",\"utc\":\"2026-09-%02ldT%02ld:%02ld:%02ld.000Z\"}\n", 1 + s / 86400 % 28,
		s / 3600 % 24, s / 60 % 60, s % 60);
}

static void put_run(FILE *f, const struct synth *s)
{
	int half = s->cpus / 2;

	fprintf(f,
		"{\"event\":\"run\",\"format\":1,\"version\":\"synthetic\",\"plan\":\"synthetic\","
		"\"seed\":\"%llu\",\"quick\":false,\"hostname\":\"nowhere\",\"kernel\":\"%s\","
		"\"cpu_model\":\"synthetic\",\"arch\":\"none\",\"topology\":{\"packages\":2,"
		"\"nodes\":2,"
		"\"llcs\":2,\"cores\":%d,\"cpus\":%d},\"cpus\":[",
		(unsigned long long)s->seed, s->kernel, s->cpus, s->cpus);
	for (int i = 0; i < s->cpus; i++)
		fprintf(f,
			"%s{\"cpu\":%d,\"phys\":%d,\"package\":%d,\"node\":%d,\"llc\":%d,\"core\":%"
			"d,"
			"\"smt\":0}",
			i ? "," : "", i, 2 * i, i >= half, i >= half, i >= half, i);
	fprintf(f,
		"],\"quiet\":[],\"margin\":%g,\"blocks\":%d,\"samples\":%d,\"interval_ns\":"
		"1000000000,"
		"\"warmup_ns\":5000000000,\"arms\":[",
		s->margin, s->blocks, s->samples);
	for (int split = 0; split < 2; split++) {
		fprintf(f,
			"%s{\"name\":\"%s\",\"backend\":\"qemu\",\"nature\":\"%s\",\"fresh\":%s,"
			"\"partitions\":[",
			split ? "," : "", split ? "split" : "single", s->nature,
			s->fresh ? "true" : "false");
		for (int p = 0; p <= split; p++) {
			int from = p * half, to = split && p == 0 ? half : s->cpus;

			fprintf(f, "%s{\"name\":\"p%d\",\"host\":false,\"memory\":8589934592,\"cpus\":[",
				p ? "," : "", p);
			for (int i = from; i < to; i++)
				fprintf(f, "%s%d", i > from ? "," : "", i);
			fprintf(f, "]}");
		}
		fprintf(f, "]}");
	}
	fprintf(f, "],\"tests\":[");
	for (int i = 0; i < s->ntests; i++)
		fprintf(f,
			"%s{\"family\":\"scale\",\"test\":\"%s\",\"variant\":\"\",\"control\":%s,"
			"\"primary\":%s,\"modes\":[\"processes\"]}",
			i ? "," : "", s->tests[i].name, s->tests[i].control ? "true" : "false",
			s->tests[i].primary ? "true" : "false");
	fprintf(f, "],\"compare\":[{\"base\":\"single\",\"with\":\"split\",\"differences\":[]}]");
	put_utc(f, 0);
}

/* Partition k's CPU for its i-th task. */
static int task_cpu(const struct synth *s, int k, int i)
{
	return (k * s->cpus / 2 + i) % s->cpus;
}

static void put_tasks(FILE *f, const struct synth *s, int k, int n, double rate)
{
	fprintf(f, "%s{\"name\":\"p%d\",\"tasks\":[", k ? "," : "", k);
	for (int i = 0; i < n; i++)
		fprintf(f,
			"%s{\"n\":%d,\"cpu\":%d,\"agent_cpu\":%d,\"phys\":%d,\"node\":%d,\"cpu_"
			"ns\":"
			"9990000000,\"wall_ns\":10000000000,\"involuntary\":3,\"voluntary\":0,"
			"\"count\":%.0f}",
			i ? "," : "", i, task_cpu(s, k, i), i, 2 * task_cpu(s, k, i), k,
			rate / n * s->samples);
	fprintf(f, "],\"samples\":[");
	for (int j = 0; j <= s->samples; j++) {
		fprintf(f, "%s{\"before\":%lld,\"after\":%lld,\"counts\":[", j ? "," : "",
			1000000000LL * (j + 6), 1000000000LL * (j + 6) + 900);
		for (int i = 0; i < n; i++)
			fprintf(f, "%s%.0f", i ? "," : "", rate / n * j);
		fprintf(f, "]}");
	}
	fprintf(f, "]}");
}

/* The sum of the samples' rates over their number; samples of partition k get its share. */
static void put_cell(FILE *f, const struct synth *s, uint64_t *rng, const struct synth_test *t,
		     int block, int split, int tasks, int position, int repetition, double level,
		     double clock)
{
	double share = t->control ? s->control_share : 1;
	double samples[1000], sum = 0, noise = 0;
	int n = s->samples < 1000 ? s->samples : 1000;
	int used = split && tasks > 1 ? 2 : 1;
	bool anchor = tasks == (split ? 2 : 1);

	level += share * s->sd_repetition * normal(rng);
	for (int i = 0; i < n; i++) {
		double fresh = sqrt(1 - s->correlation * s->correlation);
		double drift = n > 1 ? s->sample_drift * ((double)i / (n - 1) - 0.5) : 0;

		noise = i ? s->correlation * noise + fresh * normal(rng) : normal(rng);
		samples[i] = true_rate(t, split, tasks) *
			     exp(level + share * s->sd_sample * noise) * (1 + drift);
		sum += samples[i];
	}
	fprintf(f,
		"{\"event\":\"cell\",\"key\":\"b%d/%s/scale:%s/-/processes/%d/p%d/"
		"r%d\",\"attempt\":0,"
		"\"block\":%d,\"arm\":\"%s\",\"family\":\"scale\",\"test\":\"%s\",\"variant\":\"\","
		"\"mode\":\"processes\",\"tasks\":%d,\"position\":%d,\"repetition\":%d,\"anchor\":%"
		"s,"
		"\"control\":%s,\"status\":\"ok\",\"flags\":[],\"reason\":\"\",\"seconds\":{"
		"\"total\":15},"
		"\"metrics\":[{\"name\":\"ops\",\"unit\":\"1/"
		"s\",\"better\":\"more\",\"kind\":\"rate\","
		"\"combine\":\"sum\",\"value\":%.9g,\"partitions\":[",
		block, split ? "split" : "single", t->name, tasks, position, repetition, block,
		split ? "split" : "single", t->name, tasks, position, repetition,
		anchor ? "true" : "false", t->control ? "true" : "false", sum / n);
	for (int k = 0; k < used; k++) {
		fprintf(f, "%s{\"name\":\"p%d\",\"value\":%.9g,\"samples\":[", k ? "," : "", k,
			sum / n / used);
		for (int i = 0; i < n; i++)
			fprintf(f, "%s%.9g", i ? "," : "", samples[i] / used);
		fprintf(f, "]}");
	}
	fprintf(f, "]}],\"partitions\":[");
	for (int k = 0; s->per_task && k < used; k++)
		put_tasks(f, s, k, tasks / used, sum / n / used);
	fprintf(f, "]");
	put_utc(f, clock);
}

void synth_write(FILE *f, const struct synth *s)
{
	uint64_t rng = s->seed * UINT64_C(0xD1342543DE82EF95) + 1;
	double clock = 0;

	put_run(f, s);
	for (int block = 0; block < s->blocks; block++) {
		double drift = s->sd_block * normal(&rng);
		bool turned = uniform(&rng) < 0.5;

		for (int order = 0; order < 2; order++) {
			int split = order ^ turned;

			clock += 20;
			fprintf(f,
				"{\"event\":\"boot\",\"block\":%d,\"arm\":\"%s\",\"ok\":true,"
				"\"seconds\":20,"
				"\"error\":\"\"",
				block, split ? "split" : "single");
			put_utc(f, clock);
			for (int i = 0; i < s->ntests; i++) {
				const struct synth_test *t = &s->tests[i];
				double share = t->control ? s->control_share : 1;
				/* Layout in memory is a test's own: drawn for each in each boot. */
				double boot = drift + s->sd_boot * normal(&rng);

				if (uniform(&rng) < s->slow_boot)
					boot += log(0.94);
				for (int k = 0; k < s->ntasks; k++) {
					for (int r = 0; r < s->repetitions; r++) {
						clock += 15;
						put_cell(f, s, &rng, t, block, split, s->tasks[k],
							 0, r, share * boot, clock);
					}
				}
			}
		}
	}
	fprintf(f, "{\"event\":\"end\",\"ok\":true,\"interrupted\":false");
	put_utc(f, clock);
}
