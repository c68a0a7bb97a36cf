// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/detect.h"

#include <errno.h>
#include <fcntl.h>
#include <libfdt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/mklinux/abi.h"

static const char *const names[] = {
	[MK_GEN_NONE] = "none", [MK_GEN_SPAWN] = "spawn", [MK_GEN_UNKNOWN] = "unknown",
	[MK_GEN_G0] = "G0",	[MK_GEN_G1] = "G1",	  [MK_GEN_G1A] = "G1a",
	[MK_GEN_G1B] = "G1b",	[MK_GEN_G2A] = "G2a",	  [MK_GEN_G2B] = "G2b",
};

const char *mk_generation_name(enum mk_generation g)
{
	return names[g];
}

static void found(struct mk_detection *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void found(struct mk_detection *d, const char *fmt, ...)
{
	size_t len = strlen(d->evidence);
	va_list ap;

	if (len)
		len += (size_t)snprintf(d->evidence + len, sizeof(d->evidence) - len, "; ");
	if (len >= sizeof(d->evidence))
		return;
	va_start(ap, fmt);
	vsnprintf(d->evidence + len, sizeof(d->evidence) - len, fmt, ap);
	va_end(ap);
}

/* The N of "-mkN" in the release: a build-time string, so only a hint. 0 without one. */
static int release_number(const struct root *root)
{
	cleanup_free char *release = NULL;
	struct err e = ERR_INIT;
	const char *at;

	if (root_read(root, &release, &e, "/proc/sys/kernel/osrelease"))
		return 0;
	at = strstr(release, "-mk");
	return at && at[3] >= '0' && at[3] <= '9' ? atoi(at + 3) : 0;
}

/* G1a and G1b differ in the width of a CPU's number, and nothing safe can ask (step 7). */
static enum mk_generation which_g1(struct mk_detection *d, const struct root *root,
				   const struct mk_tree *t)
{
	cleanup_free char *cmdline = NULL;
	struct err e = ERR_INIT;

	if (t->odd_cpu_cells) {
		found(d, "CPU lists in 4-byte cells");
		return MK_GEN_G1A;
	}
	if (!root_read(root, &cmdline, &e, "/proc/cmdline") && strstr(cmdline, "mkkernel_pool=")) {
		found(d, "mkkernel_pool= on the kernel command line");
		return MK_GEN_G1A;
	}
	if (root_exists(root, "/dev/lazy_cma") || root_exists(root, "/sys/module/lazy_cma")) {
		found(d, "the allocator module lazy_cma is loaded");
		return MK_GEN_G1B;
	}
	return MK_GEN_G1;
}

static enum mk_generation which_g2(struct mk_detection *d, const struct root *root,
				   const struct mk_tree *t)
{
	int n = release_number(root);

	if (n == 2 || (n == 0 && !t->has_root_cells)) {
		found(d, n ? "the release ends in -mk2"
			   : "its tree has no #address-cells at the root");
		return MK_GEN_G2A;
	}
	if (n)
		found(d, "the release ends in -mk%d", n);
	else
		found(d, "its tree has #address-cells at the root");
	return MK_GEN_G2B;
}

/*
 * An empty fragment for /instances: both generations apply it and change nothing; the newer
 * shows its target in the transaction's file "instance", the older shows "unknown".
 */
static int empty_overlay(struct mk_blob *b, struct err *e)
{
	const size_t room = 512;
	void *fdt = calloc(1, room);
	int rc;

	if (!fdt)
		return err_set(e, ENOMEM, "out of memory");
	b->data = fdt;
	rc = fdt_create(fdt, (int)room);
	rc = rc ? rc : fdt_finish_reservemap(fdt);
	rc = rc ? rc : fdt_begin_node(fdt, "");
	rc = rc ? rc : fdt_begin_node(fdt, "fragment@0");
	rc = rc ? rc : fdt_property_string(fdt, "target-path", "/instances");
	rc = rc ? rc : fdt_begin_node(fdt, "__overlay__");
	for (int i = 0; i < 3; i++)
		rc = rc ? rc : fdt_end_node(fdt);
	rc = rc ? rc : fdt_finish(fdt);
	if (rc)
		return err_set(e, EINVAL, "libfdt: %s", fdt_strerror(rc));
	b->len = fdt_totalsize(fdt);
	return 0;
}

static enum mk_generation ask_kernel(struct mk_detection *d, struct mk_host *h,
				     const struct mk_tree *t)
{
	cleanup_blob struct mk_blob b = MK_BLOB_INIT;
	cleanup_free char *target = NULL;
	struct err e = ERR_INIT;
	int tx = -1;

	if (empty_overlay(&b, &e) || mk_apply_blob(h, &b, "the empty probe", &e)) {
		found(d, "an empty transaction was refused (%.200s)", e.text);
		return MK_GEN_UNKNOWN;
	}
	tx = h->last_tx;
	if (root_read(h->root, &target, &e, MK_FS_PATH "/overlays/tx_%d/instance", tx)) {
		found(d, "an empty transaction shows no target");
		return MK_GEN_UNKNOWN;
	}
	found(d, "an empty transaction shows its target as \"%.40s\"", target);
	if (strcmp(target, "/instances") == 0)
		return which_g2(d, h->root, t);
	return strcmp(target, "unknown") == 0 ? which_g1(d, h->root, t) : MK_GEN_UNKNOWN;
}

static enum mk_generation look(struct mk_detection *d, struct mk_host *h, const struct mk_tree *t,
			       bool ask)
{
	int n = release_number(h->root);

	if (t->id > 0) {
		found(d, "the root tree has the id %lld", (long long)t->id);
		return MK_GEN_SPAWN;
	}
	if (t->nchunks || t->has_cells || t->has_available) {
		found(d, "the root tree has %s",
		      t->nchunks     ? "memory@ nodes"
		      : t->has_cells ? "#address-cells"
				     : "cpus-available");
		return which_g2(d, h->root, t);
	}
	if (t->has_memory_property) {
		found(d, "the root tree has memory-base or memory-bytes");
		return which_g1(d, h->root, t);
	}
	if (t->odd_cpu_cells)
		return which_g1(d, h->root, t);
	if (ask)
		return ask_kernel(d, h, t);
	if (n >= 2) {
		found(d, "nothing but the release, which ends in -mk%d (a run asks the kernel)", n);
		return n == 2 ? MK_GEN_G2A : MK_GEN_G2B;
	}
	if (n == 1) {
		found(d, "nothing but the release, which ends in -mk1");
		return which_g1(d, h->root, t);
	}
	found(d, "the tree has no mark (a run asks the kernel)");
	return MK_GEN_UNKNOWN;
}

int mk_detect(struct mk_detection *d, struct mk_host *h, bool ask, struct err *e)
{
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	int rc;

	*d = (struct mk_detection){0};
	if (!mk_is_multikernel(h->root)) {
		found(d, "/proc/filesystems has no multikernel");
		return 0;
	}
	if (!mk_is_mounted(h->root)) {
		found(d, "its file system is not mounted");
		d->generation = MK_GEN_UNKNOWN;
		return 0;
	}
	if (!root_exists(h->root, MK_FS_PATH "/overlays")) {
		found(d, "there is no folder overlays/");
		d->generation = MK_GEN_G0;
		return 0;
	}
	rc = mk_read_root(h, &t, e);
	if (rc)
		return rc;
	d->generation = look(d, h, &t, ask);
	return 0;
}

int mk_check_generation(const struct mk_detection *d, struct err *e)
{
	const char *ev = d->evidence;

	switch (d->generation) {
	case MK_GEN_G2A:
	case MK_GEN_G2B:
		return 0;
	case MK_GEN_NONE:
		return err_set(
			e, ENODEV,
			"this is no multikernel host (%s): boot a kernel of v7.0-mk2 or later", ev);
	case MK_GEN_SPAWN:
		return err_set(e, ENODEV,
			       "this is a spawn kernel itself (%s): run mksplit on the host", ev);
	case MK_GEN_UNKNOWN:
		return err_set(e, ENODEV,
			       "the host's multikernel ABI is not known (%s): attach the output of "
			       "`mksplit try` to a report",
			       ev);
	case MK_GEN_G0:
		return err_set(
			e, ENODEV,
			"the host speaks the ABI of the first patch series (G0: %s), which is "
			"obsolete: boot v7.0-mk2 or later",
			ev);
	case MK_GEN_G1A:
		return err_set(
			e, ENODEV,
			"the host speaks the ABI with 32-bit CPU numbers (G1a: %s), to which a "
			"64-bit one means CPU 0: boot v7.0-mk2 or later",
			ev);
	case MK_GEN_G1:
		return err_set(
			e, ENODEV,
			"the host speaks the ABI before v7.0-mk2 (%s), and whether its CPU "
			"numbers have 32 or 64 bits cannot be asked safely: boot v7.0-mk2 or "
			"later",
			ev);
	case MK_GEN_G1B:
		return err_set(
			e, ENODEV,
			"the host speaks the ABI of July and August 2026 (G1b: %s), which takes "
			"its pool from the module lazy_cma: boot v7.0-mk2 or later",
			ev);
	}
	return err_set(e, ENODEV, "the host's multikernel ABI is not known");
}
