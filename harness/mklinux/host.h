/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MKLINUX_HOST_H
#define MKSPLIT_MKLINUX_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "harness/machine/root.h"
#include "harness/mklinux/request.h"
#include "harness/mklinux/tree.h"

/*
 * The control file system of a multikernel host (docs/mklinux-abi.md 2, appendix C.1). One
 * thread alone uses it: some releases do not protect overlays, loads and boots against each other
 * (6.6).
 */
#define MK_PREFIX_MAX 48

struct mk_host {
	const struct root *root; /* borrowed */
	/*
	 * Starts the mk,resources word of every transaction of this run, and is kept in the
	 * journal: by it a later process knows what is ours.
	 */
	char prefix[MK_PREFIX_MAX];
	unsigned serial; /* of the next transaction */
	int last_tx; /* N of the last overlay's tx_N, -1 if it was not found */
	const char *blobs; /* folder where every blob written is kept, or NULL; borrowed */
	/* A line for transcripts and --verbose, or NULL. */
	void (*say)(void *arg, const char *line);
	void *say_arg;
	bool transcript; /* says every tree that is written or read, as source */
};

/* token: a word of letters and digits that is unique to this run. */
void mk_host_init(struct mk_host *h, const struct root *root, const char *token);
void mk_say(const struct mk_host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Into a transcript, if there is one. */
void mk_say_tree(const struct mk_host *h, const char *what, const void *data, size_t len);

/* "/proc/filesystems" has it; it is mounted (and statfs agrees, on the real root). */
bool mk_is_multikernel(const struct root *root);
bool mk_is_mounted(const struct root *root);
int mk_mount(const struct root *root, struct err *e);

/* Trees, read whole: an instance's comes page by page and may be torn between two (2.3). */
int mk_read_root(const struct mk_host *h, struct mk_tree *t, struct err *e);
int mk_read_instance(const struct mk_host *h, const char *name, struct mk_tree *t, struct err *e);

/* "ready", "loaded", "active" ... (7.2), "" when there is no such instance. */
#define MK_STATUS_MAX 32
void mk_status(const struct mk_host *h, const char *name, char status[MK_STATUS_MAX]);
/* The id of an instance, or -1. */
int mk_instance_id(const struct mk_host *h, const char *name);

/* Names in instances/, sorted; free with mk_names_free(). */
struct mk_names {
	char **v;
	int n;
};
int mk_instances(const struct mk_host *h, struct mk_names *names, struct err *e);
void mk_names_free(struct mk_names *names);
#define cleanup_names cleanup(mk_names_free)

/*
 * Applies a request: one write for a baseline, as many overlays as it needs otherwise, each found
 * again by its nonce and its status read. An EBUSY is tried again a few times. Returns the
 * errno from the kernel log where it can be had, -EIO where it cannot. What is then true has to
 * be read back by the caller, success or not (3.4, 6.8).
 */
int mk_apply(struct mk_host *h, const struct mk_request *r, struct err *e);

/* One overlay of a user, whose blob has at most a page; `what` names it in messages. */
int mk_apply_blob(struct mk_host *h, const struct mk_blob *b, const char *what, struct err *e);

/*
 * The nonce of the next transaction, "PREFIX-SERIAL-OPERATION[-INSTANCE]": says whose it is and
 * what it made, so that an instance can be told to be ours from the transactions alone.
 */
void mk_nonce(const struct mk_host *h, const struct mk_request *r, char nonce[MK_NONCE_MAX]);

/* True when an applied transaction of this prefix created the instance. */
bool mk_is_ours(const struct root *root, const char *prefix, const char *instance);

#endif
