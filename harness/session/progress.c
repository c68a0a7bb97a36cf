// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/session/progress.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/io.h"

struct progress {
	struct progress_options o;
	bool terminal, color;
	int64_t started;
	int done_before; /* cells that an earlier start had stored */
	char now[160]; /* what is under way */
	json_t *consoles;
	bool line_up; /* the status line is on the screen */
};

struct progress *progress_open(const struct progress_options *o)
{
	struct progress *p = calloc(1, sizeof(*p));
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (!p)
		return NULL;
	p->o = *o;
	p->started = clock_ns();
	p->done_before = o->done;
	p->terminal = isatty(fileno(o->out)) && term && strcmp(term, "dumb") != 0;
	p->color = p->terminal && !(no_color && *no_color);
	return p;
}

static void wipe(struct progress *p)
{
	if (p->line_up)
		fputs("\r\033[K", p->o.out);
	p->line_up = false;
}

void progress_close(struct progress **p)
{
	if (!*p)
		return;
	wipe(*p);
	fflush((*p)->o.out);
	json_decref((*p)->consoles);
	free(take_ptr(*p));
}

static double remaining(const struct progress *p)
{
	int here = p->o.done - p->done_before;
	int left = p->o.total - p->o.done;
	double elapsed = (clock_ns() - p->started) / 1e9;

	/* The plan's own estimate until there is something to go by. */
	if (here < 3)
		return p->o.estimate > elapsed ? p->o.estimate - elapsed : 0;
	return elapsed / here * left;
}

static const char *duration(char *buf, size_t size, double seconds)
{
	long s = seconds + 0.5;

	if (s < 3600)
		snprintf(buf, size, "%ld:%02ld", s / 60, s % 60);
	else
		snprintf(buf, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
	return buf;
}

static void draw(struct progress *p)
{
	struct winsize size = {.ws_col = 80};
	char line[400], elapsed[32], left[32];

	if (!p->terminal || p->o.quiet || !*p->now)
		return;
	ioctl(fileno(p->o.out), TIOCGWINSZ, &size);
	snprintf(line, sizeof(line), "%d/%d  %s  %s elapsed, %s left", p->o.done, p->o.total,
		 p->now, duration(elapsed, sizeof(elapsed), (clock_ns() - p->started) / 1e9),
		 duration(left, sizeof(left), remaining(p)));
	if (size.ws_col > 1 && strlen(line) >= size.ws_col)
		line[size.ws_col - 1] = '\0';
	fprintf(p->o.out, "\r\033[K%s", line);
	fflush(p->o.out);
	p->line_up = true;
}

/* Losing this file costs a look at a run, never the run: errors do not matter. */
static void write_status(struct progress *p)
{
	cleanup_free char *text = NULL;
	json_t *status;
	FILE *f;

	if (!p->o.status_path)
		return;
	status = json_pack("{s:s?,s:s?,s:s,s:i,s:i,s:f,s:f}", "plan", p->o.plan, "results",
			   p->o.results, "now", p->now, "done", p->o.done, "total", p->o.total,
			   "elapsed", (clock_ns() - p->started) / 1e9, "remaining", remaining(p));
	if (p->consoles)
		json_object_set(status, "consoles", p->consoles);
	text = json_dumps(status, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	json_decref(status);
	/* Not flushed to disk, unlike replace_file(): it is gone with the machine anyway. */
	f = text ? fopen(p->o.status_path, "we") : NULL;
	if (!f)
		return;
	fprintf(f, "%s\n", text);
	fclose(f);
}

void progress_next(struct progress *p, int block, const char *arm, const char *cell, int repetition)
{
	if (cell)
		snprintf(p->now, sizeof(p->now), "block %d  %s  %s  repetition %d", block + 1, arm,
			 cell, repetition + 1);
	else
		snprintf(p->now, sizeof(p->now), "block %d  %s  boots", block + 1, arm);
	write_status(p);
	draw(p);
}

void progress_consoles(struct progress *p, json_t *consoles)
{
	json_decref(p->consoles);
	p->consoles = consoles;
	write_status(p);
}

static void say_line(struct progress *p, const char *color, const char *line)
{
	wipe(p);
	if (p->color && color)
		fprintf(p->o.out, "\033[%sm%s\033[m\n", color, line);
	else
		fprintf(p->o.out, "%s\n", line);
	fflush(p->o.out);
	draw(p);
}

void progress_cell(struct progress *p, const char *key, const char *status, const char *text)
{
	static const struct {
		const char *status, *color;
		bool bad;
	} looks[] = {
		{"ok", NULL, false},	     {"flagged", "33", false}, {"invalid", "33", true},
		{"unavailable", "33", true}, {"failed", "31", true},   {"skipped", "31", true},
	};
	bool bad = false;
	const char *color = NULL;
	char line[1200];

	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		if (strcmp(looks[i].status, status) == 0) {
			color = looks[i].color;
			bad = looks[i].bad;
		}
	}
	if (strcmp(status, "invalid") != 0)
		p->o.done++;
	snprintf(line, sizeof(line), "%*d/%d  %-11s %s  %s", p->o.total > 99 ? 4 : 2, p->o.done,
		 p->o.total, status, key, text);
	if (bad || (!p->o.quiet && (!p->terminal || p->o.verbose)))
		say_line(p, color, line);
	else
		draw(p);
}

void progress_say(struct progress *p, bool important, const char *fmt, ...)
{
	char line[2100];
	va_list ap;

	if (p->o.quiet || (!important && !p->o.verbose))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	say_line(p, NULL, line);
}
