// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/machine.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/buf.h"

#define GIB (UINT64_C(1) << 30)

/*
 * Two packages of four cores: enough for two instances and a host.
 */
static const char default_spec[] = "pack:2 [numa] l3:1 core:4 pu:1";

int store_put(struct store *s, const char *path, const char *text, bool link)
{
	struct store_entry entry = {.link = link};

	if (s->n == s->size) {
		size_t size = s->size ? s->size * 2 : 1024;
		struct store_entry *v = realloc(s->v, size * sizeof(*v));

		if (!v)
			return -ENOMEM;
		s->v = v;
		s->size = size;
	}
	entry.path = strdup(path);
	entry.text = strdup(text);
	if (!entry.path || !entry.text) {
		free(entry.path);
		free(entry.text);
		return -ENOMEM;
	}
	s->v[s->n++] = entry;
	return 0;
}

/* '/' sorts before every other byte, so that what is below a folder is adjacent. */
static int compare_paths(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	int x = *a == '/' ? 1 : (unsigned char)*a, y = *b == '/' ? 1 : (unsigned char)*b;

	return x - y;
}

static int compare_entries(const void *a, const void *b)
{
	return compare_paths(((const struct store_entry *)a)->path,
			     ((const struct store_entry *)b)->path);
}

void store_sort(struct store *s)
{
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), compare_entries);
}

static size_t lower_bound(const struct store *s, const char *path)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_paths(s->v[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct store_entry *store_get(const struct store *s, const char *path)
{
	size_t i = lower_bound(s, path);

	return i < s->n && strcmp(s->v[i].path, path) == 0 ? &s->v[i] : NULL;
}

static bool below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && path[len] == '/';
}

size_t store_first_below(const struct store *s, const char *folder)
{
	size_t i = lower_bound(s, folder);

	while (i < s->n && strcmp(s->v[i].path, folder) == 0)
		i++;
	return i < s->n && below(s->v[i].path, folder) ? i : s->n;
}

int store_set(struct store *s, const char *path, const char *text)
{
	size_t i = lower_bound(s, path);
	char *copy;

	if (i >= s->n || strcmp(s->v[i].path, path) != 0)
		return -ENOENT;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	if (s->v[i].original)
		free(s->v[i].text);
	else
		s->v[i].original = s->v[i].text;
	s->v[i].text = copy;
	return 0;
}

bool store_has_folder(const struct store *s, const char *folder)
{
	return store_first_below(s, folder) < s->n;
}

void store_free(struct store *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].path);
		free(s->v[i].text);
		free(s->v[i].original);
	}
	free(s->v);
	*s = (struct store){0};
}

int machine_cpu_of(const struct machine *m, uint64_t phys)
{
	for (int i = 0; i < m->ncpus; i++)
		if (m->cpus[i].present && m->cpus[i].phys == phys)
			return i;
	return -1;
}

int machine_node_index(const struct machine *m, int node)
{
	for (int i = 0; i < m->nnodes; i++)
		if (m->nodes[i].node == node)
			return i;
	return -1;
}

void machine_free(struct machine *m)
{
	for (int i = 0; i < m->ncpus; i++)
		free(m->cpus[i].info);
	free(m->cpus);
	free(m->nodes);
	free(m->what);
	store_free(&m->sys);
	*m = (struct machine){0};
}

static void add_range(struct machine_node *n, uint64_t base, uint64_t size)
{
	n->ranges[n->nranges++] = (struct range){base, size};
}

/*
 * As PC firmware lays it out: the first 3 GiB below the hole for devices (without the legacy
 * area), the rest from 4 GiB on, node after node, each from a memory block boundary.
 */
static void place_memory(struct machine *m)
{
	const uint64_t hole = 3 * GIB, legacy = 0xa0000, low = 0x100000;
	uint64_t at = low;

	for (int i = 0; i < m->nnodes; i++) {
		struct machine_node *n = &m->nodes[i];
		uint64_t left = n->memory, size;

		if (at == low && left > low) {
			add_range(n, 0x1000, legacy - 0x1000);
			left -= low;
			size = left < hole - low ? left : hole - low;
			add_range(n, low, size);
			left -= size;
			at = size == hole - low ? 4 * GIB : low + size;
		}
		if (left && at < hole) {
			at = (at + m->block_size - 1) / m->block_size * m->block_size;
			size = left < hole - at ? left : hole - at;
			add_range(n, at, size);
			at += size;
			left -= size;
		}
		if (left) {
			if (at < 4 * GIB)
				at = 4 * GIB;
			at = (at + m->block_size - 1) / m->block_size * m->block_size;
			add_range(n, at, left);
			at += left;
		}
	}
}

static int check(const struct machine *m, const char *spec, struct err *e)
{
	if (m->ncpus < 1 || !m->cpus[0].present)
		return err_usage(e, "topology %s: no CPU 0", spec);
	for (int i = 0; i < m->ncpus; i++)
		if (m->cpus[i].present && machine_cpu_of(m, m->cpus[i].phys) != i)
			return err_usage(e, "topology %s: CPUs %d and %d have the same id", spec, i,
					 machine_cpu_of(m, m->cpus[i].phys));
	if (m->nnodes < 1)
		return err_usage(e, "topology %s: no memory node", spec);
	return 0;
}

static bool is_xml(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && strcmp(path + len - 4, ".xml") == 0;
}

int machine_read(struct machine *m, const char *spec, const struct machine_options *o, struct err *e)
{
	struct stat st;
	int ret;

	*m = (struct machine){.block_size = UINT64_C(128) << 20};
	if (!spec)
		ret = machine_from_hwloc(m, default_spec, false, o, e);
	else if (stat(spec, &st) == 0)
		ret = is_xml(spec) ? machine_from_hwloc(m, spec, true, o, e)
				   : machine_from_dump(m, spec, e);
	else
		ret = machine_from_hwloc(m, spec, false, o, e);
	if (ret == 0)
		ret = check(m, spec ? spec : default_spec, e);
	if (ret < 0) {
		machine_free(m);
		return ret;
	}
	store_sort(&m->sys);
	place_memory(m);
	return 0;
}

char *format_cpumap(const struct cpumask *m, int nbits)
{
	struct buf out = BUF_INIT;

	for (int word = (nbits + 31) / 32 - 1; word >= 0; word--) {
		uint32_t v = 0;

		for (int bit = 0; bit < 32; bit++)
			if (cpumask_test(m, word * 32 + bit))
				v |= UINT32_C(1) << bit;
		buf_printf(&out, "%0*x%s",
			   word * 32 + 32 > nbits && nbits % 32 ? (nbits % 32 + 3) / 4 : 8, v,
			   word ? "," : "");
	}
	if (out.failed)
		buf_free(&out);
	return out.data;
}

int parse_cpumap(struct cpumask *m, const char *text)
{
	int bit = 0;

	for (const char *p = text + strlen(text); p > text; p--) {
		unsigned char c = p[-1];
		int digit = isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;

		if (c == ',' || isspace(c))
			continue;
		if (!isxdigit(c))
			return -EINVAL;
		for (int i = 0; i < 4; i++, bit++)
			if ((digit >> i & 1) && cpumask_set(m, bit) < 0)
				return -EINVAL;
	}
	return 0;
}
