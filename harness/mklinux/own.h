/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_OWN_H
#define MKSPLIT_MKLINUX_OWN_H

#include <sys/types.h>

#include "harness/backend/backend.h"
#include "harness/backend/local.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/console.h"
#include "harness/mklinux/detect.h"
#include "harness/mklinux/host.h"
#include "harness/mklinux/kernels.h"

/* What the backend keeps, shared by its files and seen by no other. */

/* A kernel of the arm that is up, or on its way up or down. */
struct mk_live {
	int entry; /* of the journal; 0 while there is no instance */
	struct mk_console *console;
	char *socket; /* path that serves `mksplit console`, NULL for the host's partition */
	int64_t booted_ns; /* 0: not booted */
	bool alone; /* a load failed in a way after which nothing may be done with it */
	struct local_process agent; /* host partition: its process */
	int agent_fd; /* host partition: our end of its link, -1 when given away */
};

struct mk_own {
	struct mk_host host;
	struct mk_detection detection;
	uint64_t block; /* bytes of a memory block */
	struct mk_pool pool;
	struct cpumask in_pool; /* CPUs that are there now; empty before it is taken */
	bool pool_taken;
	const struct plan_arm *arm; /* that kernels and live are of */
	struct mk_kernels kernels;
	struct mk_live *live; /* one a partition */
	bool overlay_applied;
	bool rehearsing; /* CPUs stay in the pool between this and the first arm */
};

static inline struct mk_own *mk_own(const struct backend *b)
{
	return b->own;
}

/* rehearse.c: one CPU and one block of memory up to the agent's hello and back. */
int mk_rehearse(struct backend *b, struct err *e);

/* steps.c */
int mk_plan(struct backend *b, const struct layout *is, const struct layout *want,
	    struct steps *out, struct err *e);
int mk_step_apply(struct backend *b, const struct step *s, struct err *e);
/* Forgets the arm: closes consoles, frees. Instances are not touched. */
void mk_forget_arm(struct mk_own *o);

/* bringup.c: one function a kind of step; partition is an index into the arm. */
int mk_mount_step(struct backend *b, struct err *e);
int mk_take_pool(struct backend *b, struct err *e);
int mk_move_cpus(struct backend *b, const struct cpumask *cpus, bool home, struct err *e);
int mk_create(struct backend *b, int partition, struct err *e);
int mk_connect(struct backend *b, int partition, struct err *e);
int mk_load_kernel(struct backend *b, int partition, struct err *e);
int mk_boot_kernel(struct backend *b, int partition, struct err *e);
int mk_stop_kernel(struct backend *b, int partition, struct err *e);
int mk_unload_kernel(struct backend *b, int partition, struct err *e);
int mk_remove(struct backend *b, int partition, struct err *e);
/* The kernel command line of a partition; the caller frees, NULL without memory. */
char *mk_cmdline(const struct backend *b, int partition);

/* hostagent.c: the agent of the host's own partition. */
int mk_start_agent(struct backend *b, int partition, struct err *e);
int mk_stop_agent(struct backend *b, int partition, struct err *e);
void mk_end_agent(struct mk_live *l);

/* useroverlay.c: {"overlay": {"apply": FILE, "undo": FILE}} of an arm's settings. */
int mk_user_overlay_check(const struct plan_arm *arm, struct err *e);
bool mk_has_user_overlay(const struct plan_arm *arm);
int mk_user_overlay(struct backend *b, const struct plan_arm *arm, bool undo, struct err *e);

/* probe.c */
int mk_probe(struct backend *b, struct check_results *out, struct err *e);

/* state.c */
enum kernel_state mk_state(struct backend *b, int partition, char *why, size_t size);

#endif
