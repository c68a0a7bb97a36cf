// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/payload/kconfig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/payload/bzimage.h"

#define CONFIG_MAX ((size_t)4 << 20)

void kconfig_misses_free(struct kconfig_misses *m)
{
	free(m->v);
	*m = (struct kconfig_misses){0};
}

/* "y", "m", a number or a string from "NAME=value"; "n" for what is not set. */
static void value_of(const char *config, const char *option, char *value, size_t size)
{
	size_t n = strlen(option);
	const char *at = config;

	snprintf(value, size, "n");
	while ((at = strstr(at, option))) {
		if ((at == config || at[-1] == '\n') && at[n] == '=') {
			snprintf(value, size, "%.*s", (int)strcspn(at + n + 1, "\n"), at + n + 1);
			return;
		}
		at += n;
	}
}

static bool satisfied(const char *wanted, const char *found)
{
	/* "m" in a list: built in is as good. */
	return strcmp(wanted, found) == 0 || (strcmp(wanted, "m") == 0 && strcmp(found, "y") == 0);
}

/* One line of a list: an option, or "# CONFIG_X is not set". False for no option line. */
static bool option_line(char *line, struct kconfig_miss *m)
{
	char *value;

	if (strncmp(line, "# CONFIG_", 9) == 0) {
		value = strstr(line, " is not set");
		if (!value || (size_t)(value - line - 2) >= sizeof(m->option))
			return false;
		*value = '\0';
		snprintf(m->option, sizeof(m->option), "%.63s", line + 2);
		snprintf(m->wanted, sizeof(m->wanted), "n");
		return true;
	}
	value = strchr(line, '=');
	if (strncmp(line, "CONFIG_", 7) != 0 || !value || (size_t)(value - line) >= sizeof(m->option))
		return false;
	*value = '\0';
	snprintf(m->option, sizeof(m->option), "%.63s", line);
	snprintf(m->wanted, sizeof(m->wanted), "%.31s", value + 1);
	return true;
}

int kconfig_check(struct kconfig_misses *m, const char *list, const char *config, struct err *e)
{
	cleanup_free char *copy = strdup(list);
	struct kconfig_miss next = {.need = true};
	char *lines = copy, *line;

	kconfig_misses_free(m);
	if (!copy)
		return err_set(e, ENOMEM, "out of memory");
	while ((line = strsep(&lines, "\n"))) {
		struct kconfig_miss *more;

		if (strncmp(line, "# need: ", 8) == 0 || strncmp(line, "# want: ", 8) == 0) {
			next.need = line[2] == 'n';
			snprintf(next.why, sizeof(next.why), "%.199s", line + 8);
			continue;
		}
		if (!option_line(line, &next)) {
			if (*line == '\0' || *line == '#')
				continue;
			return err_set(e, EINVAL, "a list of kernel options has the line \"%.80s\"",
				       line);
		}
		m->checked++;
		value_of(config, next.option, next.found, sizeof(next.found));
		if (satisfied(next.wanted, next.found))
			continue;
		more = reallocarray(m->v, (size_t)m->n + 1, sizeof(*more));
		if (!more)
			return err_set(e, ENOMEM, "out of memory");
		m->v = more;
		more[m->n++] = next;
	}
	return 0;
}

int kconfig_read(const struct root *root, char **config, char **from, struct err *e)
{
	cleanup_free char *packed = NULL, *release = NULL;
	struct err quiet = ERR_INIT;
	size_t len;
	int rc;

	if (!read_file_at(root->fd, "proc/config.gz", CONFIG_MAX, &packed, &len, &quiet)) {
		cleanup_free void *text = NULL;
		size_t n = 0;

		rc = gzip_unpack(packed, len, CONFIG_MAX, &text, &n, e);
		if (rc)
			return err_wrap(e, "/proc/config.gz");
		*from = strdup("/proc/config.gz");
		*config = strndup(text, n);
		return *from && *config ? 0 : err_set(e, ENOMEM, "out of memory");
	}
	rc = root_read(root, &release, e, "/proc/sys/kernel/osrelease");
	if (rc)
		return rc;
	if (asprintf(from, "/boot/config-%s", release) < 0) {
		*from = NULL;
		return err_set(e, ENOMEM, "out of memory");
	}
	rc = read_file_at(root->fd, *from + 1, CONFIG_MAX, config, NULL, e);
	if (rc)
		err_set(e, ENOENT, "neither /proc/config.gz nor %s is there", *from);
	return rc;
}
