// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mklinux-cycle PLAN BLOCKS: every arm of a plan up and down, as a run does it, each agent
 * greeted and told to go, and nothing measured. With the arm's name as a third argument its
 * kernels are not told: the steps have to end them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/backend/backend.h"
#include "harness/change/journal.h"
#include "harness/plan/catalog.h"
#include "harness/session/link.h"

static const char *silent_arm = "";

static void note(void *arg, const char *line)
{
	printf("    %s\n", line);
	fflush(stdout);
}

static int walk(struct backend *b, const struct layout *is, const struct layout *want, struct err *e)
{
	struct steps s = {0};
	int rc = b->ops->plan(b, is, want, &s, e);

	for (int i = 0; i < s.n && rc == 0; i++)
		rc = b->ops->apply(b, &s.v[i], e);
	steps_free(&s);
	return rc;
}

struct member {
	struct backend *b;
	int index;
};

static int alive(void *arg, struct err *e)
{
	struct member *m = arg;
	char why[1500];

	if (m->b->ops->state(m->b, m->index, why, sizeof(why)) != KERNEL_DEAD)
		return 0;
	return err_set(e, ESHUTDOWN, "%s", why);
}

/* Every agent says hello; then all but those of a silent arm are told to go. */
static int greet(struct backend *b, const struct plan_arm *arm, struct err *e)
{
	for (int i = 0; i < arm->npartitions; i++) {
		struct member m = {b, i};
		struct link *l = NULL;
		struct err none = ERR_INIT;
		char reply[64];
		int fd = b->ops->channel(b, i, e), rc;

		if (fd < 0)
			return fd;
		rc = link_open(&l, fd, arm->partitions[i].name, NULL, e);
		rc = rc ? rc : link_hello(l, b->env.token, 600, 120000, alive, &m, e);
		if (!rc) {
			printf("  hello from %s\n", arm->partitions[i].name);
			if (strcmp(arm->name, silent_arm) != 0)
				link_ask(l, reply, sizeof(reply), 5000, &none, "OFF %s",
					 b->env.token);
		}
		link_close(&l);
		if (rc)
			return rc;
	}
	return 0;
}

static int cycle(struct backend *b, const struct plan_arm *arm, struct err *e)
{
	struct layout none = {0}, up = {.arm = arm};
	struct err down = ERR_INIT;
	int rc, ended;

	printf("arm %s\n", arm->name);
	rc = walk(b, &none, &up, e);
	rc = rc ? rc : greet(b, arm, e);
	ended = walk(b, &up, &none, &down);
	if (!rc && ended)
		*e = down;
	return rc ? rc : ended;
}

static int go(const char *path, int blocks, struct err *e)
{
	cleanup_root struct root root = ROOT_INIT;
	cleanup_topology struct topology t = {0};
	struct plan_options options = {0};
	struct journal *journal = NULL;
	struct backend *b = NULL;
	struct plan *p = NULL;
	char run_dir[] = "/run/mksplit-cycle-XXXXXX", consoles[64];
	struct backend_env env = {.root = &root,
				  .topology = &t,
				  .bench = getenv("MKSPLIT_BENCH"),
				  .run_dir = run_dir,
				  .results_dir = run_dir,
				  .token = "cycle",
				  .note = note};
	struct err undo = ERR_INIT;
	int rc = root_open(&root, NULL, e);

	rc = rc ? rc : topology_read(&t, &root, e);
	rc = rc ? rc : plan_load(&p, path, &t, NULL, &options, e);
	rc = rc ? rc : journal_open(&journal, e);
	if (rc)
		return rc;
	if (!mkdtemp(run_dir))
		return err_sys(e, "%s", run_dir);
	snprintf(consoles, sizeof(consoles), "%s/consoles", run_dir);
	if (mkdir(consoles, 0700))
		return err_sys(e, "%s", consoles);
	env.plan = p;
	env.journal = journal;
	rc = backend_open(&b, &backend_mklinux, &env, e);
	for (int i = 0; i < blocks && !rc; i++)
		for (int a = 0; a < p->narms && !rc; a++)
			rc = cycle(b, &p->arms[a], e);
	backend_close(&b);
	if (journal_close(&journal, &undo) && !rc) {
		*e = undo;
		rc = -EIO;
	}
	plan_free(&p);
	return rc;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (argc < 3)
		return EXIT_USAGE;
	silent_arm = argc > 3 ? argv[3] : "";
	if (go(argv[1], atoi(argv[2]), &e) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "mklinux-cycle: %s\n", e.text);
	return EXIT_FAILURE;
}
