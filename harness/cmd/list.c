// SPDX-License-Identifier: GPL-2.0-or-later
/* mksplit list [tests|backends|results]: what there is. */
#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "common/err.h"
#include "harness/backend/backend.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/paths.h"

struct options {
	bool json;
	const char *what;
	const char *folder; /* of results */
	const char *plan, *machine, *kernel;
};

static const struct argp_option option_table[] = {
	{"json", 'j', NULL, 0, "Print JSON", 0},
	{"folder", 'C', "DIR", 0, "Where results are (default: results)", 0},
	{"plan", 'p', "PATTERN", 0, "Results of these plans only (shell pattern)", 0},
	{"machine", 'm', "PATTERN", 0, "Results of these machines only (host name)", 0},
	{"kernel", 'k', "PATTERN", 0, "Results under these host kernels only", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'j':
		o->json = true;
		return 0;
	case 'C':
		o->folder = arg;
		return 0;
	case 'p':
		o->plan = arg;
		return 0;
	case 'm':
		o->machine = arg;
		return 0;
	case 'k':
		o->kernel = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			return ARGP_ERR_UNKNOWN;
		o->what = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The benchmark binary knows its tests; it prints them itself. */
static int list_tests(const struct options *o, struct err *e)
{
	cleanup_free char *bench = NULL;
	char *argv[] = {"mksplit-bench", "list", o->json ? "--json" : NULL, NULL};
	int ret = find_bench(&bench, e), status;
	extern char **environ;
	pid_t pid;

	if (ret < 0)
		return ret;
	fflush(stdout);
	ret = posix_spawn(&pid, bench, NULL, NULL, argv, environ);
	if (ret != 0)
		return err_set(e, ret, "%s: %s", bench, strerror(ret));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "waiting for %s", bench);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, EIO, "%s list failed", bench);
	return 0;
}

static int list_backends(const struct options *o, struct err *e)
{
	cleanup_free char *text = NULL;
	json_t *all = json_array();

	for (const struct backend_ops *const *b = backends; *b; b++) {
		if (o->json)
			json_array_append_new(all, json_pack("{s:s, s:s}", "name", (*b)->name,
							     "summary", (*b)->summary));
		else
			printf("%-10s %s\n", (*b)->name, (*b)->summary);
	}
	if (o->json) {
		text = json_dumps(all, JSON_INDENT(2));
		puts(text ? text : "[]");
	}
	json_decref(all);
	(void)e;
	return 0;
}

static bool matches(const char *pattern, const json_t *run, const char *key)
{
	const char *value = json_string_value(json_object_get(run, key));

	return !pattern || (value && fnmatch(pattern, value, 0) == 0);
}

/* The events that a list needs: the first run, and the last end (NULL for a killed run). */
static void read_ends(const char *path, json_t **run, json_t **end)
{
	cleanup_file FILE *f = fopen(path, "re");
	cleanup_free char *line = NULL;
	size_t size = 0;
	ssize_t n;

	*run = *end = NULL;
	if (!f)
		return;
	while ((n = getline(&line, &size, f)) > 0) {
		bool is_run =
			strstr(line, "\"event\":\"run\"") || strstr(line, "\"event\": \"run\"");
		bool is_end =
			strstr(line, "\"event\":\"end\"") || strstr(line, "\"event\": \"end\"");
		json_t *event;

		if (line[n - 1] != '\n' || !(is_run || is_end))
			continue;
		event = json_loadb(line, n, 0, NULL);
		if (!event)
			continue;
		if (is_run && !*run)
			*run = json_incref(event);
		if (is_run && *end) { /* resumed: the earlier end is not the last word */
			json_decref(*end);
			*end = NULL;
		}
		if (is_end) {
			json_decref(*end);
			*end = json_incref(event);
		}
		json_decref(event);
	}
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

static int list_results(const struct options *o, struct err *e)
{
	struct dirent **entries;
	int n = scandir(o->folder, &entries, NULL, by_name), shown = 0;
	json_t *all = json_array();

	if (n < 0 && errno != ENOENT) {
		json_decref(all);
		return err_sys(e, "%s", o->folder);
	}
	for (int i = 0; i < n; i++) {
		cleanup_free char *path = NULL;
		json_t *run, *end, *cells;
		const char *state;

		if (entries[i]->d_name[0] == '.' ||
		    asprintf(&path, "%s/%s/events.jsonl", o->folder, entries[i]->d_name) < 0) {
			path = NULL;
			continue;
		}
		read_ends(path, &run, &end);
		cells = json_object_get(end, "cells");
		if (run && matches(o->plan, run, "plan") && matches(o->machine, run, "hostname") &&
		    matches(o->kernel, run, "kernel")) {
			state = !end						    ? "unfinished"
				: json_is_true(json_object_get(end, "interrupted")) ? "interrupted"
				: json_is_true(json_object_get(end, "ok"))	    ? "complete"
									   : "with failures";
			if (shown++ == 0 && !o->json)
				printf("%-44s %-16s %-16s %-20s %s\n", "RESULT", "PLAN", "MACHINE",
				       "KERNEL", "STATE");
			if (o->json)
				json_array_append_new(
					all,
					json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:O*}", "result",
						  entries[i]->d_name, "plan", text_of(run, "plan"),
						  "machine", text_of(run, "hostname"), "kernel",
						  text_of(run, "kernel"), "utc", text_of(run, "utc"),
						  "state", state, "cells", cells));
			else
				printf("%-44s %-16s %-16s %-20s %s\n", entries[i]->d_name,
				       text_of(run, "plan"), text_of(run, "hostname"),
				       text_of(run, "kernel"), state);
		}
		json_decref(run);
		json_decref(end);
	}
	for (int i = 0; i < n; i++)
		free(entries[i]);
	if (n >= 0)
		free(entries);
	if (o->json) {
		cleanup_free char *text = json_dumps(all, JSON_INDENT(2));

		puts(text ? text : "[]");
	} else if (shown == 0) {
		fprintf(stderr, "no results in %s\n", o->folder);
	}
	json_decref(all);
	return 0;
}

static int list_all(const struct options *o, struct err *e)
{
	int ret;

	if (o->json)
		return err_usage(e, "--json needs one of: tests, backends, results");
	puts("BACKENDS");
	ret = list_backends(o, e);
	if (ret == 0) {
		puts("\nTESTS");
		ret = list_tests(o, e);
	}
	if (ret == 0) {
		puts("");
		ret = list_results(o, e);
	}
	return ret;
}

static const struct {
	const char *name;
	int (*list)(const struct options *o, struct err *e);
} lists[] = {
	{"all", list_all},
	{"tests", list_tests},
	{"backends", list_backends},
	{"results", list_results},
};

int cmd_list(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.args_doc = "[tests|backends|results]",
		.doc = "Lists what there is: benchmark tests, backends, results of earlier runs.",
	};
	struct options o = {.what = "all", .folder = "results"};
	struct err e = ERR_INIT;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(o.what, lists[i].name) != 0)
			continue;
		if (lists[i].list(&o, &e) < 0) {
			fprintf(stderr, "mksplit list: %s\n", e.text);
			return e.exit;
		}
		return EXIT_SUCCESS;
	}
	fprintf(stderr, "mksplit list: \"%s\" is none of tests, backends, results\n", o.what);
	return EXIT_USAGE;
}
