// SPDX-License-Identifier: GPL-2.0-or-later
/* The result object of an agent. */
#include <stdint.h>

#include "harness/results/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct result r;

	if (result_parse(&r, (const char *)data, size, &e) == 0)
		result_free(&r);
	return 0;
}
