// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/results/result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpumask.h"
#include "common/frame.h"

/* More than any test has; a bound for what a broken agent can make us keep. */
#define METRICS_MAX 64
#define VALUES_MAX  100000
#define NOTES_MAX   2000
#define SAMPLES_MAX 200000
#define WORDS_MAX   512

static const char *const kind_names[] = {"rate", "latency", "histogram", "series"};
static const char *const combine_names[] = {"sum", "merge", "each"};

const char *metric_kind_name(enum metric_kind kind)
{
	return kind_names[kind];
}

const char *metric_combine_name(enum metric_combine combine)
{
	return combine_names[combine];
}

/* One line: its words without the first. */
struct line {
	int number;
	char *words[WORDS_MAX];
	int n;
};

static int bad(const struct line *l, struct err *e, const char *what)
{
	return err_set(e, EPROTO, "line %d of the result: %s", l->number, what);
}

static const char *get(const struct line *l, const char *key)
{
	size_t len = strlen(key);

	for (int i = 1; i < l->n; i++)
		if (strncmp(l->words[i], key, len) == 0 && l->words[i][len] == '=')
			return l->words[i] + len + 1;
	return NULL;
}

/* A decimal number with an optional minus, of the whole word. */
static bool to_number(const char *word, int64_t min, int64_t max, int64_t *value)
{
	char *end;
	long long v;

	if (!word ||
	    !(*word == '-' ? word[1] >= '0' && word[1] <= '9' : *word >= '0' && *word <= '9'))
		return false;
	errno = 0;
	v = strtoll(word, &end, 10);
	if (errno || *end || v < min || v > max)
		return false;
	*value = v;
	return true;
}

static bool get_number(const struct line *l, const char *key, int64_t min, int64_t max, int64_t *value)
{
	return to_number(get(l, key), min, max, value);
}

static bool get_int(const struct line *l, const char *key, int min, int max, int *value)
{
	int64_t v;

	if (!get_number(l, key, min, max, &v))
		return false;
	*value = v;
	return true;
}

static int name_index(const char *word, const char *const *names, int n)
{
	for (int i = 0; word && i < n; i++)
		if (strcmp(word, names[i]) == 0)
			return i;
	return -1;
}

/* A new string: unescaped, printable. NULL when the escape is broken or without memory. */
static char *to_text(const char *word)
{
	char *text = word ? strdup(word) : NULL;
	int n = text ? word_unescape(text) : -1;

	if (n < 0) {
		free(text);
		return NULL;
	}
	for (int i = 0; i < n; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			text[i] = '?';
	return text;
}

/* Room for one more element of an array that grows by doubling. */
static void *grow(void *array, int n, size_t size)
{
	if (n & (n - 1))
		return array;
	return realloc(array, (n ? 2 * (size_t)n : 1) * size);
}

static const struct result_metric *find_metric(const struct result *r, int id)
{
	for (int i = 0; i < r->nmetrics; i++)
		if (r->metrics[i].id == id)
			return &r->metrics[i];
	return NULL;
}

static int parse_test(struct result *r, struct line *l, struct err *e)
{
	if (r->test)
		return bad(l, e, "a second test");
	r->family = to_text(get(l, "family"));
	r->test = to_text(get(l, "name"));
	r->mode = to_text(get(l, "mode"));
	return r->family && r->test && r->mode ? 0 : bad(l, e, "a test without its names");
}

static int parse_metric(struct result *r, struct line *l, struct err *e)
{
	static const char *const better_names[] = {"less", "more"};
	int better = name_index(get(l, "better"), better_names, 2);
	int kind = name_index(get(l, "kind"), kind_names, 4);
	int combine = name_index(get(l, "combine"), combine_names, 3);
	struct result_metric *m;
	void *bigger;
	int id;

	if (r->nmetrics == METRICS_MAX || !get_int(l, "id", 0, INT32_MAX, &id) ||
	    find_metric(r, id) || better < 0 || kind < 0 || combine < 0)
		return bad(l, e, "no valid metric");
	bigger = grow(r->metrics, r->nmetrics, sizeof(*m));
	if (!bigger)
		return err_set(e, ENOMEM, "no memory");
	r->metrics = bigger;
	m = &r->metrics[r->nmetrics++];
	*m = (struct result_metric){
		.id = id,
		.name = to_text(get(l, "name")),
		.unit = to_text(get(l, "unit")),
		.more = better,
		.kind = kind,
		.combine = combine,
	};
	return m->name && *m->name && m->unit ? 0 : bad(l, e, "a metric without name or unit");
}

static int parse_task(struct result *r, struct line *l, struct err *e)
{
	struct result_task t = {.node = -1};
	void *bigger;
	int n;

	/* In order, so that a number is never missing. */
	if (!get_int(l, "n", 0, CPUMASK_LIMIT, &n) || n != r->ntasks || r->nsamples)
		return bad(l, e, "no valid task number");
	if (!get_int(l, "cpu", 0, CPUMASK_LIMIT, &t.cpu) ||
	    !get_int(l, "cpu_before", -1, CPUMASK_LIMIT, &t.cpu_before) ||
	    !get_int(l, "cpu_after", -1, CPUMASK_LIMIT, &t.cpu_after) ||
	    !get_number(l, "cpu_ns", 0, INT64_MAX, &t.cpu_ns) ||
	    !get_number(l, "wall_ns", 0, INT64_MAX, &t.wall_ns) ||
	    !get_number(l, "involuntary", 0, INT64_MAX, &t.involuntary) ||
	    !get_number(l, "voluntary", 0, INT64_MAX, &t.voluntary))
		return bad(l, e, "a task without all of its numbers");
	get_int(l, "node", -1, CPUMASK_LIMIT, &t.node);
	get_number(l, "pid", 0, INT32_MAX, &t.pid);
	bigger = grow(r->tasks, r->ntasks, sizeof(t));
	if (!bigger)
		return err_set(e, ENOMEM, "no memory");
	r->tasks = bigger;
	r->tasks[r->ntasks++] = t;
	return 0;
}

static int parse_cover(struct result *r, struct line *l, struct err *e)
{
	if (r->has_cover || !get_number(l, "from", 0, INT64_MAX, &r->cover_from) ||
	    !get_number(l, "to", r->cover_from, INT64_MAX, &r->cover_to))
		return bad(l, e, "no valid cover");
	r->has_cover = true;
	return 0;
}

/* A comma-separated list of exactly n running totals. */
static bool parse_counts(const char *list, uint64_t *counts, int n)
{
	for (int i = 0; i < n; i++) {
		char *end;

		if (*list < '0' || *list > '9')
			return false;
		errno = 0;
		counts[i] = strtoull(list, &end, 10);
		if (errno || *end != (i + 1 < n ? ',' : '\0'))
			return false;
		list = end + 1;
	}
	return true;
}

/* The sample of the same metric before this one, or NULL. */
static const struct result_sample *sample_before(const struct result *r, int metric)
{
	for (int i = r->nsamples - 1; i >= 0; i--)
		if (r->samples[i].metric == metric)
			return &r->samples[i];
	return NULL;
}

static int parse_sample(struct result *r, struct line *l, struct err *e)
{
	const struct result_sample *last;
	const char *list = get(l, "counts");
	struct result_sample s = {0};
	void *bigger;

	if (!get_int(l, "metric", 0, INT32_MAX, &s.metric) || !find_metric(r, s.metric) ||
	    !get_int(l, "k", 0, SAMPLES_MAX, &s.k) ||
	    !get_number(l, "before", 0, INT64_MAX, &s.before) ||
	    !get_number(l, "after", s.before, INT64_MAX, &s.after) || !list || !r->ntasks ||
	    r->nsamples == SAMPLES_MAX)
		return bad(l, e, "no valid sample");
	last = sample_before(r, s.metric);
	if (s.k != (last ? last->k + 1 : 0))
		return bad(l, e, "a sample out of order");
	bigger = grow(r->samples, r->nsamples, sizeof(s));
	if (!bigger)
		return err_set(e, ENOMEM, "no memory");
	r->samples = bigger;
	/* Two bytes of the line at least for each count, so the line bounds this. */
	if (strlen(list) / 2 + 1 < (size_t)r->ntasks)
		return bad(l, e, "a sample without a count for each task");
	s.counts = calloc(r->ntasks, sizeof(*s.counts));
	if (!s.counts)
		return err_set(e, ENOMEM, "no memory");
	r->samples[r->nsamples++] = s;
	if (!parse_counts(list, s.counts, r->ntasks))
		return bad(l, e, "a sample without a count for each task");
	return 0;
}

/* The line's key=value words, but for those in skip, as strings in an object. */
static int collect(json_t *object, const struct line *l, const char *const *skip, struct err *e)
{
	for (int i = 1; i < l->n; i++) {
		char *mark = strchr(l->words[i], '=');
		cleanup_free char *key = NULL;
		cleanup_free char *value = NULL;
		bool known = false;

		if (!mark)
			continue;
		*mark = '\0';
		for (int s = 0; skip[s]; s++)
			known |= strcmp(l->words[i], skip[s]) == 0;
		key = to_text(l->words[i]);
		value = to_text(mark + 1);
		*mark = '=';
		if (known)
			continue;
		if (!key || !value || json_object_size(object) >= NOTES_MAX)
			return bad(l, e, "no valid note");
		if (json_object_set_new(object, key, json_string(value)) < 0)
			return err_set(e, ENOMEM, "no memory");
	}
	return 0;
}

static int parse_value(struct result *r, struct line *l, struct err *e)
{
	static const char *const skip[] = {"metric", "v", NULL};
	const char *word = get(l, "v");
	struct result_value *v;
	void *bigger;
	int metric;
	char *end;
	double d;

	if (!get_int(l, "metric", 0, INT32_MAX, &metric) || !find_metric(r, metric) || !word ||
	    !*word || r->nvalues == VALUES_MAX)
		return bad(l, e, "no valid value");
	d = strtod(word, &end);
	if (*end || !isfinite(d))
		return bad(l, e, "a value that is no number");
	bigger = grow(r->values, r->nvalues, sizeof(*v));
	if (!bigger)
		return err_set(e, ENOMEM, "no memory");
	r->values = bigger;
	v = &r->values[r->nvalues++];
	*v = (struct result_value){.metric = metric, .v = d, .more = json_object()};
	if (!v->more)
		return err_set(e, ENOMEM, "no memory");
	return collect(v->more, l, skip, e);
}

static int parse_note(struct result *r, struct line *l, struct err *e)
{
	static const char *const skip[] = {NULL};

	return collect(r->notes, l, skip, e);
}

static const struct {
	const char *keyword;
	int (*parse)(struct result *r, struct line *l, struct err *e);
} keywords[] = {
	{"test", parse_test},	{"metric", parse_metric}, {"task", parse_task},
	{"cover", parse_cover}, {"sample", parse_sample}, {"value", parse_value},
	{"note", parse_note},
};

static int parse_line(struct result *r, struct line *l, struct err *e)
{
	if (l->number == 1)
		return l->n == 2 && strcmp(l->words[0], "result") == 0 && strcmp(l->words[1], "1") == 0
			       ? 0
			       : bad(l, e, "not a result of version 1");
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strcmp(l->words[0], keywords[i].keyword) == 0)
			return keywords[i].parse(r, l, e);
	return 0;
}

static int parse_lines(struct result *r, char *text, char *stop, struct err *e)
{
	cleanup_free struct line *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set(e, ENOMEM, "no memory");
	while (text < stop) {
		char *end = memchr(text, '\n', stop - text);
		int ret;

		l->number++;
		if (!end)
			break;
		*end = '\0';
		if (strlen(text) != (size_t)(end - text))
			return bad(l, e, "a zero byte");
		l->n = words_split(text, l->words, WORDS_MAX);
		if (l->n <= 0)
			return bad(l, e, "not words with single spaces between them");
		if (strcmp(l->words[0], "end") == 0)
			return r->test ? 0 : bad(l, e, "the end, and no test was named");
		ret = parse_line(r, l, e);
		if (ret < 0)
			return ret;
		text = end + 1;
	}
	return bad(l, e, "cut off before its end");
}

int result_parse(struct result *r, const char *text, size_t len, struct err *e)
{
	cleanup_free char *copy = NULL;
	int ret;

	*r = (struct result){0};
	if (len > RESULT_MAX)
		return err_set(e, EPROTO, "a result of %zu bytes is too long", len);
	copy = malloc(len + 1);
	r->notes = json_object();
	if (!copy || !r->notes) {
		result_free(r);
		return err_set(e, ENOMEM, "no memory");
	}
	memcpy(copy, text, len);
	ret = parse_lines(r, copy, copy + len, e);
	if (ret < 0)
		result_free(r);
	return ret;
}

void result_free(struct result *r)
{
	free(r->family);
	free(r->test);
	free(r->mode);
	for (int i = 0; i < r->nmetrics; i++) {
		free(r->metrics[i].name);
		free(r->metrics[i].unit);
	}
	free(r->metrics);
	free(r->tasks);
	for (int i = 0; i < r->nsamples; i++)
		free(r->samples[i].counts);
	free(r->samples);
	for (int i = 0; i < r->nvalues; i++)
		json_decref(r->values[i].more);
	free(r->values);
	json_decref(r->notes);
	*r = (struct result){0};
}
