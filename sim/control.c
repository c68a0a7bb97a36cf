// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "common/clock.h"
#include "sim/vfs.h"

/* The tree of /sys/fs/multikernel, section 2.1. */

static void render_instance(struct sim *s, struct instance *i, const char *file, struct vnode *v)
{
	if (!file) {
		vnode_dir(v, 0755);
		vnode_name(v, "id");
		vnode_name(v, "status");
		vnode_name(v, "device_tree");
		return;
	}
	if (strcmp(file, "id") == 0) {
		vnode_file(v, 0444);
		buf_printf(&v->text, "%d\n", i->id);
	} else if (strcmp(file, "status") == 0) {
		vnode_file(v, 0444);
		buf_printf(&v->text, "%s\n",
			   state_name(clock_ns() < i->stale_until ? i->stale_state : i->state));
	} else if (strcmp(file, "device_tree") == 0) {
		vnode_file(v, 0444);
		if (tree_instance(s, i, &v->text) < 0)
			v->text.failed = true;
	}
}

static void render_tx(const struct tx *t, const char *file, struct vnode *v)
{
	static const char *const files[] = {"id", "status", "instance", "resources", "dtbo"};

	if (!file) {
		vnode_dir(v, 0755);
		for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++)
			vnode_name(v, "%s", files[k]);
		return;
	}
	vnode_file(v, 0444);
	if (strcmp(file, "id") == 0)
		buf_printf(&v->text, "%d\n", t->id);
	else if (strcmp(file, "status") == 0)
		buf_printf(&v->text, "%s\n", t->applied ? "applied" : "failed");
	else if (strcmp(file, "instance") == 0)
		buf_printf(&v->text, "%s\n", t->first_target);
	else if (strcmp(file, "resources") == 0)
		buf_printf(&v->text, "%s\n", t->resources);
	else if (strcmp(file, "dtbo") == 0)
		buf_add(&v->text, t->blob, t->blob_size);
	else
		v->type = V_NONE;
}

/* Cuts "name/file" in two; file is NULL for the folder itself. */
static const char *split(const char *path, char *name, size_t size)
{
	size_t len = strcspn(path, "/");

	snprintf(name, size, "%.*s", (int)len, path);
	return path[len] ? path + len + 1 : NULL;
}

static void render_instances(struct sim *s, const char *path, struct vnode *v)
{
	char name[256];
	const char *file;
	struct instance *i;

	if (!path) {
		vnode_dir(v, 0755);
		for (i = s->instances; i; i = i->next)
			vnode_name(v, "%s", i->name);
		return;
	}
	file = split(path, name, sizeof(name));
	i = instance_by_name(s, name);
	if (i)
		render_instance(s, i, file, v);
}

static void render_overlays(struct sim *s, const char *path, struct vnode *v)
{
	char name[256], rest;
	const char *file;
	struct tx *t;
	int id;

	if (!path) {
		vnode_dir(v, 0755);
		vnode_name(v, "new");
		for (t = s->transactions; t; t = t->next)
			vnode_name(v, "tx_%d", t->id);
		return;
	}
	if (strcmp(path, "new") == 0) {
		vnode_file(v, 0200);
		return;
	}
	file = split(path, name, sizeof(name));
	if (sscanf(name, "tx_%d%c", &id, &rest) != 1)
		return;
	t = tx_find(s, id);
	if (t)
		render_tx(t, file, v);
}

void control_render(struct sim *s, const char *path, struct vnode *v)
{
	char top[64];
	const char *rest;

	if (!path) {
		vnode_dir(v, 0755);
		vnode_name(v, "device_tree");
		vnode_name(v, "instances");
		vnode_name(v, "overlays");
		return;
	}
	rest = split(path, top, sizeof(top));
	if (strcmp(top, "instances") == 0) {
		render_instances(s, rest, v);
	} else if (strcmp(top, "overlays") == 0) {
		render_overlays(s, rest, v);
	} else if (strcmp(top, "device_tree") == 0 && !rest) {
		vnode_file(v, 0644);
		if (tree_root(s, &v->text) < 0)
			v->text.failed = true;
	}
}
