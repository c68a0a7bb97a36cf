// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel images as they come, unpacked. */
#include <stdint.h>
#include <stdlib.h>

#include "harness/payload/vmlinux.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vmlinux_info info;
	struct err e = ERR_INIT;

	if (!vmlinux_check(data, size, &info, &e)) {
		/* What is accepted keeps its promises. */
		if (info.end > size || info.highest <= info.lowest || info.entry < info.lowest ||
		    info.entry >= info.highest)
			abort();
		vmlinux_memory_needed(&info, size);
	}
	return 0;
}
