// SPDX-License-Identifier: GPL-2.0-or-later
/* mksplit status: what runs on this machine. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/running.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	if (key != 'j')
		return ARGP_ERR_UNKNOWN;
	*json = true;
	return 0;
}

static const struct argp_option argp_options[] = {
	{"json", 'j', NULL, 0, "Print one JSON object", 0},
	{0},
};

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "Says which run is under way on this machine, and how far it is.",
};

static const char *text_of(const json_t *status, const char *key)
{
	const char *s = json_string_value(json_object_get(status, key));

	return s ? s : "?";
}

/* "1:05:09" of a number of seconds. */
static const char *duration(char *buf, size_t size, const json_t *status, const char *key)
{
	long s = json_number_value(json_object_get(status, key)) + 0.5;

	snprintf(buf, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
	return buf;
}

static void print_text(const struct running *r)
{
	const json_t *consoles = json_object_get(r->status, "consoles"), *path;
	char elapsed[32], left[32];
	const char *name;

	if (!r->alive) {
		printf("A run (process %ld) has died and left things behind: mksplit cleanup\n",
		       r->pid);
	} else if (!r->status) {
		printf("Process %ld is starting or ending a run.\n", r->pid);
	} else {
		printf("Process %ld runs plan \"%s\"\n", r->pid, text_of(r->status, "plan"));
		printf("  now       %s\n", text_of(r->status, "now"));
		printf("  cells     %lld of %lld\n",
		       json_integer_value(json_object_get(r->status, "done")),
		       json_integer_value(json_object_get(r->status, "total")));
		printf("  time      %s so far, about %s to go\n",
		       duration(elapsed, sizeof(elapsed), r->status, "elapsed"),
		       duration(left, sizeof(left), r->status, "remaining"));
		json_object_foreach((json_t *)consoles, name, path)
			printf("  console   mksplit console %s\n", name);
	}
	if (r->status)
		printf("  results   %s\n", text_of(r->status, "results"));
}

static void print_json(const struct running *r, bool any)
{
	json_t *o = any ? json_pack("{s:b,s:I,s:O?}", "alive", r->alive, "pid", (json_int_t)r->pid,
				    "status", r->status)
			: json_pack("{s:b}", "alive", 0);

	json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(o);
}

int cmd_status(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct running r;
	bool json = false, any;

	if (argp_parse(&argp, argc, argv, 0, NULL, &json) != 0)
		return EXIT_USAGE;
	any = running_read(&r, &e) == 0;
	if (json)
		print_json(&r, any);
	else if (any)
		print_text(&r);
	else
		puts("Nothing runs on this machine.");
	if (any)
		running_free(&r);
	return 0;
}
