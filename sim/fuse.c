// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mount.h>

#include "sim/fault.h"
#include "sim/fuse_impl.h"
#include "sim/kmsg.h"
#include "sim/mktty.h"

/*
 * The FUSE side of vfs.h. Inode numbers stand for paths: a path that was once looked up
 * keeps its number. Nothing is cached by the kernel, because everything may change.
 */

struct vfs *vfs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

const char *vfs_path_of(struct vfs *f, fuse_ino_t ino)
{
	return ino >= 1 && ino <= f->npaths ? f->paths[ino - 1] : NULL;
}

/* 0 without memory. */
static fuse_ino_t ino_of(struct vfs *f, const char *path)
{
	for (size_t i = 0; i < f->npaths; i++)
		if (strcmp(f->paths[i], path) == 0)
			return i + 1;
	if (f->npaths == f->size_paths) {
		size_t size = f->size_paths ? f->size_paths * 2 : 1024;
		char **paths = realloc(f->paths, size * sizeof(*paths));

		if (!paths)
			return 0;
		f->paths = paths;
		f->size_paths = size;
	}
	f->paths[f->npaths] = strdup(path);
	return f->paths[f->npaths] ? ++f->npaths : 0;
}

static void fill_stat(const struct vnode *v, fuse_ino_t ino, struct stat *st)
{
	static const mode_t types[] = {[V_DIR] = S_IFDIR, [V_FILE] = S_IFREG, [V_LINK] = S_IFLNK};

	*st = (struct stat){.st_ino = ino,
			    .st_mode = types[v->type] | v->mode,
			    .st_nlink = v->type == V_DIR ? 2 : 1,
			    .st_size = v->type == V_LINK   ? (off_t)v->text.len
				       : v->type == V_FILE ? SIM_PAGE
							   : 0,
			    .st_blksize = SIM_PAGE};
}

/* The size of /dev/kmsg is its end, so that a client can seek there. */
static void special_size(struct vfs *f, const char *path, struct stat *st)
{
	if (strcmp(path, "host/kmsg") == 0)
		st->st_size = (off_t)kmsg_size(f->sim->kmsg);
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct vfs *f = vfs_of(req);
	const char *folder = vfs_path_of(f, parent);
	struct fuse_entry_param entry = {0};
	char path[1024];
	struct vnode v;

	if (!folder || snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name) >=
			       (int)sizeof(path)) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	vfs_render(f->sim, path, fuse_req_ctx(req)->pid, &v);
	entry.ino = v.type == V_NONE ? 0 : ino_of(f, path);
	if (entry.ino) {
		fill_stat(&v, entry.ino, &entry.attr);
		special_size(f, path, &entry.attr);
	}
	buf_free(&v.text);
	if (!entry.ino)
		fuse_reply_err(req, ENOENT);
	else
		fuse_reply_entry(req, &entry);
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct vfs *f = vfs_of(req);
	const char *path = vfs_path_of(f, ino);
	struct stat st;
	struct vnode v;

	if (!path) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	vfs_render(f->sim, path, fuse_req_ctx(req)->pid, &v);
	buf_free(&v.text);
	if (v.type == V_NONE) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	fill_stat(&v, ino, &st);
	special_size(f, path, &st);
	fuse_reply_attr(req, &st, 0);
}

/* O_TRUNC and chmod of a sysfs-like file are harmless and change nothing. */
static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	on_getattr(req, ino, fi);
}

static void on_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct vfs *f = vfs_of(req);
	const char *path = vfs_path_of(f, ino);
	struct vnode v = {0};

	if (path)
		vfs_render(f->sim, path, fuse_req_ctx(req)->pid, &v);
	if (v.type != V_LINK || v.text.failed || !v.text.data)
		fuse_reply_err(req, EINVAL);
	else
		fuse_reply_readlink(req, v.text.data);
	buf_free(&v.text);
}

static void on_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct vfs *f = vfs_of(req);
	const char *path = vfs_path_of(f, ino);
	struct buf *names;
	struct vnode v = {0};

	if (path)
		vfs_render(f->sim, path, fuse_req_ctx(req)->pid, &v);
	names = malloc(sizeof(*names));
	if (v.type != V_DIR || v.text.failed || !names) {
		buf_free(&v.text);
		free(names);
		fuse_reply_err(req, v.type == V_NONE ? ENOENT : v.type == V_DIR ? ENOMEM : ENOTDIR);
		return;
	}
	*names = v.text;
	fi->fh = (uintptr_t)names;
	fuse_reply_open(req, fi);
}

static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	const struct buf *names = (const struct buf *)(uintptr_t)fi->fh;
	cleanup_free char *out = malloc(size);
	struct stat st = {.st_ino = ino, .st_mode = S_IFDIR};
	size_t used = 0, n;
	off_t index = off;

	if (!out) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	/* 0 and 1 are the dot entries; from 2 on the offset is a position in the names. */
	for (; index < 2; index++) {
		n = fuse_add_direntry(req, out + used, size - used, index ? ".." : ".", &st,
				      index + 1);
		if (n > size - used)
			break;
		used += n;
	}
	st.st_mode = 0; /* unknown: who asks looks it up */
	while (index >= 2 && (size_t)(index - 2) < names->len) {
		const char *name = names->data + index - 2;
		off_t next = index + (off_t)strlen(name) + 1;

		st.st_ino = 0xffffffff;
		n = fuse_add_direntry(req, out + used, size - used, name, &st, next);
		if (n > size - used)
			break;
		used += n;
		index = next;
	}
	fuse_reply_buf(req, out, used);
}

static void on_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct buf *names = (struct buf *)(uintptr_t)fi->fh;

	buf_free(names);
	free(names);
	fuse_reply_err(req, 0);
}

/* rmdir below the control file system: 2.3, 6.7 and step 9 of 0.4. */
static void on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct vfs *f = vfs_of(req);
	struct sim *s = f->sim;
	const char *folder = vfs_path_of(f, parent);
	bool later = s->options.abi == ABI_G2B;
	struct tx *t;
	char rest;
	int id, ret;

	if (!folder || strncmp(folder, "mk", 2) != 0) {
		fuse_reply_err(req, EPERM);
		return;
	}
	if (strcmp(folder, "mk/instances") == 0) {
		sim_step(s, "rmdir", "instances/%s", name);
		if (!later)
			sim_crash(s, "rmdir of instance %s", name);
		else
			log_strict(&s->log, "rmdir of instance %s", name);
		fuse_reply_err(req, later ? EPERM : EIO);
		return;
	}
	if (strcmp(folder, "mk/overlays") != 0 || sscanf(name, "tx_%d%c", &id, &rest) != 1) {
		log_line(&s->log, "rmdir %s/%s: the probe", folder, name);
		fuse_reply_err(req, later ? EPERM : EINVAL);
		return;
	}
	sim_step(s, "rmdir", "overlays/%s", name);
	t = tx_find(s, id);
	if (!t) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	if (!later) {
		sim_crash(s, "rmdir of a transaction of this generation");
		fuse_reply_err(req, EIO);
		return;
	}
	if (t->applied)
		log_strict(&s->log, "rmdir of applied transaction %d undoes it", id);
	ret = overlay_undo(s, t);
	log_line(&s->log, "  -> %s", ret < 0 ? errno_name(ret) : "ok");
	if (ret < 0) {
		t->applied = false;
	} else {
		struct tx **at = &s->transactions;

		while (*at != t)
			at = &(*at)->next;
		*at = t->next;
		tx_free(t);
	}
	fuse_reply_err(req, -ret);
}

static void on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	fuse_reply_err(req, EPERM);
}

static const struct fuse_lowlevel_ops operations = {
	.lookup = on_lookup,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.readlink = on_readlink,
	.opendir = on_opendir,
	.readdir = on_readdir,
	.releasedir = on_releasedir,
	.open = fuse_file_open,
	.read = fuse_file_read,
	.write = fuse_file_write,
	.poll = fuse_file_poll,
	.release = fuse_file_release,
	.rmdir = on_rmdir,
	.mkdir = on_mkdir,
};

static void on_request(void *arg, int fd, unsigned events)
{
	struct vfs *f = arg;
	int n = fuse_session_receive_buf(f->session, &f->buf);

	if (n > 0)
		fuse_session_process_buf(f->session, &f->buf);
	else if (n == 0 || (n != -EINTR && n != -EAGAIN))
		loop_unwatch(f->sim->loop, fd);
}

int vfs_start(struct sim *s, const char *where, struct err *e)
{
	char *argv[] = {"mksim", NULL}, options[160], pseudo[40];
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct vfs *f = calloc(1, sizeof(*f));
	int fd;

	if (!f)
		return err_set(e, ENOMEM, "no memory");
	s->vfs = f;
	f->sim = s;
	s->mktty = mktty_new(s, fuse_file_tty_data, f);
	if (!s->mktty || ino_of(f, "") != FUSE_ROOT_ID)
		return err_set(e, ENOMEM, "no memory");
	kmsg_on_new(s->kmsg, fuse_file_new_record, f);
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "/dev/fuse (is the fuse module there?)");
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other,default_permissions", fd);
	if (mount("mksim", where, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		return err_sys(e, "cannot mount a FUSE file system on %s", where);
	f->session = fuse_session_new(&args, &operations, sizeof(operations), f);
	if (!f->session)
		return err_set(e, ENOMEM, "libfuse cannot start");
	/* libfuse's way to be handed a file system that is mounted already. */
	snprintf(pseudo, sizeof(pseudo), "/dev/fd/%d", fd);
	if (fuse_session_mount(f->session, pseudo) < 0)
		return err_set(e, EIO, "libfuse does not take the mount");
	if (loop_watch(s->loop, fuse_session_fd(f->session), POLLIN, on_request, f) < 0)
		return err_set(e, ENOMEM, "no memory");
	return 0;
}

void vfs_stop(struct sim *s)
{
	struct vfs *f = s->vfs;

	if (!f)
		return;
	while (f->files)
		fuse_file_free(f, f->files);
	if (f->session) {
		fuse_session_unmount(f->session);
		fuse_session_destroy(f->session);
	}
	for (size_t i = 0; i < f->npaths; i++)
		free(f->paths[i]);
	free(f->paths);
	free(f->buf.mem);
	free(f);
	s->vfs = NULL;
	mktty_free(s->mktty);
	s->mktty = NULL;
}
