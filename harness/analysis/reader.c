// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * events.jsonl into a model, line by line. The file is our own, but much of what is in it
 * came from partitions, and a crash may have torn it: every field is checked, a line that
 * makes no sense is counted and skipped, and memory is bounded by the size of the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/analysis/intern.h"
#include "harness/analysis/json.h"
#include "harness/analysis/model.h"
#include "harness/analysis/reader.h"

/* The newest format of events that this program reads. */
enum {
	FORMAT_MAX = 1
};

/* A cell of 1024 tasks and 100 samples with per-task counts has about 2 MB. */
#define LINE_MAX_BYTES ((size_t)64 << 20)

static double parse_utc(const char *s)
{
	struct tm tm = {0};
	const char *rest = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
	double fraction = 0;

	if (!rest)
		return NAN;
	if (*rest == '.')
		fraction = strtod(rest, NULL);
	return timegm(&tm) + (isfinite(fraction) ? fraction : 0);
}

static int read_boot(struct reader *r, const json_t *event)
{
	struct model *m = r->m;
	struct mboot *b;
	int arm = model_arm(m, get_text(event, "arm"));
	int block;

	if (arm < 0 || get_int(event, "block", 0, BLOCKS_MAX, &block) < 0)
		return -EINVAL;
	b = push(&m->boots, &m->nboots);
	if (!b)
		return -ENOMEM;
	*b = (struct mboot){.block = block,
			    .arm = arm,
			    .ok = json_is_true(json_object_get(event, "ok")),
			    .utc = r->utc,
			    .seconds = get_double(event, "seconds"),
			    .error = keep(r, get_text(event, "error"))};
	return b->error ? 0 : -ENOMEM;
}

static int read_facts(struct reader *r, const json_t *event)
{
	struct model *m = r->m;
	int arm = model_arm(m, get_text(event, "arm"));
	const char *partition = keep(r, get_text(event, "partition"));
	const char *name;
	json_t *value;
	int block;

	if (!partition)
		return -ENOMEM;
	if (arm < 0 || get_int(event, "block", 0, BLOCKS_MAX, &block) < 0)
		return -EINVAL;
	json_object_foreach(json_object_get(event, "facts"), name, value) {
		struct mfact *f;

		if (!json_is_string(value))
			continue;
		f = push(&m->facts, &m->nfacts);
		if (!f)
			return -ENOMEM;
		*f = (struct mfact){.block = block,
				    .arm = arm,
				    .partition = partition,
				    .name = keep(r, name),
				    .value = keep(r, json_string_value(value))};
		if (!f->name || !f->value)
			return -ENOMEM;
	}
	return 0;
}

static int add_note(struct reader *r, const json_t *event, const char *kind, const char *text)
{
	struct model *m = r->m;
	struct mnote *n = push(&m->notes, &m->nnotes);
	const json_t *ok = json_object_get(event, "ok");

	if (!n)
		return -ENOMEM;
	*n = (struct mnote){.kind = keep(r, kind),
			    .text = keep(r, text),
			    .utc = r->utc,
			    .seconds = get_double(event, "seconds"),
			    .arm = model_arm(m, get_text(event, "arm")),
			    .ok = !json_is_false(ok)};
	return n->kind && n->text ? 0 : -ENOMEM;
}

static int read_step(struct reader *r, const json_t *event)
{
	const char *error = get_text(event, "error");

	return add_note(r, event, "step", error[0] ? error : get_text(event, "what"));
}

static int read_fault(struct reader *r, const json_t *event)
{
	const char *what = get_text(event, "what");

	return add_note(r, event, "fault", what[0] ? what : get_text(event, "text"));
}

static int read_note(struct reader *r, const json_t *event)
{
	return add_note(r, event, "note", get_text(event, "text"));
}

static int read_end(struct reader *r, const json_t *event)
{
	r->m->ended = true;
	r->m->interrupted = json_is_true(json_object_get(event, "interrupted"));
	return 0;
}

static const struct {
	const char *name;
	int (*read)(struct reader *r, const json_t *event);
} kinds[] = {
	{"run", read_run},   {"boot", read_boot},   {"facts", read_facts}, {"cell", read_cell},
	{"step", read_step}, {"fault", read_fault}, {"note", read_note},   {"end", read_end},
};

static int (*reader_of(const char *kind))(struct reader *r, const json_t *event)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kind, kinds[i].name) == 0)
			return kinds[i].read;
	return NULL;
}

/* What a failure to read one event means for the whole. */
static int judge(struct reader *r, int ret, bool run, struct err *e)
{
	switch (ret) {
	case -ENOMEM:
		return err_set(e, ENOMEM, "no memory for the results");
	case -ENOTSUP:
		return err_set(e, ENOTSUP,
			       "its format is not between 1 and %d, which this program reads",
			       FORMAT_MAX);
	case -EINVAL:
		/* Without the description of the run nothing else means anything. */
		if (run && !r->have_run)
			return err_set(e, EINVAL, "its run event is damaged");
		r->m->damaged_lines++;
	}
	return 0;
}

/* Returns 0, also for a line that is skipped, or an error that ends the reading. */
static int read_line(struct reader *r, const char *line, size_t len, struct err *e)
{
	json_t *event = json_loadb(line, len, 0, NULL);
	const char *kind = get_text(event, "event");
	int (*read)(struct reader *, const json_t *) = reader_of(kind);
	int ret = 0;

	r->utc = parse_utc(get_text(event, "utc"));
	if (!kind[0])
		ret = -EINVAL;
	else if (read && (r->have_run || read == read_run)) /* others are of a later version */
		ret = read(r, event);
	if (ret == 0 && isfinite(r->utc)) {
		if (isnan(r->m->begin))
			r->m->begin = r->utc;
		r->m->end = r->utc;
	}
	json_decref(event);
	return judge(r, ret, read == read_run, e);
}

bool format_readable(const json_t *run)
{
	int format;

	return get_int(run, "format", 1, FORMAT_MAX, &format) == 0;
}

struct line {
	char *data;
	size_t len, size;
	bool too_long;
};

static int line_add(struct line *l, const char *data, size_t n)
{
	if (l->len + n > LINE_MAX_BYTES) {
		l->too_long = true;
		return 0;
	}
	if (l->len + n > l->size) {
		size_t size = l->size ? l->size : 65536;
		char *bigger;

		while (size < l->len + n)
			size *= 2;
		bigger = realloc(l->data, size);
		if (!bigger)
			return -ENOMEM;
		l->data = bigger;
		l->size = size;
	}
	memcpy(l->data + l->len, data, n);
	l->len += n;
	return 0;
}

static int read_chunk(struct reader *r, struct line *l, const char *buf, size_t n, struct err *e)
{
	while (n > 0) {
		const char *newline = memchr(buf, '\n', n);
		size_t part = newline ? (size_t)(newline - buf) : n;
		int ret = 0;

		if (line_add(l, buf, part) < 0)
			return err_set(e, ENOMEM, "no memory for a line of the results");
		if (!newline)
			return 0;
		if (l->too_long)
			r->m->damaged_lines++;
		else if (l->len > 0)
			ret = read_line(r, l->data, l->len, e);
		if (ret < 0)
			return ret;
		l->len = 0;
		l->too_long = false;
		buf = newline + 1;
		n -= part + 1;
	}
	return 0;
}

static int read_all(struct reader *r, FILE *f, struct err *e)
{
	cleanup_free char *chunk = malloc(1 << 16);
	cleanup_free char *held = NULL;
	struct line l = {0};
	int ret = 0;
	size_t n;

	if (!chunk)
		return err_set(e, ENOMEM, "no memory for a buffer");
	while (ret == 0 && (n = fread(chunk, 1, 1 << 16, f)) > 0)
		ret = read_chunk(r, &l, chunk, n, e);
	held = l.data;
	if (ret == 0 && ferror(f))
		ret = err_sys(e, "cannot read it");
	r->m->torn = l.len > 0;
	return ret;
}

int model_read_stream(struct model **out, FILE *f, const char *name, struct err *e)
{
	cleanup_model struct model *m = calloc(1, sizeof(*m));
	struct reader r = {.m = m, .utc = NAN};
	const char **texts[] = {&m->plan,   &m->plan_sha256, &m->version, &m->hostname,
				&m->kernel, &m->cpu_model,   &m->arch,	  &m->seed};

	if (!m)
		return err_set(e, ENOMEM, "no memory");
	m->strings = intern_new();
	m->dir = strdup(name);
	if (!m->strings || !m->dir)
		return err_set(e, ENOMEM, "no memory");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		*texts[i] = "";
	m->begin = m->end = NAN;
	if (read_all(&r, f, e) < 0)
		return err_wrap(e, "%s", name);
	if (!r.have_run)
		return err_set(e, EINVAL,
			       "%s: no run event: this is not a results folder of mksplit", name);
	if (keep_last_attempts(m) < 0)
		return err_set(e, ENOMEM, "%s: no memory", name);
	*out = take_ptr(m);
	return 0;
}

int model_read(struct model **m, const char *path, struct err *e)
{
	cleanup_free char *events = NULL;
	cleanup_file FILE *f = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(e, "%s", path);
	if (asprintf(&events, S_ISDIR(st.st_mode) ? "%s/events.jsonl" : "%s", path) < 0) {
		events = NULL;
		return err_set(e, ENOMEM, "no memory");
	}
	f = fopen(events, "re");
	if (!f)
		return err_sys(e, "%s", events);
	return model_read_stream(m, f, path, e);
}
