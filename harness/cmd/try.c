// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mksplit try: one CPU and one block of memory become a kernel and come back, step by step, with
 * a transcript that can be attached to a report.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "harness/backend/backend.h"
#include "harness/change/journal.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/paths.h"
#include "harness/session/session.h"

struct options {
	const char *kernel, *append, *memory;
	int cpu;
};

static const struct argp_option options[] = {
	{"kernel", 'k', "FILE", 0, "image of the spawn kernel (the running kernel's)", 0},
	{"append", 'a', "TEXT", 0, "added to its command line", 0},
	{"cpu", 'c', "N", 0, "the CPU to give it (the last one)", 0},
	{"memory", 'm', "SIZE", 0, "its memory (512M)", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;

	switch (key) {
	case 'k':
		o->kernel = arg;
		return 0;
	case 'a':
		o->append = arg;
		return 0;
	case 'm':
		o->memory = arg;
		return 0;
	case 'c':
		o->cpu = (int)strtol(arg, &end, 10);
		if (*end || o->cpu < 1)
			argp_error(state, "--cpu has to be the number of a CPU, and not 0");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Boots the smallest spawn kernel that there can be on this multikernel host, greets "
	       "its "
	       "agent, and takes everything back. Prints every blob written, every tree read back, "
	       "every errno and how long each step took.",
};

/* The plan of it: one arm with one partition. */
static char *make_plan(const struct options *o, const struct topology *t)
{
	int cpu = o->cpu > 0 ? o->cpu : t->cpus[t->ncpus - 1].cpu;
	json_t *json;
	char *text;

	for (int i = t->ncpus - 1; o->cpu <= 0 && cpu == 0 && i >= 0; i--)
		cpu = t->cpus[i].cpu;
	json = json_pack("{s:i, s:s, s:s, s:{s:{s:s, s:s}}, s:[{s:s, s:s, s:{s:b}, s:[{s:s, s:o, "
			 "s:s, s:s}]}],"
			 " s:[{s:s}], s:s, s:i}",
			 "format", 1, "name", "try", "quiet", "none", "kernels", "kernel", "image",
			 o->kernel ? o->kernel : "auto", "append", o->append ? o->append : "",
			 "arms", "name", "try", "backend", "mklinux", "settings", "transcript", 1,
			 "partitions", "name", "try", "cpus", json_sprintf("%d", cpu), "kernel",
			 "kernel", "memory", o->memory ? o->memory : "512M", "tests", "test",
			 "getppid1", "tasks", "1", "blocks", 1);
	text = json ? json_dumps(json, 0) : NULL;
	json_decref(json);
	return text;
}

/* Each line with the time since the start; trees are indented below theirs. */
static void transcribe(void *arg, const char *line)
{
	const int64_t *start = arg;

	if (strchr(line, '\n')) {
		for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
			fputs("           | ", stdout);
			fwrite(line, 1, strcspn(line, "\n"), stdout);
			putchar('\n');
		}
	} else {
		printf("%10.3f  %s\n", (double)(clock_ns() - *start) / NSEC_PER_SEC, line);
	}
	fflush(stdout);
}

static void say_host(void)
{
	struct utsname u;
	char now[32];
	time_t t = time(NULL);
	struct tm tm;

	strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	printf("mksplit try, %s\n", now);
	if (uname(&u) == 0)
		printf("kernel %s %s %s\n", u.release, u.version, u.machine);
}

static int make_run_dir(char *path, size_t size, struct journal *j, struct err *e)
{
	int rc = session_folder(path, size, getpid());

	if (rc < 0)
		return err_set(e, rc, "the path of the run folder is too long");
	rc = journal_before(j, "folder", json_pack("{s:s}", "path", path), e);
	if (rc < 0)
		return rc;
	return mkdir(path, 0700) < 0 ? err_sys(e, "%s", path) : 0;
}

static int go(const struct root *root, const struct topology *t, const struct plan *p,
	      const char *bench, struct err *e)
{
	struct journal *journal = NULL;
	struct backend *b = NULL;
	struct err undo = ERR_INIT;
	int64_t start = clock_ns();
	char run_dir[PATH_MAX], token[24];
	struct backend_env env = {.root = root,
				  .topology = t,
				  .plan = p,
				  .bench = bench,
				  .run_dir = run_dir,
				  .token = token,
				  .note = transcribe,
				  .note_arg = &start};
	int rc = journal_open(&journal, e), undone;

	if (rc < 0)
		return rc;
	snprintf(token, sizeof(token), "%llx",
		 (unsigned long long)start ^ (unsigned long long)getpid() << 40);
	env.journal = journal;
	rc = make_run_dir(run_dir, sizeof(run_dir), journal, e);
	/* Opening it takes the pool and boots the trial kernel: that is all there is to do. */
	rc = rc < 0 ? rc : backend_open(&b, &backend_mklinux, &env, e);
	transcribe(&start, rc < 0 ? "giving back what was taken" : "the trial is over: giving back");
	if (b)
		backend_close(&b);
	undone = journal_close(&journal, &undo);
	if (undone < 0) {
		transcribe(&start, undo.text);
		if (rc >= 0) {
			*e = undo;
			rc = undone;
		}
	}
	if (rc < 0)
		return rc;
	transcribe(&start, "everything is as it was");
	return 0;
}

static int try(const struct options *o, struct err *e)
{
	cleanup_root struct root root = ROOT_INIT;
	cleanup_topology struct topology t = {0};
	cleanup_free char *bench = NULL, *text = NULL;
	struct plan *p = NULL;
	int rc = root_open(&root, NULL, e);

	rc = rc < 0 ? rc : topology_read(&t, &root, e);
	rc = rc < 0 ? rc : find_bench(&bench, e);
	if (rc < 0)
		return rc;
	text = make_plan(o, &t);
	if (!text)
		return err_set(e, ENOMEM, "no memory");
	rc = plan_parse(&p, "try", text, strlen(text), &t, NULL, NULL, e);
	if (rc == 0) {
		say_host();
		rc = go(&root, &t, p, bench, e);
	}
	plan_free(&p);
	return rc;
}

int cmd_try(int argc, char **argv)
{
	struct options o = {.cpu = -1};
	struct err e = ERR_INIT;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (try(&o, &e) == 0)
		return EXIT_SUCCESS;
	fflush(stdout);
	fprintf(stderr, "mksplit try: %s\n", e.text);
	return e.exit;
}
