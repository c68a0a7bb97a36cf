// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/machine/root.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/io.h"

#define SMALL_FILE (1UL << 20)
#define BIG_FILE   (64UL << 20)

int root_open(struct root *r, const char *dir, struct err *e)
{
	bool real = !dir || strcmp(dir, "/") == 0;
	char *path = strdup(real ? "" : dir);

	if (!path)
		return err_set(e, ENOMEM, "no memory for a path");
	*r = (struct root){
		.fd = open(real ? "/" : dir, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.real = real,
		.path = path,
	};
	if (r->fd < 0) {
		err_sys(e, "cannot open %s", real ? "/" : dir);
		e->exit = EXIT_USAGE;
		root_close(r);
		return e->code;
	}
	return 0;
}

void root_close(struct root *r)
{
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
	*r = ROOT_INIT;
}

/*
 * Opens a path as on the machine. Inside another root the kernel resolves symbolic links,
 * absolute ones too, as if that folder were "/" (openat2(2), RESOLVE_IN_ROOT).
 */
static int open_in(const struct root *r, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	if (r->real)
		return open(path, flags | O_CLOEXEC);
	return (int)syscall(SYS_openat2, r->fd, path, &how, sizeof(how));
}

static int make_path(char *path, const char *fmt, va_list ap)
{
	int n = vsnprintf(path, PATH_MAX, fmt, ap);

	if (n < 0 || n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -ENAMETOOLONG;
	}
	return 0;
}

int root_open_file(const struct root *r, int flags, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = make_path(path, fmt, ap);
	va_end(ap);
	return rc < 0 ? -1 : open_in(r, path, flags & ~O_CREAT);
}

bool root_exists(const struct root *r, const char *fmt, ...)
{
	char path[PATH_MAX];
	cleanup_close int fd = -1;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = make_path(path, fmt, ap);
	va_end(ap);
	if (rc < 0)
		return false;
	fd = open_in(r, path, O_PATH);
	return fd >= 0;
}

static int slurp(const struct root *r, const char *path, size_t max, char **text, struct err *e)
{
	cleanup_free char *data = NULL;
	cleanup_close int fd = open_in(r, path, O_RDONLY);
	size_t len = 0, room = 0;

	if (fd < 0)
		return err_sys(e, "cannot read %s%s", r->path, path);
	for (;;) {
		ssize_t n;

		if (len + 1 >= room) {
			char *more;

			room = room ? room * 2 : 4096;
			more = realloc(data, room);
			if (!more)
				return err_set(e, ENOMEM, "no memory to read %s%s", r->path, path);
			data = more;
		}
		n = read(fd, data + len, room - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "cannot read %s%s", r->path, path);
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return err_set(e, EFBIG, "%s%s is longer than %zu bytes", r->path, path, max);
	}
	while (len && isspace((unsigned char)data[len - 1]))
		len--;
	data[len] = '\0';
	*text = take_ptr(data);
	return 0;
}

int root_read(const struct root *r, char **text, struct err *e, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = make_path(path, fmt, ap);
	va_end(ap);
	return rc < 0 ? err_sys(e, "path %.100s...", path) : slurp(r, path, SMALL_FILE, text, e);
}

int root_read_big(const struct root *r, char **text, struct err *e, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = make_path(path, fmt, ap);
	va_end(ap);
	return rc < 0 ? err_sys(e, "path %.100s...", path) : slurp(r, path, BIG_FILE, text, e);
}

int root_read_number(const struct root *r, long long *value, struct err *e, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	char path[PATH_MAX];
	char *end;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = make_path(path, fmt, ap);
	va_end(ap);
	if (rc < 0)
		return err_sys(e, "path %.100s...", path);
	rc = slurp(r, path, SMALL_FILE, &text, e);
	if (rc < 0)
		return rc;
	errno = 0;
	/* A leading zero is no octal number in sysfs. */
	*value = strtoll(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (errno || end == text || *end)
		return err_set(e, EINVAL, "%s%s holds no number: \"%.40s\"", r->path, path, text);
	return 0;
}

int root_read_cpulist(const struct root *r, struct cpumask *m, struct err *e, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	char path[PATH_MAX];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = make_path(path, fmt, ap);
	va_end(ap);
	if (rc < 0)
		return err_sys(e, "path %.100s...", path);
	rc = slurp(r, path, SMALL_FILE, &text, e);
	if (rc < 0)
		return rc;
	/* What the kernel prints for an empty nohz_full list. */
	if (strcmp(text, "(null)") == 0)
		text[0] = '\0';
	rc = cpumask_parse(m, text, e);
	if (rc < 0) {
		e->exit = EXIT_FAILURE; /* a file of the machine, not the user's input */
		return err_wrap(e, "%s%s", r->path, path);
	}
	return 0;
}

DIR *root_opendir(const struct root *r, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	DIR *dir;
	int rc, fd;

	va_start(ap, fmt);
	rc = make_path(path, fmt, ap);
	va_end(ap);
	if (rc < 0)
		return NULL;
	fd = open_in(r, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return NULL;
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

int root_write(const struct root *r, const char *value, struct err *e, const char *fmt, ...)
{
	char path[PATH_MAX];
	cleanup_close int fd = -1;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = make_path(path, fmt, ap);
	va_end(ap);
	if (rc < 0)
		return err_sys(e, "path %.100s...", path);
	/* O_TRUNC matters to the double in a fixture tree alone. */
	fd = open_in(r, path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return err_sys(e, "cannot open %s%s", r->path, path);
	/* One write(2): sysfs takes every call as a whole value. */
	rc = write_all(fd, value, strlen(value));
	if (rc < 0) {
		errno = -rc;
		return err_sys(e, "cannot write \"%.60s\" to %s%s", value, r->path, path);
	}
	return 0;
}
