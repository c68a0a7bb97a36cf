// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/calls_impl.h"
#include "sim/fault.h"
#include "sim/fuse_impl.h"
#include "sim/kmsg.h"
#include "sim/mktty.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

/* Open files of the FUSE file system: reading, writing, waiting. */

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

void fuse_file_free(struct vfs *f, struct file *file)
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

void fuse_file_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct vfs *f = vfs_of(req);
	const char *path = vfs_path_of(f, ino);
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
			fuse_file_free(f, file);
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

void fuse_file_tty_data(void *arg, struct mktty_open *o)
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

void fuse_file_new_record(void *arg)
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

void fuse_file_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
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

void fuse_file_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
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

void fuse_file_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
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

void fuse_file_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fuse_file_free(vfs_of(req), (struct file *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}
