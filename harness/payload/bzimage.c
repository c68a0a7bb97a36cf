// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/payload/bzimage.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* Offsets of the x86 boot protocol, as in docs/mklinux-abi.md 8.5. */
#define SETUP_SECTS    0x1F1
#define BOOT_FLAG      0x1FE
#define HDRS	       0x202
#define VERSION	       0x206
#define PAYLOAD_OFFSET 0x248
#define PAYLOAD_LENGTH 0x24C
#define HEADER_END     0x250
#define VERSION_MIN    0x0208 /* the first with a payload offset */

struct packing {
	const char *name;
	unsigned char magic[6];
	size_t magic_len;
	bool sized; /* four bytes behind the stream say how long it is unpacked */
	int (*support)(struct archive *a); /* NULL: refused */
	int code;
};

static const struct packing packings[] = {
	{"gzip", {0x1f, 0x8b}, 2, false, archive_read_support_filter_gzip, ARCHIVE_FILTER_GZIP},
	{"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, true, archive_read_support_filter_xz, ARCHIVE_FILTER_XZ},
	{"bzip2", {'B', 'Z', 'h'}, 3, true, archive_read_support_filter_bzip2, ARCHIVE_FILTER_BZIP2},
	{"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, true, archive_read_support_filter_zstd, ARCHIVE_FILTER_ZSTD},
	{"lz4", {0x02, 0x21, 0x4c, 0x18}, 4, true, archive_read_support_filter_lz4, ARCHIVE_FILTER_LZ4},
	{"lz4", {0x04, 0x22, 0x4d, 0x18}, 4, true, archive_read_support_filter_lz4, ARCHIVE_FILTER_LZ4},
	{"lzma", {0x5d, 0, 0}, 3, true, archive_read_support_filter_lzma, ARCHIVE_FILTER_LZMA},
	{"lzo", {0x89, 'L', 'Z', 'O'}, 4, true, NULL, 0},
};

static uint32_t le32(const unsigned char *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

bool bzimage_is(const void *data, size_t len)
{
	const unsigned char *p = data;

	return len >= HEADER_END && p[BOOT_FLAG] == 0x55 && p[BOOT_FLAG + 1] == 0xAA &&
	       memcmp(p + HDRS, "HdrS", 4) == 0;
}

static void cleanup_archive(struct archive **a)
{
	if (*a)
		archive_read_free(*a);
}

/* One stream, through exactly one of libarchive's filters: none of its external programs. */
static int unpack(const struct packing *k, const void *data, size_t len, size_t max, void **out,
		  size_t *out_len, struct err *e)
{
	cleanup(cleanup_archive) struct archive *a = archive_read_new();
	cleanup_free char *buf = NULL;
	size_t have = 0, room = 0;
	struct archive_entry *entry;
	la_ssize_t n;

	if (!a)
		return err_set(e, ENOMEM, "out of memory");
	/* ARCHIVE_WARN would mean: by an external program. */
	if (k->support(a) != ARCHIVE_OK)
		return err_set(e, EOPNOTSUPP, "this libarchive cannot unpack %s", k->name);
	archive_read_support_format_raw(a);
	if (archive_read_open_memory(a, data, len) != ARCHIVE_OK ||
	    archive_read_next_header(a, &entry) != ARCHIVE_OK)
		return err_set(e, EBADMSG, "cannot unpack %s: %s", k->name, archive_error_string(a));
	if (archive_filter_code(a, 0) != k->code)
		return err_set(e, EBADMSG, "its %s data is damaged at the start", k->name);
	do {
		if (have == room) {
			char *more;

			if (room > max)
				return err_set(e, EFBIG, "unpacked it has more than %zu MiB",
					       max >> 20);
			room = room ? 2 * room : (size_t)1 << 20;
			more = realloc(buf, room);
			if (!more)
				return err_set(e, ENOMEM, "out of memory");
			buf = more;
		}
		n = archive_read_data(a, buf + have, room - have);
		if (n > 0)
			have += (size_t)n;
	} while (n > 0);
	if (n < 0)
		return err_set(e, EBADMSG, "its %s data is damaged: %s", k->name,
			       archive_error_string(a));
	if (have > max)
		return err_set(e, EFBIG, "unpacked it has more than %zu MiB", max >> 20);
	*out_len = have;
	*out = take_ptr(buf);
	return 0;
}

static const struct packing *packing_of(const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < sizeof(packings) / sizeof(*packings); i++)
		if (len >= packings[i].magic_len &&
		    memcmp(p, packings[i].magic, packings[i].magic_len) == 0)
			return &packings[i];
	return NULL;
}

int bzimage_unpack(const void *data, size_t len, size_t max, void **out, size_t *out_len,
		   const char **format, struct err *e)
{
	const unsigned char *p = data;
	const struct packing *k;
	size_t start, size, stream;
	int rc;

	if (!bzimage_is(data, len))
		return err_set(e, EBADMSG, "no x86 boot image");
	if (p[VERSION] + (p[VERSION + 1] << 8) < VERSION_MIN)
		return err_set(e, EBADMSG, "a boot image of before Linux 2.6.24");
	start = ((p[SETUP_SECTS] ? p[SETUP_SECTS] : 4) + 1) * (size_t)512 + le32(p + PAYLOAD_OFFSET);
	size = le32(p + PAYLOAD_LENGTH);
	if (start > len || size > len - start)
		return err_set(e, EBADMSG, "the file is cut off: its payload lies behind its end");
	k = packing_of(p + start, size);
	if (!k)
		return err_set(e, EBADMSG, "its payload is packed in an unknown way");
	*format = k->name;
	if (!k->support)
		return err_set(
			e, EOPNOTSUPP,
			"it is packed with LZO, which is not supported: use the vmlinux of the "
			"build, or build with CONFIG_KERNEL_ZSTD=y");
	stream = k->sized ? size - 4 : size;
	if (size < 4)
		return err_set(e, EBADMSG, "its payload is empty");
	rc = unpack(k, p + start, stream, max, out, out_len, e);
	if (rc || !k->sized)
		return rc;
	if (*out_len != le32(p + start + stream)) {
		free(take_ptr(*out));
		return err_set(e, EBADMSG, "its payload unpacks to %zu bytes, the header says %u",
			       *out_len, le32(p + start + stream));
	}
	return 0;
}

int gzip_unpack(const void *data, size_t len, size_t max, void **out, size_t *out_len, struct err *e)
{
	const struct packing *k = packing_of(data, len);

	if (!k || k != &packings[0])
		return err_set(e, EBADMSG, "no gzip data");
	return unpack(k, data, len, max, out, out_len, e);
}
