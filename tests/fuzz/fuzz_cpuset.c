// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU sets of plans and command lines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/cpuset.h"
#include "tests/fuzz/fuzz_machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct topology *t = fuzz_machine();
	struct cpumask m = CPUMASK_INIT;
	struct err e = ERR_INIT;
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (cpuset_parse(&m, text, t, size % 2, &e) == 0) {
		/* What it accepts is online. */
		if (!cpumask_subset(&m, &t->online))
			abort();
	} else if (!e.text[0] || e.exit != EXIT_USAGE) {
		abort();
	}
	cpumask_free(&m);
	free(text);
	return 0;
}
