// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/plan/cpuset.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Far beyond what a person writes; they bound what a hostile plan can cost. */
#define MAX_TEXT  4096
#define MAX_DEPTH 16
#define MAX_PARTS 512

struct parser {
	const char *text, *p;
	const struct topology *t;
	bool split_cores;
	int depth, parts;
	struct err *e;
};

static int parse_set(struct parser *s, struct cpumask *m);

static int fail(struct parser *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct parser *s, const char *fmt, ...)
{
	char why[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return err_usage(s->e, "CPU set \"%.200s\": %s", s->text, why);
}

static int no_memory(struct parser *s)
{
	return err_set(s->e, ENOMEM, "no memory for a CPU set");
}

static void skip_space(struct parser *s)
{
	while (*s->p == ' ')
		s->p++;
}

static size_t here(const struct parser *s)
{
	return (size_t)(s->p - s->text) + 1;
}

static int parse_number(struct parser *s)
{
	int value = 0;

	if (!isdigit((unsigned char)*s->p))
		return fail(s, "a number is missing at character %zu", here(s));
	for (; isdigit((unsigned char)*s->p); s->p++) {
		value = value * 10 + (*s->p - '0');
		if (value >= CPUMASK_LIMIT)
			return fail(s, "numbers end at %d", CPUMASK_LIMIT - 1);
	}
	return value;
}

/*
 * A list is plain numbers: what they count is decided by the caller. The sign between
 * two numbers means a range, so a set that is taken away from a list needs parentheses.
 */
static int parse_list(struct parser *s, struct cpumask *numbers)
{
	for (;;) {
		int first = parse_number(s), last = first;

		if (first < 0)
			return first;
		if (*s->p == '-' && isdigit((unsigned char)s->p[1])) {
			s->p++;
			last = parse_number(s);
			if (last < 0)
				return last;
			if (last < first)
				return fail(s, "%d-%d runs backwards", first, last);
			if (*s->p == '-' && isdigit((unsigned char)s->p[1]))
				return fail(s,
					    "\"-\" at character %zu could be a range or a "
					    "difference; put what is taken away in parentheses",
					    here(s));
		}
		for (int n = first; n <= last; n++)
			if (cpumask_set(numbers, n) < 0)
				return no_memory(s);
		if (*s->p != ',')
			return 0;
		s->p++;
	}
}

/* What a set can name, and what it can be cut at, from the outside in. */
static const struct level {
	const char *name;
	size_t offset; /* of the number in struct topo_cpu */
} levels[] = {
	{"package", offsetof(struct topo_cpu, package)}, {"numa", offsetof(struct topo_cpu, node)},
	{"llc", offsetof(struct topo_cpu, llc)},	 {"core", offsetof(struct topo_cpu, core)},
	{"cpu", offsetof(struct topo_cpu, cpu)},
};

enum {
	LEVEL_CPU = sizeof(levels) / sizeof(levels[0]) - 1,
	NLEVELS
};

static int number_at(const struct level *l, const struct topo_cpu *c)
{
	return *(const int *)((const char *)c + l->offset);
}

/* The CPUs of the things with these numbers; each thing must exist. */
static int by_level(struct parser *s, const struct level *l, const struct cpumask *numbers,
		    struct cpumask *m)
{
	cleanup_cpumask struct cpumask found = CPUMASK_INIT;

	for (int i = 0; i < s->t->ncpus; i++) {
		const struct topo_cpu *c = &s->t->cpus[i];
		int n = number_at(l, c);

		if (n < 0 || !cpumask_test(numbers, n))
			continue;
		if (cpumask_set(m, c->cpu) < 0 || cpumask_set(&found, n) < 0)
			return no_memory(s);
	}
	cpumask_for_each(n, numbers) {
		cleanup_cpumask struct cpumask all = CPUMASK_INIT;
		cleanup_free char *have = NULL;

		if (cpumask_test(&found, n))
			continue;
		for (int i = 0; i < s->t->ncpus; i++)
			if (number_at(l, &s->t->cpus[i]) >= 0 &&
			    cpumask_set(&all, number_at(l, &s->t->cpus[i])) < 0)
				return no_memory(s);
		have = cpumask_format(&all);
		if (l == &levels[LEVEL_CPU])
			return fail(s, "CPU %d is not online (online: %s)", n, have ? have : "?");
		return fail(s, "there is no %s %d with an online CPU (%s: %s)", l->name, n, l->name,
			    have && *have ? have : "not known");
	}
	return 0;
}

/*
 * Positions SET[LIST]: the first hardware thread of every core in topology order, then the
 * second ones, as tasks are placed.
 */
static int pick(struct parser *s, struct cpumask *m, const struct cpumask *positions)
{
	cleanup_cpumask struct cpumask picked = CPUMASK_INIT;
	int n = cpumask_weight(m), at = 0, last = -1;

	for (int smt = 0; at < n; smt++)
		for (int i = 0; i < s->t->ncpus; i++) {
			const struct topo_cpu *c = &s->t->cpus[i];

			if (c->smt != smt || !cpumask_test(m, c->cpu))
				continue;
			if (cpumask_test(positions, at) && cpumask_set(&picked, c->cpu) < 0)
				return no_memory(s);
			at++;
		}
	cpumask_for_each(i, positions)
		last = i;
	if (last >= n) {
		cleanup_free char *list = cpumask_format(m);

		return fail(s, "position %d is asked for, of %d CPU%s: %s", last, n,
			    n == 1 ? "" : "s", list ? list : "?");
	}
	return cpumask_copy(m, &picked) < 0 ? no_memory(s) : 0;
}

/*
 * Tries to cut a set at the boundaries of one level: the things of that level, in topology
 * order, are dealt out until a part is full. True when all parts come out equal.
 */
static bool cut_at(const struct parser *s, const struct cpumask *m, const struct level *l, int k,
		   int index, struct cpumask *part)
{
	int size = cpumask_weight(m) / k, filled = 0, now = 0;
	cleanup_cpumask struct cpumask done = CPUMASK_INIT;

	for (int i = 0; i < s->t->ncpus; i++) {
		int n = number_at(l, &s->t->cpus[i]);

		if (!cpumask_test(m, s->t->cpus[i].cpu) || cpumask_test(&done, s->t->cpus[i].cpu))
			continue;
		/* The whole thing, wherever its CPUs stand in topology order. */
		for (int j = i; j < s->t->ncpus; j++) {
			int cpu = s->t->cpus[j].cpu;

			if (number_at(l, &s->t->cpus[j]) != n || !cpumask_test(m, cpu))
				continue;
			if (cpumask_set(&done, cpu) < 0 ||
			    (now == index && cpumask_set(part, cpu) < 0))
				return false;
			filled++;
		}
		if (filled > size)
			return false;
		if (filled == size) {
			filled = 0;
			now++;
		}
	}
	return now == k;
}

static int cut(struct parser *s, struct cpumask *m, int k, int index)
{
	int n = cpumask_weight(m);
	int last = s->split_cores ? NLEVELS : LEVEL_CPU;

	if (k < 1 || index >= k)
		return fail(s, "part %d of %d does not exist (parts are counted from 0)", index, k);
	if (n == 0 || n % k)
		return fail(s, "%d CPU%s cannot be cut into %d equal parts", n, n == 1 ? "" : "s", k);
	for (int i = 0; i < last; i++) {
		cleanup_cpumask struct cpumask part = CPUMASK_INIT;

		if (cut_at(s, m, &levels[i], k, index, &part))
			return cpumask_copy(m, &part) < 0 ? no_memory(s) : 0;
	}
	return fail(s,
		    "%d CPUs in %d equal parts would separate hardware threads of a core; "
		    "\"allow_smt_split\": true in the plan permits it",
		    n, k);
}

static int parse_base(struct parser *s, struct cpumask *m)
{
	cleanup_cpumask struct cpumask numbers = CPUMASK_INIT;
	int rc;

	skip_space(s);
	if (*s->p == '(') {
		if (++s->depth > MAX_DEPTH)
			return fail(s, "parentheses are nested deeper than %d", MAX_DEPTH);
		s->p++;
		rc = parse_set(s, m);
		if (rc < 0)
			return rc;
		if (*s->p != ')')
			return fail(s, "\")\" is missing at character %zu", here(s));
		s->p++;
		s->depth--;
		return 0;
	}
	if (strncmp(s->p, "all", 3) == 0 && !isalnum((unsigned char)s->p[3])) {
		s->p += 3;
		return cpumask_or(m, &s->t->allowed) < 0 ? no_memory(s) : 0;
	}
	for (int i = 0; i < LEVEL_CPU; i++) {
		size_t n = strlen(levels[i].name);

		if (strncmp(s->p, levels[i].name, n) != 0 || s->p[n] != ':')
			continue;
		s->p += n + 1;
		rc = parse_list(s, &numbers);
		return rc < 0 ? rc : by_level(s, &levels[i], &numbers, m);
	}
	if (!isdigit((unsigned char)*s->p))
		return fail(s,
			    "a set is missing at character %zu: numbers, all, package:N, numa:N, "
			    "llc:N, core:N or parentheses",
			    here(s));
	rc = parse_list(s, &numbers);
	return rc < 0 ? rc : by_level(s, &levels[LEVEL_CPU], &numbers, m);
}

static int parse_part(struct parser *s, struct cpumask *m)
{
	int rc;

	if (++s->parts > MAX_PARTS)
		return fail(s, "more than %d parts", MAX_PARTS);
	rc = parse_base(s, m);
	while (rc == 0 && (*s->p == '/' || *s->p == '[')) {
		if (++s->parts > MAX_PARTS)
			return fail(s, "more than %d parts", MAX_PARTS);
		if (*s->p++ == '/') {
			int k = parse_number(s), index;

			if (k < 0)
				return k;
			if (*s->p != '.')
				return fail(s,
					    "\".\" and the number of a part are missing at "
					    "character %zu",
					    here(s));
			s->p++;
			index = parse_number(s);
			rc = index < 0 ? index : cut(s, m, k, index);
		} else {
			cleanup_cpumask struct cpumask positions = CPUMASK_INIT;

			rc = parse_list(s, &positions);
			if (rc == 0 && *s->p++ != ']') {
				s->p--;
				return fail(s, "\"]\" is missing at character %zu", here(s));
			}
			if (rc == 0)
				rc = pick(s, m, &positions);
		}
	}
	skip_space(s);
	return rc;
}

static int parse_set(struct parser *s, struct cpumask *m)
{
	char sign = '+';

	for (;;) {
		cleanup_cpumask struct cpumask part = CPUMASK_INIT;
		int rc = parse_part(s, &part);

		if (rc < 0)
			return rc;
		if (sign == '-')
			cpumask_andnot(m, &part);
		else if (cpumask_or(m, &part) < 0)
			return no_memory(s);
		if (*s->p != '+' && *s->p != '-')
			return 0;
		sign = *s->p++;
	}
}

int cpuset_parse(struct cpumask *m, const char *text, const struct topology *t, bool split_cores,
		 struct err *e)
{
	cleanup_cpumask struct cpumask result = CPUMASK_INIT;
	struct parser s = {.text = text, .p = text, .t = t, .split_cores = split_cores, .e = e};
	int rc;

	if (strlen(text) > MAX_TEXT)
		return fail(&s, "longer than %d characters", MAX_TEXT);
	rc = parse_set(&s, &result);
	if (rc < 0)
		return rc;
	if (*s.p)
		return fail(&s, "unexpected \"%.20s\" at character %zu", s.p, here(&s));
	return cpumask_copy(m, &result) < 0 ? no_memory(&s) : 0;
}
