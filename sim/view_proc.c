// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <zlib.h>

#include "common/io.h"
#include "sim/rooms.h"
#include "sim/view.h"

/* Files of /proc that speak of the machine. */

void view_cpuinfo(const struct view *w, struct vnode *v)
{
	vnode_file(v, 0444);
	for (int k = 0; k < view_possible(w); k++) {
		const struct machine_cpu *c;
		const char *initial;

		if (!view_online(w, k))
			continue;
		c = &w->sim->machine.cpus[view_machine_cpu(w, k)];
		buf_printf(&v->text, "processor\t: %d\n", k);
		initial = c->info ? strstr(c->info, "initial apicid") : NULL;
		if (c->info)
			buf_add(&v->text, c->info,
				initial ? (size_t)(initial - c->info) : strlen(c->info));
		buf_printf(&v->text, "apicid\t\t: %llu\n", (unsigned long long)c->phys);
		if (initial)
			buf_str(&v->text, initial);
		buf_str(&v->text, "\n");
	}
}

/* The real file with what the simulated machine has instead. */
void view_meminfo(const struct view *w, struct vnode *v)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	uint64_t total = view_memory(w, -1), available = 0;

	vnode_file(v, 0444);
	if (w->instance)
		available = total / 10 * 9;
	for (int k = 0; !w->instance && k < w->sim->machine.nnodes; k++)
		available += node_free(w->sim, k);
	buf_printf(&v->text,
		   "MemTotal:       %8llu kB\nMemFree:        %8llu kB\nMemAvailable:   %8llu kB\n",
		   (unsigned long long)total / 1024, (unsigned long long)available / 1024,
		   (unsigned long long)available / 1024);
	if (read_file_at(AT_FDCWD, "/proc/meminfo", 1 << 20, &text, NULL, &e) < 0)
		return;
	for (const char *line = text, *next; *line; line = next) {
		size_t len = strcspn(line, "\n");

		next = line + len + (line[len] == '\n');
		if (strncmp(line, "MemTotal:", 9) != 0 && strncmp(line, "MemFree:", 8) != 0 &&
		    strncmp(line, "MemAvailable:", 13) != 0)
			buf_add(&v->text, line, next - line);
	}
}

/* The times of a simulated CPU are those of the real one that it is folded onto. */
void view_stat(const struct view *w, struct vnode *v)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	bool cpus_done = false;

	vnode_file(v, 0444);
	if (read_file_at(AT_FDCWD, "/proc/stat", 1 << 22, &text, NULL, &e) < 0)
		return;
	for (const char *line = text, *next; *line; line = next) {
		size_t len = strcspn(line, "\n");

		next = line + len + (line[len] == '\n');
		if (strncmp(line, "cpu", 3) != 0 || line[3] == ' ') {
			buf_add(&v->text, line, next - line);
			continue;
		}
		if (cpus_done)
			continue;
		cpus_done = true;
		for (int k = 0; k < view_possible(w); k++) {
			char key[32];
			const char *real;

			if (!view_online(w, k))
				continue;
			snprintf(key, sizeof(key), "\ncpu%d ",
				 rooms_fold(w->sim, view_machine_cpu(w, k)));
			real = strstr(text, key);
			real = real ? strchr(real + 1, ' ') : strchr(line, ' ');
			buf_printf(&v->text, "cpu%d%.*s\n", k, (int)strcspn(real, "\n"), real);
		}
	}
}

static void iomem_line(struct vnode *v, int depth, bool hidden, uint64_t base, uint64_t size,
		       const char *name)
{
	unsigned long long from = hidden ? 0 : base, to = hidden ? 0 : base + size - 1;

	buf_printf(&v->text, "%*s%08llx-%08llx : %s\n", depth * 2, "", from, to, name);
}

static void instance_lines(const struct view *w, const struct chunk *c, bool hidden, struct vnode *v)
{
	for (int t = 0; t < c->ntaken; t++) {
		struct instance *i = instance_by_id(w->sim, c->taken[t].owner);
		char name[160];

		for (int r = 0; i && r < i->nregions; r++) {
			if (i->regions[r].base != c->taken[t].base)
				continue;
			snprintf(name, sizeof(name), "mk-instance-%d-%s-region-%d", i->id, i->name,
				 r);
			iomem_line(v, 2, hidden, i->regions[r].base, i->regions[r].size, name);
		}
	}
}

static int compare_chunks(const void *a, const void *b)
{
	const struct chunk *x = *(struct chunk *const *)a, *y = *(struct chunk *const *)b;

	return (x->base > y->base) - (x->base < y->base);
}

static void chunk_lines(const struct view *w, const struct range *r, bool hidden, struct vnode *v)
{
	cleanup_free struct chunk **sorted = calloc(w->sim->nchunks + 1, sizeof(*sorted));

	if (!sorted)
		return;
	for (int k = 0; k < w->sim->nchunks; k++)
		sorted[k] = &w->sim->chunks[k];
	qsort(sorted, w->sim->nchunks, sizeof(*sorted), compare_chunks);
	for (int k = 0; k < w->sim->nchunks; k++) {
		if (sorted[k]->base < r->base || sorted[k]->base >= r->base + r->size)
			continue;
		iomem_line(v, 1, hidden, sorted[k]->base, sorted[k]->size, "Multikernel Memory Pool");
		instance_lines(w, sorted[k], hidden, v);
	}
}

void view_iomem(const struct view *w, pid_t caller, struct vnode *v)
{
	/* Addresses are zero for who may not see them, and no error tells, 1.5. */
	bool hidden = caller && !task_capable(caller, CAP_SYS_ADMIN);

	vnode_file(v, 0400);
	v->mode = 0444;
	if (w->instance) {
		for (int r = 0; r < w->instance->nregions; r++)
			iomem_line(v, 0, hidden, w->instance->regions[r].base,
				   w->instance->regions[r].size, "System RAM");
		return;
	}
	iomem_line(v, 0, hidden, 0, 0x1000, "Reserved");
	for (int n = 0; n < w->sim->machine.nnodes; n++) {
		const struct machine_node *node = &w->sim->machine.nodes[n];

		for (int r = 0; r < node->nranges; r++) {
			iomem_line(v, 0, hidden, node->ranges[r].base, node->ranges[r].size,
				   "System RAM");
			chunk_lines(w, &node->ranges[r], hidden, v);
		}
	}
}

/* One line of /proc/PID/mountinfo as /proc/mounts has it; what mksim mounted stays hidden. */
static void mount_line(const struct view *w, char *line, struct vnode *v)
{
	char *field[11] = {0}, *save = NULL, *dash = strstr(line, " - ");
	char *type, *source, *options;
	int n = 0;

	if (!dash)
		return;
	*dash = '\0';
	for (char *p = strtok_r(line, " ", &save); p && n < 11; p = strtok_r(NULL, " ", &save))
		field[n++] = p;
	type = strtok_r(dash + 3, " ", &save);
	source = strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (n < 6 || !type || !source || !options)
		return;
	if (strcmp(source, "mksim") == 0 && strcmp(type, "fuse") == 0) {
		if (strcmp(field[3], "/mk") == 0)
			buf_printf(&v->text, "none %s multikernel %s 0 0\n", field[4],
				   strncmp(field[5], "ro", 2) == 0 ? "ro,relatime" : "rw,relatime");
		return;
	}
	if (strcmp(source, "mksim") == 0 || rooms_hides(w->sim, atoi(field[0])))
		return;
	buf_printf(&v->text, "%s %s %s %s", source, field[4], type, field[5]);
	/* The file system's own options, without a second "rw". */
	if (strncmp(options, "rw,", 3) == 0 || strncmp(options, "ro,", 3) == 0)
		buf_printf(&v->text, "%s", options + 2);
	buf_str(&v->text, " 0 0\n");
}

void view_mounts(const struct view *w, pid_t caller, struct vnode *v)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char path[64], *save = NULL;

	vnode_file(v, 0444);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", caller);
	if (caller == 0 || read_file_at(AT_FDCWD, path, 4 << 20, &text, NULL, &e) < 0)
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char copy[8192];

		/* mount_line() has a strtok of its own. */
		snprintf(copy, sizeof(copy), "%s", line);
		mount_line(w, copy, v);
	}
}

void view_filesystems(const struct view *w, struct vnode *v)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;

	vnode_file(v, 0444);
	if (read_file_at(AT_FDCWD, "/proc/filesystems", 1 << 20, &text, NULL, &e) == 0)
		buf_str(&v->text, text);
	buf_str(&v->text, "nodev\tmultikernel\n");
}

/* The options that a multikernel kernel has beyond the running one, section 1.1. */
static const char options[] = "CONFIG_MULTIKERNEL=y\n"
			      "CONFIG_MKTTY=y\n"
			      "CONFIG_KEXEC=y\n"
			      "CONFIG_KEXEC_CORE=y\n"
			      "CONFIG_KEXEC_FILE=y\n"
			      "CONFIG_KEXEC_HANDOVER=y\n"
			      "# CONFIG_DEFERRED_STRUCT_PAGE_INIT is not set\n"
			      "# CONFIG_KEXEC_SIG_FORCE is not set\n"
			      "CONFIG_SMP=y\n"
			      "CONFIG_HOTPLUG_CPU=y\n"
			      "CONFIG_OF=y\n"
			      "CONFIG_OF_FLATTREE=y\n"
			      "CONFIG_OF_EARLY_FLATTREE=y\n"
			      "CONFIG_OF_DYNAMIC=y\n"
			      "CONFIG_LIBFDT=y\n"
			      "CONFIG_CMA=y\n"
			      "CONFIG_CONTIG_ALLOC=y\n"
			      "CONFIG_COMPACTION=y\n"
			      "CONFIG_MIGRATION=y\n"
			      "CONFIG_NUMA=y\n"
			      "CONFIG_MEMORY_HOTPLUG=y\n"
			      "CONFIG_MEMORY_HOTREMOVE=y\n"
			      "CONFIG_DEVTMPFS=y\n"
			      "CONFIG_DEVTMPFS_MOUNT=y\n"
			      "CONFIG_BLK_DEV_INITRD=y\n"
			      "CONFIG_RD_GZIP=y\n"
			      "CONFIG_IKCONFIG=y\n"
			      "CONFIG_IKCONFIG_PROC=y\n";

/* "CONFIG_X" of a line "CONFIG_X=y" or "# CONFIG_X is not set", with its length. */
static const char *option_name(const char *line, size_t *len)
{
	if (strncmp(line, "# CONFIG_", 9) == 0)
		line += 2;
	*len = strcspn(line, "= \n");
	return strncmp(line, "CONFIG_", 7) == 0 ? line : NULL;
}

static bool ours(const char *name, size_t len)
{
	for (const char *line = options; *line; line = strchr(line, '\n') + 1) {
		size_t n;
		const char *mine = option_name(line, &n);

		if (mine && n == len && strncmp(mine, name, len) == 0)
			return true;
	}
	return false;
}

static void read_real_config(struct buf *out)
{
	gzFile f = gzopen("/proc/config.gz", "rbe");
	char line[1024];

	while (f && gzgets(f, line, sizeof(line))) {
		size_t len;
		const char *name = option_name(line, &len);

		if (!name || !ours(name, len))
			buf_str(out, line);
	}
	if (f)
		gzclose(f);
}

void view_config(const struct view *w, struct vnode *v)
{
	cleanup_buf struct buf text = BUF_INIT, packed = BUF_INIT;
	enum {
		GZIP_WINDOW = 15 + 16
	};
	z_stream z = {0};
	char part[65536];
	int ret;

	vnode_file(v, 0444);
	buf_str(&text, options);
	read_real_config(&text);
	if (text.failed || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
					Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	z.next_in = (Bytef *)text.data;
	z.avail_in = text.len;
	do {
		z.next_out = (Bytef *)part;
		z.avail_out = sizeof(part);
		ret = deflate(&z, Z_FINISH);
		buf_add(&packed, part, sizeof(part) - z.avail_out);
	} while (ret == Z_OK);
	deflateEnd(&z);
	if (!packed.failed && ret == Z_STREAM_END)
		buf_add(&v->text, packed.data, packed.len);
}
