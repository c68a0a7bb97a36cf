// SPDX-License-Identifier: GPL-2.0-or-later
/* mksim's look at a kernel image. */
#include <stdint.h>

#include "sim/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_info info;
	struct err e = ERR_INIT;
	const char *unsafe;

	image_check(data, size, &info, &unsafe, &e);
	return 0;
}
