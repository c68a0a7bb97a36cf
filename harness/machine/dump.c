// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/machine/dump.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bounds against loops and surprises: a machine of 1,280 CPUs has about 60,000 such files. */
#define MAX_FILES 400000
#define MAX_DEPTH 8
#define MAX_FILE  (4UL << 20)

struct dump {
	const struct root *r;
	struct archive *a;
	int files;
	struct err *e;
};

/* What is copied. A folder is copied with all below it, without following links. */
static const char *const wanted[] = {
	"/proc/cpuinfo",
	"/proc/meminfo",
	"/proc/stat",
	"/proc/version",
	"/proc/self/cgroup",
	"/proc/self/cpuset",
	"/proc/interrupts",
	"/proc/sys/kernel/numa_balancing",
	"/proc/sys/kernel/watchdog",
	"/proc/sys/kernel/nmi_watchdog",
	"/sys/devices/system/cpu",
	"/sys/devices/system/node",
	"/sys/devices/system/clocksource/clocksource0/current_clocksource",
	"/sys/devices/system/clocksource/clocksource0/available_clocksource",
	/* hwloc looks for nodes and CPUs here, and for the kinds of hybrid cores below. */
	"/sys/bus/cpu/devices",
	"/sys/bus/node/devices",
	"/sys/devices/cpu_core/cpus",
	"/sys/devices/cpu_atom/cpus",
	"/sys/devices/cpu_lowpower/cpus",
	/* arm64, riscv: the "reg" of each CPU. */
	"/sys/firmware/devicetree/base/cpus",
	"/sys/class/dmi/id/product_name",
	"/sys/class/dmi/id/sys_vendor",
	"/sys/class/dmi/id/chassis_type",
	"/sys/kernel/mm/transparent_hugepage",
	"/sys/kernel/mm/ksm/run",
	/* Limits and cpusets of the group that looks: its own path is added by dump_groups(). */
	"/sys/fs/cgroup/cpuset.cpus.effective",
	"/sys/fs/cgroup/cpu.max",
};

/* Registers and crash data: no file that only root can read, or that costs time to read. */
static const char *const unwanted[] = {"crash_notes", "uevent", "vmstat", "memory_side_cache",
				       "hugepages"};

static bool is_unwanted(const char *name)
{
	for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
		if (strcmp(name, unwanted[i]) == 0)
			return true;
	return strncmp(name, "memory", 6) == 0 && name[6] >= '0' && name[6] <= '9';
}

static int add_entry(struct dump *d, const char *path, unsigned type, const void *data, size_t len)
{
	struct archive_entry *entry = archive_entry_new();
	int rc = 0;

	if (!entry)
		return err_set(d->e, ENOMEM, "no memory for a dump");
	archive_entry_set_pathname(entry, path + 1); /* without the slash */
	archive_entry_set_filetype(entry, type);
	archive_entry_set_perm(entry, type == AE_IFDIR ? 0755 : 0644);
	if (type == AE_IFLNK)
		archive_entry_set_symlink(entry, data);
	else if (type == AE_IFREG)
		archive_entry_set_size(entry, (la_int64_t)len);
	if (archive_write_header(d->a, entry) != ARCHIVE_OK ||
	    (type == AE_IFREG && len && archive_write_data(d->a, data, len) < 0))
		rc = err_set(d->e, EIO, "cannot write the dump: %s", archive_error_string(d->a));
	archive_entry_free(entry);
	if (rc == 0 && ++d->files > MAX_FILES)
		rc = err_set(d->e, EFBIG, "more than %d files", MAX_FILES);
	return rc;
}

/* What cannot be read is not in the dump, as it was not to be seen on the machine. */
static int add_file(struct dump *d, const char *path)
{
	cleanup_close int fd = root_open_file(d->r, O_RDONLY | O_NONBLOCK, "%s", path);
	cleanup_free char *data = NULL;
	size_t len = 0, room = 0;

	while (fd >= 0) {
		ssize_t n;

		if (len == room) {
			char *more = realloc(data, room ? room * 2 : 4096);

			if (!more)
				return err_set(d->e, ENOMEM, "no memory for a dump");
			room = room ? room * 2 : 4096;
			data = more;
		}
		n = read(fd, data + len, room - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || len > MAX_FILE)
			return 0;
		if (n == 0)
			return add_entry(d, path, AE_IFREG, data, len);
		len += (size_t)n;
	}
	return 0;
}

static int add_path(struct dump *d, const char *path, int depth);

static int add_folder(struct dump *d, const char *path, int depth)
{
	cleanup_dir DIR *dir = root_opendir(d->r, "%s", path);
	struct dirent *entry;
	int rc = dir ? add_entry(d, path, AE_IFDIR, NULL, 0) : 0;

	while (rc == 0 && dir && (entry = readdir(dir))) {
		char below[PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    is_unwanted(entry->d_name))
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) < (int)sizeof(below))
			rc = add_path(d, below, depth + 1);
	}
	return rc;
}

static int add_path(struct dump *d, const char *path, int depth)
{
	cleanup_close int fd = root_open_file(d->r, O_PATH | O_NOFOLLOW, "%s", path);
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || depth > MAX_DEPTH)
		return 0;
	switch (st.st_mode & S_IFMT) {
	case S_IFDIR:
		return add_folder(d, path, depth);
	case S_IFLNK:
		n = readlinkat(fd, "", target, sizeof(target) - 1);
		if (n <= 0)
			return 0;
		target[n] = '\0';
		return add_entry(d, path, AE_IFLNK, target, 0);
	case S_IFREG:
		return add_file(d, path);
	default:
		return 0;
	}
}

/* The limits of the control groups from this process's own up to the root. */
static int add_groups(struct dump *d)
{
	static const char *const files[] = {"cpu.max", "cpuset.cpus.effective", "cpuset.cpus"};
	cleanup_free char *text = NULL;
	struct err absent = ERR_INIT;
	char group[PATH_MAX], *line, *save = NULL;
	int rc = 0;

	if (root_read(d->r, &text, &absent, "/proc/self/cgroup") < 0)
		return 0;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *slash;

		if (strncmp(line, "0::/", 4) != 0 || !line[4])
			continue;
		snprintf(group, sizeof(group), "/sys/fs/cgroup%s", line + 3);
		while (rc == 0 && strlen(group) > strlen("/sys/fs/cgroup")) {
			for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && rc == 0; i++) {
				char path[PATH_MAX + 32];

				snprintf(path, sizeof(path), "%s/%s", group, files[i]);
				rc = add_path(d, path, 0);
			}
			slash = strrchr(group, '/');
			*slash = '\0';
		}
	}
	return rc;
}

/*
 * Where control groups are mounted, which hwloc asks for; the other lines are nobody's
 * business.
 */
static int add_mounts(struct dump *d)
{
	cleanup_free char *text = NULL, *kept = NULL;
	struct err absent = ERR_INIT;
	char *line, *save = NULL;
	size_t len = 0;
	FILE *f;

	if (root_read(d->r, &text, &absent, "/proc/mounts") < 0)
		return 0;
	f = open_memstream(&kept, &len);
	if (!f)
		return err_set(d->e, ENOMEM, "no memory for a dump");
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, " cgroup") || strstr(line, " cpuset "))
			fprintf(f, "%s\n", line);
	if (fclose(f) != 0)
		return err_set(d->e, ENOMEM, "no memory for a dump");
	return add_entry(d, "/proc/mounts", AE_IFREG, kept, len);
}

static int write_all_parts(struct dump *d)
{
	int rc = add_mounts(d);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && rc == 0; i++)
		rc = add_path(d, wanted[i], 0);
	return rc == 0 ? add_groups(d) : rc;
}

int dump_machine(const struct root *r, const char *file, struct err *e)
{
	struct dump d = {.r = r, .a = archive_write_new(), .e = e};
	int rc;

	if (!d.a)
		return err_set(e, ENOMEM, "no memory for a dump");
	if (archive_write_add_filter_gzip(d.a) != ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(d.a) != ARCHIVE_OK ||
	    archive_write_open_filename(d.a, file) != ARCHIVE_OK)
		rc = err_set(e, EIO, "cannot write %s: %s", file, archive_error_string(d.a));
	else
		rc = write_all_parts(&d);
	if (archive_write_close(d.a) != ARCHIVE_OK && rc == 0)
		rc = err_set(e, EIO, "cannot write %s: %s", file, archive_error_string(d.a));
	archive_write_free(d.a);
	if (rc < 0) {
		unlink(file);
		return rc;
	}
	return d.files;
}
