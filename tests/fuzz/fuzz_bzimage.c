// SPDX-License-Identifier: GPL-2.0-or-later
/* Boot images, and whatever unpacking them gives. */
#include <stdint.h>
#include <stdlib.h>

#include "harness/payload/bzimage.h"
#include "harness/payload/vmlinux.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vmlinux_info info;
	struct err e = ERR_INIT;
	const char *format;
	void *out = NULL;
	size_t len = 0;

	if (!bzimage_unpack(data, size, 1 << 20, &out, &len, &format, &e)) {
		vmlinux_check(out, len, &info, &e);
		free(out);
	}
	return 0;
}
