// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/io.h"
#include "harness/machine/check.h"
#include "harness/machine/tuning.h"
#include "harness/plan/load.h"
#include "harness/plan/vary.h"

/* A plan with a thousand tests is 100 kB. */
#define MAX_PLAN (1UL << 20)

#define MAX_BLOCKS	1000
#define MAX_REPETITIONS 100
#define MAX_SAMPLES	1000
#define MAX_IGNORE	64

const char *mode_name(int mode)
{
	return mode == MODE_THREADS ? "threads" : "processes";
}

int plan_warn(struct plan *p, struct err *e, const char *fmt, ...)
{
	char **more = reallocarray(p->warnings, (size_t)p->nwarnings + 1, sizeof(*more));
	va_list ap;
	int n;

	if (!more)
		return err_set(e, ENOMEM, "no memory for a plan");
	p->warnings = more;
	va_start(ap, fmt);
	n = vasprintf(&p->warnings[p->nwarnings], fmt, ap);
	va_end(ap);
	if (n < 0)
		return err_set(e, ENOMEM, "no memory for a plan");
	p->nwarnings++;
	return 0;
}

static void free_arm(struct plan_arm *a)
{
	for (int i = 0; i < a->npartitions; i++) {
		free(a->partitions[i].name);
		free(a->partitions[i].cpus_text);
		cpumask_free(&a->partitions[i].cpus);
		cpumask_free(&a->partitions[i].nodes);
	}
	free(a->partitions);
	free(a->name);
	free(a->backend);
}

static void free_test(struct plan_test *t)
{
	for (int i = 0; i < t->nparams; i++) {
		free(t->params[i].name);
		free(t->params[i].value);
	}
	free(t->params);
	free(t->family);
	free(t->test);
	free(t->variant);
	free(t->tasks);
}

void plan_free(struct plan **pp)
{
	struct plan *p = *pp;

	if (!p)
		return;
	for (int i = 0; i < p->nkernels; i++) {
		free(p->kernels[i].name);
		free(p->kernels[i].image);
		free(p->kernels[i].append);
	}
	for (int i = 0; i < p->narms; i++)
		free_arm(&p->arms[i]);
	for (int i = 0; i < p->ngroups; i++)
		cpumask_free(&p->groups[i].usable);
	for (int i = 0; i < p->ntests; i++)
		free_test(&p->tests[i]);
	for (int i = 0; i < p->ncompares; i++) {
		for (int k = 0; k < p->compares[i].ndifferences; k++)
			free(p->compares[i].differences[k]);
		free(p->compares[i].differences);
	}
	for (int i = 0; i < p->nwarnings; i++)
		free(p->warnings[i]);
	for (int i = 0; i < p->nignore; i++)
		free(p->ignore[i]);
	free(p->ignore);
	free(p->kernels);
	free(p->arms);
	free(p->groups);
	free(p->tests);
	free(p->compares);
	free(p->warnings);
	cpumask_free(&p->quiet);
	json_decref(p->json);
	free(p->path);
	free(p->name);
	free(p->description);
	free(p->text);
	free(p);
	*pp = NULL;
}

/* "seed" of a plan is a string of digits: a JSON number would lose bits. */
static int read_seed(const struct at *at, const json_t *v, void *to, struct err *e)
{
	const char *s = json_string_value(v);
	char *end;

	errno = 0;
	if (!s || *s < '0' || *s > '9' || (*(uint64_t *)to = strtoull(s, &end, 10), *end) || errno)
		return at_error(at, e, "a string of decimal digits below 2^64 is expected");
	return 0;
}

static int read_format(const struct at *at, const json_t *v, void *to, struct err *e)
{
	if (!json_is_integer(v) || json_integer_value(v) != 1)
		return at_error(at, e, "this program reads format 1");
	return 0;
}

static const struct field measure_fields[] = {
	{"warmup", read_time, offsetof(struct plan, warmup_ns)},
	{"samples", read_count, offsetof(struct plan, samples)},
	{"interval", read_time, offsetof(struct plan, interval_ns)},
	{"guard", read_time, offsetof(struct plan, guard_ns)},
	{"repetitions", read_count, offsetof(struct plan, repetitions)},
};

static int read_measure(const struct at *at, const json_t *v, void *to, struct err *e)
{
	struct plan *p = to;
	int rc = read_object(at, v, measure_fields, sizeof(measure_fields) / sizeof(struct field),
			     p, e);

	if (rc < 0)
		return rc;
	if (p->samples > MAX_SAMPLES)
		return at_error(at, e, "samples: at most %d", MAX_SAMPLES);
	if (p->repetitions > MAX_REPETITIONS)
		return at_error(at, e, "repetitions: at most %d", MAX_REPETITIONS);
	/* Below this a window is mostly the reading of counters. */
	if (p->interval_ns < 10 * NSEC_PER_MSEC)
		return at_error(at, e, "interval: at least 10ms");
	return 0;
}

static int read_blocks(const struct at *at, const json_t *v, void *to, struct err *e)
{
	int rc = read_count(at, v, to, e);

	if (rc == 0 && *(int *)to > MAX_BLOCKS)
		return at_error(at, e, "at most %d", MAX_BLOCKS);
	return rc;
}

static const struct field until_fields[] = {
	{"ci", read_share, offsetof(struct plan, until_width), true},
	{"max_blocks", read_blocks, offsetof(struct plan, blocks), true},
};

/* "until" is another way to say how many blocks: as many as it takes, at most max_blocks. */
static int read_until(const struct at *at, const json_t *v, void *to, struct err *e)
{
	struct plan *p = to;
	int rc = read_object(at, v, until_fields, sizeof(until_fields) / sizeof(struct field), p, e);

	if (rc == 0 && !(p->until_width > 0 && p->until_width < 1))
		return at_error(at, e, "ci: a width lies between 0 and 100 %%");
	return rc;
}

static int read_margin(const struct at *at, const json_t *v, void *to, struct err *e)
{
	int rc = read_share(at, v, to, e);

	/* A margin of half or more calls everything "the same". */
	if (rc == 0 && (*(double *)to <= 0 || *(double *)to >= 0.5))
		return at_error(at, e, "a margin lies between 0 and 50 %%");
	return rc;
}

static int read_tune(const struct at *at, const json_t *v, void *to, struct err *e)
{
	int rc = tuning_check(v, e);

	if (rc < 0)
		return at_wrap(at, e);
	*(json_t **)to = (json_t *)v;
	return 0;
}

static int read_ignore(const struct at *at, const json_t *v, void *to, struct err *e)
{
	struct plan *p = to;
	size_t n;
	int rc = read_array(at, v, MAX_IGNORE, &n, e);

	if (rc < 0)
		return rc;
	p->ignore = calloc(n + 1, sizeof(*p->ignore));
	if (!p->ignore)
		return err_set(e, ENOMEM, "no memory for a plan");
	for (size_t i = 0; i < n; i++) {
		struct at here = {.up = at, .index = i};

		rc = read_name(&here, json_array_get(v, i), &p->ignore[i], e);
		if (rc < 0)
			return rc;
		p->nignore++;
		if (!machine_check_known(p->ignore[i]) && strcmp(p->ignore[i], "sleep") != 0)
			return at_error(&here, e, "there is no check \"%s\" (see mksplit doctor)",
					p->ignore[i]);
	}
	return 0;
}

static const struct field plan_fields[] = {
	{"format", read_format, 0, true},
	{"name", read_name, offsetof(struct plan, name), true},
	{"description", read_string, offsetof(struct plan, description)},
	{"seed", read_seed, offsetof(struct plan, seed)},
	{"blocks", read_blocks, offsetof(struct plan, blocks)},
	{"until", read_until, 0},
	{"margin", read_margin, offsetof(struct plan, margin)},
	{"allow_smt_split", read_bool, offsetof(struct plan, allow_smt_split)},
	{"measure", read_measure, 0},
	{"tune", read_tune, offsetof(struct plan, tune)},
	{"ignore", read_ignore, 0},
	/* Read later, in an order that they depend on. */
	{"quiet"},
	{"kernels"},
	{"arms", NULL, 0, true},
	{"tests", NULL, 0, true},
	{"tasks"},
	{"compare"},
	{"vary"},
};

static int defaults(struct plan *p, const char *path, const char *text, size_t len, struct err *e)
{
	p->path = strdup(path);
	p->text = strndup(text, len);
	p->description = strdup("");
	p->blocks = 10;
	p->repetitions = 1;
	p->samples = 10;
	p->interval_ns = NSEC_PER_SEC;
	p->warmup_ns = 5 * NSEC_PER_SEC;
	p->guard_ns = 200 * NSEC_PER_MSEC;
	p->margin = 0.03;
	if (!p->path || !p->text || !p->description)
		return err_set(e, ENOMEM, "no memory for a plan");
	if (getrandom(&p->seed, sizeof(p->seed), 0) != sizeof(p->seed))
		return err_sys(e, "no random seed");
	return 0;
}

static int64_t at_most(int64_t now, int64_t limit)
{
	return now < limit ? now : limit;
}

static void apply_options(struct plan *p, const struct plan_options *o)
{
	if (o && o->have_seed)
		p->seed = o->seed;
	if (!o || !o->quick)
		return;
	p->quick = true;
	p->blocks = 1;
	p->until_width = 0;
	p->repetitions = 1;
	p->samples = (int)at_most(p->samples, 3);
	p->interval_ns = at_most(p->interval_ns, 200 * NSEC_PER_MSEC);
	p->warmup_ns = at_most(p->warmup_ns, 300 * NSEC_PER_MSEC);
	p->guard_ns = at_most(p->guard_ns, 100 * NSEC_PER_MSEC);
}

int plan_parse(struct plan **out, const char *path, const char *text, size_t len,
	       const struct topology *t, const struct catalog *c, const struct plan_options *o,
	       struct err *e)
{
	const char *slash = strrchr(path, '/');
	struct at root = {.key = slash ? slash + 1 : path};
	cleanup_plan struct plan *p = calloc(1, sizeof(*p));
	struct loader l = {.p = p, .t = t, .c = c, .root = &root};
	json_error_t wrong;
	int rc;

	if (!p)
		return err_set(e, ENOMEM, "no memory for a plan");
	rc = defaults(p, path, text, len, e);
	if (rc < 0)
		return rc;
	p->json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &wrong);
	if (!p->json)
		return at_error(&root, e, "line %d, column %d: %s", wrong.line, wrong.column,
				wrong.text);
	rc = plan_vary(p->json, &root, e);
	if (rc < 0)
		return rc;
	l.plan = p->json;
	rc = read_object(&root, p->json, plan_fields, sizeof(plan_fields) / sizeof(struct field), p,
			 e);
	if (rc < 0)
		return rc;
	apply_options(p, o);
	rc = load_arms(&l, e);
	if (rc == 0)
		rc = load_groups(&l, e);
	if (rc == 0)
		rc = load_tests(&l, e);
	if (rc < 0)
		return rc;
	*out = take_ptr(p);
	return 0;
}

int plan_load(struct plan **p, const char *path, const struct topology *t, const struct catalog *c,
	      const struct plan_options *o, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len;
	int rc = read_file_at(AT_FDCWD, path, MAX_PLAN, &text, &len, e);

	if (rc < 0) {
		e->exit = EXIT_USAGE;
		return rc;
	}
	return plan_parse(p, path, text, len, t, c, o, e);
}
