// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/report/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Digits behind the point so that four in all are shown. */
static int decimals(double x)
{
	x = fabs(x);
	return x >= 999.95 ? 0 : x >= 99.995 ? 1 : x >= 9.9995 ? 2 : 3;
}

const char *format_value(char *buf, double value, const char *unit)
{
	static const char prefix[] = {'\0', 'k', 'M', 'G', 'T'};
	size_t i = 0;

	if (!isfinite(value)) {
		snprintf(buf, FORMAT_ROOM, "-");
		return buf;
	}
	/* Times keep their unit: "3100 ns" is compared with "900 ns" more easily than 3.1 us. */
	if (unit[0] == '1' && unit[1] == '/') {
		while (fabs(value) >= 9999.5 && i + 1 < sizeof(prefix)) {
			value /= 1000;
			i++;
		}
		snprintf(buf, FORMAT_ROOM, "%.*f%.1s/%.8s", decimals(value), value,
			 i ? &prefix[i] : "", unit + 2);
		return buf;
	}
	while (fabs(value) >= 999999.5 && i + 1 < sizeof(prefix)) {
		value /= 1000;
		i++;
	}
	snprintf(buf, FORMAT_ROOM, "%.*f%.1s%.12s", decimals(value), value, i ? &prefix[i] : "",
		 unit);
	return buf;
}

const char *format_tick(char *buf, double value)
{
	static const char prefix[] = {'\0', 'k', 'M', 'G', 'T'};
	size_t i = 0;

	while (fabs(value) >= 1000 && i + 1 < sizeof(prefix)) {
		value /= 1000;
		i++;
	}
	snprintf(buf, FORMAT_ROOM, "%.4g%.1s", value, i ? &prefix[i] : "");
	return buf;
}

const char *format_ratio(char *buf, double ratio)
{
	if (!isfinite(ratio))
		snprintf(buf, FORMAT_ROOM, "-");
	else if (ratio >= 1e5)
		snprintf(buf, FORMAT_ROOM, "%.3g", ratio);
	else
		snprintf(buf, FORMAT_ROOM, "%.*f", decimals(ratio), ratio);
	return buf;
}

const char *format_mean(char *buf, const struct estimate *d)
{
	return format_ratio(buf, exp(d->mean));
}

const char *format_interval(char *buf, const struct estimate *d, double level)
{
	struct interval i = interval_exp(interval_mean(d, level));
	char lo[FORMAT_ROOM], hi[FORMAT_ROOM];

	if (!interval_valid(i))
		snprintf(buf, FORMAT_ROOM, "-");
	else
		snprintf(buf, FORMAT_ROOM, "%.30s-%.30s", format_ratio(lo, i.lo),
			 format_ratio(hi, i.hi));
	return buf;
}

const char *format_seconds(char *buf, double seconds)
{
	long s;

	if (!(seconds >= 0 && seconds < 1e9)) {
		snprintf(buf, FORMAT_ROOM, "-");
		return buf;
	}
	s = lround(seconds);
	if (s >= 3600)
		snprintf(buf, FORMAT_ROOM, "%ld h %ld min", s / 3600, s % 3600 / 60);
	else if (s >= 60)
		snprintf(buf, FORMAT_ROOM, "%ld min %ld s", s / 60, s % 60);
	else
		snprintf(buf, FORMAT_ROOM, "%ld s", s);
	return buf;
}

const char *format_utc(char *buf, double utc)
{
	time_t t;
	struct tm tm;

	if (!(utc >= 0 && utc < 1e11)) {
		snprintf(buf, FORMAT_ROOM, "-");
		return buf;
	}
	t = utc;
	if (!gmtime_r(&t, &tm) || strftime(buf, FORMAT_ROOM, "%Y-%m-%d %H:%M UTC", &tm) == 0)
		snprintf(buf, FORMAT_ROOM, "-");
	return buf;
}

/* Length of the well-formed UTF-8 character at s, 0 if there is none. */
static size_t character(const unsigned char *s)
{
	unsigned long code;
	size_t n;

	if (s[0] < 0x80)
		return 1;
	n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : s[0] >= 0xC2 ? 2 : 0;
	if (n == 0 || s[0] > 0xF4)
		return 0;
	code = s[0] & (0xFF >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3F);
	}
	/* Overlong forms, surrogates, and the C1 controls that terminals obey. */
	if ((n == 2 && code < 0xA0) || (n == 3 && code < 0x800) || (n == 4 && code < 0x10000) ||
	    (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF)
		return 0;
	return n;
}

const char *clean_text(char *buf, size_t size, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t used = 0;

	while (*s && used + 1 < size) {
		size_t n = character(s);

		if (n == 0 || *s < 0x20 || *s == 0x7F) {
			buf[used++] = '?';
			s++;
			continue;
		}
		if (used + n >= size)
			break;
		memcpy(buf + used, s, n);
		used += n;
		s += n;
	}
	buf[used] = '\0';
	return buf;
}
