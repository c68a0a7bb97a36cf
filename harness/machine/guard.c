// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/machine/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/machine/check.h"
#include "harness/machine/snapshot.h"

/* How long idle time is watched before a run. */
#define IDLE_MS 2000

extern char **environ;

static bool ignored(const char *name, char *const *ignore, int nignore)
{
	for (int i = 0; i < nignore; i++)
		if (strcmp(ignore[i], name) == 0)
			return true;
	return false;
}

static void tell(const struct guard *g, const char *name, const char *value, const char *advice)
{
	cleanup_free char *line = NULL;

	if (g->say &&
	    asprintf(&line, "%s: %s%s%s", name, value, advice ? "; " : "", advice ? advice : "") > 0)
		g->say(g->arg, line);
}

static int check(const struct guard *g, const struct topology *t, char *const *ignore, int nignore,
		 struct err *e)
{
	cleanup_checks struct check_results c = {0};
	struct check_env env = {.root = g->root, .topology = t};
	const struct check_result *refused;
	int rc;

	env.idle_ms = ignored("idle", ignore, nignore) ? 0 : IDLE_MS;
	rc = machine_checks_run(&env, false, &c, e);
	if (rc < 0)
		return rc;
	refused = check_refusal(&c, ignore, nignore);
	if (refused)
		return err_set(e, EBUSY, "%s: %s; %s (or --ignore %s)", refused->name,
			       refused->value, refused->advice ? refused->advice : "", refused->name);
	/* The settings are in the facts of every cell; what acts by itself is said now. */
	for (int i = 0; i < c.n; i++)
		if ((strcmp(c.v[i].name, "daemons") == 0 || strcmp(c.v[i].name, "quota") == 0 ||
		     c.v[i].status == CHECK_FAIL) &&
		    (c.v[i].status == CHECK_WARN || c.v[i].status == CHECK_FAIL))
			tell(g, c.v[i].name, c.v[i].value, c.v[i].advice);
	return 0;
}

/*
 * systemd's inhibitor lasts as long as the program it was given. That program is cat, which
 * ends with the pipe, so that nothing is left whatever way this process dies.
 */
static int inhibit(const struct root *r)
{
	char *argv[] = {"systemd-inhibit",
			"--what=sleep:shutdown:idle",
			"--who=mksplit",
			"--mode=block",
			"--why=a measurement is running",
			"cat",
			NULL};
	posix_spawn_file_actions_t actions;
	int fds[2], rc;
	pid_t pid;

	/* sd_booted(3): this folder exists where systemd runs the machine. */
	if (!r->real || access("/run/systemd/system", F_OK) < 0 || pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[0], STDIN_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[0]);
	if (rc == 0)
		return fds[1];
	close(fds[1]);
	return -1;
}

int guard_begin(struct guard *g, const struct root *r, const struct topology *t, char *const *ignore,
		int nignore, void (*say)(void *arg, const char *line), void *arg, struct err *e)
{
	int rc;

	*g = (struct guard){.root = r, .inhibitor = -1, .say = say, .arg = arg};
	rc = check(g, t, ignore, nignore, e);
	if (rc < 0)
		return rc;
	g->before = snapshot_take(r, e);
	if (!g->before)
		return e->code;
	if (!ignored("sleep", ignore, nignore))
		g->inhibitor = inhibit(r);
	/* A kernel that dies takes what was not written yet with it. */
	if (r->real)
		sync();
	return 0;
}

int guard_end(struct guard *g)
{
	struct err e = ERR_INIT;
	json_t *after = g->before ? snapshot_take(g->root, &e) : NULL;
	int n = after ? snapshot_compare(g->before, after, g->say, g->arg) : 0;

	json_decref(after);
	json_decref(g->before);
	if (g->inhibitor >= 0)
		close(g->inhibitor);
	*g = GUARD_INIT;
	return n;
}
