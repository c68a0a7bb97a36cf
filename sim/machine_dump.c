// SPDX-License-Identifier: GPL-2.0-or-later
#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/buf.h"
#include "sim/machine.h"

/*
 * The dump of a real machine: its /proc/cpuinfo and the files below /sys/devices/system/cpu
 * and .../node, out of a folder or a tar file. Both are read with libarchive.
 */

enum {
	MAX_FILE = 4 << 20, /* /proc/cpuinfo of a large machine has about 2 MB */
	MAX_FILES = 400000,
	MAX_CPUS = 8192,
};

struct archive_scope {
	struct archive *a;
};

static void archive_scope_free(struct archive_scope *s)
{
	if (s->a)
		archive_read_free(s->a);
}

/* The path inside of the machine ("sys/devices/..."), whatever folder the dump is in. */
static const char *inside(const char *path)
{
	static const char *const tops[] = {"proc/cpuinfo", "proc/meminfo", "sys/devices/system/"};

	for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++)
			if (strncmp(p, tops[i], strlen(tops[i])) == 0)
				return p;
	return NULL;
}

/* Per-block links of nodes and per-state counters are many and nobody asks for them. */
static bool wanted(const char *path)
{
	const char *name = strrchr(path, '/');

	if (strncmp(path, "sys/devices/system/cpu/", 23) == 0)
		return true;
	if (strncmp(path, "sys/devices/system/node/", 24) == 0)
		return name && strncmp(name, "/memory", 7) != 0;
	return strncmp(path, "proc/", 5) == 0;
}

static int read_entry(struct archive *a, struct store *files, const char *path,
		      struct archive_entry *entry, struct err *e)
{
	cleanup_buf struct buf text = BUF_INIT;
	char part[65536];
	la_ssize_t n;

	if (archive_entry_filetype(entry) == AE_IFLNK && archive_entry_symlink(entry))
		return store_put(files, path, archive_entry_symlink(entry), true);
	if (archive_entry_filetype(entry) != AE_IFREG)
		return 0;
	while ((n = archive_read_data(a, part, sizeof(part))) > 0 && text.len <= MAX_FILE)
		buf_add(&text, part, n);
	if (n < 0)
		return err_set(e, EIO, "%s: %s", path, archive_error_string(a));
	if (text.len > MAX_FILE)
		return err_set(e, EFBIG, "%s: more than %d bytes", path, MAX_FILE);
	if (text.failed || store_put(files, path, text.data ? text.data : "", false) < 0)
		return err_set(e, ENOMEM, "%s: no memory", path);
	return 0;
}

static int read_all(const char *path, struct store *files, struct err *e)
{
	cleanup(archive_scope_free) struct archive_scope s = {0};
	struct archive_entry *entry;
	struct stat st;
	int ret;

	if (stat(path, &st) < 0)
		return err_sys(e, "%s", path);
	if (S_ISDIR(st.st_mode)) {
		s.a = archive_read_disk_new();
		ret = s.a ? archive_read_disk_open(s.a, path) : ARCHIVE_FATAL;
		if (s.a)
			archive_read_disk_set_symlink_physical(s.a);
	} else {
		s.a = archive_read_new();
		if (s.a) {
			archive_read_support_format_tar(s.a);
			archive_read_support_filter_all(s.a);
		}
		ret = s.a ? archive_read_open_filename(s.a, path, 65536) : ARCHIVE_FATAL;
	}
	if (ret != ARCHIVE_OK)
		return err_set(e, EINVAL, "%s: %s", path,
			       s.a ? archive_error_string(s.a) : "no memory");
	while ((ret = archive_read_next_header(s.a, &entry)) == ARCHIVE_OK || ret == ARCHIVE_WARN) {
		const char *name = archive_entry_pathname(entry), *p = name ? inside(name) : NULL;

		if (S_ISDIR(st.st_mode) && archive_entry_filetype(entry) == AE_IFDIR)
			archive_read_disk_descend(s.a);
		if (!p || !wanted(p))
			continue;
		if (files->n >= MAX_FILES)
			return err_set(e, E2BIG, "%s: more than %d files", path, MAX_FILES);
		if (read_entry(s.a, files, p, entry, e) < 0)
			return err_wrap(e, "%s", path);
	}
	if (ret != ARCHIVE_EOF)
		return err_set(e, EINVAL, "%s: %s", path, archive_error_string(s.a));
	store_sort(files);
	return 0;
}

static const char *text_of(const struct store *files, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static const char *text_of(const struct store *files, const char *fmt, ...)
{
	const struct store_entry *found;
	char path[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	found = store_get(files, path);
	return found && !found->link ? found->text : NULL;
}

static int number_of(const char *text, int otherwise)
{
	return text ? atoi(text) : otherwise;
}

static int mask_of(const struct store *files, const char *path, struct cpumask *m, struct err *e)
{
	const char *text = text_of(files, "%s", path);

	if (!text)
		return -ENOENT;
	return cpumask_parse(m, text, e);
}

/* Splits /proc/cpuinfo into its blocks; what a CPU says of itself is kept as it stands. */
static int read_cpuinfo(struct machine *m, const char *text, struct err *e)
{
	struct machine_cpu *c = NULL;
	cleanup_buf struct buf info = BUF_INIT;

	for (const char *line = text, *end; *line; line = end) {
		unsigned long long value;
		const char *colon;

		end = line + strcspn(line, "\n");
		colon = memchr(line, ':', end - line);
		value = colon ? strtoull(colon + 1, NULL, 10) : 0;
		end += *end == '\n';
		if (strncmp(line, "processor", 9) == 0 && colon) {
			if (value >= (unsigned)m->ncpus)
				return err_set(e, ERANGE, "/proc/cpuinfo: processor %llu", value);
			c = &m->cpus[value];
			c->phys = UINT64_MAX;
		} else if (c && strncmp(line, "apicid", 6) == 0 && colon) {
			c->phys = value;
		} else if (c && *line != '\n') {
			buf_add(&info, line, end - line);
		}
		if (c && (*line == '\n' || !*end)) {
			buf_add(&info, "", 0);
			if (info.failed)
				return err_set(e, ENOMEM, "/proc/cpuinfo: no memory");
			free(c->info);
			c->info = info.data;
			info = BUF_INIT;
			c = NULL;
		}
	}
	return 0;
}

/*
 * A CPU that was offline in the dump has no block in /proc/cpuinfo, so that its id is not
 * known: it gets one behind all others.
 */
static void fill_ids(struct machine *m)
{
	uint64_t next = 0;

	for (int i = 0; i < m->ncpus; i++)
		if (m->cpus[i].info && m->cpus[i].phys != UINT64_MAX && m->cpus[i].phys >= next)
			next = m->cpus[i].phys + 1;
	for (int i = 0; i < m->ncpus; i++)
		if (m->cpus[i].present && (!m->cpus[i].info || m->cpus[i].phys == UINT64_MAX))
			m->cpus[i].phys = next++;
}

static int add_cpus(struct machine *m, const struct store *files, struct err *e)
{
	cleanup_cpumask struct cpumask online = CPUMASK_INIT, present = CPUMASK_INIT,
				       possible = CPUMASK_INIT;
	const char *cpuinfo = text_of(files, "proc/cpuinfo");
	int last = -1;

	if (!cpuinfo)
		return err_usage(e, "no proc/cpuinfo in it");
	if (mask_of(files, "sys/devices/system/cpu/online", &online, e) < 0)
		return err_usage(e, "no sys/devices/system/cpu/online in it");
	if (mask_of(files, "sys/devices/system/cpu/present", &present, e) < 0 &&
	    cpumask_copy(&present, &online) < 0)
		return err_set(e, ENOMEM, "no memory");
	if (mask_of(files, "sys/devices/system/cpu/possible", &possible, e) < 0 &&
	    cpumask_copy(&possible, &present) < 0)
		return err_set(e, ENOMEM, "no memory");
	cpumask_for_each(cpu, &possible)
		last = cpu;
	if (last < 0 || last >= MAX_CPUS)
		return err_usage(e, "its highest possible CPU is %d", last);
	m->ncpus = last + 1;
	m->cpus = calloc(m->ncpus, sizeof(*m->cpus));
	if (!m->cpus)
		return err_set(e, ENOMEM, "no memory");
	if (read_cpuinfo(m, cpuinfo, e) < 0)
		return e->code;
	for (int i = 0; i < m->ncpus; i++) {
		struct machine_cpu *c = &m->cpus[i];
		const char *base = "sys/devices/system/cpu/cpu";

		c->present = cpumask_test(&present, i);
		c->online = cpumask_test(&online, i) && c->info;
		c->node = -1;
		c->package =
			number_of(text_of(files, "%s%d/topology/physical_package_id", base, i), 0);
		c->core = number_of(text_of(files, "%s%d/topology/core_id", base, i), i);
	}
	fill_ids(m);
	return 0;
}

static uint64_t kilobytes_of(const char *text, const char *key)
{
	const char *p = text ? strstr(text, key) : NULL;

	return p ? strtoull(p + strlen(key) + strspn(p + strlen(key), ": \t"), NULL, 10) * 1024 : 0;
}

static int add_node(struct machine *m, const struct store *files, int node, struct err *e)
{
	cleanup_cpumask struct cpumask cpus = CPUMASK_INIT;
	struct machine_node *n = &m->nodes[m->nnodes++];
	char path[128];

	*n = (struct machine_node){.node = node};
	n->memory = kilobytes_of(text_of(files, "sys/devices/system/node/node%d/meminfo", node),
				 "MemTotal");
	snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", node);
	if (mask_of(files, path, &cpus, e) < 0) {
		const char *map = text_of(files, "sys/devices/system/node/node%d/cpumap", node);

		if (map && parse_cpumap(&cpus, map) < 0)
			return err_set(e, EINVAL, "node%d/cpumap: %s", node, map);
	}
	cpumask_for_each(cpu, &cpus)
		if (cpu < m->ncpus)
			m->cpus[cpu].node = node;
	/* An offline CPU is in no cpulist; its link (cpuN below nodeM) tells. */
	for (int cpu = 0; cpu < m->ncpus; cpu++) {
		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpu%d", node, cpu);
		if (m->cpus[cpu].node < 0 && store_get(files, path))
			m->cpus[cpu].node = node;
	}
	return 0;
}

static int add_nodes(struct machine *m, const struct store *files, struct err *e)
{
	enum {
		MAX_NODES = 1024
	};

	m->nodes = calloc(MAX_NODES, sizeof(*m->nodes));
	if (!m->nodes)
		return err_set(e, ENOMEM, "no memory");
	for (int node = 0; node < MAX_NODES; node++) {
		char folder[64];

		snprintf(folder, sizeof(folder), "sys/devices/system/node/node%d", node);
		if (store_has_folder(files, folder) && add_node(m, files, node, e) < 0)
			return e->code;
	}
	if (m->nnodes == 0) { /* a kernel without NUMA */
		m->nnodes = 1;
		m->nodes[0].memory = kilobytes_of(text_of(files, "proc/meminfo"), "MemTotal");
		for (int i = 0; i < m->ncpus; i++)
			m->cpus[i].node = 0;
	}
	return 0;
}

/* What is shown as it stands: everything but the sets, which change while CPUs move. */
static int keep_files(struct machine *m, const struct store *files)
{
	static const char prefix[] = "sys/devices/system/";

	for (size_t i = 0; i < files->n; i++) {
		const struct store_entry *f = &files->v[i];

		if (strncmp(f->path, prefix, strlen(prefix)) == 0 &&
		    store_put(&m->sys, f->path + strlen(prefix), f->text, f->link) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int build(struct machine *m, const struct store *files, struct err *e)
{
	if (add_cpus(m, files, e) < 0 || add_nodes(m, files, e) < 0)
		return e->code;
	if (keep_files(m, files) < 0)
		return err_set(e, ENOMEM, "no memory");
	return 0;
}

int machine_from_dump(struct machine *m, const char *path, struct err *e)
{
	struct store files = {0};
	int ret = read_all(path, &files, e);

	if (ret == 0) {
		ret = build(m, &files, e);
		if (ret < 0)
			err_wrap(e, "topology %s", path);
	}
	store_free(&files);
	if (ret == 0 &&
	    asprintf(&m->what, "%s: %d possible CPUs, %d nodes", path, m->ncpus, m->nnodes) < 0)
		return err_set(e, ENOMEM, "no memory");
	return ret;
}
