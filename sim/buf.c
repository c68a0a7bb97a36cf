// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct buf *b, size_t more)
{
	size_t size = b->size ? b->size : 256;
	char *data;

	if (b->failed)
		return false;
	if (b->len + more + 1 <= b->size)
		return true;
	while (size < b->len + more + 1)
		size *= 2;
	data = realloc(b->data, size);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->size = size;
	return true;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_str(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(b, n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, n + 1, fmt, ap);
	va_end(ap);
	b->len += n;
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT;
}
