// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/vfs.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

void vnode_dir(struct vnode *v, mode_t mode)
{
	v->type = V_DIR;
	v->mode = mode;
}

void vnode_file(struct vnode *v, mode_t mode)
{
	v->type = V_FILE;
	v->mode = mode;
}

void vnode_name(struct vnode *v, const char *fmt, ...)
{
	char name[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	buf_add(&v->text, name, strlen(name) + 1);
}

void vnode_link(struct vnode *v, const char *fmt, ...)
{
	char target[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(target, sizeof(target), fmt, ap);
	va_end(ap);
	v->type = V_LINK;
	v->mode = 0777;
	buf_str(&v->text, target);
}

static const char *behind(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (strncmp(path, top, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

static void render_spawns(struct sim *s, const char *path, pid_t caller, struct vnode *v)
{
	struct instance *i;
	char *end;
	long id;

	if (!*path) {
		vnode_dir(v, 0755);
		for (i = s->instances; i; i = i->next)
			if (i->nslots)
				vnode_name(v, "%d", i->id);
		return;
	}
	id = strtol(path + 1, &end, 10);
	i = instance_by_id(s, (int)id);
	if (i && i->nslots && (*end == '\0' || *end == '/'))
		view_render(s, i, *end ? end + 1 : NULL, caller, v);
}

void vfs_render(struct sim *s, const char *path, pid_t caller, struct vnode *v)
{
	const char *rest;

	*v = (struct vnode){0};
	if (!*path) {
		vnode_dir(v, 0755);
		vnode_name(v, "mk");
		vnode_name(v, "host");
		vnode_name(v, "spawn");
	} else if ((rest = behind(path, "mk"))) {
		control_render(s, *rest ? rest + 1 : NULL, v);
	} else if ((rest = behind(path, "host"))) {
		view_render(s, NULL, *rest ? rest + 1 : NULL, caller, v);
	} else if ((rest = behind(path, "spawn"))) {
		render_spawns(s, rest, caller, v);
	}
}
