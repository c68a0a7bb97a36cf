/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BACKEND_QEMU_GUEST_H
#define MKSPLIT_BACKEND_QEMU_GUEST_H

#include "harness/backend/backend.h"
#include "harness/backend/local.h"
#include "harness/backend/qemu/qmp.h"

/* One guest: a partition, the QEMU process that is its machine, and the ways to both. */
struct guest {
	const struct plan_partition *partition;
	const struct plan_kernel *kernel;
	struct local_process process;
	struct qmp *qmp;
	char *console; /* socket of the serial port with the kernel's console */
	char *link; /* socket of the one with the link */
	char *control; /* socket of QMP */
	char *log; /* what the console said */
	off_t log_start; /* where this boot begins in it */
	bool linked; /* the link was given out, so the agent may hear OFF */
	int *cpus; /* host CPU of each virtual CPU, in the guest's numbering */
	int ncpus;
};

/* The machine that mirrors a set of CPUs: what -smp says. */
struct guest_shape {
	int sockets, cores, threads;
	bool flat; /* the set is uneven, or QEMU cannot boot its like: one socket, no SMT */
};

/*
 * Virtual CPUs in the order of QEMU and of Linux in the guest (socket, core, thread): the
 * partition's CPUs in topology order. Fills g->cpus.
 */
int guest_order(struct guest *g, const struct topology *t, struct err *e);
struct guest_shape guest_shape(const struct guest *g, const struct topology *t);

/* Where the kernel image is: as the plan says, or found ("auto"). The caller frees. */
int guest_image(char **path, const struct plan_kernel *k, struct err *e);

/* QEMU's whole command line. Freed with words_free(). */
struct words {
	char **v;
	int n;
	bool failed; /* memory ran out */
};
void words_add(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void words_free(struct words *w);
#define cleanup_words cleanup(words_free)

struct guest_files {
	const char *image, *initramfs;
};
void guest_command(struct words *w, const struct guest *g, const struct guest_files *f, bool kvm,
		   const struct backend_env *env);

/* QEMU for this machine's kind of CPU, from PATH; the caller frees. */
int find_qemu(char **path, struct err *e);

/*
 * Whether a guest boots under KVM here: a kernel is booted until it panics for want of a root
 * file system. The answer is kept until the machine boots again. *why (the caller frees) says how it
 * is known. Negative on a failure of ours.
 */
int kvm_works(const char *qemu, const char *image, const struct backend_env *env, char **why,
	      struct err *e);

#endif
