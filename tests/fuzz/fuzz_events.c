// SPDX-License-Identifier: GPL-2.0-or-later
/* events.jsonl, and every report made from whatever it says. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/analysis/analysis.h"
#include "harness/report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all_forms(const struct analysis *a)
{
	const struct text_options all = {.all = true};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	report_text(f, a, &all);
	report_json(f, a);
	report_csv(f, a);
	report_html(f, a, NULL);
	for (size_t t = 0; t < a->m->ntests && a->m->narms > 0; t++)
		report_wis_csv(f, a, 0, t);
	fclose(f);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_model struct model *m = NULL;
	cleanup_analysis struct analysis *a = NULL;
	struct err e = ERR_INIT;
	FILE *f;

	if (size == 0)
		return 0;
	f = fmemopen((void *)data, size, "r");
	if (f && model_read_stream(&m, f, "fuzz", &e) == 0 && analyse(&a, m, &e) == 0)
		write_all_forms(a);
	if (f)
		fclose(f);
	return 0;
}
