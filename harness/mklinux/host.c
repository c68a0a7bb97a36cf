// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the control file system. */
#include "harness/mklinux/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/dts.h"
#include "harness/mklinux/explain.h"

/* Readings of an instance's tree before a torn one is an error. */
#define TORN_TRIES 5

void mk_host_init(struct mk_host *h, const struct root *root, const char *token)
{
	*h = (struct mk_host){.root = root};
	snprintf(h->prefix, sizeof(h->prefix), "mksplit-%.24s", token);
}

void mk_say(const struct mk_host *h, const char *fmt, ...)
{
	char line[4096];
	va_list ap;

	if (!h->say)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	h->say(h->say_arg, line);
}

/* A line of a table of /proc that has `word` as its column `column` (from 0). */
static bool table_has(const struct root *root, const char *path, int column, const char *word)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char *line, *lines;

	if (root_read(root, &text, &e, "%s", path))
		return false;
	lines = text;
	while ((line = strsep(&lines, "\n"))) {
		char *rest = line, *cell = NULL;

		for (int i = 0; i <= column; i++)
			cell = strsep(&rest, " \t");
		if (cell && strcmp(cell, word) == 0)
			return true;
	}
	return false;
}

bool mk_is_multikernel(const struct root *root)
{
	return table_has(root, "/proc/filesystems", 1, MK_FS_TYPE);
}

bool mk_is_mounted(const struct root *root)
{
	struct statfs s;

	if (root->real)
		return statfs(MK_FS_PATH, &s) == 0 && (unsigned long)s.f_type == MK_FS_MAGIC;
	return table_has(root, "/proc/mounts", 1, MK_FS_PATH);
}

int mk_mount(const struct root *root, struct err *e)
{
	if (!root->real)
		return err_set(e, EROFS, "nothing is mounted under another root");
	if (mount("none", MK_FS_PATH, MK_FS_TYPE, 0, NULL))
		return mk_err(e, MK_CALL_MOUNT, errno);
	return 0;
}

/* To the end: the file's size says nothing. */
static int read_tree(int fd, char **data, size_t *len)
{
	size_t room = 65536, have = 0;

	*data = malloc(room);
	if (!*data)
		return -ENOMEM;
	for (;;) {
		ssize_t n;

		if (have == room) {
			char *more = room < MK_TREE_MAX ? realloc(*data, 2 * room) : NULL;

			if (!more)
				return -EFBIG;
			*data = more;
			room *= 2;
		}
		n = read(fd, *data + have, room - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	*len = have;
	return 0;
}

/* A tree in a transcript: as source where libfdt takes it, in hexadecimal digits otherwise. */
void mk_say_tree(const struct mk_host *h, const char *what, const void *data, size_t len)
{
	cleanup_free char *text = NULL;

	if (!h->transcript || !h->say)
		return;
	text = dts_of(data, len);
	if (!text)
		text = hex_of(data, len);
	mk_say(h, "%s, %zu bytes:", what, len);
	if (text)
		h->say(h->say_arg, text);
}

static int tree_at(const struct mk_host *h, const char *path, struct mk_tree *t, struct err *e)
{
	cleanup_close int fd = root_open_file(h->root, O_RDONLY | O_NOFOLLOW, "%s", path);
	cleanup_free char *data = NULL;
	size_t len = 0;
	int rc;

	if (fd < 0)
		return err_sys(e, "cannot open %s", path);
	rc = read_tree(fd, &data, &len);
	if (rc)
		return err_set(e, rc, "cannot read %s: %s", path, strerror(-rc));
	mk_say_tree(h, path, data, len);
	if (len == 0) { /* what some releases give before there is a baseline */
		mk_tree_free(t);
		return 0;
	}
	rc = mk_tree_parse(t, data, len, e);
	return rc ? err_wrap(e, "%s", path) : 0;
}

int mk_read_root(const struct mk_host *h, struct mk_tree *t, struct err *e)
{
	return tree_at(h, MK_FS_PATH "/device_tree", t, e);
}

int mk_read_instance(const struct mk_host *h, const char *name, struct mk_tree *t, struct err *e)
{
	char path[sizeof(MK_FS_PATH) + MK_NAME_MAX + 32];
	int rc = mk_check_name(name, e);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), MK_FS_PATH "/instances/%s/device_tree", name);
	for (int i = 0; i < TORN_TRIES; i++) {
		*e = ERR_INIT;
		rc = tree_at(h, path, t, e);
		if (rc != -EBADMSG)
			break;
		usleep(10000);
	}
	return rc;
}

void mk_status(const struct mk_host *h, const char *name, char status[MK_STATUS_MAX])
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;

	status[0] = '\0';
	if (!root_read(h->root, &text, &e, MK_FS_PATH "/instances/%s/status", name))
		snprintf(status, MK_STATUS_MAX, "%s", text);
}

int mk_instance_id(const struct mk_host *h, const char *name)
{
	struct err e = ERR_INIT;
	long long id;

	if (root_read_number(h->root, &id, &e, MK_FS_PATH "/instances/%s/id", name) || id < 0 ||
	    id > MK_ID_MAX * 4)
		return -1;
	return (int)id;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void mk_names_free(struct mk_names *names)
{
	for (int i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	*names = (struct mk_names){0};
}

int mk_instances(const struct mk_host *h, struct mk_names *names, struct err *e)
{
	cleanup_dir DIR *d = root_opendir(h->root, MK_FS_PATH "/instances");
	struct dirent *entry;

	mk_names_free(names);
	if (!d)
		return err_sys(e, "cannot read " MK_FS_PATH "/instances");
	while ((entry = readdir(d))) {
		char **more;

		if (entry->d_name[0] == '.' || names->n > 4 * MK_ID_MAX)
			continue;
		more = reallocarray(names->v, (size_t)names->n + 1, sizeof(*more));
		if (!more)
			return err_set(e, ENOMEM, "out of memory");
		names->v = more;
		more[names->n] = strdup(entry->d_name);
		if (!more[names->n])
			return err_set(e, ENOMEM, "out of memory");
		names->n++;
	}
	if (names->n)
		qsort(names->v, (size_t)names->n, sizeof(*names->v), by_name);
	return 0;
}
