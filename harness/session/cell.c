// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "harness/session/internal.h"

/* The first attempt, and two more when the numbers could not be used. */
#define ATTEMPTS 3

static void count(struct session *s, enum cell_end status)
{
	if (status == END_INVALID)
		s->totals->invalid++;
	else
		s->totals->cells[status]++;
}

/* "401234 1/s" and the names of the flags. */
static void describe(const json_t *event, char *text, size_t size)
{
	const json_t *metric = json_array_get(json_object_get(event, "metrics"), 0);
	const json_t *value = json_object_get(metric, "value"), *flag;
	const char *unit = json_string_value(json_object_get(metric, "unit"));
	size_t i, len = 0;

	snprintf(text, size, "%s", json_string_value(json_object_get(event, "reason")));
	if (json_is_real(value))
		len = snprintf(text, size, "%.6g %s", json_real_value(value), unit);
	json_array_foreach(json_object_get(event, "flags"), i, flag) {
		if (len < size)
			len += snprintf(text + len, size - len, "%s%s", i ? ", " : "  ",
					json_string_value(json_object_get(flag, "name")));
	}
}

static int store_attempt(const struct attempt *a, enum cell_end status, const char *reason,
			 json_t *flags, struct err *e)
{
	struct session *s = a->up->s;
	json_t *event = attempt_event(a, status, reason, flags);
	cleanup_free char *key = cell_key(s->env->plan, a->cell);
	char text[1000] = "";
	int ret;

	if (event)
		describe(event, text, sizeof(text));
	ret = store_event(s->env->store, event, e);
	if (ret < 0)
		return ret;
	count(s, status);
	s->totals->measured += a->measure;
	progress_cell(s->progress, key ? key : "", cell_end_name(status), text);
	return 0;
}

/* Also partitions without tasks: an arm with a dead kernel is another arm. */
static enum outcome try_once(struct attempt *a, struct err *e)
{
	for (int i = 0; i < a->up->n; i++) {
		int ret = member_alive(&a->up->members[i], e);

		if (ret < 0)
			return ret == -EINTR ? OUTCOME_STOPPED : OUTCOME_LOST;
	}
	return attempt_run(a, e);
}

int cell_run(struct up *u, const struct cell *c, struct err *e)
{
	const struct plan *plan = u->s->env->plan;
	const struct plan_test *t = &plan->tests[c->test];
	char what[200];

	snprintf(what, sizeof(what), "%s%s%s %s, %d task%s", t->test, *t->variant ? "/" : "",
		 t->variant, c->mode == MODE_THREADS ? "threads" : "processes", c->tasks,
		 c->tasks == 1 ? "" : "s");
	for (int number = 0; number < ATTEMPTS; number++) {
		struct attempt a = {.up = u, .cell = c, .number = number};
		struct err why = ERR_INIT;
		enum cell_end status = END_FAILED;
		json_t *flags = NULL;
		enum outcome out;
		int ret;

		progress_next(u->s->progress, c->block, plan->arms[c->arm].name, what, c->repetition);
		out = try_once(&a, &why);
		if (out == OUTCOME_STOPPED) {
			attempt_free(&a);
			*e = why;
			return -EINTR;
		}
		if (out == OUTCOME_MEASURED) {
			flags = attempt_flags(&a);
			status = json_array_size(flags) ? END_FLAGGED : END_OK;
		} else if (out == OUTCOME_UNAVAILABLE) {
			status = END_UNAVAILABLE;
		} else if (out == OUTCOME_INVALID && number + 1 < ATTEMPTS) {
			status = END_INVALID;
		} else if (out == OUTCOME_INVALID) {
			err_wrap(&why, "not usable in %d attempts", ATTEMPTS);
		}
		ret = store_attempt(&a, status, why.text, flags, e);
		attempt_free(&a);
		if (ret < 0 || status != END_INVALID)
			return ret < 0 ? ret : out == OUTCOME_LOST;
	}
	return 0; /* not reached: the last attempt is never END_INVALID */
}
