// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/report/files.h"

#include <errno.h>
#include <string.h>

#include "common/io.h"

static int write_html(FILE *f, const struct analysis *a, const struct published *pub)
{
	return report_html(f, a, pub);
}

static int write_json(FILE *f, const struct analysis *a, const struct published *pub)
{
	return report_json(f, a);
}

static int write_csv(FILE *f, const struct analysis *a, const struct published *pub)
{
	return report_csv(f, a);
}

static const struct {
	const char *name;
	int (*write)(FILE *f, const struct analysis *a, const struct published *pub);
} files[] = {
	{"report.html", write_html},
	{"report.json", write_json},
	{"report.csv", write_csv},
};

int report_files(const struct analysis *a, const struct published *pub, const char *dir,
		 struct err *e)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		cleanup_free char *path = NULL, *text = NULL;
		size_t size = 0;
		FILE *f = open_memstream(&text, &size);
		int ret;

		if (!f)
			return err_sys(e, "no memory for %s", files[i].name);
		ret = files[i].write(f, a, pub);
		if (fclose(f) == EOF && ret == 0)
			ret = -ENOMEM;
		if (ret < 0)
			return err_set(e, ret, "cannot make %s: %s", files[i].name, strerror(-ret));
		if (asprintf(&path, "%s/%s", dir, files[i].name) < 0) {
			path = NULL;
			return err_set(e, ENOMEM, "no memory");
		}
		ret = replace_file(path, text, size, 0644, e);
		if (ret < 0)
			return ret;
	}
	return 0;
}
