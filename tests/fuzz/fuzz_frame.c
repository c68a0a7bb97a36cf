// SPDX-License-Identifier: GPL-2.0-or-later
/* The frame reader of both ends, and what they do with a payload. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 64

static void read_payload(const char *payload)
{
	char copy[FRAME_PAYLOAD_MAX + 1], *words[WORDS];
	int n;

	if (strlen(payload) > FRAME_PAYLOAD_MAX)
		return;
	strcpy(copy, payload);
	n = words_split(copy, words, WORDS);
	for (int i = 0; i < n; i++) {
		char again[3 * FRAME_PAYLOAD_MAX + 2], word[FRAME_PAYLOAD_MAX + 1];
		int len = word_unescape(words[i]);

		if (len < 0)
			continue;
		/* What was read is what would be read again from our own writing of it. */
		if (word_escape(again, sizeof(again), words[i], (size_t)len) < 0)
			abort();
		if (strlen(again) > FRAME_PAYLOAD_MAX)
			continue;
		strcpy(word, again);
		if (word_unescape(word) != len || memcmp(word, words[i], (size_t)len) != 0)
			abort();
	}
}

/* As bytes of a line: nearly all of them are damage. */
static void read_line(const uint8_t *data, size_t size)
{
	static struct frame_reader r;
	const char *payload;
	uint32_t seq;
	size_t used;

	frame_reader_init(&r, FRAME_FROM_HOST);
	for (size_t at = 0; at < size; at += used)
		if (frame_reader_push(&r, (const char *)data + at, size - at, &used, &seq, &payload))
			read_payload(payload);
}

/* As a payload, which must come through, with the bytes as noise before it. */
static void send_payload(const uint8_t *data, size_t size)
{
	static struct frame_reader r;
	char line[FRAME_LINE_MAX], text[FRAME_PAYLOAD_MAX + 1];
	const char *payload;
	size_t len, used, done = 0;
	bool found = false;
	uint32_t seq;

	len = size < FRAME_PAYLOAD_MAX ? size : FRAME_PAYLOAD_MAX;
	memcpy(text, data, len);
	text[len] = '\0';
	len = frame_encode(line, sizeof(line), FRAME_FROM_HOST, 7, text);
	if (len == 0)
		return;
	frame_reader_init(&r, FRAME_FROM_HOST);
	for (size_t at = 0; at < size; at += used)
		frame_reader_push(&r, (const char *)data + at, size - at, &used, &seq, &payload);
	/* Its first newline may end a frame of the noise. */
	while (done < len && !found) {
		found = frame_reader_push(&r, line + done, len - done, &used, &seq, &payload) &&
			seq == 7 && strcmp(payload, text) == 0;
		done += used;
	}
	if (!found)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_line(data, size);
	send_payload(data, size);
	return 0;
}
