// SPDX-License-Identifier: GPL-2.0-or-later
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>

#include "sim/calls_impl.h"
#include "sim/fault.h"
#include "sim/kmsg.h"
#include "sim/mktty.h"
#include "sim/vfs.h"

/*
 * The FUSE side of vfs.h. Inode numbers stand for paths: a path that was once looked up
 * keeps its number. Nothing is cached by the kernel, because everything may change.
 */

enum file_kind {
	FILE_TEXT,
	FILE_ROOT_TREE,
	FILE_INSTANCE_TREE,
	FILE_NEW,
	FILE_SWITCH, /* a simulated sysfs file that can be written */
	FILE_MKTTY,
	FILE_KMSG,
};

/* An open file. */
struct file {
	struct file *next;
	enum file_kind kind;
	char *path;
	struct buf text;
	bool filled;
	struct mktty_open *tty;
	bool nonblock;
	/* At most one read waits for each file; poll has one handle. */
	fuse_req_t waiting;
	size_t waiting_size;
	off_t waiting_offset;
	struct fuse_pollhandle *poll;
	uint64_t seen; /* end of what was read of /dev/kmsg */
};

struct vfs {
	struct sim *sim;
	struct fuse_session *session;
	struct fuse_buf buf;
	char **paths; /* paths[ino - 1] */
	size_t npaths, size_paths;
	struct file *files;
};

static struct vfs *vfs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static const char *path_of(struct vfs *f, fuse_ino_t ino)
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
	const char *folder = path_of(f, parent);
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
	const char *path = path_of(f, ino);
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
	const char *path = path_of(f, ino);
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
	const char *path = path_of(f, ino);
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

static enum file_kind kind_of(const char *path)
{
	size_t len = strlen(path);

	if (strcmp(path, "mk/device_tree") == 0)
		return FILE_ROOT_TREE;
	if (strcmp(path, "mk/overlays/new") == 0)
		return FILE_NEW;
	if (strncmp(path, "mk/instances/", 13) == 0 && len > 12 &&
	    strcmp(path + len - 12, "/device_tree") == 0)
		return FILE_INSTANCE_TREE;
	if (strcmp(path, "host/mktty") == 0)
		return FILE_MKTTY;
	if (strcmp(path, "host/kmsg") == 0)
		return FILE_KMSG;
	if (strncmp(path, "host/", 5) == 0)
		return FILE_SWITCH;
	return FILE_TEXT;
}

static void file_free(struct vfs *f, struct file *file)
{
	struct file **at = &f->files;

	while (*at && *at != file)
		at = &(*at)->next;
	if (*at)
		*at = file->next;
	if (file->tty)
		mktty_disconnect(file->tty);
	if (file->poll)
		fuse_pollhandle_destroy(file->poll);
	buf_free(&file->text);
	free(file->path);
	free(file);
}

static void reply_open(fuse_req_t req, struct file *file)
{
	/*
	 * libfuse has no way to say FOPEN_STREAM. Without it a read that waits would keep the
	 * lock of the file position, and a write of another thread would wait behind it.
	 */
	struct fuse_open_out out = {.fh = (uintptr_t)file, .open_flags = FOPEN_DIRECT_IO};

	if (file->kind == FILE_MKTTY)
		out.open_flags |= FOPEN_STREAM | FOPEN_NONSEEKABLE;
	fuse_reply_buf(req, (const char *)&out, sizeof(out));
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct vfs *f = vfs_of(req);
	const char *path = path_of(f, ino);
	struct file *file;
	struct vnode v = {0};

	if (path)
		vfs_render(f->sim, path, fuse_req_ctx(req)->pid, &v);
	buf_free(&v.text);
	if (v.type != V_FILE) {
		fuse_reply_err(req, v.type == V_NONE ? ENOENT : EINVAL);
		return;
	}
	file = calloc(1, sizeof(*file));
	if (file) {
		file->path = strdup(path);
		file->kind = kind_of(path);
		file->nonblock = fi->flags & O_NONBLOCK;
		if (file->kind == FILE_MKTTY)
			file->tty = mktty_connect(f->sim->mktty);
	}
	if (!file || !file->path || (file->kind == FILE_MKTTY && !file->tty)) {
		if (file)
			file_free(f, file);
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (file->kind == FILE_KMSG)
		file->seen = kmsg_size(f->sim->kmsg);
	file->next = f->files;
	f->files = file;
	reply_open(req, file);
}

static void wake(struct file *file)
{
	if (file->poll) {
		fuse_lowlevel_notify_poll(file->poll);
		fuse_pollhandle_destroy(file->poll);
		file->poll = NULL;
	}
}

static void on_interrupt(fuse_req_t req, void *data)
{
	struct file *file = data;

	if (file->waiting == req) {
		file->waiting = NULL;
		fuse_reply_err(req, EINTR);
	}
}

/* Keeps the request until there is something to read. */
static void wait_for_data(fuse_req_t req, struct file *file, size_t size, off_t off)
{
	if (file->waiting) {
		fuse_reply_err(req, EBUSY); /* a second reader of one open file */
		return;
	}
	file->waiting = req;
	file->waiting_size = size;
	file->waiting_offset = off;
	fuse_req_interrupt_func(req, on_interrupt, file);
}

/* Returns false when it has to wait. */
static bool read_mktty(fuse_req_t req, struct file *file, size_t size)
{
	cleanup_free char *data = malloc(size ? size : 1);
	ssize_t n = data ? mktty_read(file->tty, data, size) : -ENOMEM;

	if (n == -EAGAIN && !file->nonblock)
		return false;
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, data, n);
	return true;
}

static bool read_kmsg(fuse_req_t req, struct vfs *f, struct file *file, size_t size, off_t off)
{
	uint64_t at = off;
	const char *record;
	int n = kmsg_record(f->sim->kmsg, &at, &record);

	if (n == 0 && !file->nonblock)
		return false;
	if (n < 0)
		fuse_reply_err(req, -n);
	else if (n == 0)
		fuse_reply_err(req, EAGAIN);
	else if ((size_t)n > size)
		fuse_reply_err(req, EINVAL);
	else {
		file->seen = at + (uint64_t)n;
		fuse_reply_buf(req, record, n);
	}
	return true;
}

static void on_tty_data(void *arg, struct mktty_open *o)
{
	struct vfs *f = arg;

	for (struct file *file = f->files; file; file = file->next) {
		fuse_req_t req = file->waiting;

		if (file->tty != o)
			continue;
		if (req) {
			file->waiting = NULL;
			if (!read_mktty(req, file, file->waiting_size))
				file->waiting = req;
		}
		if (mktty_readable(o))
			wake(file);
	}
}

static void on_new_record(void *arg)
{
	struct vfs *f = arg;

	for (struct file *file = f->files; file; file = file->next) {
		fuse_req_t req = file->waiting;

		if (file->kind != FILE_KMSG)
			continue;
		if (req) {
			file->waiting = NULL;
			if (!read_kmsg(req, f, file, file->waiting_size, file->waiting_offset))
				file->waiting = req;
		}
		wake(file);
	}
}

/* A fresh content at offset 0; the root tree only once for each open, 2.2. */
static int fill(struct vfs *f, struct file *file, pid_t caller, off_t off)
{
	struct vnode v;
	bool once = file->kind == FILE_ROOT_TREE;
	bool always = file->kind == FILE_INSTANCE_TREE;

	if (file->filled && !always && (once || off != 0))
		return 0;
	vfs_render(f->sim, file->path, caller, &v);
	if (v.type != V_FILE || v.text.failed) {
		int ret = v.text.failed ? -ENOMEM : -ENODEV;

		buf_free(&v.text);
		return ret;
	}
	buf_free(&file->text);
	file->text = v.text;
	file->filled = true;
	return 0;
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct vfs *f = vfs_of(req);
	struct file *file = (struct file *)(uintptr_t)fi->fh;
	size_t left;
	int ret;

	if (file->kind == FILE_MKTTY) {
		if (!read_mktty(req, file, size))
			wait_for_data(req, file, size, off);
		return;
	}
	if (file->kind == FILE_KMSG) {
		if (!read_kmsg(req, f, file, size, off))
			wait_for_data(req, file, size, off);
		return;
	}
	ret = fill(f, file, fuse_req_ctx(req)->pid, off);
	if (ret < 0) {
		fuse_reply_err(req, -ret);
		return;
	}
	/* The blobs of the control files come a page a call at most, 2.3 and 2.5. */
	if (strncmp(file->path, "mk/", 3) == 0 && file->kind != FILE_ROOT_TREE && size > SIM_PAGE)
		size = SIM_PAGE;
	left = (size_t)off < file->text.len ? file->text.len - (size_t)off : 0;
	fuse_reply_buf(req, file->text.data ? file->text.data + off : NULL,
		       left < size ? left : size);
}

/* An answer that is given later: a running kernel took its time. */
struct late_write {
	struct sim *sim;
	fuse_req_t req;
	size_t count;
};

static void on_late_write(void *arg)
{
	cleanup_free struct late_write *l = arg;

	l->sim->kexec_locked = false;
	fuse_reply_write(l->req, l->count);
}

static void write_new(fuse_req_t req, struct vfs *f, const char *data, size_t size, off_t off)
{
	const struct fault *fault = sim_step(f->sim, "overlay", "%zu bytes", size);
	int delay = 0;
	struct late_write *late;
	ssize_t n;

	if (off != 0)
		n = -EINVAL;
	else if (f->sim->host_dead)
		n = -EIO;
	else
		n = overlay_write(f->sim, data, size, fault, &delay);
	if (off != 0)
		log_strict(&f->sim->log, "overlays/new written at offset %lld", (long long)off);
	if (n < 0) {
		log_line(&f->sim->log, "  -> %s", errno_name((int)n));
		fuse_reply_err(req, (int)-n);
		return;
	}
	late = delay ? malloc(sizeof(*late)) : NULL;
	if (!late) {
		fuse_reply_write(req, n);
		return;
	}
	*late = (struct late_write){f->sim, req, n};
	f->sim->kexec_locked = true;
	loop_after(f->sim->loop, delay, on_late_write, late);
}

static void write_root(fuse_req_t req, struct vfs *f, const char *data, size_t size)
{
	const struct fault *fault = sim_step(f->sim, "baseline", "%zu bytes", size);
	int ret;

	if (f->sim->host_dead)
		ret = -EIO;
	else if (fault_is(fault, FAULT_ERRNO))
		ret = fault->error;
	else
		ret = baseline_write(f->sim, data, size, fault);
	if (ret == 0 && fault_is(fault, FAULT_APPLIED_BUT_ERROR))
		ret = -ENOMEM;
	log_line(&f->sim->log, "  -> %s", ret < 0 ? errno_name(ret) : "ok");
	if (ret < 0)
		fuse_reply_err(req, -ret);
	else
		fuse_reply_write(req, size);
}

static void write_switch(fuse_req_t req, struct vfs *f, struct file *file, const char *data,
			 size_t size)
{
	char text[256];
	int ret = -EINVAL;

	if (size < sizeof(text)) {
		memcpy(text, data, size);
		text[size] = '\0';
		ret = view_write(f->sim, NULL, file->path + strlen("host/"), text);
	}
	if (ret < 0)
		fuse_reply_err(req, -ret);
	else
		fuse_reply_write(req, size);
}

/* kill-before and kill-after, for the writes that are steps. */
static bool kills(fuse_req_t req, struct vfs *f, enum fault_kind kind, int step)
{
	pid_t process = task_process(fuse_req_ctx(req)->pid);

	if (!fault_is(fault_at(f->sim->options.faults, step), kind))
		return false;
	log_line(&f->sim->log, "  fault %s strikes at step %d", fault_name(kind), step);
	if (kind == FAULT_KILL_BEFORE)
		f->sim->step++;
	if (process > 1)
		kill(process, SIGKILL);
	return true;
}

static void write_step(fuse_req_t req, struct vfs *f, struct file *file, const char *data,
		       size_t size, off_t off)
{
	int step = f->sim->step + 1;

	if (kills(req, f, FAULT_KILL_BEFORE, step)) {
		fuse_reply_err(req, EINTR);
		return;
	}
	/* Sent first, so that the client never sees the answer of what is then done. */
	kills(req, f, FAULT_KILL_AFTER, step);
	if (file->kind == FILE_NEW)
		write_new(req, f, data, size, off);
	else
		write_root(req, f, data, size);
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	struct vfs *f = vfs_of(req);
	struct file *file = (struct file *)(uintptr_t)fi->fh;
	ssize_t n;

	switch (file->kind) {
	case FILE_NEW:
	case FILE_ROOT_TREE:
		write_step(req, f, file, data, size, off);
		break;
	case FILE_MKTTY:
		n = mktty_write(file->tty, data, size);
		if (n < 0)
			fuse_reply_err(req, (int)-n);
		else
			fuse_reply_write(req, n);
		break;
	case FILE_SWITCH:
		write_switch(req, f, file, data, size);
		break;
	case FILE_KMSG:
		fuse_reply_write(req, size);
		break;
	default:
		fuse_reply_err(req, EACCES);
	}
}

static void on_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		    struct fuse_pollhandle *ph)
{
	struct vfs *f = vfs_of(req);
	struct file *file = (struct file *)(uintptr_t)fi->fh;
	unsigned events = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;

	if (file->kind == FILE_MKTTY) {
		events = POLLOUT | POLLWRNORM; /* always, even when the ring is full */
		if (mktty_readable(file->tty))
			events |= POLLIN | POLLRDNORM;
	} else if (file->kind == FILE_KMSG) {
		/* The position is the kernel's: what was read last tells where the reader is. */
		events = POLLOUT | POLLWRNORM;
		if (kmsg_size(f->sim->kmsg) > file->seen)
			events |= POLLIN | POLLRDNORM;
	}
	if (ph && (file->kind == FILE_MKTTY || file->kind == FILE_KMSG)) {
		if (file->poll)
			fuse_pollhandle_destroy(file->poll);
		file->poll = ph;
	} else if (ph) {
		fuse_pollhandle_destroy(ph);
	}
	fuse_reply_poll(req, events);
}

static void on_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	file_free(vfs_of(req), (struct file *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

/* rmdir below the control file system: 2.3, 6.7 and step 9 of 0.4. */
static void on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct vfs *f = vfs_of(req);
	struct sim *s = f->sim;
	const char *folder = path_of(f, parent);
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
	.open = on_open,
	.read = on_read,
	.write = on_write,
	.poll = on_poll,
	.release = on_release,
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
	s->mktty = mktty_new(s, on_tty_data, f);
	if (!s->mktty || ino_of(f, "") != FUSE_ROOT_ID)
		return err_set(e, ENOMEM, "no memory");
	kmsg_on_new(s->kmsg, on_new_record, f);
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
		file_free(f, f->files);
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
