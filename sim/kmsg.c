// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kmsg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

enum {
	KEPT = 4096,
	RECORD_MAX = 1024
};

struct record {
	uint64_t offset;
	char *text;
	size_t len;
};

struct kmsg {
	struct record ring[KEPT];
	uint64_t first, next; /* sequence numbers; ring[seq % KEPT] */
	uint64_t size;
	void (*on_new)(void *arg);
	void *arg;
};

struct kmsg *kmsg_new(void)
{
	return calloc(1, sizeof(struct kmsg));
}

void kmsg_free(struct kmsg *k)
{
	if (!k)
		return;
	for (int i = 0; i < KEPT; i++)
		free(k->ring[i].text);
	free(k);
}

static void put(struct kmsg *k, int level, const char *text, size_t len)
{
	struct record *r = &k->ring[k->next % KEPT];
	char *line = NULL;
	int n = asprintf(&line, "%d,%llu,%lld,-;%.*s\n", level, (unsigned long long)k->next,
			 (long long)(clock_ns() / NSEC_PER_USEC), (int)len, text);

	if (n < 0)
		return;
	free(r->text);
	*r = (struct record){k->size, line, n};
	k->size += n;
	k->next++;
	if (k->next - k->first > KEPT)
		k->first = k->next - KEPT;
	if (k->on_new)
		k->on_new(k->arg);
}

void kmsg_add(struct kmsg *k, int level, const char *text)
{
	put(k, level, text, strnlen(text, RECORD_MAX));
}

void kmsg_forward(struct kmsg *k, const char *record, size_t len)
{
	const char *text = memchr(record, ';', len);
	const char *end = text ? memchr(text, '\n', record + len - text) : NULL;

	if (end)
		put(k, atoi(record), text + 1, end - text - 1);
}

uint64_t kmsg_size(const struct kmsg *k)
{
	return k->size;
}

int kmsg_record(const struct kmsg *k, uint64_t *offset, const char **record)
{
	if (k->first < k->next && *offset < k->ring[k->first % KEPT].offset) {
		*offset = k->ring[k->first % KEPT].offset;
		return -EPIPE;
	}
	for (uint64_t seq = k->first; seq < k->next; seq++) {
		const struct record *r = &k->ring[seq % KEPT];

		if (r->offset >= *offset) {
			*offset = r->offset;
			*record = r->text;
			return r->len;
		}
	}
	return 0;
}

void kmsg_on_new(struct kmsg *k, void (*fn)(void *arg), void *arg)
{
	k->on_new = fn;
	k->arg = arg;
}
