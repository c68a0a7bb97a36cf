// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "bench/scale/tables.h"

const struct test_table *const test_tables[] = {
	&process_tests, &futex_tests, &lock_tests, &path_tests,	   &read_tests,
	&write_tests,	&file_tests,  &poll_tests, &mapping_tests, &fault_tests,
	&ipc_tests,	&net_tests,   NULL,
};

const struct test *find_loop(const char *name)
{
	for (const struct test_table *const *t = test_tables; *t; t++)
		for (size_t i = 0; i < (*t)->n; i++)
			if (strcmp((*t)->tests[i].info.name, name) == 0)
				return &(*t)->tests[i];
	return NULL;
}
