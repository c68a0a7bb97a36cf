// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/model.h"

#include <stdio.h>
#include <string.h>

#include "harness/analysis/intern.h"

static const char *const status_names[CELL_STATUSES] = {
	[CELL_OK] = "ok",	    [CELL_FLAGGED] = "flagged",		[CELL_FAILED] = "failed",
	[CELL_SKIPPED] = "skipped", [CELL_UNAVAILABLE] = "unavailable", [CELL_INVALID] = "invalid",
};

const char *cell_status_name(enum cell_status s)
{
	return status_names[s];
}

static const char *const nature_names[] = {
	[NATURE_NATIVE] = "native",	[NATURE_VIRTUAL] = "virtual",
	[NATURE_EMULATED] = "emulated", [NATURE_SIMULATED] = "simulated",
	[NATURE_UNKNOWN] = "unknown",
};

const char *nature_name(enum nature n)
{
	return nature_names[n];
}

static void free_cells(struct model *m)
{
	for (size_t i = 0; i < m->ncells; i++) {
		struct mcell *c = &m->cells[i];

		for (size_t k = 0; k < c->nmeasures; k++) {
			free(c->measures[k].parts);
			free(c->measures[k].samples);
		}
		free(c->measures);
		free(c->flags);
	}
	free(m->cells);
}

static void free_arms(struct model *m)
{
	for (size_t i = 0; i < m->narms; i++) {
		for (size_t k = 0; k < m->arms[i].npartitions; k++)
			free(m->arms[i].partitions[k].cpus);
		free(m->arms[i].partitions);
	}
	free(m->arms);
}

void model_free(struct model *m)
{
	if (!m)
		return;
	free_cells(m);
	free_arms(m);
	for (size_t i = 0; i < m->ncompares; i++)
		free(m->compares[i].differences);
	for (size_t i = 0; i < m->nplaces; i++)
		free(m->places[i].cpus);
	free(m->compares);
	free(m->places);
	free(m->tests);
	free(m->metrics);
	free(m->cpus);
	free(m->boots);
	free(m->facts);
	free(m->notes);
	free(m->quiet);
	free(m->dir);
	intern_free(m->strings);
	free(m);
}

const char *mtest_label(const struct mtest *t, char *buf, size_t size)
{
	if (t->variant[0])
		snprintf(buf, size, "%s [%s]", t->test, t->variant);
	else
		snprintf(buf, size, "%s", t->test);
	return buf;
}

int model_arm(const struct model *m, const char *name)
{
	for (size_t i = 0; i < m->narms; i++)
		if (strcmp(m->arms[i].name, name) == 0)
			return i;
	return -1;
}
