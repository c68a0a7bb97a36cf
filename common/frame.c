// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKER '~'

uint32_t crc32_of(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t crc = UINT32_MAX;

	/* Bit by bit: frames are short and rare, a table would be the larger part. */
	while (len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
	}
	return ~crc;
}

/* Nothing but what an encoder lets through: it may end up on somebody's terminal. */
static bool is_payload(const char *payload, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (payload[i] < 0x20 || payload[i] >= MARKER)
			return false;
	return len <= FRAME_PAYLOAD_MAX;
}

size_t frame_encode(char *buf, size_t size, enum frame_direction dir, uint32_t seq,
		    const char *payload)
{
	char head[32];
	char covered[FRAME_LINE_MAX];
	size_t len = strlen(payload);
	int n;

	if (!is_payload(payload, len))
		return 0;
	snprintf(head, sizeof(head), "%u %zu", seq, len);
	n = snprintf(covered, sizeof(covered), "%s %s", head, payload);
	n = snprintf(buf, size, "\n%c%c %s %08X %s\n", MARKER, dir, head, crc32_of(covered, n),
		     payload);
	return n > 0 && (size_t)n < size ? n : 0;
}

void frame_reader_init(struct frame_reader *r, enum frame_direction dir)
{
	*r = (struct frame_reader){.dir = dir};
}

/* A plain decimal of at most 10 digits, followed by one space; NULL for anything else. */
static const char *parse_decimal(const char *p, uint64_t *value)
{
	int digits = 0;

	for (*value = 0; *p >= '0' && *p <= '9'; p++) {
		*value = *value * 10 + (*p - '0');
		if (++digits > 10)
			return NULL;
	}
	return digits && *p == ' ' ? p + 1 : NULL;
}

/* line is what stood between the marker and the newline; returns the payload or NULL. */
static const char *check_line(struct frame_reader *r, uint32_t *seq)
{
	char covered[FRAME_LINE_MAX];
	const char *p = r->line, *numbers, *crc, *payload;
	uint64_t number, len;
	char want[9];
	int n;

	if (r->len < 2 || p[0] != (char)r->dir || p[1] != ' ' || strlen(p) != r->len)
		return NULL;
	numbers = p + 2;
	p = parse_decimal(numbers, &number);
	if (!p || number == 0 || number > UINT32_MAX)
		return NULL;
	p = parse_decimal(p, &len);
	if (!p)
		return NULL;
	crc = p;
	if (strlen(crc) < 9 || crc[8] != ' ')
		return NULL;
	payload = crc + 9;
	if (strlen(payload) != len || !is_payload(payload, len))
		return NULL;
	n = snprintf(covered, sizeof(covered), "%.*s%s", (int)(crc - numbers), numbers, payload);
	snprintf(want, sizeof(want), "%08X", crc32_of(covered, n));
	if (memcmp(want, crc, 8) != 0)
		return NULL;
	*seq = number;
	return payload;
}

bool frame_reader_push(struct frame_reader *r, const char *data, size_t n, size_t *used,
		       uint32_t *seq, const char **payload)
{
	for (size_t i = 0; i < n; i++) {
		char c = data[i];

		if (c == MARKER) {
			r->dropped += r->in_frame;
			r->in_frame = true;
			r->len = 0;
		} else if (!r->in_frame || c == '\r') {
			continue;
		} else if (c == '\n') {
			r->in_frame = false;
			r->line[r->len] = '\0';
			*payload = check_line(r, seq);
			if (*payload) {
				*used = i + 1;
				return true;
			}
			/* The other direction's frames are an echo, not damage. */
			r->dropped += r->line[0] == (char)r->dir;
		} else if (r->len + 1 < sizeof(r->line)) {
			r->line[r->len++] = c;
		} else {
			r->in_frame = false;
			r->dropped++;
		}
	}
	*used = n;
	return false;
}

int word_escape(char *out, size_t size, const void *data, size_t n)
{
	static const char hex[] = "0123456789ABCDEF";
	const unsigned char *p = data;
	size_t len = 0;

	if (size < 2)
		return -1;
	if (n == 0)
		out[len++] = '-';
	for (size_t i = 0; i < n; i++) {
		bool plain = p[i] > 0x20 && p[i] < MARKER && p[i] != '%' && !(n == 1 && p[i] == '-');

		if (len + 4 > size)
			return -1;
		if (plain) {
			out[len++] = p[i];
		} else {
			out[len++] = '%';
			out[len++] = hex[p[i] >> 4];
			out[len++] = hex[p[i] & 15];
		}
	}
	out[len] = '\0';
	return len;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int word_unescape(char *word)
{
	const char *in = word;
	char *out = word;

	if (strcmp(word, "-") == 0) {
		*word = '\0';
		return 0;
	}
	while (*in) {
		if (*in != '%') {
			*out++ = *in++;
			continue;
		}
		int high = hex_digit(in[1]);
		int low = high < 0 ? -1 : hex_digit(in[2]);

		if (low < 0)
			return -1;
		*out++ = high << 4 | low;
		in += 3;
	}
	*out = '\0';
	return out - word;
}

int words_split(char *payload, char **words, int max)
{
	int n = 0;

	if (!*payload)
		return 0;
	for (char *p = payload;; p++) {
		if (n == max || !*p || *p == ' ')
			return -1;
		words[n++] = p;
		p += strcspn(p, " ");
		if (!*p)
			return n;
		*p = '\0';
	}
}
