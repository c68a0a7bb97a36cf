// SPDX-License-Identifier: GPL-2.0-or-later
/* What a runner is asked to prepare. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What it accepts a family may use without another look. */
static void use(const struct cell *c)
{
	size_t length = strlen(c->family) + strlen(c->test) + (c->dir ? strlen(c->dir) : 0);
	bool good = c->ntasks > 0 && c->ntasks <= SPEC_TASKS_MAX && c->guard_ns >= 0 &&
		    c->sampler >= -1 && (c->mode == MODE_PROCESSES || c->mode == MODE_THREADS);

	for (int i = 0; !c->unpinned && i < c->ntasks; i++)
		good = good && c->cpus[i] >= 0;
	for (int i = 0; i < c->nparams; i++)
		length += strlen(c->params[i].name) + strlen(c->params[i].value);
	if (!good || length > 1 << 20)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct spec s;
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (spec_parse(&s, text, &e) == 0)
		use(&s.cell);
	else if (!e.text[0])
		abort();
	spec_free(&s);
	free(text);
	return 0;
}
