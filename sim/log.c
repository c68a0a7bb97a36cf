// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/log.h"

#include <stdarg.h>
#include <string.h>

#include "common/clock.h"

int log_open(struct log *l, const char *path, int strict, struct err *e)
{
	*l = (struct log){.start = clock_ns(), .strict = strict};
	if (!path)
		return 0;
	l->file = fopen(path, "we");
	if (!l->file)
		return err_sys(e, "cannot write the log %s", path);
	setvbuf(l->file, NULL, _IOLBF, 0);
	return 0;
}

void log_close(struct log *l)
{
	if (l->file)
		fclose(l->file);
	l->file = NULL;
}

/* Text from a client goes through here: control characters would reach a terminal. */
static void put_clean(FILE *f, const char *text)
{
	for (; *text; text++) {
		unsigned char c = *text;

		if (c < ' ' || c == 0x7f)
			fprintf(f, "\\x%02x", c);
		else
			fputc(c, f);
	}
}

static void line(FILE *f, int64_t ns, const char *prefix, const char *text)
{
	fprintf(f, "%4lld.%03lld %s", (long long)(ns / NSEC_PER_SEC),
		(long long)(ns % NSEC_PER_SEC / NSEC_PER_MSEC), prefix);
	put_clean(f, text);
	fputc('\n', f);
}

void log_line(struct log *l, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	if (!l->file)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	line(l->file, clock_ns() - l->start, "", text);
}

void log_text(struct log *l, const char *text)
{
	while (l->file && *text) {
		size_t n = strcspn(text, "\n");
		char part[1024];

		snprintf(part, sizeof(part), "%.*s", (int)n, text);
		fputs("         | ", l->file);
		put_clean(l->file, part);
		fputc('\n', l->file);
		text += n + (text[n] == '\n');
	}
}

void log_strict(struct log *l, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	l->errors++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (l->file)
		line(l->file, clock_ns() - l->start, "STRICT ", text);
	if (l->strict) {
		fputs("mksim: strict: ", stderr);
		put_clean(stderr, text);
		fputc('\n', stderr);
	}
}
