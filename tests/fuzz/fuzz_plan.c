// SPDX-License-Identifier: GPL-2.0-or-later
/* Plans, and the schedules of those that are accepted. */
#include <stdint.h>
#include <stdlib.h>

#include "harness/plan/catalog.h"
#include "harness/plan/schedule.h"
#include "tests/fuzz/fuzz_machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cell(const struct plan *p, const struct cell *c)
{
	const struct plan_arm *a = &p->arms[c->arm];
	int at = 0;

	for (int part = 0; part < a->npartitions; part++)
		for (int i = 0; i < c->placement->counts[part]; i++)
			if (!cpumask_test(&a->partitions[part].cpus, c->placement->cpus[at++]))
				abort();
	if (at != c->tasks)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan_options o = {.quick = true, .have_seed = true};
	struct schedule s = {0};
	struct plan *p = NULL;
	struct err e = ERR_INIT;

	if (plan_parse(&p, "fuzz.json", (const char *)data, size, fuzz_machine(), NULL, &o, &e) < 0) {
		if (!e.text[0])
			abort();
		return 0;
	}
	if (schedule_make(&s, p, fuzz_machine(), &e) == 0)
		for (int i = 0; i < s.nboots; i++)
			for (int k = 0; k < s.boots[i].ncells; k++)
				check_cell(p, &s.boots[i].cells[k]);
	schedule_free(&s);
	plan_free(&p);
	return 0;
}
