// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/payload/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/payload/bzimage.h"

/* The loader reads files up to 4 GiB (docs/mklinux-abi.md 8.8). */
#define FILE_MAX (UINT64_C(4) << 30)
/* A distribution's kernel unpacks to 50 MiB, one with everything built in to some hundred. */
#define UNPACKED_MAX ((size_t)1 << 30)

struct mapping {
	void *data;
	size_t len;
};

static void unmap(struct mapping *m)
{
	if (m->data)
		munmap(m->data, m->len);
}

void kernel_image_close(struct kernel_image *i)
{
	if (i->fd >= 0)
		close(i->fd);
	*i = KERNEL_IMAGE_INIT;
}

/* A file of memory that nobody can change any more: what was checked is what is loaded. */
static int memory_file(const void *data, size_t len, struct err *e)
{
	cleanup_close int fd = memfd_create("vmlinux", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	if (fd < 0)
		return err_sys(e, "memfd_create");
	rc = write_all(fd, data, len);
	if (rc)
		return err_set(e, rc, "cannot keep %zu bytes in memory: %s", len, strerror(-rc));
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) ||
	    lseek(fd, 0, SEEK_SET))
		return err_sys(e, "cannot seal the unpacked kernel");
	return take_fd(fd);
}

static int from_bzimage(struct kernel_image *i, const struct mapping *m, struct err *e)
{
	cleanup_free void *vmlinux = NULL;
	const char *format = "";
	size_t len = 0;
	int rc;

	rc = bzimage_unpack(m->data, m->len, UNPACKED_MAX, &vmlinux, &len, &format, e);
	if (rc)
		return rc;
	snprintf(i->kind, sizeof(i->kind), "bzImage (%s)", format);
	rc = vmlinux_check(vmlinux, len, &i->elf, e);
	if (rc)
		return err_wrap(e, "the kernel inside is not usable");
	/* A relocatable kernel's relocations follow the image; the loader wants it alone. */
	i->size = i->elf.end < len ? i->elf.end : len;
	i->fd = memory_file(vmlinux, i->size, e);
	return i->fd < 0 ? e->code : 0;
}

static int open_image(struct kernel_image *i, const char *path, struct err *e)
{
	cleanup(unmap) struct mapping m = {0};
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st))
		return err_sys(e, "cannot open it");
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "no regular file");
	if (st.st_size == 0 || (uint64_t)st.st_size > FILE_MAX)
		return err_set(e, ENOEXEC, "%lld bytes are no kernel image", (long long)st.st_size);
	m.len = (size_t)st.st_size;
	m.data = mmap(NULL, m.len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m.data == MAP_FAILED) {
		m.data = NULL;
		return err_sys(e, "cannot read it");
	}
	if (bzimage_is(m.data, m.len))
		return from_bzimage(i, &m, e);
	rc = vmlinux_check(m.data, m.len, &i->elf, e);
	if (rc)
		return rc;
	snprintf(i->kind, sizeof(i->kind), "ELF vmlinux");
	i->size = m.len;
	i->fd = take_fd(fd);
	return 0;
}

int kernel_image_open(struct kernel_image *i, const char *path, struct err *e)
{
	int rc;

	*i = KERNEL_IMAGE_INIT;
	rc = open_image(i, path, e);
	if (rc) {
		kernel_image_close(i);
		return err_wrap(e, "kernel image %s", path);
	}
	return 0;
}

int kernel_image_find(char **path, struct err *e)
{
	static const char *const places[] = {"/boot/vmlinux-%s",
					     "/lib/modules/%s/vmlinux",
					     "/lib/modules/%s/build/vmlinux",
					     "/usr/lib/debug/boot/vmlinux-%s",
					     "/boot/vmlinuz-%s",
					     "/lib/modules/%s/vmlinuz"};
	struct utsname u;

	if (uname(&u))
		return err_sys(e, "uname");
	for (size_t k = 0; k < sizeof(places) / sizeof(*places); k++) {
		const char *hole = strstr(places[k], "%s");

		if (asprintf(path, "%.*s%s%s", (int)(hole - places[k]), places[k], u.release,
			     hole + 2) < 0)
			return err_set(e, ENOMEM, "out of memory");
		if (access(*path, R_OK) == 0)
			return 0;
		free(take_ptr(*path));
	}
	return err_set(
		e, ENOENT,
		"no image of the running kernel (%s): no vmlinux or vmlinuz of it in /boot or "
		"/lib/modules; name one in the plan (\"image\")",
		u.release);
}
