// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"

int mount_test_tmpfs(const char *where)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_RELATIME;
	char options[100];
	struct sysinfo info;
	unsigned long long half;

	if (sysinfo(&info) < 0)
		return -1;
	half = (unsigned long long)info.totalram * info.mem_unit / 2;
	snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=1777,huge=never", half,
		 half / sysconf(_SC_PAGESIZE));
	if (mount("mksplit", where, "tmpfs", flags, options) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	/* A kernel without huge pages does not know the option. */
	*strstr(options, ",huge") = '\0';
	return mount("mksplit", where, "tmpfs", flags, options);
}

/* One line of mountinfo (proc(5)): ID parent major:minor root point options [optional] - type source super */
static int parse_line(char *line, dev_t dev, char *out, size_t size)
{
	unsigned int major, minor;
	char options[300], type[60], super[300], *rest = strstr(line, " - ");

	if (!rest || sscanf(line, "%*d %*d %u:%u %*s %*s %299s", &major, &minor, options) != 3 ||
	    makedev(major, minor) != dev || sscanf(rest, " - %59s %*s %299s", type, super) != 2)
		return 0;
	snprintf(out, size, "%s %s %s", type, options, super);
	return 1;
}

void mount_options_of(const char *path, char *out, size_t size)
{
	cleanup_file FILE *f = fopen("/proc/self/mountinfo", "re");
	cleanup_free char *line = NULL;
	struct stat st;
	size_t n = 0;

	snprintf(out, size, "?");
	if (!f || stat(path, &st) < 0)
		return;
	/* The last mount of a device is the one on top. */
	while (getline(&line, &n, f) > 0)
		parse_line(line, st.st_dev, out, size);
}
