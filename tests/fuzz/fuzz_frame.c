// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of a link in both directions, and the words of a payload. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/frame.h"

#define WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

/* What was received can be sent again. */
static void check_frame(enum frame_direction dir, uint32_t seq, const char *payload)
{
	static struct frame_reader again;
	char line[FRAME_LINE_MAX];
	size_t len = frame_encode(line, sizeof(line), dir, seq, payload), used;
	const char *same;
	uint32_t number;

	check(seq > 0 && len > 0);
	frame_reader_init(&again, dir);
	check(frame_reader_push(&again, line, len, &used, &number, &same));
	check(number == seq && strcmp(same, payload) == 0);
}

/* Pushes all bytes, at most `step` at once. Returns a sum over the frames that are in them. */
static uint64_t receive(struct frame_reader *r, const char *data, size_t size, size_t step)
{
	const char *payload;
	uint64_t sum = 0;
	uint32_t seq;
	size_t used;

	for (size_t at = 0; at < size; at += used) {
		size_t n = size - at < step ? size - at : step;
		bool found = frame_reader_push(r, data + at, n, &used, &seq, &payload);

		check(used <= n && (found ? used > 0 : used == n));
		if (found) {
			check_frame(r->dir, seq, payload);
			sum = sum * 31 + seq + crc32_of(payload, strlen(payload));
		}
	}
	return sum;
}

static void one_direction(enum frame_direction dir, const char *data, size_t size)
{
	static struct frame_reader whole, parts;
	char line[FRAME_LINE_MAX];
	const char *payload;
	uint32_t seq;
	size_t used, len = frame_encode(line, sizeof(line), dir, 7, "TIME 1");

	frame_reader_init(&whole, dir);
	frame_reader_init(&parts, dir);
	/* How the bytes are cut does not matter. */
	check(receive(&whole, data, size, size) == receive(&parts, data, size, 1));
	check(whole.dropped == parts.dropped);
	/* And whatever was there, a frame behind it comes through; its newline may end another. */
	if (frame_reader_push(&whole, line, 1, &used, &seq, &payload))
		check_frame(dir, seq, payload);
	check(frame_reader_push(&whole, line + 1, len - 1, &used, &seq, &payload));
	check(seq == 7 && strcmp(payload, "TIME 1") == 0);
}

static void words(const char *data, size_t size)
{
	char *escaped = malloc(3 * size + 2), *text = malloc(size + 1), *split[WORDS];
	int n;

	n = word_escape(escaped, 3 * size + 2, data, size);
	check(n > 0 && strlen(escaped) == (size_t)n && !strpbrk(escaped, " ~\n"));
	n = word_unescape(escaped);
	check(n >= 0 && (size_t)n == size && memcmp(escaped, data, size) == 0);

	memcpy(text, data, size);
	text[size] = '\0';
	n = words_split(text, split, WORDS);
	for (int i = 0; i < n; i++) {
		size_t length = strlen(split[i]);

		check(length > 0 && !strchr(split[i], ' '));
		check(word_unescape(split[i]) <= (int)length);
	}
	free(escaped);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of just this size, so that a read behind it is seen. */
	char *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	one_direction(FRAME_FROM_HOST, copy, size);
	one_direction(FRAME_FROM_AGENT, copy, size);
	words(copy, size);
	free(copy);
	return 0;
}
