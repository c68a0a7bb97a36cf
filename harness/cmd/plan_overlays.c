// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/cmd/plan_overlays.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/io.h"

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static int write_blob(const char *path, const json_t *blob, struct err *e)
{
	const char *hex = json_string_value(json_object_get(blob, "bytes"));
	const char *dts = json_string_value(json_object_get(blob, "dts"));
	size_t n = hex ? strlen(hex) / 2 : 0;
	cleanup_free char *data = malloc(n ? n : 1);
	char file[PATH_MAX];
	int rc;

	if (!data || !hex || !dts)
		return err_set(e, ENOMEM, "no memory");
	for (size_t i = 0; i < n; i++)
		data[i] = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	snprintf(file, sizeof(file), "%s.dtbo", path);
	rc = replace_file(file, data, n, 0644, e);
	if (rc < 0)
		return rc;
	snprintf(file, sizeof(file), "%s.dts", path);
	return replace_file(file, dts, strlen(dts), 0644, e);
}

int plan_overlays(const char *dir, const struct plan *p, const json_t *steps, struct err *e)
{
	const json_t *list, *step, *blob;
	size_t arm, i, k;
	int n = 0;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "%s", dir);
	json_array_foreach(steps, arm, list) {
		const char *error = json_string_value(json_object_get(list, "error"));

		if (error)
			return err_set(e, EINVAL, "arm \"%s\": %s", p->arms[arm].name, error);
		json_array_foreach(list, i, step) {
			json_array_foreach(json_object_get(step, "blob"), k, blob) {
				char path[PATH_MAX];
				int rc;

				/* Names of arms are plain words; the rest is ours. */
				snprintf(path, sizeof(path), "%s/%s-%02zu-%s-%zu", dir,
					 p->arms[arm].name, i,
					 json_string_value(json_object_get(step, "kind")), k);
				rc = write_blob(path, blob, e);
				if (rc < 0)
					return rc;
				n++;
			}
		}
	}
	return n;
}
