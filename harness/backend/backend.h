/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BACKEND_BACKEND_H
#define MKSPLIT_BACKEND_BACKEND_H

#include <jansson.h>
#include <stdbool.h>

#include "common/cpumask.h"
#include "common/err.h"
#include "harness/change/journal.h"
#include "harness/machine/check.h"
#include "harness/machine/root.h"
#include "harness/machine/topology.h"
#include "harness/plan/plan.h"

/*
 * A backend brings layouts about. It observes what is, plans the steps from there to what is
 * wanted, applies one step and reads back what came of it. First boot, live move, teardown
 * and dry run are the same calls between other end points. There is no undo: undoing is the
 * steps from what is observed to what was there before.
 */

/* How far a number of this backend is evidence. Stored with every result. */
enum nature {
	NATURE_NATIVE,
	NATURE_VIRTUAL,
	NATURE_EMULATED,
	NATURE_SIMULATED
};
const char *nature_name(enum nature n);

/* A layout: which kernels run. The empty one (arm NULL) is the machine as it was. */
struct layout {
	const struct plan_arm *arm;
};

struct step {
	int number;
	int partition; /* index in the arm, or -1 */
	const char *kind; /* "start-guest", "instance-create": fixed strings of the backend */
	char *what; /* a sentence for people: what it does to what */
	json_t *blob; /* what it writes, for dry runs and results: {"path":..., "bytes" or "dts":...} or NULL */
	double expected_s;
	void *own; /* the backend's */
};

struct steps {
	struct step *v;
	int n;
	void (*free_own)(void *own);
};
void steps_free(struct steps *s);

enum kernel_state {
	KERNEL_DOWN,
	KERNEL_STARTING,
	KERNEL_RUNNING,
	KERNEL_DEAD
};

/* What a backend is given; all borrowed for its lifetime. */
struct backend_env {
	const struct root *root;
	const struct topology *topology;
	const struct plan *plan; /* NULL for doctor */
	struct journal *journal; /* NULL for doctor and plan: nothing may be changed */
	const char *bench; /* path of mksplit-bench */
	const char *run_dir; /* private folder of this run (0700), for sockets and temporary files */
	const char *results_dir; /* consoles/ and blobs/ go here; NULL for doctor and plan */
	const char *token; /* the word that agents are told and must hear */
	bool hold_on_failure;
	void (*note)(void *arg, const char *line); /* a line for --verbose */
	void *note_arg;
};

struct backend;

struct backend_ops {
	const char *name;
	const char *summary; /* one line for `list backends` */

	int (*open)(struct backend *b, struct err *e);
	void (*close)(struct backend *b);

	/* What it needs, what is there. May boot something once to find out (env->journal set). */
	int (*probe)(struct backend *b, struct check_results *out, struct err *e);
	enum nature (*nature)(struct backend *b);

	/* Steps from the layout that is up (is->arm NULL: none) to the wanted one. */
	int (*plan)(struct backend *b, const struct layout *is, const struct layout *want,
		    struct steps *out, struct err *e);
	/* Returns after the read-back. A failure says which partition, and why. */
	int (*apply)(struct backend *b, const struct step *s, struct err *e);

	/* A file descriptor to the agent of a partition of the arm that is up; the caller's. */
	int (*channel)(struct backend *b, int partition, struct err *e);
	/*
	 * A partition's agent numbers its CPUs from what it sees: the number there for a host
	 * CPU of the partition, or -1.
	 */
	int (*agent_cpu)(struct backend *b, int partition, int host_cpu);
	/* Cheap and silent: called between cells, never inside a window. why gets the reason,
	 * with the console's last lines, when it is DEAD. */
	enum kernel_state (*state)(struct backend *b, int partition, char *why, size_t size);
	/* For `console NAME`: path of a socket that serves the partition's console, or NULL. */
	const char *(*console)(struct backend *b, int partition);
};

struct backend {
	const struct backend_ops *ops;
	struct backend_env env;
	void *own;
};

extern const struct backend_ops backend_host;
extern const struct backend_ops backend_qemu;
extern const struct backend_ops backend_mklinux;

/* NULL-terminated, in the order of `list backends`. */
extern const struct backend_ops *const backends[];
const struct backend_ops *backend_find(const char *name);

int backend_open(struct backend **b, const struct backend_ops *ops, const struct backend_env *env,
		 struct err *e);
void backend_close(struct backend **b);

#endif
