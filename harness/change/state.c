// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/change/journal.h"

int state_folder(char *path, size_t size, struct err *e)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *wish = getenv("MKSPLIT_STATE_DIR");
	struct stat st;

	if (wish && *wish == '/')
		snprintf(path, size, "%s", wish);
	else if (geteuid() == 0)
		snprintf(path, size, "/run/mksplit");
	else if (runtime && *runtime == '/')
		snprintf(path, size, "%s/mksplit", runtime);
	else
		snprintf(path, size, "/tmp/mksplit-%ld", (long)geteuid());
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "%s", path);
	if (lstat(path, &st) < 0)
		return err_sys(e, "%s", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 0022))
		return err_set(e, EPERM,
			       "%s must be a folder of your own that only you can write to", path);
	return 0;
}
