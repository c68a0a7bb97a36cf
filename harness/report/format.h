/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_REPORT_FORMAT_H
#define MKSPLIT_REPORT_FORMAT_H

#include <stddef.h>

#include "harness/analysis/stats.h"

/*
 * Numbers and foreign text for people. Each writes into buf and returns it. A number that
 * does not exist (NaN) is "-".
 */

/* Room that every function here fits its number into. */
enum {
	FORMAT_ROOM = 64
};

/* Four significant digits with a prefix: "401.2k/s", "12.34M/s", "85.1ns", "3.2GB/s". */
const char *format_value(char *buf, double value, const char *unit);

/* A tick of an axis: "0", "500k", "1.5M". */
const char *format_tick(char *buf, double value);

/* "2.604", "12.3", "0.450": digits that a ratio of its size deserves. */
const char *format_ratio(char *buf, double ratio);

/* From the logarithms of an estimate: "2.531-2.679", "-" where there is no interval. */
const char *format_interval(char *buf, const struct estimate *d, double level);

/* exp() of the mean of an estimate as a ratio. */
const char *format_mean(char *buf, const struct estimate *d);

/* "1 h 23 min", "4 min 5 s", "12 s" */
const char *format_seconds(char *buf, double seconds);

/* "2026-12-01 01:23 UTC" from seconds since the epoch. */
const char *format_utc(char *buf, double utc);

/*
 * Copies text so that a terminal shows it and does nothing else: control characters,
 * escapes and broken UTF-8 become '?'. Cut at size - 1 bytes, never inside a character.
 */
const char *clean_text(char *buf, size_t size, const char *text);

#endif
