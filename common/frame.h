/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_COMMON_FRAME_H
#define MKSPLIT_COMMON_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The frames of the link between host and agent, as docs/protocol.md defines them:
 * printable lines with a marker, sequence number, length and CRC-32, which survive a
 * console that they share with kernel messages. No allocation: the agent uses this too.
 */

#define FRAME_PAYLOAD_MAX 8192
/* Marker, direction, two numbers, CRC, spaces and newline around a payload. */
#define FRAME_LINE_MAX (FRAME_PAYLOAD_MAX + 64)

enum frame_direction { FRAME_FROM_HOST = 'H', FRAME_FROM_AGENT = 'A' };

/*
 * Writes one frame line, with a newline before it (it may follow half a line of kernel
 * text) and behind it. The payload is words that are already escaped. Returns the length,
 * or 0 where the payload is too long, not printable or contains '~', or buf is too small.
 */
size_t frame_encode(char *buf, size_t size, enum frame_direction dir, uint32_t seq,
		    const char *payload);

/* A receiver for one direction. Its state is bounded, whatever is pushed into it. */
struct frame_reader {
	enum frame_direction dir;
	bool in_frame;
	size_t len;
	uint64_t dropped; /* candidates that were damaged, cut or too long */
	char line[FRAME_LINE_MAX];
};

void frame_reader_init(struct frame_reader *r, enum frame_direction dir);

/*
 * Feeds n bytes, of which it consumes some: stops behind the first complete frame, then
 * returns true with *seq and *payload (NUL-terminated, inside the reader, valid until the
 * next call); false when all bytes are consumed. *used says how many were consumed.
 */
bool frame_reader_push(struct frame_reader *r, const char *data, size_t n, size_t *used,
		       uint32_t *seq, const char **payload);

/* CRC-32 as in zlib's crc32(0, ...), for programs without zlib. */
uint32_t crc32_of(const void *data, size_t len);

/*
 * Escapes bytes as one word of a payload: "%XX" for what is not printable, for space, '%'
 * and '~'; "-" for no bytes, "%2D" for a lone dash. Writes a NUL. Returns the length, or
 * -1 where size is too small (3 * n + 2 always does).
 */
int word_escape(char *out, size_t size, const void *data, size_t n);

/*
 * The reverse, in place of a NUL-terminated word. Returns the number of bytes (which may
 * include NULs), or -1 for a broken escape.
 */
int word_unescape(char *word);

/*
 * Splits a payload at its spaces, in place, into at most max words. Returns the number
 * of words, or -1 for more than max or an empty word.
 */
int words_split(char *payload, char **words, int max);

#endif
