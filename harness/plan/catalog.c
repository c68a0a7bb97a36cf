// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/plan/catalog.h"

#include <stdlib.h>
#include <string.h>

const struct catalog_test *catalog_find(const struct catalog *c, const char *family, const char *name)
{
	for (int i = 0; c && i < c->ntests; i++)
		if (strcmp(c->tests[i].name, name) == 0 &&
		    (!family || strcmp(c->tests[i].family, family) == 0))
			return &c->tests[i];
	return NULL;
}

void catalog_free(struct catalog **cp)
{
	struct catalog *c = *cp;

	if (!c)
		return;
	for (int i = 0; i < c->ntests; i++) {
		free(c->tests[i].family);
		free(c->tests[i].name);
		free(c->tests[i].summary);
	}
	free(c->tests);
	free(c);
	*cp = NULL;
}
