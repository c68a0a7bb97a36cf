// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/boundary/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpumask.h"

static const struct {
	char letter;
	const char *name;
} names[] = {
	{'a', "cpu_a"},	     {'b', "cpu_b"},   {'c', "cpus"},  {'m', "node"},	  {'s', "size"},
	{'n', "rounds"},     {'r', "repeats"}, {'k', "kind"},  {'w', "window"},	  {'z', "message"},
	{'T', "throughput"}, {'o', "op"},      {'p', "pages"}, {'i', "interval"}, {'l', "label"},
	{'H', "huge"},	     {'M', "home"},    {'S', "seed"},
};

char option_letter(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].letter;
	return 0;
}

const char *option_name(char letter)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].letter == letter)
			return names[i].name;
	return "";
}

/* One word of letters, "-rc5" or "-r" "5". Returns how many words were used. */
static int parse_word(struct options *o, int argc, char **argv, const char *letters, struct err *e)
{
	for (const char *p = argv[0] + 1; *p; p++) {
		const char *known = *p == ':' ? NULL : strchr(letters, *p);

		if (!known)
			return err_usage(e, "invalid option -- '%c'", *p);
		if (known[1] != ':') {
			o->value[(unsigned char)*p] = "1";
			continue;
		}
		if (p[1]) {
			o->value[(unsigned char)*p] = p + 1;
			return 1;
		}
		if (argc < 2)
			return err_usage(e, "option requires an argument -- '%c'", *p);
		o->value[(unsigned char)*p] = argv[1];
		return 2;
	}
	return 1;
}

int options_parse(struct options *o, int argc, char **argv, const char *letters, struct err *e)
{
	*o = (struct options){0};
	for (int i = 0; i < argc;) {
		int used;

		if (strcmp(argv[i], "--") == 0)
			return 0;
		if (argv[i][0] != '-' || !argv[i][1]) {
			i++;
			continue;
		}
		used = parse_word(o, argc - i, argv + i, letters, e);
		if (used < 0)
			return used;
		i += used;
	}
	return 0;
}

static int bad(char letter, const char *text, const char *why, struct err *e)
{
	return err_usage(e, "-%c \"%s\": %s", letter, text, why);
}

int option_number(const struct options *o, char letter, long fallback, long min, long max,
		  long *out, struct err *e)
{
	const char *text = o->value[(unsigned char)letter];
	char *end;

	*out = fallback;
	if (!text)
		return 0;
	errno = 0;
	*out = strtol(text, &end, 10);
	if (end == text || *end || isspace((unsigned char)*text))
		return bad(letter, text, "not a whole number", e);
	if (errno || *out < min || *out > max)
		return err_usage(e, "-%c \"%s\": must be between %ld and %ld", letter, text, min,
				 max);
	return 0;
}

int option_seconds(const struct options *o, char letter, double fallback, double *out, struct err *e)
{
	const char *text = o->value[(unsigned char)letter];
	char *end;

	*out = fallback;
	if (!text)
		return 0;
	*out = strtod(text, &end);
	if (end == text || *end || !isfinite(*out))
		return bad(letter, text, "not a number of seconds", e);
	if (*out <= 0 || *out > 86400)
		return bad(letter, text, "must be above 0 and at most a day", e);
	return 0;
}

int option_size(const struct options *o, char letter, uint64_t fallback, uint64_t *out, struct err *e)
{
	static const char suffixes[] = "kmg";
	const char *text = o->value[(unsigned char)letter];
	const char *suffix;
	int shift = 0;
	char *end;

	*out = fallback;
	if (!text)
		return 0;
	errno = 0;
	*out = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || errno)
		return bad(letter, text, "not a size", e);
	suffix = *end ? strchr(suffixes, tolower((unsigned char)*end)) : NULL;
	if (suffix) {
		shift = 10 * (int)(suffix - suffixes + 1);
		end++;
	}
	if (*end)
		return bad(letter, text, "not a size (a number, then k, m or g)", e);
	if (*out == 0 || *out > (uint64_t)INT64_MAX >> shift)
		return bad(letter, text, "out of range", e);
	*out <<= shift;
	return 0;
}

int option_kind(const struct options *o, char letter, const char *const *kinds, int *out,
		struct err *e)
{
	const char *text = o->value[(unsigned char)letter];
	char known[300] = "";

	*out = 0;
	if (!text)
		return 0;
	for (int i = 0; kinds[i]; i++) {
		if (strcmp(kinds[i], text) == 0) {
			*out = i;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), " %s", kinds[i]);
	}
	return err_usage(e, "-%c \"%s\": unknown, there are%s", letter, text, known);
}

int option_cpu(const struct options *o, char letter, int fallback, int *out, struct err *e)
{
	long v;
	int ret = option_number(o, letter, fallback, 0, CPUMASK_LIMIT - 1, &v, e);

	*out = (int)v;
	return ret;
}

static int list_number(const char **p, long *out)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	errno = 0;
	*out = strtol(*p, &end, 10);
	*p = end;
	return errno || *out >= CPUMASK_LIMIT ? -ERANGE : 0;
}

int cpu_list(const char *text, int **cpus, int *n, struct err *e)
{
	cleanup_free int *list = NULL;
	const char *p = text;
	int count = 0;

	do {
		long from, to;
		int *more;

		if (list_number(&p, &from) < 0)
			return err_usage(e, "CPU list \"%s\": no CPU number at \"%s\"", text, p);
		to = from;
		if (*p == '-' && (p++, list_number(&p, &to) < 0))
			return err_usage(e, "CPU list \"%s\": no CPU number at \"%s\"", text, p);
		if (to < from)
			continue;
		if (count + (to - from) >= CPUMASK_LIMIT)
			return err_usage(e, "CPU list \"%s\": too long", text);
		more = realloc(list, (count + to - from + 1) * sizeof(*list));
		if (!more)
			return err_set(e, ENOMEM, "no memory");
		list = more;
		for (long cpu = from; cpu <= to; cpu++)
			list[count++] = (int)cpu;
	} while (*p == ',' && p++);
	if (*p)
		return err_usage(e, "CPU list \"%s\": \"%s\" follows it", text, p);
	if (count == 0)
		return err_usage(e, "CPU list \"%s\" is empty", text);
	*cpus = take_ptr(list);
	*n = count;
	return 0;
}
