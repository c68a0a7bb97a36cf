// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/cmd/running.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "harness/change/journal.h"
#include "harness/session/session.h"

int running_read(struct running *r, struct err *e)
{
	char path[PATH_MAX];
	size_t len;

	*r = (struct running){0};
	r->journal = journal_peek(&r->alive);
	if (!r->journal)
		return err_set(e, ESRCH, "nothing runs on this machine");
	r->pid = json_integer_value(json_object_get(r->journal, "pid"));
	if (session_folder(path, sizeof(path), r->pid) == 0) {
		len = strlen(path);
		snprintf(path + len, sizeof(path) - len, "/status.json");
		r->status = json_load_file(path, 0, NULL);
	}
	return 0;
}

void running_free(struct running *r)
{
	json_decref(r->journal);
	json_decref(r->status);
	*r = (struct running){0};
}
