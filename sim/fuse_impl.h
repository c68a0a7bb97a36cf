/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_FUSE_IMPL_H
#define MKSPLIT_SIM_FUSE_IMPL_H

/* Between fuse.c (names, folders, the session) and fuse_file.c (open files) only. */
#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include "sim/mktty.h"
#include "sim/vfs.h"

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

struct vfs *vfs_of(fuse_req_t req);
/* The path of an inode number, or NULL. */
const char *vfs_path_of(struct vfs *f, fuse_ino_t ino);

void fuse_file_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fuse_file_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi);
void fuse_file_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
		     struct fuse_file_info *fi);
void fuse_file_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		    struct fuse_pollhandle *ph);
void fuse_file_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fuse_file_free(struct vfs *f, struct file *file);

/* Somebody may have waited for these. */
void fuse_file_tty_data(void *arg, struct mktty_open *o);
void fuse_file_new_record(void *arg);

#endif
