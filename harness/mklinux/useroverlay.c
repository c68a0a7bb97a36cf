// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An overlay of the user's own, applied when the arm is up and undone before it goes down. Undoing is
 * a second overlay: removing a transaction's folder, the kernel's own way, can crash some
 * releases (docs/mklinux-abi.md 6.7).
 */
#include <errno.h>
#include <fcntl.h>
#include <libfdt.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/mklinux/own.h"

static const char *file_of(const struct plan_arm *arm, const char *key)
{
	json_t *o = arm && arm->settings ? json_object_get(arm->settings, "overlay") : NULL;

	return json_string_value(json_object_get(o, key));
}

bool mk_has_user_overlay(const struct plan_arm *arm)
{
	return arm && arm->settings && json_object_get(arm->settings, "overlay");
}

/* Memory of an instance must not be touched: it can stop the host (11.7). */
static int check_fragment(const void *fdt, int fragment, struct err *e)
{
	const char *target = fdt_getprop(fdt, fragment, "target-path", NULL);
	int overlay = fdt_subnode_offset(fdt, fragment, "__overlay__"), node;

	if (!target || overlay < 0)
		return err_set(e, EINVAL, "a fragment without target-path or __overlay__");
	if (strncmp(target, "/instances/", 11) != 0)
		return 0;
	fdt_for_each_subnode(node, fdt, overlay) {
		const char *name = fdt_get_name(fdt, node, NULL);

		if (name && strncmp(name, "memory-", 7) == 0)
			return err_set(
				e, EINVAL,
				"%s on %s: memory operations on an instance can crash the host",
				name, target);
	}
	return 0;
}

static int read_overlay(struct mk_blob *b, const char *path, struct err *e)
{
	cleanup_free char *data = NULL;
	size_t len;
	int fragment, rc = read_file_at(AT_FDCWD, path, 1 << 20, &data, &len, e);

	if (rc)
		return rc;
	if (fdt_check_full(data, len) || fdt_totalsize(data) != len)
		return err_usage(
			e, "overlay %s is no device-tree blob: compile it with dtc -I dts -O dtb",
			path);
	fdt_for_each_subnode(fragment, data, 0) {
		rc = check_fragment(data, fragment, e);
		if (rc)
			return err_wrap(e, "overlay %s", path);
	}
	b->data = take_ptr(data);
	b->len = len;
	return 0;
}

int mk_user_overlay_check(const struct plan_arm *arm, struct err *e)
{
	static const char *const keys[] = {"apply", "undo"};

	if (!mk_has_user_overlay(arm))
		return 0;
	for (int i = 0; i < 2; i++)
		if (!file_of(arm, keys[i]))
			return err_usage(e,
					 "arm \"%s\": settings.overlay needs \"apply\" and "
					 "\"undo\", each the path "
					 "of a compiled overlay",
					 arm->name);
	for (int i = 0; i < 2; i++) {
		cleanup_blob struct mk_blob b = MK_BLOB_INIT;
		int rc = read_overlay(&b, file_of(arm, keys[i]), e);

		if (rc)
			return rc;
	}
	return 0;
}

int mk_user_overlay(struct backend *b, const struct plan_arm *arm, bool undo, struct err *e)
{
	cleanup_blob struct mk_blob blob = MK_BLOB_INIT;
	struct mk_own *o = mk_own(b);
	int rc = read_overlay(&blob, file_of(arm, undo ? "undo" : "apply"), e);

	rc = rc ? rc
		: mk_apply_blob(&o->host, &blob,
				undo ? "the plan's undo overlay" : "the plan's overlay", e);
	if (!rc)
		o->overlay_applied = !undo;
	return rc;
}
