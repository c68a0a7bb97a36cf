// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/cpumask.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define WORD_BITS 64

void cpumask_free(struct cpumask *m)
{
	free(m->words);
	*m = CPUMASK_INIT;
}

static int grow(struct cpumask *m, size_t nwords)
{
	uint64_t *words;

	if (nwords <= m->nwords)
		return 0;
	words = reallocarray(m->words, nwords, sizeof(*words));
	if (!words)
		return -ENOMEM;
	memset(words + m->nwords, 0, (nwords - m->nwords) * sizeof(*words));
	m->words = words;
	m->nwords = nwords;
	return 0;
}

int cpumask_set(struct cpumask *m, int cpu)
{
	if (cpu < 0 || cpu >= CPUMASK_LIMIT)
		return -ERANGE;
	if (grow(m, cpu / WORD_BITS + 1) < 0)
		return -ENOMEM;
	m->words[cpu / WORD_BITS] |= UINT64_C(1) << (cpu % WORD_BITS);
	return 0;
}

void cpumask_clear(struct cpumask *m, int cpu)
{
	if (cpumask_test(m, cpu))
		m->words[cpu / WORD_BITS] &= ~(UINT64_C(1) << (cpu % WORD_BITS));
}

bool cpumask_test(const struct cpumask *m, int cpu)
{
	if (cpu < 0 || (size_t)cpu / WORD_BITS >= m->nwords)
		return false;
	return m->words[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1;
}

int cpumask_weight(const struct cpumask *m)
{
	int n = 0;

	for (size_t i = 0; i < m->nwords; i++)
		n += __builtin_popcountll(m->words[i]);
	return n;
}

int cpumask_next(const struct cpumask *m, int from)
{
	for (size_t i = from / WORD_BITS; i < m->nwords; i++) {
		uint64_t word = m->words[i];

		if (i == (size_t)from / WORD_BITS)
			word &= ~UINT64_C(0) << (from % WORD_BITS);
		if (word)
			return (int)(i * WORD_BITS) + __builtin_ctzll(word);
	}
	return -1;
}

int cpumask_copy(struct cpumask *dst, const struct cpumask *src)
{
	if (dst == src)
		return 0;
	if (dst->nwords)
		memset(dst->words, 0, dst->nwords * sizeof(*dst->words));
	return cpumask_or(dst, src);
}

int cpumask_or(struct cpumask *dst, const struct cpumask *src)
{
	if (grow(dst, src->nwords) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < src->nwords; i++)
		dst->words[i] |= src->words[i];
	return 0;
}

void cpumask_and(struct cpumask *dst, const struct cpumask *src)
{
	for (size_t i = 0; i < dst->nwords; i++)
		dst->words[i] &= i < src->nwords ? src->words[i] : 0;
}

void cpumask_andnot(struct cpumask *dst, const struct cpumask *src)
{
	for (size_t i = 0; i < dst->nwords && i < src->nwords; i++)
		dst->words[i] &= ~src->words[i];
}

bool cpumask_subset(const struct cpumask *small, const struct cpumask *large)
{
	for (size_t i = 0; i < small->nwords; i++)
		if (small->words[i] & ~(i < large->nwords ? large->words[i] : 0))
			return false;
	return true;
}

bool cpumask_equal(const struct cpumask *a, const struct cpumask *b)
{
	return cpumask_subset(a, b) && cpumask_subset(b, a);
}

bool cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	for (size_t i = 0; i < a->nwords && i < b->nwords; i++)
		if (a->words[i] & b->words[i])
			return true;
	return false;
}

/* One decimal number below CPUMASK_LIMIT; moves *p behind it. */
static int parse_number(const char **p, const char *list, struct err *e)
{
	long value = 0;

	if (!isdigit((unsigned char)**p))
		return err_usage(e, "CPU list \"%.200s\": a number is missing at character %zu",
				 list, (size_t)(*p - list) + 1);
	for (; isdigit((unsigned char)**p); (*p)++) {
		value = value * 10 + (**p - '0');
		if (value >= CPUMASK_LIMIT)
			return err_usage(e, "CPU list \"%.200s\": CPU numbers end at %d", list,
					 CPUMASK_LIMIT - 1);
	}
	return (int)value;
}

int cpumask_parse(struct cpumask *m, const char *list, struct err *e)
{
	const char *p = list;

	if (m->nwords)
		memset(m->words, 0, m->nwords * sizeof(*m->words));
	while (isspace((unsigned char)*p))
		p++;
	if (!*p)
		return 0;
	for (;;) {
		int first, last, step = 1;

		first = last = parse_number(&p, list, e);
		if (first < 0)
			return first;
		if (*p == '-') {
			p++;
			last = parse_number(&p, list, e);
			if (last < 0)
				return last;
			if (last < first)
				return err_usage(e, "CPU list \"%.200s\": %d-%d runs backwards",
						 list, first, last);
			if (*p == ':') {
				p++;
				step = parse_number(&p, list, e);
				if (step < 0)
					return step;
				if (step == 0)
					return err_usage(e, "CPU list \"%.200s\": a step of 0",
							 list);
			}
		}
		for (int cpu = first; cpu <= last; cpu += step)
			if (cpumask_set(m, cpu) < 0)
				return err_set(e, ENOMEM, "no memory for a CPU set");
		if (*p != ',')
			break;
		p++;
	}
	while (isspace((unsigned char)*p))
		p++;
	if (*p)
		return err_usage(e, "CPU list \"%.200s\": unexpected \"%.20s\" at character %zu",
				 list, p, (size_t)(p - list) + 1);
	return 0;
}

char *cpumask_format(const struct cpumask *m)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	const char *comma = "";

	if (!f)
		return NULL;
	for (int first = cpumask_next(m, 0); first >= 0;) {
		int last = first;

		while (cpumask_test(m, last + 1))
			last++;
		if (first == last)
			fprintf(f, "%s%d", comma, first);
		else
			fprintf(f, "%s%d-%d", comma, first, last);
		comma = ",";
		first = cpumask_next(m, last + 1);
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

int cpumask_get_affinity(struct cpumask *m, pid_t tid, struct err *e)
{
	/*
	 * The raw call: it returns the kernel's mask size, and fails with EINVAL while the
	 * buffer is smaller than that (sched_getaffinity(2)), so CPUMASK_LIMIT bits do.
	 */
	cleanup_free uint64_t *words = calloc(CPUMASK_LIMIT / WORD_BITS, sizeof(*words));
	long bytes;

	if (!words)
		return err_set(e, ENOMEM, "no memory for a CPU set");
	bytes = syscall(SYS_sched_getaffinity, tid, CPUMASK_LIMIT / 8, words);
	if (bytes < 0)
		return err_sys(e, "cannot read the CPU affinity of task %d", (int)tid);
	free(m->words);
	m->words = take_ptr(words);
	m->nwords = CPUMASK_LIMIT / WORD_BITS;
	return 0;
}

int cpumask_set_affinity(const struct cpumask *m, pid_t tid, struct err *e)
{
	if (syscall(SYS_sched_setaffinity, tid, m->nwords * sizeof(*m->words), m->words) < 0) {
		int saved = errno;
		cleanup_free char *list = cpumask_format(m);

		errno = saved;
		return err_sys(e, "cannot move task %d to CPUs %s", (int)tid, list ? list : "?");
	}
	return 0;
}
