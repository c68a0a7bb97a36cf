// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/boundary/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "common/cleanup.h"
#include "common/cpumask.h"
#include "common/io.h"

/* linux/mempolicy.h; its constants are ABI. */
enum {
	POLICY_BIND = 2,
	POLICY_INTERLEAVE = 3
};

#define SAMPLE_PAGES 1024
#define HUGE_PAGE    (2UL << 20) /* unit of rounding: the usual huge page of x86, arm64, RISC-V */
#define SMAPS_MAX    (16 << 20)

const char *const huge_names[] = {"system", "never", "thp", "hugetlb", NULL};

size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static char *read_text(const char *path, size_t max)
{
	struct err e = ERR_INIT;
	char *text = NULL;

	return read_file_at(AT_FDCWD, path, max, &text, NULL, &e) == 0 ? text : NULL;
}

size_t cache_line(void)
{
	cleanup_free char *text =
		read_text("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size", 100);
	unsigned long line = text ? strtoul(text, NULL, 10) : 0;

	if (line < sizeof(uint64_t))
		return 64;
	return line > LINE_PAD ? LINE_PAD : line;
}

uint64_t memory_available(void)
{
	cleanup_free char *text = read_text("/proc/meminfo", 65536);
	const char *at = text ? strstr(text, "MemAvailable:") : NULL;

	return at ? strtoull(at + strlen("MemAvailable:"), NULL, 10) * 1024 : 0;
}

static int nodes_online(struct cpumask *nodes)
{
	cleanup_free char *text = read_text("/sys/devices/system/node/online", 65536);
	struct err e = ERR_INIT;

	return text && cpumask_parse(nodes, text, &e) == 0 ? 0 : -ENOENT;
}

/* The system call's word for it, not that of a sysfs that may not be mounted. */
static bool kernel_has_numa(void)
{
	int mode;

	return syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL) == 0 || errno != ENOSYS;
}

static int set_policy(const struct memory *m, struct err *e)
{
	cleanup_cpumask struct cpumask nodes = CPUMASK_INIT;
	int policy = m->node == NODE_INTERLEAVE ? POLICY_INTERLEAVE : POLICY_BIND;
	bool listed = nodes_online(&nodes) == 0;

	if (m->node == NODE_DEFAULT || m->node < NODE_INTERLEAVE)
		return 0;
	if (!kernel_has_numa()) {
		if (m->node > 0)
			return err_set(e, EINVAL, "node %d: the kernel has no NUMA", m->node);
		return 0;
	}
	if (m->node >= 0) {
		if (listed && !cpumask_test(&nodes, m->node))
			return err_set(e, EINVAL, "node %d is not online", m->node);
		cpumask_free(&nodes);
		nodes = CPUMASK_INIT;
		if (cpumask_set(&nodes, m->node) < 0)
			return err_set(e, EINVAL, "node %d: no such node", m->node);
	} else if (!listed) {
		return err_set(e, ENOENT, "interleave: the nodes online cannot be read");
	}
	/* The kernel takes one bit less than maxnode says. Words are of 64 bits in both. */
	if (syscall(SYS_mbind, m->at, m->len, policy, nodes.words, nodes.nwords * 64 + 1, 0) == 0)
		return 0;
	/* A sandbox may forbid the call; node 0 of one node is the default anyhow. */
	if (errno == EPERM && listed && m->node <= 0 && cpumask_weight(&nodes) == 1 &&
	    cpumask_test(&nodes, 0))
		return 0;
	return err_sys(e, "mbind to node %d", m->node);
}

int memory_map(struct memory *m, size_t len, int node, enum huge huge, struct err *e)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge == HUGE_TLB ? MAP_HUGETLB : 0);
	int advice = huge == HUGE_NEVER ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;

	*m = (struct memory){.len = len, .node = node, .real_node = -1, .huge = huge};
	if (huge == HUGE_TLB)
		m->len = (len + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	m->at = mmap(NULL, m->len, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (m->at == MAP_FAILED) {
		m->at = NULL;
		return err_sys(e, "map %zu bytes", len);
	}
	if ((huge == HUGE_NEVER || huge == HUGE_THP) && madvise(m->at, m->len, advice) < 0)
		return err_sys(e, "huge pages \"%s\"", huge_names[huge]);
	return set_policy(m, e);
}

void memory_unmap(struct memory *m)
{
	if (m->at)
		munmap(m->at, m->len);
	m->at = NULL;
}

void memory_touch(struct memory *m)
{
	memset(m->at, 1, m->len);
}

long memory_huge_bytes(const struct memory *m)
{
	cleanup_free char *text = read_text("/proc/self/smaps", SMAPS_MAX);
	uintptr_t from = (uintptr_t)m->at, to = from + m->len;
	long bytes = -1;
	bool inside = false;

	/* A header has the range; lines of sizes follow it. Policies may split or join mappings. */
	for (char *line = text, *next; line && *line; line = next) {
		uintptr_t start, end;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2)
			inside = start < to && end > from;
		else if (inside && strncmp(line, "AnonHugePages:", 14) == 0)
			bytes = (bytes < 0 ? 0 : bytes) + strtol(line + 14, NULL, 10) * 1024;
	}
	return bytes;
}

static int verify_huge(const struct memory *m, struct err *e)
{
	long bytes = m->huge == HUGE_NEVER || m->huge == HUGE_THP ? memory_huge_bytes(m) : -1;

	if (bytes > 0 && m->huge == HUGE_NEVER)
		return err_set(e, EXDEV, "%ld bytes lie in huge pages", bytes);
	/* The ends need not fill a huge page. */
	if (bytes >= 0 && m->huge == HUGE_THP && bytes + 2 * HUGE_PAGE < m->len)
		return err_set(e, EXDEV, "only %ld of %zu bytes lie in huge pages", bytes, m->len);
	return 0;
}

static int verify_nodes(struct memory *m, const int *status, size_t n, struct err *e)
{
	m->real_node = status[0];
	for (size_t i = 0; i < n; i++) {
		if (status[i] < 0)
			return err_set(e, status[i], "a page of the memory is not there");
		if (m->node >= 0 && status[i] != m->node)
			return err_set(e, EXDEV, "memory on node %d, not %d", status[i], m->node);
		if (status[i] != m->real_node)
			m->real_node = -1;
	}
	return 0;
}

int memory_verify(struct memory *m, int every, struct err *e)
{
	size_t all = (m->len + page_size() - 1) / page_size();
	size_t n = every || all < SAMPLE_PAGES ? all : SAMPLE_PAGES;
	cleanup_free void **pages = calloc(n, sizeof(*pages));
	cleanup_free int *status = calloc(n, sizeof(*status));

	if (!pages || !status)
		return err_set(e, ENOMEM, "no memory");
	for (size_t i = 0; i < n; i++)
		pages[i] = (char *)m->at + i * all / n * page_size();
	if (syscall(SYS_move_pages, 0, n, pages, NULL, status, 0) == 0) {
		int ret = verify_nodes(m, status, n, e);

		return ret < 0 ? ret : verify_huge(m, e);
	}
	if (errno == ENOSYS || (errno == EPERM && m->node <= 0)) {
		m->real_node = errno == ENOSYS ? 0 : -1;
		return verify_huge(m, e);
	}
	return err_sys(e, "move_pages");
}
