// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing to the control file system: docs/mklinux-abi.md C.1. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libfdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/explain.h"
#include "harness/mklinux/host.h"
#include "harness/mklinux/klog.h"

/* A lock held by somebody else is asked for again this often, waiting longer each time. */
#define BUSY_TRIES   5
#define BUSY_WAIT_US 100000

void mk_nonce(const struct mk_host *h, const struct mk_request *r, char nonce[MK_NONCE_MAX])
{
	snprintf(nonce, MK_NONCE_MAX, "%s-%u-%s%s%s", h->prefix, h->serial, mk_op_name(r->op),
		 r->instance ? "-" : "", r->instance ? r->instance : "");
}

/* Number of a transaction's folder "tx_<N>", or -1. */
static int tx_number(const char *name)
{
	char *end;
	long n;

	if (strncmp(name, "tx_", 3) != 0 || name[3] < '0' || name[3] > '9')
		return -1;
	n = strtol(name + 3, &end, 10);
	return *end || n < 0 || n > 0x7fffffff ? -1 : (int)n;
}

/* Calls f for every transaction until it returns true. */
static bool each_tx(const struct root *root, bool (*f)(const struct root *, int tx, void *arg),
		    void *arg)
{
	cleanup_dir DIR *d = root_opendir(root, MK_FS_PATH "/overlays");
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		int tx = tx_number(entry->d_name);

		if (tx >= 0 && f(root, tx, arg))
			return true;
	}
	return false;
}

static char *tx_word(const struct root *root, int tx, const char *file)
{
	struct err e = ERR_INIT;
	char *text = NULL;

	if (root_read(root, &text, &e, MK_FS_PATH "/overlays/tx_%d/%s", tx, file))
		return NULL;
	return text;
}

struct wanted_tx {
	const char *nonce;
	int tx;
};

static bool tx_has_nonce(const struct root *root, int tx, void *arg)
{
	struct wanted_tx *w = arg;
	cleanup_free char *text = tx_word(root, tx, "resources");

	if (!text || strcmp(text, w->nonce) != 0)
		return false;
	w->tx = tx;
	return true;
}

struct wanted_create {
	const char *prefix, *instance;
};

static bool tx_created(const struct root *root, int tx, void *arg)
{
	const struct wanted_create *w = arg;
	cleanup_free char *nonce = tx_word(root, tx, "resources"), *status = NULL;
	size_t n = strlen(w->prefix);
	char *end;

	if (!nonce || strncmp(nonce, w->prefix, n) != 0 || nonce[n] != '-')
		return false;
	strtoul(nonce + n + 1, &end, 10);
	if (strncmp(end, "-instance-create-", 17) != 0 || strcmp(end + 17, w->instance) != 0)
		return false;
	status = tx_word(root, tx, "status");
	return status && strcmp(status, "applied") == 0;
}

bool mk_is_ours(const struct root *root, const char *prefix, const char *instance)
{
	return each_tx(root, tx_created, &(struct wanted_create){prefix, instance});
}

/* A copy for the results folder, before the kernel sees it. */
static void keep(const struct mk_host *h, const struct mk_blob *b, const char *name)
{
	cleanup_free char *path = NULL;
	struct err e = ERR_INIT;

	mk_say(h, "write %zu bytes: %s", b->len, name);
	mk_say_tree(h, name, b->data, b->len);
	if (!h->blobs || asprintf(&path, "%s/%s.dtbo", h->blobs, name) < 0)
		return;
	if (replace_file(path, b->data, b->len, 0644, &e))
		mk_say(h, "not kept: %s", e.text);
}

/* The one write(2) that a blob is. Returns 0 or a negative errno; *cut for a short one. */
static int write_once(const struct root *root, const char *path, const struct mk_blob *b, bool *cut)
{
	cleanup_close int fd = root_open_file(root, O_WRONLY | O_NOFOLLOW, "%s", path);
	ssize_t n;

	*cut = false;
	if (fd < 0)
		return -errno;
	n = write(fd, b->data, b->len);
	if (n < 0)
		return -errno;
	*cut = (size_t)n != b->len;
	return 0;
}

static int overlay_once(struct mk_host *h, const struct mk_blob *b, const char *nonce, struct err *e)
{
	struct wanted_tx w = {nonce, -1};
	cleanup_close int log_fd = klog_mark();
	cleanup_free char *status = NULL;
	char log[16384] = "", why[512];
	bool cut;
	int rc;

	keep(h, b, nonce);
	rc = write_once(h->root, MK_FS_PATH "/overlays/new", b, &cut);
	h->serial++;
	h->last_tx = -1;
	if (rc)
		return mk_err(e, MK_CALL_OVERLAY_WRITE, rc);
	if (cut)
		return err_set(
			e, EIO,
			"the kernel took only a part of the overlay: its state is unknown, end "
			"all instances and reboot the host");
	if (!each_tx(h->root, tx_has_nonce, &w))
		return err_set(e, EIO, "the transaction \"%s\" is not to be found", nonce);
	h->last_tx = w.tx;
	status = tx_word(h->root, w.tx, "status");
	mk_say(h, "tx_%d: %s", w.tx, status ? status : "no status");
	if (status && strcmp(status, "applied") == 0)
		return 0;
	klog_since(log_fd, log, sizeof(log));
	rc = klog_overlay_errno(log, w.tx, why, sizeof(why));
	if (rc == 0)
		return err_set(
			e, EIO,
			"the kernel refused the overlay (tx_%d is \"%s\") and its log does not "
			"say why: see the end of `dmesg`",
			w.tx, status ? status : "gone");
	mk_say(h, "kernel log: %s (%s)", mk_errno_name(rc), why);
	mk_err(e, MK_CALL_OVERLAY, rc);
	return why[0] ? err_wrap(e, "\"%s\"", why) : e->code;
}

/* Again while somebody else holds the lock; a fresh nonce each time. */
static int overlay(struct mk_host *h, const struct mk_request *r, size_t *done, struct err *e)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), from = *done;
	int rc = 0;

	for (int i = 0; i < BUSY_TRIES; i++) {
		cleanup_blob struct mk_blob b = MK_BLOB_INIT;
		char nonce[MK_NONCE_MAX];

		if (i > 0)
			usleep((unsigned)(BUSY_WAIT_US << i));
		*e = ERR_INIT;
		*done = from;
		mk_nonce(h, r, nonce);
		rc = mk_blob_next(&b, r, nonce, page, done, e);
		if (rc)
			return rc;
		rc = overlay_once(h, &b, nonce, e);
		/*
		 * Not the timeouts: the instance may have done it late, which only a read-back
		 * can tell (11.4). And with several items the first ones stay applied, so a
		 * second try would fail on those.
		 */
		if (rc != -EBUSY || *done - from > 1)
			break;
	}
	return rc;
}

int mk_apply(struct mk_host *h, const struct mk_request *r, struct err *e)
{
	size_t done = 0, items = mk_request_items(r);
	int rc = 0;

	if (r->op == MK_BASELINE) {
		cleanup_blob struct mk_blob b = MK_BLOB_INIT;
		char name[MK_NONCE_MAX];
		bool cut;

		rc = mk_blob_next(&b, r, NULL, MK_TREE_MAX, &done, e);
		if (rc)
			return rc;
		mk_nonce(h, r, name);
		keep(h, &b, name);
		h->serial++;
		rc = write_once(h->root, MK_FS_PATH "/device_tree", &b, &cut);
		mk_say(h, "device_tree: %s", rc ? mk_errno_name(rc) : "taken");
		if (rc)
			return mk_err(e, MK_CALL_BASELINE, rc);
		return cut ? err_set(e, EIO, "the kernel took only a part of the baseline") : 0;
	}
	while (!rc && done < items)
		rc = overlay(h, r, &done, e);
	if (rc)
		err_wrap(e, "%s%s%s", mk_op_name(r->op), r->instance ? " " : "",
			 r->instance ? r->instance : "");
	return rc;
}

int mk_apply_blob(struct mk_host *h, const struct mk_blob *b, const char *what, struct err *e)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = b->len + MK_NONCE_MAX + 64;
	cleanup_blob struct mk_blob ours = {.data = calloc(1, room)};
	char nonce[MK_NONCE_MAX];
	int rc;

	if (!ours.data)
		return err_set(e, ENOMEM, "out of memory");
	snprintf(nonce, sizeof(nonce), "%s-%u-overlay", h->prefix, h->serial);
	rc = fdt_open_into(b->data, ours.data, (int)room);
	if (!rc)
		rc = fdt_setprop_string(ours.data, 0, "mk,resources", nonce);
	if (!rc)
		rc = fdt_pack(ours.data);
	if (rc)
		return err_set(e, EINVAL, "%s: %s", what, fdt_strerror(rc));
	ours.len = fdt_totalsize(ours.data);
	if (ours.len > page)
		return err_set(e, E2BIG,
			       "%s: %zu bytes with its nonce; the kernel takes one page of %zu",
			       what, ours.len, page);
	rc = overlay_once(h, &ours, nonce, e);
	return rc ? err_wrap(e, "%s", what) : 0;
}
