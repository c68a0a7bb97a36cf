// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "sim/sim.h"

/* The operations of an overlay one by one, and their way back: sections 6.3, 6.7, 11.7. */

static int bad(struct sim *s, const char *what)
{
	sim_printk(s, 3, "multikernel: overlay: %s", what);
	return -EINVAL;
}

/* "Exactly 4 or exactly 8 bytes"; what has 4 was named by strict mode. */
static int read_cpu(struct sim *s, const struct blob *b, struct op *op)
{
	uint32_t len;
	const void *reg = blob_get(b, op->node, "reg", &len);

	if (!reg || (len != 4 && len != 8))
		return bad(s, "cpu item without a reg of 4 or 8 bytes");
	op->phys = len == 8 ? blob_u64(reg) : blob_u32(reg);
	return 0;
}

static int read_node(struct sim *s, const struct blob *b, struct op *op)
{
	uint32_t len;
	const void *node = blob_get(b, op->node, "numa-node-id", &len);

	op->numa = -1;
	if (!node)
		return 0;
	if (len != 4 || blob_u32(node) >= SIM_MAX_NODES)
		return bad(s, "bad numa-node-id");
	op->numa = blob_u32(node);
	return 0;
}

static int read_range(struct sim *s, const struct blob *b, struct op *op)
{
	uint32_t len;
	const uint8_t *reg = blob_get(b, op->node, "reg", &len);

	if (!reg || len != 16)
		return bad(s, "memory item without a reg of 16 bytes");
	op->range = (struct range){blob_u64(reg), blob_u64(reg + 8)};
	return 0;
}

static int pool_cpu_add(struct sim *s, const struct blob *b, struct op *op)
{
	int cpu, ret = read_cpu(s, b, op);

	if (ret < 0)
		return ret;
	cpu = machine_cpu_of(&s->machine, op->phys);
	if (cpu < 0 || s->cpus[cpu].owner != OWNER_HOST || !s->cpus[cpu].online)
		return bad(s, "CPU is unknown, offline or in the pool already");
	return pool_take_cpu(s, cpu);
}

static int pool_cpu_remove(struct sim *s, const struct blob *b, struct op *op)
{
	int cpu, ret = read_cpu(s, b, op);

	if (ret < 0)
		return ret;
	cpu = machine_cpu_of(&s->machine, op->phys);
	return cpu < 0 ? -ENODEV : pool_return_cpu(s, cpu);
}

static int pool_memory_add(struct sim *s, const struct blob *b, struct op *op)
{
	uint32_t len;
	const void *size = blob_get(b, op->node, "size", &len);
	int ret;

	if (!size || len != 8 || !blob_u64(size) || blob_u64(size) % SIM_PAGE)
		return bad(s, "memory item without a size of whole pages");
	op->range.size = blob_u64(size);
	if (blob_get(b, op->node, "reg", &len))
		return bad(s, "memory-add of the pool takes no reg");
	ret = read_node(s, b, op);
	if (ret < 0)
		return ret;
	ret = pool_add_chunk(s, op->range.size, op->numa);
	if (ret == 0)
		op->range.base = s->chunks[s->nchunks - 1].base;
	return ret;
}

static int pool_memory_remove(struct sim *s, const struct blob *b, struct op *op)
{
	int ret = read_range(s, b, op);

	return ret < 0 ? ret : pool_remove_chunk(s, op->range.base, op->range.size);
}

static int pool_device(struct sim *s, const struct blob *b, struct op *op)
{
	return blob_string(b, op->node, "pci-id") ? -ENODEV : bad(s, "device without a pci-id");
}

static int create(struct sim *s, const struct blob *b, struct op *op)
{
	const char *name = blob_string(b, op->node, "instance-name");

	if (!name || !*name || strchr(name, '/') || strlen(name) >= SIM_NAME_MAX)
		return bad(s, "instance-create without a usable instance-name");
	strcpy(op->target, name);
	return instance_create(s, b, op->node, name);
}

static int remove_instance(struct sim *s, const struct blob *b, struct op *op)
{
	const char *name = blob_string(b, op->node, "instance-name");
	struct instance *i = name ? instance_by_name(s, name) : NULL;

	if (!name)
		return bad(s, "instance-remove without an instance-name");
	snprintf(op->target, sizeof(op->target), "%s", name);
	return i ? instance_remove(s, i) : -ENOENT;
}

static int on_instance(struct sim *s, const struct blob *b, struct op *op)
{
	struct instance *i = instance_by_name(s, op->target);
	int ret;

	if (!i)
		return -ENOENT;
	switch (op->kind) {
	case OP_CPU_ADD:
		ret = read_cpu(s, b, op);
		return ret < 0 ? ret : instance_add_cpu(s, i, op->phys);
	case OP_CPU_REMOVE:
		ret = read_cpu(s, b, op);
		return ret < 0 ? ret : instance_remove_cpu(s, i, op->phys);
	case OP_MEMORY_ADD:
	case OP_MEMORY_REMOVE:
		log_strict(&s->log, "memory operation on instance %s: unsafe on the real kernel",
			   i->name);
		ret = read_range(s, b, op);
		if (ret < 0)
			return ret;
		for (int r = 0; op->kind == OP_MEMORY_REMOVE && r < i->nregions; r++) {
			if (i->regions[r].base == op->range.base &&
			    i->regions[r].size == op->range.size) {
				i->region_given_back = true;
				return 0;
			}
		}
		return op->kind == OP_MEMORY_REMOVE ? -ENOENT : -EOPNOTSUPP;
	default:
		return pool_device(s, b, op);
	}
}

int overlay_execute(struct sim *s, const struct blob *b, struct op *op)
{
	if (op->where == ON_INSTANCE)
		return on_instance(s, b, op);
	if (op->where == ON_POOL && !pool_exists(s))
		return -EPERM;
	switch (op->kind) {
	case OP_INSTANCE_CREATE:
		return create(s, b, op);
	case OP_INSTANCE_REMOVE:
		return remove_instance(s, b, op);
	case OP_MEMORY_ADD:
		return pool_memory_add(s, b, op);
	case OP_MEMORY_REMOVE:
		return pool_memory_remove(s, b, op);
	case OP_CPU_ADD:
		return pool_cpu_add(s, b, op);
	case OP_CPU_REMOVE:
		return pool_cpu_remove(s, b, op);
	default:
		return pool_device(s, b, op);
	}
}

static int undo_on_instance(struct sim *s, const struct op *op)
{
	struct instance *i = instance_by_name(s, op->target);

	if (!i)
		return -ENOENT;
	if (op->kind == OP_CPU_ADD)
		return instance_remove_cpu(s, i, op->phys);
	if (op->kind == OP_CPU_REMOVE)
		return instance_add_cpu(s, i, op->phys);
	return -EOPNOTSUPP;
}

static int undo(struct sim *s, const struct op *op)
{
	struct instance *i;
	int cpu;

	if (op->where == ON_INSTANCE)
		return undo_on_instance(s, op);
	switch (op->kind) {
	case OP_INSTANCE_CREATE: /* by name: whoever has it now */
		i = instance_by_name(s, op->target);
		return i ? instance_remove(s, i) : 0;
	case OP_MEMORY_REMOVE:
		return pool_add_chunk(s, op->range.size, -1);
	case OP_CPU_ADD:
		cpu = machine_cpu_of(&s->machine, op->phys);
		return cpu < 0 ? -ENODEV : pool_return_cpu(s, cpu);
	case OP_CPU_REMOVE:
		cpu = machine_cpu_of(&s->machine, op->phys);
		return cpu < 0 ? -ENODEV : pool_take_cpu(s, cpu);
	default: /* instance-remove and memory-add cannot be undone: a warning */
		sim_printk(s, 4, "multikernel: an operation cannot be undone");
		return 0;
	}
}

int overlay_undo(struct sim *s, struct tx *tx)
{
	for (int k = tx->nops - 1; k >= 0; k--) {
		int ret = undo(s, &tx->ops[k]);

		if (ret < 0)
			return ret;
	}
	return 0;
}
