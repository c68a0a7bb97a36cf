// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/spec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpumask.h"
#include "common/frame.h"

/* Family, test, mode, CPUs, sampler, folder, guard, live, unpinned, tasks. */
#define WORDS_MAX (SPEC_PARAMS_MAX + 16)

static int number(const char *key, const char *value, long long min, long long max, long long *out,
		  struct err *e)
{
	char *end;

	errno = 0;
	*out = strtoll(value, &end, 10);
	if (errno || end == value || *end || *out < min || *out > max)
		return err_set(e, EINVAL, "%s=%.40s: a number from %lld to %lld is wanted", key,
			       value, min, max);
	return 0;
}

/* "3,1,0-2": in the order given, and a CPU may stand there twice. */
static int set_cpus(struct spec *s, char *value, struct err *e)
{
	int n = 0;

	for (char *save, *part = strtok_r(value, ",", &save); part;
	     part = strtok_r(NULL, ",", &save)) {
		char *dash = strchr(part, '-');
		long long first, last;
		int ret;

		if (dash)
			*dash++ = '\0';
		ret = number("cpus", part, 0, CPUMASK_LIMIT - 1, &first, e);
		if (ret == 0)
			ret = number("cpus", dash ? dash : part, first, CPUMASK_LIMIT - 1, &last, e);
		if (ret < 0)
			return ret;
		if (last - first >= SPEC_TASKS_MAX - n)
			return err_set(e, E2BIG, "cpus: at most %d tasks", SPEC_TASKS_MAX);
		for (long long cpu = first; cpu <= last; cpu++)
			s->cpus[n++] = (int)cpu;
	}
	s->cell.cpus = s->cpus;
	s->cell.ntasks = n;
	return 0;
}

static int set_mode(struct spec *s, char *value, struct err *e)
{
	for (enum test_mode m = MODE_PROCESSES; m <= MODE_THREADS; m <<= 1) {
		if (strcmp(value, mode_name(m)) == 0) {
			s->cell.mode = m;
			return 0;
		}
	}
	return err_set(e, EINVAL, "mode=%.40s: processes or threads is wanted", value);
}

static int set_param(struct spec *s, const char *name, const char *value, struct err *e)
{
	struct cell *c = &s->cell;

	if (c->nparams == SPEC_PARAMS_MAX)
		return err_set(e, E2BIG, "more than %d parameters", SPEC_PARAMS_MAX);
	s->params[c->nparams++] = (struct param){name, value};
	c->params = s->params;
	return 0;
}

static int set(struct spec *s, char *key, char *value, struct err *e)
{
	struct cell *c = &s->cell;
	long long v;
	int ret = 0;

	if (strncmp(key, "p.", 2) == 0)
		return set_param(s, key + 2, value, e);
	if (strcmp(key, "family") == 0) {
		c->family = value;
	} else if (strcmp(key, "test") == 0) {
		c->test = value;
	} else if (strcmp(key, "mode") == 0) {
		ret = set_mode(s, value, e);
	} else if (strcmp(key, "cpus") == 0) {
		ret = set_cpus(s, value, e);
	} else if (strcmp(key, "sampler") == 0) {
		ret = *value ? number(key, value, 0, CPUMASK_LIMIT - 1, &v, e) : 0;
		c->sampler = ret == 0 && *value ? (int)v : -1;
	} else if (strcmp(key, "dir") == 0) {
		c->dir = *value ? value : NULL;
	} else if (strcmp(key, "guard") == 0) {
		ret = number(key, value, 0, INT64_MAX, &v, e);
		c->guard_ns = ret == 0 ? v : 0;
	} else if (strcmp(key, "live") == 0) {
		s->live = strcmp(value, "1") == 0;
	} else if (strcmp(key, "unpinned") == 0) {
		c->unpinned = strcmp(value, "1") == 0;
	} else if (strcmp(key, "tasks") == 0) {
		ret = number(key, value, 1, SPEC_TASKS_MAX, &v, e);
		s->tasks = ret == 0 ? (int)v : 0;
	} else {
		ret = err_set(e, EINVAL, "unknown key \"%.40s\"", key);
	}
	return ret;
}

/* Every task needs its CPU, unless it may run anywhere. */
static int count_tasks(struct spec *s, struct err *e)
{
	struct cell *c = &s->cell;

	if (c->unpinned && s->tasks)
		c->ntasks = s->tasks;
	if (c->ntasks == 0)
		return err_set(e, EINVAL, "\"cpus\" is missing or empty");
	if (s->tasks && s->tasks != c->ntasks)
		return err_set(e, EINVAL, "tasks=%d, but there are %d in cpus", s->tasks, c->ntasks);
	return 0;
}

int spec_parse(struct spec *s, const char *text, struct err *e)
{
	char *words[WORDS_MAX];
	int n, ret = 0;

	*s = (struct spec){.cell = {.family = "scale", .mode = MODE_PROCESSES, .sampler = -1}};
	s->text = strdup(text);
	s->cpus = calloc(SPEC_TASKS_MAX, sizeof(*s->cpus));
	if (!s->text || !s->cpus)
		return err_set(e, ENOMEM, "no memory");
	n = words_split(s->text, words, WORDS_MAX);
	if (n < 0)
		return err_set(e, EINVAL, "too many words, or two spaces in a row");
	for (int i = 0; ret == 0 && i < n; i++) {
		char *value = strchr(words[i], '=');
		int len;

		if (!value)
			return err_set(e, EINVAL, "\"%.40s\" is no key=value", words[i]);
		*value++ = '\0';
		len = word_unescape(value);
		if (len < 0 || (size_t)len != strlen(value))
			return err_set(e, EINVAL, "the value of %.40s is badly escaped", words[i]);
		ret = set(s, words[i], value, e);
	}
	if (ret == 0 && !s->cell.test)
		ret = err_set(e, EINVAL, "\"test\" is missing");
	return ret < 0 ? ret : count_tasks(s, e);
}

void spec_free(struct spec *s)
{
	free(s->text);
	free(s->cpus);
	s->text = NULL;
	s->cpus = NULL;
}
