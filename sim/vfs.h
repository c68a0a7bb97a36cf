/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_VFS_H
#define MKSPLIT_SIM_VFS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "sim/buf.h"
#include "sim/sim.h"

/*
 * The one FUSE file system of mksim. Its folders are what is bound over the real places:
 *
 *   mk/          the control file system
 *   host/        /proc, /sys and /dev files of the host
 *   spawn/ID/    the same for the kernel of an instance
 *
 * A node is rendered from its path whenever somebody looks at it, so that there is no
 * second copy of the state that could be stale.
 */
enum vtype {
	V_NONE,
	V_DIR,
	V_FILE,
	V_LINK
};

struct vnode {
	enum vtype type;
	mode_t mode; /* permission bits */
	struct buf text; /* file: content; link: target; folder: names, each with its NUL */
};

void vnode_dir(struct vnode *v, mode_t mode);
void vnode_name(struct vnode *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void vnode_file(struct vnode *v, mode_t mode);
void vnode_link(struct vnode *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Renders the node at a path without leading slash; type V_NONE when there is none. */
void vfs_render(struct sim *s, const char *path, pid_t caller, struct vnode *v);

/* control.c and view.c: the folders' contents. */
void control_render(struct sim *s, const char *path, struct vnode *v);
void view_render(struct sim *s, struct instance *i, const char *path, pid_t caller, struct vnode *v);
/* A write to a simulated switch of the machine. Returns 0 or a negative errno. */
int view_write(struct sim *s, struct instance *i, const char *path, const char *text);

/*
 * Mounts the file system on a folder of the current mount namespace and serves it from the
 * loop.
 */
int vfs_start(struct sim *s, const char *where, struct err *e);
void vfs_stop(struct sim *s);

#endif
