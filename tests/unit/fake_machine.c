// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/fake_machine.h"

#include "tests/unit/unit.h"

#include <archive.h>
#include <archive_entry.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CPU  "/sys/devices/system/cpu"
#define NODE "/sys/devices/system/node"

/* The folders of a path, from its n-th character on. */
static void make_folders(char *path, size_t n)
{
	for (char *p = strchr(path + n, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
}

void fake_machine_file(const struct fake_machine *m, const char *path, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	char full[PATH_MAX];
	va_list ap;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", m->dir, path);
	f = fopen(full, "w");
	if (!f) {
		make_folders(full, strlen(m->dir) + 1);
		f = fopen(full, "w");
	}
	assert_non_null(f);
	va_start(ap, fmt);
	assert_true(vasprintf(&text, fmt, ap) >= 0);
	va_end(ap);
	fprintf(f, "%s\n", text);
	assert_int_equal(fclose(f), 0);
}

typedef bool (*same_fn)(const struct fake_cpu *a, const struct fake_cpu *b);

static bool same_core(const struct fake_cpu *a, const struct fake_cpu *b)
{
	return a->package == b->package && a->core == b->core;
}

static bool same_package(const struct fake_cpu *a, const struct fake_cpu *b)
{
	return a->package == b->package;
}

static bool same_llc(const struct fake_cpu *a, const struct fake_cpu *b)
{
	return a->llc == b->llc;
}

static bool same_node(const struct fake_cpu *a, const struct fake_cpu *b)
{
	return a->node == b->node;
}

/* The kernel's two ways to write a set of CPUs, as two files NAME and NAME_list (or cpumap/cpulist). */
static void set_files(const struct fake_machine *m, const struct fake_cpu *c, same_fn same,
		      const char *map_file, const char *list_file)
{
	cleanup_cpumask struct cpumask set = CPUMASK_INIT;
	cleanup_free char *list = NULL, *map = NULL;
	size_t size;
	FILE *f = open_memstream(&map, &size);
	int last = 0;

	for (int i = 0; i < m->ncpus; i++)
		if (same(c, &m->cpus[i])) {
			cpumask_set(&set, m->cpus[i].cpu);
			if (m->cpus[i].cpu > last)
				last = m->cpus[i].cpu;
		}
	for (int word = last / 32; word >= 0; word--) {
		unsigned value = 0;

		for (int i = 0; i < 32; i++)
			value |= (unsigned)cpumask_test(&set, word * 32 + i) << i;
		fprintf(f, "%08x%s", value, word ? "," : "");
	}
	fclose(f);
	list = cpumask_format(&set);
	fake_machine_file(m, map_file, "%s", map);
	fake_machine_file(m, list_file, "%s", list);
}

static void cpu_files(const struct fake_machine *m, const struct fake_cpu *c)
{
	static const struct {
		const char *map, *list;
		same_fn same;
	} sets[] = {
		{"topology/core_cpus", "topology/core_cpus_list", same_core},
		{"topology/thread_siblings", "topology/thread_siblings_list", same_core},
		{"topology/package_cpus", "topology/package_cpus_list", same_package},
		{"topology/core_siblings", "topology/core_siblings_list", same_package},
		{"cache/index0/shared_cpu_map", "cache/index0/shared_cpu_list", same_core},
		{"cache/index1/shared_cpu_map", "cache/index1/shared_cpu_list", same_llc},
	};
	char path[200], list[200];

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		snprintf(path, sizeof(path), CPU "/cpu%d/%s", c->cpu, sets[i].map);
		snprintf(list, sizeof(list), CPU "/cpu%d/%s", c->cpu, sets[i].list);
		set_files(m, c, sets[i].same, path, list);
	}
	snprintf(path, sizeof(path), CPU "/cpu%d/topology/physical_package_id", c->cpu);
	fake_machine_file(m, path, "%d", c->package);
	snprintf(path, sizeof(path), CPU "/cpu%d/topology/core_id", c->cpu);
	fake_machine_file(m, path, "%d", c->core);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), CPU "/cpu%d/cache/index%d/level", c->cpu, i);
		fake_machine_file(m, path, "%d", i ? 3 : 1);
		snprintf(path, sizeof(path), CPU "/cpu%d/cache/index%d/type", c->cpu, i);
		fake_machine_file(m, path, "%s", i ? "Unified" : "Data");
		snprintf(path, sizeof(path), CPU "/cpu%d/cache/index%d/size", c->cpu, i);
		fake_machine_file(m, path, "%s", i ? "32768K" : "32K");
	}
}

static void node_files(const struct fake_machine *m)
{
	cleanup_cpumask struct cpumask nodes = CPUMASK_INIT;
	cleanup_free char *list = NULL;
	char path[100], map[100];

	for (int i = 0; i < m->ncpus; i++) {
		const struct fake_cpu *c = &m->cpus[i];

		if (c->node < 0 || cpumask_test(&nodes, c->node))
			continue;
		cpumask_set(&nodes, c->node);
		snprintf(map, sizeof(map), NODE "/node%d/cpumap", c->node);
		snprintf(path, sizeof(path), NODE "/node%d/cpulist", c->node);
		set_files(m, c, same_node, map, path);
		snprintf(path, sizeof(path), NODE "/node%d/meminfo", c->node);
		fake_machine_file(m, path, "Node %d MemTotal:       %ld kB", c->node,
				  m->node_mib * 1024);
	}
	list = cpumask_format(&nodes);
	if (*list)
		fake_machine_file(m, NODE "/online", "%s", list);
}

void fake_machine_folder(struct fake_machine *m)
{
	/* Thousands of small files: in memory where that is possible. */
	snprintf(m->dir, sizeof(m->dir), "%s/mksplit-test-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(m->dir));
}

void fake_machine_make(struct fake_machine *m)
{
	cleanup_cpumask struct cpumask online = CPUMASK_INIT;
	cleanup_free char *list = NULL, *info = NULL;
	size_t size;
	FILE *f = open_memstream(&info, &size);

	fake_machine_folder(m);
	for (int i = 0; i < m->ncpus; i++) {
		const struct fake_cpu *c = &m->cpus[i];

		cpumask_set(&online, c->cpu);
		cpu_files(m, c);
		fprintf(f,
			"processor\t: %d\nvendor_id\t: GenuineIntel\nmodel name\t: Made up of "
			"files\n"
			"physical id\t: %d\ncore id\t\t: %d\napicid\t\t: %ld\n"
			"initial apicid\t: %ld\n\n",
			c->cpu, c->package, c->core, c->phys, c->phys);
	}
	fclose(f);
	list = cpumask_format(&online);
	fake_machine_file(m, CPU "/online", "%s", list);
	fake_machine_file(m, CPU "/present", "%s", m->possible ? m->possible : list);
	fake_machine_file(m, CPU "/possible", "%s", m->possible ? m->possible : list);
	if (m->isolated)
		fake_machine_file(m, CPU "/isolated", "%s", m->isolated);
	if (m->nohz_full)
		fake_machine_file(m, CPU "/nohz_full", "%s", m->nohz_full);
	fake_machine_file(m, "/proc/cpuinfo", "%s", info);
	fake_machine_file(m, "/proc/meminfo", "MemTotal:       %ld kB", m->node_mib * 1024);
	node_files(m);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void fake_machine_remove(struct fake_machine *m)
{
	assert_int_equal(nftw(m->dir, remove_one, 20, FTW_DEPTH | FTW_PHYS), 0);
}

void fake_machine_topology(const struct fake_machine *m, struct topology *t)
{
	cleanup_root struct root r = ROOT_INIT;
	struct err e = ERR_INIT;

	if (root_open(&r, m->dir, &e) < 0 || topology_read(t, &r, &e) < 0)
		fail_msg("%s", e.text);
}

struct fake_cpu *fake_cpus(int packages, int cores, int threads)
{
	int room = 1, cpu = 0;
	struct fake_cpu *v = calloc((size_t)(packages * cores * threads), sizeof(*v));

	assert_non_null(v);
	while (room < cores * threads)
		room *= 2;
	for (int t = 0; t < threads; t++)
		for (int p = 0; p < packages; p++)
			for (int c = 0; c < cores; c++, cpu++)
				v[cpu] = (struct fake_cpu){
					.cpu = cpu,
					.phys = (long)p * room + (long)c * threads + t,
					.package = p,
					.core = c,
					.node = p,
					.llc = p,
				};
	return v;
}

void fake_machine_unpack(const char *file, const char *dir, bool strip)
{
	struct archive *a = archive_read_new(), *out = archive_write_disk_new();
	struct archive_entry *entry;

	archive_read_support_filter_all(a);
	archive_read_support_format_tar(a);
	assert_int_equal(archive_read_open_filename(a, file, 1 << 16), ARCHIVE_OK);
	while (archive_read_next_header(a, &entry) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(entry);
		char path[PATH_MAX];

		if (strip)
			name = strchr(name, '/');
		if (!name || !name[strip])
			continue;
		/* A folder without write permission could not take its files. */
		if (archive_entry_filetype(entry) == AE_IFDIR)
			archive_entry_set_perm(entry, 0755);
		snprintf(path, sizeof(path), "%s/%s", dir, name + strip);
		archive_entry_set_pathname(entry, path);
		assert_true(archive_read_extract2(a, entry, out) >= ARCHIVE_WARN);
	}
	archive_read_free(a);
	archive_write_free(out);
}
