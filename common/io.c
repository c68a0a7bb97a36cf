// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

int read_file_at(int dirfd, const char *path, size_t max, char **data, size_t *len, struct err *e)
{
	cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	cleanup_free char *buf = NULL;
	size_t size = 0, used = 0;

	if (fd < 0)
		return err_sys(e, "%s", path);
	for (;;) {
		ssize_t n;

		if (used + 1 >= size) {
			size_t want = size ? size * 2 : 4096;
			char *bigger;

			/* One byte above max is enough to see that the file is longer. */
			if (want > max + 2)
				want = max + 2;
			if (want <= size)
				return err_set(e, EFBIG, "%s: more than %zu bytes", path, max);
			bigger = realloc(buf, want);
			if (!bigger)
				return err_set(e, ENOMEM, "%s: no memory", path);
			buf = bigger;
			size = want;
		}
		n = read(fd, buf + used, size - used - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "%s", path);
		if (n == 0)
			break;
		used += n;
	}
	if (used > max)
		return err_set(e, EFBIG, "%s: more than %zu bytes", path, max);
	buf[used] = '\0';
	*data = take_ptr(buf);
	if (len)
		*len = used;
	return 0;
}

int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= n;
	}
	return 0;
}

int replace_file(const char *path, const void *data, size_t len, unsigned mode, struct err *e)
{
	cleanup_free char *temp = NULL;
	cleanup_close int fd = -1;
	int ret;

	if (asprintf(&temp, "%s.tmp", path) < 0)
		return err_set(e, ENOMEM, "%s: no memory", path);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return err_sys(e, "%s", temp);
	ret = write_all(fd, data, len);
	if (ret == 0 && fsync(fd) < 0)
		ret = -errno;
	if (ret == 0 && rename(temp, path) < 0)
		ret = -errno;
	if (ret < 0) {
		unlink(temp);
		errno = -ret;
		return err_sys(e, "cannot write %s", path);
	}
	return 0;
}
