// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/analysis/cause.h"

#include <stdio.h>
#include <string.h>

#include "harness/analysis/analysis.h"

const char *cause_name(enum cause c)
{
	static const char *const names[] = {
		[CAUSE_UNKNOWN] = "",
		[CAUSE_STRUCTURAL] = "structural",
		[CAUSE_CONFIGURATION] = "configuration",
		[CAUSE_SIZING] = "sizing",
		[CAUSE_ADDRESS_SPACE] = "one address space",
	};

	return names[c];
}

static bool better(enum verdict v)
{
	return v == VERDICT_FASTER || v == VERDICT_FASTER_SMALL;
}

static bool worse(enum verdict v)
{
	return v == VERDICT_SLOWER || v == VERDICT_SLOWER_SMALL;
}

static bool same_direction(const struct row *a, const struct row *b)
{
	return (better(a->verdict) && better(b->verdict)) || (worse(a->verdict) && worse(b->verdict));
}

/* The pair b is the pair a with one setting changed in both of its arms. */
static bool varies(const struct model *m, int a, int b, const char **setting, const char **value)
{
	const struct marm *base = &m->arms[m->compares[a].base];
	const struct marm *with = &m->arms[m->compares[a].with];
	const struct marm *other_base = &m->arms[m->compares[b].base];
	const struct marm *other_with = &m->arms[m->compares[b].with];

	if (strcmp(other_base->base, base->name) != 0 || strcmp(other_with->base, with->name) != 0 ||
	    !other_base->setting[0] || strcmp(other_base->setting, other_with->setting) != 0 ||
	    strcmp(other_base->value, other_with->value) != 0)
		return false;
	*setting = other_base->setting;
	*value = other_base->value;
	return true;
}

static const struct row *same_test(const struct analysis *a, const struct row *r, int compare,
				   bool threads)
{
	for (size_t i = 0; i < a->nrows; i++) {
		const struct row *o = &a->rows[i];

		if (o->compare == compare && o->test == r->test && o->threads == threads &&
		    o->tasks == r->tasks && o->metric == r->metric)
			return o;
	}
	return NULL;
}

static void explain(struct row *r, enum cause c, const char *words, const char *setting,
		    const char *value)
{
	r->cause = c;
	snprintf(r->cause_why, sizeof(r->cause_why), "%s %.60s = %.60s", words, setting, value);
}

static void look_at_settings(struct analysis *a, struct row *r)
{
	for (size_t c = 0; c < a->m->ncompares; c++) {
		const char *setting, *value;
		const struct row *o;

		if (!varies(a->m, r->compare, c, &setting, &value))
			continue;
		o = same_test(a, r, c, r->threads);
		if (!o)
			continue;
		if (o->verdict == VERDICT_SAME) {
			bool memory = strncmp(setting, "memory", 6) == 0;

			/* What takes it away settles it, whatever others leave of it. */
			explain(r, memory ? CAUSE_SIZING : CAUSE_CONFIGURATION, "gone with",
				setting, value);
			return;
		}
		if (same_direction(r, o))
			explain(r, CAUSE_STRUCTURAL, "still there with", setting, value);
	}
}

void find_causes(struct analysis *a)
{
	for (size_t i = 0; i < a->nrows; i++) {
		struct row *r = &a->rows[i];
		const struct row *processes;

		if (!better(r->verdict) && !worse(r->verdict))
			continue;
		look_at_settings(a, r);
		if (r->cause != CAUSE_UNKNOWN || !r->threads)
			continue;
		processes = same_test(a, r, r->compare, false);
		if (processes && processes->verdict == VERDICT_SAME) {
			r->cause = CAUSE_ADDRESS_SPACE;
			snprintf(r->cause_why, sizeof(r->cause_why),
				 "there with threads, gone with processes");
		}
	}
}
