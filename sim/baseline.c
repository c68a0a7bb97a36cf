// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/sim.h"

/* The baseline, section 3: one write that turns host resources into a pool. */

struct request {
	uint64_t *cpus;
	int ncpus;
	struct {
		uint64_t size;
		int node; /* -1: any */
	} * memory;
	int nmemory;
};

static void request_free(struct request *r)
{
	free(r->cpus);
	free(r->memory);
}

static int bad(struct sim *s, const char *what)
{
	sim_printk(s, 3, "multikernel: baseline: %s", what);
	return -EINVAL;
}

static int parse_cpus(struct sim *s, const struct blob *b, int resources, struct request *r)
{
	uint32_t len;
	const uint8_t *v = blob_get(b, resources, "cpus", &len);

	if (!v || !len || len % 8)
		return bad(s, "no cpus property of 8-byte ids");
	r->ncpus = len / 8;
	r->cpus = calloc(r->ncpus, sizeof(*r->cpus));
	if (!r->cpus)
		return -ENOMEM;
	for (int i = 0; i < r->ncpus; i++)
		r->cpus[i] = blob_u64(v + 8 * i);
	return 0;
}

static int parse_memory(struct sim *s, const struct blob *b, int resources, struct request *r)
{
	uint32_t len;

	if (blob_get(b, resources, "memory-base", &len) ||
	    blob_get(b, resources, "memory-bytes", &len))
		return bad(s, "memory-base/memory-bytes are not accepted any more");
	for (int c = blob_child(b, resources); c >= 0; c = blob_next(b, c)) {
		const void *size, *node;
		void *grown;
		int n = -1;

		if (strncmp(blob_name(b, c), "memory@", 7) != 0)
			continue;
		size = blob_get(b, c, "size", &len);
		if (!size || len != 8 || !blob_u64(size) || blob_u64(size) % SIM_PAGE)
			return bad(s, "memory node without a size of whole pages");
		node = blob_get(b, c, "numa-node-id", &len);
		if (node) {
			if (len != 4)
				return bad(s, "numa-node-id is not 4 bytes");
			/* 0xffffffff means any node, as no property does, 3.1 */
			if (blob_u32(node) != UINT32_MAX && blob_u32(node) >= SIM_MAX_NODES)
				return bad(s, "numa-node-id out of range");
			n = (int)blob_u32(node);
		}
		if (r->nmemory >= SIM_MAX_NODES)
			return -E2BIG;
		grown = realloc(r->memory, (r->nmemory + 1) * sizeof(*r->memory));
		if (!grown)
			return -ENOMEM;
		r->memory = grown;
		r->memory[r->nmemory].size = blob_u64(size);
		r->memory[r->nmemory++].node = n;
	}
	return r->nmemory ? 0 : bad(s, "no memory@ node");
}

static bool pci_id_good(const char *id)
{
	unsigned domain, bus, slot, function;
	char rest;

	return id && sscanf(id, "%x:%x:%x.%x%c", &domain, &bus, &slot, &function, &rest) == 4;
}

static int parse_devices(struct sim *s, const struct blob *b, int resources)
{
	int devices = blob_find(b, resources, "devices");
	uint32_t len;

	if (devices < 0)
		return 0;
	for (int c = blob_child(b, devices); c >= 0; c = blob_next(b, c)) {
		const char *type = blob_string(b, c, "device-type");

		if (type && strcmp(type, "pci") == 0) {
			if (!pci_id_good(blob_string(b, c, "pci-id")) ||
			    !blob_get(b, c, "vendor-id", &len) || !blob_get(b, c, "device-id", &len))
				return bad(s, "bad PCI device");
			/* The simulated machine has none to give; a failing device only warns. */
			sim_printk(s, 4, "multikernel: PCI device %s not found",
				   blob_string(b, c, "pci-id"));
		} else if (!type || strcmp(type, "platform") != 0) {
			sim_printk(s, 4, "multikernel: device %s skipped", blob_name(b, c));
		}
	}
	return 0;
}

static int parse(struct sim *s, const struct blob *b, struct request *r)
{
	int root = blob_root(b), resources = blob_find(b, root, "resources"), ret;

	if (resources < 0)
		return bad(s, "no /resources");
	if (blob_find(b, root, "instances") >= 0)
		return bad(s, "/instances is not allowed");
	ret = parse_cpus(s, b, resources, r);
	if (ret == 0)
		ret = parse_memory(s, b, resources, r);
	if (ret == 0)
		ret = parse_devices(s, b, resources);
	return ret;
}

/* From here on nothing is undone when something fails, 3.4. */
static int apply(struct sim *s, const struct request *r, const struct fault *f)
{
	int failed = 0;

	for (int i = 0; i < r->ncpus; i++) {
		int cpu = machine_cpu_of(&s->machine, r->cpus[i]);

		if (cpu < 0 || (!s->cpus[cpu].present && s->cpus[cpu].owner == OWNER_HOST)) {
			sim_printk(s, 3, "multikernel: CPU %llu is not present",
				   (unsigned long long)r->cpus[i]);
			return -ENODEV;
		}
		if (cpu == 0)
			sim_printk(s, 4, "multikernel: the boot CPU is in the list");
	}
	for (int i = 0; i < r->nmemory; i++) {
		int ret = fault_is(f, FAULT_POOL_ENOMEM) && i == r->nmemory - 1
				  ? -ENOMEM
				  : pool_add_chunk(s, r->memory[i].size, r->memory[i].node);

		if (ret < 0)
			return ret;
	}
	for (int i = 0; i < r->ncpus; i++) {
		int cpu = machine_cpu_of(&s->machine, r->cpus[i]);

		if (s->cpus[cpu].owner != OWNER_POOL &&
		    ((fault_is(f, FAULT_POOL_BUSY) && i == r->ncpus - 1) ||
		     pool_take_cpu(s, cpu) < 0)) {
			sim_printk(s, 3, "multikernel: CPU %d cannot be taken offline", cpu);
			failed++;
		}
	}
	return failed ? -EBUSY : 0;
}

int baseline_write(struct sim *s, const void *data, size_t len, const struct fault *f)
{
	cleanup(request_free) struct request r = {0};
	struct err e = ERR_INIT;
	cleanup_buf struct buf text = BUF_INIT;
	struct blob b;
	uint32_t total;
	int ret;

	if (len > SIM_ROOT_MAX)
		return -E2BIG;
	if (blob_check_header(data, len, &total, &e) < 0) {
		log_line(&s->log, "  %s", e.text);
		return -EINVAL;
	}
	/* A longer write arrives in pieces of the maximum. */
	if (len == SIM_ROOT_MAX && total > len)
		return -E2BIG;
	if (total != len) {
		log_line(&s->log, "  totalsize is %u, %zu bytes were written", total, len);
		return -EINVAL;
	}
	if (pool_exists(s)) {
		sim_printk(s, 3, "multikernel: baseline: a pool exists");
		return -EBUSY;
	}
	if (blob_open(&b, data, len, &e) < 0) {
		log_strict(&s->log, "baseline: %s: the kernel trusts a blob behind its header",
			   e.text);
		return -EINVAL;
	}
	blob_print(&b, &text);
	if (!text.failed && text.data)
		log_text(&s->log, text.data);
	grammar_check_baseline(s, &b);
	ret = parse(s, &b, &r);
	return ret < 0 ? ret : apply(s, &r, f);
}
