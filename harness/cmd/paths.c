// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/cmd/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "config.h"

/* The folder of the running program, without a trailing slash. */
static int own_folder(char *dir, size_t size, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", dir, size - 1);
	char *slash;

	if (n < 0)
		return err_sys(e, "/proc/self/exe");
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	return 0;
}

/* True while this program is the one in the build tree: its folder is BUILD/harness. */
static bool in_build_tree(const char *dir)
{
	return strcmp(dir, MKSPLIT_BUILD_DIR "/harness") == 0;
}

int find_bench(char **path, struct err *e)
{
	static const char *const places[] = {"", "/../bench", ("/" MKSPLIT_LIBEXEC_FROM_BIN)};
	const char *wish = getenv("MKSPLIT_BENCH");
	char dir[PATH_MAX];
	int ret;

	if (wish && *wish) {
		if (access(wish, X_OK) < 0)
			return err_sys(e, "MKSPLIT_BENCH=%s", wish);
		*path = strdup(wish);
		return *path ? 0 : err_set(e, ENOMEM, "no memory");
	}
	ret = own_folder(dir, sizeof(dir), e);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		cleanup_free char *candidate = NULL;

		if (asprintf(&candidate, "%s%s/mksplit-bench", dir, places[i]) < 0) {
			candidate = NULL;
			return err_set(e, ENOMEM, "no memory");
		}
		if (access(candidate, X_OK) == 0) {
			*path = realpath(candidate, NULL);
			return *path ? 0 : err_sys(e, "%s", candidate);
		}
	}
	return err_set(e, ENOENT,
		       "mksplit-bench is neither beside %s/mksplit nor installed; build or install "
		       "it, or name it in MKSPLIT_BENCH",
		       dir);
}

int find_data(char **path, const char *name, struct err *e)
{
	char dir[PATH_MAX];
	int ret = own_folder(dir, sizeof(dir), e);

	if (ret < 0)
		return ret;
	/* What is installed may have been moved as a whole, or still stand in its staging folder. */
	if (in_build_tree(dir))
		ret = asprintf(path, "%s/%s", MKSPLIT_SOURCE_DIR, name);
	else
		ret = asprintf(path, "%s/%s/%s", dir, MKSPLIT_DATA_FROM_BIN, name);
	if (ret < 0)
		return err_set(e, ENOMEM, "no memory");
	if (access(*path, R_OK) < 0) {
		ret = err_sys(e, "%s", *path);
		free(take_ptr(*path));
		return ret;
	}
	return 0;
}
