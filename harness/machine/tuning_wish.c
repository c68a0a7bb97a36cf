// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "harness/machine/tuning.h"

static const char *bool_expected(const json_t *v)
{
	return json_is_boolean(v) ? NULL : "true or false is expected";
}

static const char *governor_expected(const json_t *v)
{
	const char *s = json_string_value(v);

	/* The kernel's limit of a governor's name is 16 (CPUFREQ_NAME_LEN). */
	if (!s || !*s || strlen(s) >= 16 || strspn(s, "abcdefghijklmnopqrstuvwxyz_") != strlen(s))
		return "the name of a governor is expected, such as \"performance\"";
	return NULL;
}

static const char *thp_expected(const json_t *v)
{
	const char *s = json_string_value(v);

	if (s && (strcmp(s, "always") == 0 || strcmp(s, "madvise") == 0 || strcmp(s, "never") == 0))
		return NULL;
	return "\"always\", \"madvise\" or \"never\" is expected";
}

static const char *us_expected(const json_t *v)
{
	if (json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= 1000000)
		return NULL;
	return "microseconds from 0 to 1000000 are expected";
}

static const char *away_expected(const json_t *v)
{
	return json_is_string(v) && strcmp(json_string_value(v), "away") == 0
		       ? NULL
		       : "\"away\" is expected";
}

static const struct setting {
	const char *key;
	const char *(*expected)(const json_t *v); /* NULL when v is right */
} settings[] = {
	{"governor", governor_expected},   {"boost", bool_expected}, {"dma_latency", us_expected},
	{"numa_balancing", bool_expected}, {"thp", thp_expected},    {"watchdog", bool_expected},
	{"irqs", away_expected},
};

enum {
	NSETTINGS = sizeof(settings) / sizeof(settings[0])
};

int tuning_check(const json_t *wish, struct err *e)
{
	const char *key;
	json_t *v;

	if (!json_is_object(wish))
		return err_usage(e, "an object { } is expected");
	json_object_foreach((json_t *)wish, key, v) {
		int i = 0;

		while (i < NSETTINGS && strcmp(settings[i].key, key) != 0)
			i++;
		if (i == NSETTINGS)
			return err_usage(e,
					 "%.40s: there is no such setting (governor, boost, "
					 "dma_latency, numa_balancing, thp, watchdog, irqs)",
					 key);
		if (settings[i].expected(v))
			return err_usage(e, "%s: %s", key, settings[i].expected(v));
	}
	return 0;
}

json_t *tuning_default(void)
{
	return json_pack("{s:s, s:b, s:i, s:b, s:b, s:s}", "governor", "performance", "boost", 0,
			 "dma_latency", 0, "numa_balancing", 0, "watchdog", 0, "irqs", "away");
}
