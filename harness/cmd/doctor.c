// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/change/journal.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/doctor_print.h"
#include "harness/cmd/paths.h"
#include "harness/machine/dump.h"
#include "harness/payload/doctor.h"

/* How long idle time is watched: what a run asks for too. */
#define IDLE_MS 2000

struct options {
	const char *kernel, *sysroot, *dump;
	bool json;
};

enum {
	OPT_SYSROOT = 256,
	OPT_DUMP,
	OPT_JSON,
	OPT_KERNEL
};

static const struct argp_option argp_options[] = {
	{"sysroot", OPT_SYSROOT, "DIR", 0, "Look at the machine whose /proc and /sys are in DIR", 0},
	{"dump", OPT_DUMP, "FILE", 0,
	 "Write what is read of /proc and /sys into FILE (.tar.gz), for --sysroot elsewhere", 0},
	{"json", OPT_JSON, NULL, 0, "Print one JSON object", 0},
	{"kernel", OPT_KERNEL, "FILE", 0,
	 "Look at a kernel image alone: can a multikernel host load it?", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_SYSROOT:
		o->sysroot = arg;
		return 0;
	case OPT_DUMP:
		o->dump = arg;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_KERNEL:
		o->kernel = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "Shows what this machine is and what it can do: its CPUs, settings that move "
	       "results, "
	       "what each backend lacks, and in the last line which plans can run.",
};

static void ask_backend(struct backend_report *b, const struct backend_env *env)
{
	struct backend *backend = NULL;
	struct err e = ERR_INIT;

	if (backend_open(&backend, b->ops, env, &e) < 0) {
		snprintf(b->error, sizeof(b->error), "%s", e.text);
		return;
	}
	if (b->ops->probe(backend, &b->checks, &e) < 0)
		snprintf(b->error, sizeof(b->error), "%s", e.text);
	b->nature = b->ops->nature(backend);
	b->ready = !*b->error && !check_refusal(&b->checks, NULL, 0);
	backend_close(&backend);
}

static int ask_backends(struct doctor_view *v, struct err *e)
{
	cleanup_free char *bench = NULL;
	struct err missing = ERR_INIT;
	struct backend_env env = {.root = v->root, .topology = v->t, .run_dir = "/run/mksplit"};
	int n = 0;

	if (find_bench(&bench, &missing) == 0)
		env.bench = bench;
	while (backends[n])
		n++;
	v->backends = calloc((size_t)n + 1, sizeof(*v->backends));
	if (!v->backends)
		return err_set(e, ENOMEM, "no memory");
	for (; v->nbackends < n; v->nbackends++) {
		v->backends[v->nbackends].ops = backends[v->nbackends];
		ask_backend(&v->backends[v->nbackends], &env);
	}
	return 0;
}

static void view_free(struct doctor_view *v)
{
	check_results_free(&v->checks);
	for (int i = 0; i < v->nbackends; i++)
		check_results_free(&v->backends[i].checks);
	free(v->backends);
}

/* Another run, or what a crashed one left, is in the way of the next. */
static int check_journal(struct check_results *out, struct err *e)
{
	bool alive = false;
	json_t *run = journal_peek(&alive);
	int rc;

	if (!run)
		rc = check_add(out, "journal", CHECK_PASS, NULL,
			       "no run is under way, none has crashed");
	else if (alive)
		rc = check_add(out, "journal", CHECK_FAIL, "wait for it (mksplit status)",
			       "a run is under way");
	else
		rc = check_add(out, "journal", CHECK_FAIL, "mksplit cleanup puts the machine back",
			       "a run crashed and left its changes");
	json_decref(run);
	return rc < 0 ? err_set(e, ENOMEM, "no memory") : 0;
}

static int examine(const struct options *o, const struct root *root, struct err *e)
{
	cleanup_topology struct topology t = {0};
	cleanup(view_free) struct doctor_view v = {.root = root, .t = &t};
	struct check_env env = {.root = root, .topology = &t, .idle_ms = IDLE_MS};
	int rc = topology_read(&t, root, e);

	if (rc == 0)
		rc = machine_checks_run(&env, false, &v.checks, e);
	if (rc == 0 && root->real)
		rc = check_journal(&v.checks, e);
	/* Of a dump nobody can say what could run there. */
	if (rc == 0 && root->real)
		rc = ask_backends(&v, e);
	if (rc < 0)
		return rc;
	rc = o->json ? doctor_print_json(&v, stdout) : doctor_print_text(&v, stdout);
	return rc < 0 || fflush(stdout) != 0 ? err_sys(e, "standard output") : 0;
}

/* 0 for an image that can be loaded, -ENOEXEC for one that is refused, with the reason printed. */
static int look_at_kernel(const char *path, struct err *e)
{
	struct check_results c = {0};
	int rc = doctor_kernel_image(&c, path, e);

	for (int i = 0; i < c.n; i++) {
		printf("%s: %s\n", check_status_name(c.v[i].status), c.v[i].value);
		if (c.v[i].advice)
			printf("      %s\n", c.v[i].advice);
		if (c.v[i].status == CHECK_FAIL)
			rc = err_set(e, ENOEXEC, "%s cannot be loaded", path);
	}
	check_results_free(&c);
	return rc;
}

static int dump(const struct options *o, const struct root *root, struct err *e)
{
	int n = dump_machine(root, o->dump, e);

	if (n < 0)
		return n;
	fprintf(stderr, "%s: %d files; unpack it and give the folder to --sysroot\n", o->dump, n);
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	cleanup_root struct root root = ROOT_INIT;
	struct options o = {0};
	struct err e = ERR_INIT;
	int rc;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.kernel)
		return look_at_kernel(o.kernel, &e) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	rc = root_open(&root, o.sysroot, &e);
	if (rc == 0)
		rc = o.dump ? dump(&o, &root, &e) : examine(&o, &root, &e);
	if (rc < 0) {
		fprintf(stderr, "mksplit doctor: %s\n", e.text);
		return e.exit;
	}
	return EXIT_SUCCESS;
}
