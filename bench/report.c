// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/frame.h"

struct report {
	FILE *f;
	char *text;
	size_t len;
	int nmetrics;
	bool failed;
};

/* The word is only good until the same buffer is used again. */
static const char *word(char *buf, size_t size, const char *value)
{
	return word_escape(buf, size, value, strlen(value)) < 0 ? "%3F" : buf;
}

struct report *report_new(const char *family, const char *test, const char *mode)
{
	struct report *r = calloc(1, sizeof(*r));
	char a[200], b[200];

	if (!r)
		return NULL;
	r->f = open_memstream(&r->text, &r->len);
	if (!r->f) {
		free(r);
		return NULL;
	}
	fprintf(r->f, "result 1\ntest family=%s name=%s mode=%s\n", word(a, sizeof(a), family),
		word(b, sizeof(b), test), mode);
	return r;
}

void report_free(struct report **r)
{
	if (!*r)
		return;
	fclose((*r)->f);
	free((*r)->text);
	free(take_ptr(*r));
}

int report_metric(struct report *r, const char *name, const char *unit, const char *better,
		  const char *kind, const char *combine)
{
	char a[200], b[200];

	fprintf(r->f, "metric id=%d name=%s unit=%s better=%s kind=%s combine=%s\n", r->nmetrics,
		word(a, sizeof(a), name), word(b, sizeof(b), unit), better, kind, combine);
	return r->nmetrics++;
}

void report_task(struct report *r, int n, const struct report_task *t)
{
	fprintf(r->f,
		"task n=%d pid=%ld cpu=%d node=%d cpu_before=%d cpu_after=%d cpu_ns=%" PRId64
		" wall_ns=%" PRId64 " involuntary=%ld voluntary=%ld\n",
		n, t->pid, t->cpu, t->node, t->cpu_before, t->cpu_after, t->cpu_ns, t->wall_ns,
		t->involuntary, t->voluntary);
}

void report_cover(struct report *r, int64_t from, int64_t to)
{
	fprintf(r->f, "cover from=%" PRId64 " to=%" PRId64 "\n", from, to);
}

void report_sample(struct report *r, int metric, int k, int64_t before, int64_t after,
		   const uint64_t *counts, int n)
{
	fprintf(r->f, "sample metric=%d k=%d before=%" PRId64 " after=%" PRId64 " counts=", metric,
		k, before, after);
	for (int i = 0; i < n; i++)
		fprintf(r->f, "%s%" PRIu64, i ? "," : "", counts[i]);
	fputc('\n', r->f);
}

void report_value(struct report *r, int metric, double v, const char *more)
{
	fprintf(r->f, "value metric=%d v=%.9g%s%s\n", metric, v, *more ? " " : "", more);
}

void report_note(struct report *r, const char *key, const char *value)
{
	cleanup_free char *buf = malloc(3 * strlen(value) + 2);

	if (!buf) {
		r->failed = true;
		return;
	}
	fprintf(r->f, "note %s=%s\n", key, word(buf, 3 * strlen(value) + 2, value));
}

int report_end(struct report *r, const char **text, size_t *len, struct err *e)
{
	fputs("end\n", r->f);
	if (fflush(r->f) != 0 || ferror(r->f) || r->failed)
		return err_set(e, ENOMEM, "no memory for the result");
	*text = r->text;
	*len = r->len;
	return 0;
}
