// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/intern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct intern {
	size_t used, size; /* size is a power of two */
	char **slot;
};

struct intern *intern_new(void)
{
	struct intern *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->size = 256;
	in->slot = calloc(in->size, sizeof(*in->slot));
	if (!in->slot) {
		free(in);
		return NULL;
	}
	return in;
}

void intern_free(struct intern *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->size; i++)
		free(in->slot[i]);
	free(in->slot);
	free(in);
}

/* FNV-1a: short keys, no need to resist anybody, since the table's size is bounded by the file. */
static uint64_t hash(const char *s)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
	return h;
}

static char **find(char **slot, size_t size, const char *s)
{
	size_t i = hash(s) & (size - 1);

	while (slot[i] && strcmp(slot[i], s) != 0)
		i = (i + 1) & (size - 1);
	return &slot[i];
}

static int grow(struct intern *in)
{
	size_t size = in->size * 2;
	char **slot = calloc(size, sizeof(*slot));

	if (!slot)
		return -1;
	for (size_t i = 0; i < in->size; i++)
		if (in->slot[i])
			*find(slot, size, in->slot[i]) = in->slot[i];
	free(in->slot);
	in->slot = slot;
	in->size = size;
	return 0;
}

const char *intern(struct intern *in, const char *s)
{
	char **at = find(in->slot, in->size, s);

	if (*at)
		return *at;
	if (in->used * 2 >= in->size) {
		if (grow(in) < 0)
			return NULL;
		at = find(in->slot, in->size, s);
	}
	*at = strdup(s);
	if (*at)
		in->used++;
	return *at;
}
