// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/session/proofs.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/clock.h"

#define CPU_SHARE_MIN	0.98
#define INVOLUNTARY_MAX 10.0
#define WINDOW_OFF_MAX	0.01
#define READING_MAX	0.01
#define UNSURE_MAX	0.01

void flag_add(struct proof_view *v, double value, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(v->flags, json_pack("{s:s,s:s,s:s,s:f}", "name", v->name, "partition",
						  v->part->m->partition->name, "text", text,
						  "value", isfinite(value) ? value : 0.0));
}

static int host_cpu(const struct proof_view *v, int task)
{
	return v->attempt->cell->placement->cpus[v->part->first_task + task];
}

/* Only these loops never sleep of their own will. */
static bool never_sleeps(const struct proof_view *v)
{
	return strcmp(v->test->family, "scale") == 0;
}

/* The worst task alone is named: on a large machine a list would say nothing more. */
static void check_cpu_time(struct proof_view *v)
{
	double worst = 1;
	int at = -1;

	for (int i = 0; never_sleeps(v) && i < v->result->ntasks; i++) {
		const struct result_task *t = &v->result->tasks[i];
		double share = t->wall_ns > 0 ? (double)t->cpu_ns / t->wall_ns : 0;

		if (share < worst) {
			worst = share;
			at = i;
		}
	}
	if (at >= 0 && worst < CPU_SHARE_MIN)
		flag_add(v, worst, "task %d on CPU %d had its CPU for only %.1f %% of the time", at,
			 host_cpu(v, at), worst * 100);
}

static void check_involuntary(struct proof_view *v)
{
	double worst = 0;
	int at = -1;

	for (int i = 0; never_sleeps(v) && i < v->result->ntasks; i++) {
		const struct result_task *t = &v->result->tasks[i];
		double rate = t->wall_ns > 0 ? t->involuntary * 1e9 / t->wall_ns : 0;

		if (rate > worst) {
			worst = rate;
			at = i;
		}
	}
	if (at >= 0 && worst > INVOLUNTARY_MAX)
		flag_add(v, worst, "task %d on CPU %d was pushed off its CPU %.0f times a second",
			 at, host_cpu(v, at), worst);
}

static int64_t middle(const struct result_sample *s)
{
	return s->before + (s->after - s->before) / 2;
}

static void check_window(struct proof_view *v)
{
	const struct result_sample *before = NULL;
	double interval = v->plan->interval_ns, worst = 0;
	int at = 0;

	for (int i = 0; i < v->result->nsamples; i++) {
		const struct result_sample *s = &v->result->samples[i];
		double off = 0;

		if (before && before->metric == s->metric)
			off = fabs((middle(s) - middle(before)) / interval - 1);
		if (off > worst) {
			worst = off;
			at = s->k;
		}
		before = s;
	}
	if (worst > WINDOW_OFF_MAX)
		flag_add(v, worst, "window %d was %.1f %% off its length", at, worst * 100);
}

static void check_reading(struct proof_view *v)
{
	double worst = 0;
	int at = 0;

	for (int i = 0; i < v->result->nsamples; i++) {
		const struct result_sample *s = &v->result->samples[i];
		double share = (double)(s->after - s->before) / v->plan->interval_ns;

		if (share > worst) {
			worst = share;
			at = s->k;
		}
	}
	if (worst > READING_MAX)
		flag_add(v, worst, "reading the counters for sample %d took %.1f %% of a window",
			 at, worst * 100);
}

static void check_clock(struct proof_view *v)
{
	const struct part *p = v->part;
	int64_t unsure = p->before.uncertainty_ns > p->after.uncertainty_ns
				 ? p->before.uncertainty_ns
				 : p->after.uncertainty_ns;
	double share = (double)unsure / v->plan->interval_ns;

	/* One partition has nothing to be at the same time with. */
	if (v->attempt->n > 1 && share > UNSURE_MAX)
		flag_add(v, share, "its clock is known to %.1f ms only, %.1f %% of a window",
			 unsure / 1e6, share * 100);
}

static void check_room(struct proof_view *v)
{
	const char *missing = json_string_value(json_object_get(v->result->notes, "room_missing"));

	if (missing && *missing)
		flag_add(v, 1, "measured without a clean room: %.200s", missing);
}

const struct proof proofs[] = {
	{"cpu-time",
	 "a task that never sleeps has its CPU for at least 98 %: interrupts and the tick take "
	 "less "
	 "than 1 % of an idle machine, and what takes more moves a rate by as much",
	 check_cpu_time},
	{"involuntary",
	 "at most 10 involuntary switches a second: a pinned task alone on its CPU sees one or two "
	 "of "
	 "kernel threads, and one a sample where the sampler has no CPU of its own",
	 check_involuntary},
	{"window",
	 "each window within 1 % of its length: the rate uses the measured time, but a sampler "
	 "that "
	 "is late was kept from running, and so were tasks perhaps",
	 check_window},
	{"reading",
	 "a reading of all counters within 1 % of a window: the counts are of no one instant else",
	 check_reading},
	{"clock",
	 "a clock known to 1 % of a window: partitions are compared over the same time else only "
	 "roughly",
	 check_clock},
	{"clean-room",
	 "the whole clean room: files on a tmpfs with other options, or tasks in a cgroup with a "
	 "limit, "
	 "are another measurement, of which controls see nothing",
	 check_room},
};

const int nproofs = sizeof(proofs) / sizeof(*proofs);

json_t *attempt_flags(const struct attempt *a)
{
	const struct plan *plan = a->up->s->env->plan;
	struct proof_view v = {
		.attempt = a,
		.plan = plan,
		.test = &plan->tests[a->cell->test],
		.flags = json_array(),
	};

	for (int i = 0; i < a->n; i++) {
		v.part = &a->parts[i];
		v.result = &a->parts[i].result;
		for (int n = 0; n < nproofs; n++) {
			v.name = proofs[n].name;
			proofs[n].check(&v);
		}
	}
	return v.flags;
}
