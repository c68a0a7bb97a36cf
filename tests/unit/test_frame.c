// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/frame.h"

/* Pushes text and returns the payloads found, joined by '|', with their numbers. */
static char *receive(struct frame_reader *r, const char *data, size_t n)
{
	static char found[65536];
	size_t used, at = 0, pos = 0;
	const char *payload;
	uint32_t seq;

	found[0] = '\0';
	while (frame_reader_push(r, data + at, n - at, &used, &seq, &payload)) {
		pos += snprintf(found + pos, sizeof(found) - pos, "%u:%s|", seq, payload);
		at += used;
	}
	return found;
}

static char *receive_text(struct frame_reader *r, const char *text)
{
	return receive(r, text, strlen(text));
}

static void test_known_frame(void **state)
{
	char line[FRAME_LINE_MAX];

	assert_int_equal(crc32_of("123456789", 9), 0xCBF43926);
	assert_int_equal(frame_encode(line, sizeof(line), FRAME_FROM_HOST, 17, "HI 1 x"), 25);
	/* CRC of "17 6 HI 1 x", from an independent implementation (python3 zlib.crc32). */
	assert_string_equal(line, "\n~H 17 6 FE8B12B8 HI 1 x\n");
}

static void test_refuses_to_send(void **state)
{
	char line[FRAME_LINE_MAX], big[FRAME_PAYLOAD_MAX + 2];

	assert_int_equal(frame_encode(line, sizeof(line), FRAME_FROM_HOST, 1, "a~b"), 0);
	assert_int_equal(frame_encode(line, sizeof(line), FRAME_FROM_HOST, 1, "a\nb"), 0);
	assert_int_equal(frame_encode(line, sizeof(line), FRAME_FROM_HOST, 1, "\xc3\xa4"), 0);
	assert_int_equal(frame_encode(line, 10, FRAME_FROM_HOST, 1, "HI"), 0);
	memset(big, 'x', sizeof(big));
	big[FRAME_PAYLOAD_MAX + 1] = '\0';
	assert_int_equal(frame_encode(line, sizeof(line), FRAME_FROM_HOST, 1, big), 0);
	big[FRAME_PAYLOAD_MAX] = '\0';
	assert_true(frame_encode(line, sizeof(line), FRAME_FROM_HOST, UINT32_MAX, big) > 0);
}

static void test_round_trip_in_noise(void **state)
{
	struct frame_reader r;
	char a[FRAME_LINE_MAX], text[3 * FRAME_LINE_MAX];

	frame_reader_init(&r, FRAME_FROM_AGENT);
	frame_encode(a, sizeof(a), FRAME_FROM_AGENT, 5, "OK 1");
	snprintf(text, sizeof(text), "[ 1.2] usb: half a li%s\r\r\n[1.3] x\n%s", a, a);
	assert_string_equal(receive_text(&r, text), "5:OK 1|5:OK 1|");
	assert_int_equal(r.dropped, 0);

	/* An echo of the host's frame is neither a reply nor damage. */
	frame_encode(a, sizeof(a), FRAME_FROM_HOST, 6, "TIME 1");
	assert_string_equal(receive_text(&r, a), "");
	assert_int_equal(r.dropped, 0);
}

static void test_byte_by_byte(void **state)
{
	struct frame_reader r;
	char a[FRAME_LINE_MAX];
	size_t n = frame_encode(a, sizeof(a), FRAME_FROM_AGENT, 7, "OK");
	int found = 0;

	frame_reader_init(&r, FRAME_FROM_AGENT);
	for (size_t i = 0; i < n; i++)
		found += strcmp(receive(&r, a + i, 1), "7:OK|") == 0;
	assert_int_equal(found, 1);
}

static void test_every_single_damage_is_seen(void **state)
{
	char a[FRAME_LINE_MAX], b[FRAME_LINE_MAX];
	size_t n = frame_encode(a, sizeof(a), FRAME_FROM_AGENT, 7, "OK 1 two three");

	for (size_t i = 1; i < n; i++) {
		for (int bit = 0; bit < 8; bit++) {
			struct frame_reader r;

			frame_reader_init(&r, FRAME_FROM_AGENT);
			memcpy(b, a, n);
			b[i] ^= 1 << bit;
			if (b[i] == '\r')
				continue; /* not damage: skipped by definition, tested by the CRC */
			assert_string_equal(receive(&r, b, n), "");
		}
	}
	/* A byte lost, or a kernel message in the middle. */
	for (size_t i = 1; i < n - 1; i++) {
		struct frame_reader r;

		frame_reader_init(&r, FRAME_FROM_AGENT);
		snprintf(b, sizeof(b), "%.*s[    2.000000] printk\n%s", (int)i, a, a + i);
		if (i > 1)
			assert_string_equal(receive(&r, b, strlen(b)), "");
		memcpy(b, a, i);
		memcpy(b + i, a + i + 1, n - i - 1);
		assert_string_equal(receive(&r, b, n - 1), "");
	}
}

/* The right CRC does not make it a frame: it could be a command to somebody's terminal. */
static void test_unprintable_payload_is_none(void **state)
{
	static const char covered[] = "3 8 OK \033[2Jx";
	char line[100];
	struct frame_reader r;

	snprintf(line, sizeof(line), "~A 3 8 %08X OK \033[2Jx\n", crc32_of(covered, strlen(covered)));
	frame_reader_init(&r, FRAME_FROM_AGENT);
	assert_string_equal(receive_text(&r, line), "");
	assert_int_equal(r.dropped, 1);
}

static void test_garbage_without_end(void **state)
{
	static char big[10 << 20];
	struct frame_reader r;
	char a[FRAME_LINE_MAX];

	frame_reader_init(&r, FRAME_FROM_AGENT);
	memset(big, 'x', sizeof(big));
	big[100] = '~';
	assert_string_equal(receive(&r, big, sizeof(big)), "");
	assert_int_equal(r.dropped, 1);
	frame_encode(a, sizeof(a), FRAME_FROM_AGENT, 8, "OK");
	assert_string_equal(receive_text(&r, a), "8:OK|");
}

static void test_words(void **state)
{
	static const struct {
		const char *plain, *escaped;
	} cases[] = {
		{"", "-"},	  {"-", "%2D"}, {"--", "--"},	   {"a b", "a%20b"},
		{"50%", "50%25"}, {"~", "%7E"}, {"a\nb", "a%0Ab"}, {"\xff\x7f", "%FF%7F"},
	};
	char word[64], line[] = "GET facts 0", bad[] = "a%2", bad2[] = "%zz", twice[] = "a  b";
	char *words[3];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t n = strlen(cases[i].plain);

		assert_int_equal(word_escape(word, sizeof(word), cases[i].plain, n),
				 strlen(cases[i].escaped));
		assert_string_equal(word, cases[i].escaped);
		assert_int_equal(word_unescape(word), n);
		assert_memory_equal(word, cases[i].plain, n);
	}
	assert_int_equal(word_escape(word, 4, "abcd", 4), -1);
	assert_int_equal(word_unescape(bad), -1);
	assert_int_equal(word_unescape(bad2), -1);
	assert_int_equal(words_split(line, words, 3), 3);
	assert_string_equal(words[2], "0");
	assert_int_equal(words_split(twice, words, 3), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_frame),
		cmocka_unit_test(test_refuses_to_send),
		cmocka_unit_test(test_round_trip_in_noise),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_every_single_damage_is_seen),
		cmocka_unit_test(test_garbage_without_end),
		cmocka_unit_test(test_unprintable_payload_is_none),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
