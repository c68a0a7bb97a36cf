// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "sim/fault.h"
#include "sim/sim.h"

/* The write to overlays/new: parsing, sections 2.4, 6.3 and 6.4. */

/* On which targets an operation may stand, and what its items are called. */
static const struct {
	const char *name, *item; /* item NULL: the operation is its own item */
	bool on[3]; /* by enum op_where */
} kinds[OP_KINDS] = {
	[OP_INSTANCE_CREATE] = {"instance-create", NULL, {[ON_INSTANCES] = true}},
	[OP_MEMORY_REMOVE] = {"memory-remove", "memory@", {[ON_POOL] = true, [ON_INSTANCE] = true}},
	[OP_MEMORY_ADD] = {"memory-add", "memory@", {[ON_POOL] = true, [ON_INSTANCE] = true}},
	[OP_CPU_REMOVE] = {"cpu-remove", "cpu@", {[ON_POOL] = true, [ON_INSTANCE] = true}},
	[OP_CPU_ADD] = {"cpu-add", "cpu@", {[ON_POOL] = true, [ON_INSTANCE] = true}},
	[OP_DEVICE_REMOVE] = {"device-remove", "pci@", {[ON_POOL] = true, [ON_INSTANCE] = true}},
	[OP_DEVICE_ADD] = {"device-add", "pci@", {[ON_POOL] = true, [ON_INSTANCE] = true}},
	[OP_INSTANCE_REMOVE] = {"instance-remove", NULL, {[ON_INSTANCES] = true}},
};

/* Later G2 on /resources: CPUs and devices leave before the memory they parked in. */
static const enum op_kind later_pool_order[] = {OP_CPU_REMOVE, OP_DEVICE_REMOVE, OP_MEMORY_REMOVE,
						OP_MEMORY_ADD, OP_CPU_ADD,	 OP_DEVICE_ADD};

struct fragment {
	int node;
	uint32_t number;
};

static int compare_fragments(const void *a, const void *b)
{
	const struct fragment *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int refuse(struct sim *s, int error, const char *what)
{
	sim_printk(s, 3, "multikernel: overlay: %s", what);
	return error;
}

static bool fragment_number(const char *name, uint32_t *number)
{
	unsigned long long v;
	char *end;

	if (name[9] == '\0' || !strchr("0123456789abcdefABCDEF", name[9]))
		return false;
	v = strtoull(name + 9, &end, 16);
	*number = (uint32_t)v;
	return *end == '\0' && v <= UINT32_MAX;
}

static int add_op(struct tx *tx, const struct op *op)
{
	struct op *ops = realloc(tx->ops, (tx->nops + 1) * sizeof(*ops));

	if (!ops)
		return -ENOMEM;
	tx->ops = ops;
	ops[tx->nops++] = *op;
	return 0;
}

static int add_kind(struct sim *s, const struct blob *b, struct tx *tx, int overlay,
		    enum op_kind kind, const struct op *target)
{
	int node = blob_find(b, overlay, kinds[kind].name);
	struct op op = *target;

	if (node < 0)
		return 0;
	if (!kinds[kind].on[target->where])
		return refuse(s, -EINVAL, "operation under a target that does not take it");
	op.kind = kind;
	op.node = node;
	if (!kinds[kind].item)
		return add_op(tx, &op);
	for (int c = blob_child(b, node); c >= 0; c = blob_next(b, c)) {
		int ret;

		if (strncmp(blob_name(b, c), kinds[kind].item, strlen(kinds[kind].item)) != 0)
			continue; /* silently: strict mode has named it */
		op.node = c;
		ret = add_op(tx, &op);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int parse_target(struct sim *s, const char *path, struct op *op)
{
	static const char instances[] = "/instances/";

	if (!path)
		return refuse(s, -EINVAL, "fragment without a target-path");
	if (strcmp(path, "/resources") == 0) {
		op->where = ON_POOL;
	} else if (strcmp(path, "/instances") == 0) {
		op->where = ON_INSTANCES;
	} else if (strncmp(path, instances, strlen(instances)) == 0 && path[strlen(instances)] &&
		   !strchr(path + strlen(instances), '/') &&
		   strlen(path + strlen(instances)) < SIM_NAME_MAX) {
		op->where = ON_INSTANCE;
		strcpy(op->target, path + strlen(instances));
	} else {
		return refuse(s, -EINVAL, "unknown target-path");
	}
	return 0;
}

static int parse_fragment(struct sim *s, const struct blob *b, struct tx *tx, int fragment)
{
	struct op target = {0};
	int overlay = blob_find(b, fragment, "__overlay__");
	int ret = parse_target(s, blob_string(b, fragment, "target-path"), &target);

	if (ret < 0)
		return ret;
	if (overlay < 0)
		return refuse(s, -EINVAL, "fragment without __overlay__");
	if (target.where == ON_POOL && s->options.abi == ABI_G2B) {
		if (blob_find(b, overlay, "instance-create") >= 0 ||
		    blob_find(b, overlay, "instance-remove") >= 0)
			return refuse(s, -EINVAL, "instance operation under /resources");
		for (size_t k = 0; k < sizeof(later_pool_order) / sizeof(*later_pool_order); k++) {
			ret = add_kind(s, b, tx, overlay, later_pool_order[k], &target);
			if (ret < 0)
				return ret;
		}
		return 0;
	}
	for (int k = 0; k < OP_KINDS; k++) {
		ret = add_kind(s, b, tx, overlay, k, &target);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int overlay_parse(struct sim *s, const struct blob *b, struct tx *tx)
{
	cleanup_free struct fragment *f = NULL;
	int root = blob_root(b), n = 0, size = 0, ret = 0;

	for (int c = blob_child(b, root); c >= 0; c = blob_next(b, c)) {
		if (strncmp(blob_name(b, c), "fragment@", 9) != 0)
			continue;
		if (n == size) {
			struct fragment *grown = realloc(f, (size + 16) * sizeof(*f));

			if (!grown)
				return -ENOMEM;
			f = grown;
			size += 16;
		}
		f[n].node = c;
		if (!fragment_number(blob_name(b, c), &f[n++].number))
			return refuse(s, -EINVAL, "fragment without a hexadecimal number");
	}
	if (n == 0)
		return refuse(s, -EINVAL, "no fragment");
	qsort(f, n, sizeof(*f), compare_fragments);
	for (int i = 0; i < n; i++) {
		const char *target = blob_string(b, f[i].node, "target-path");

		if (i == 0 && target)
			snprintf(tx->first_target, sizeof(tx->first_target), "%s", target);
		ret = parse_fragment(s, b, tx, f[i].node);
		if (ret < 0)
			break;
	}
	return ret;
}

struct tx *tx_find(struct sim *s, int id)
{
	for (struct tx *t = s->transactions; t; t = t->next)
		if (t->id == id)
			return t;
	return NULL;
}

void tx_free(struct tx *tx)
{
	if (!tx)
		return;
	free(tx->blob);
	free(tx->ops);
	free(tx);
}

static void append(struct sim *s, struct tx *tx)
{
	struct tx **at = &s->transactions;

	while (*at)
		at = &(*at)->next;
	*at = tx;
}

/* Whether an operation waits for the message of a kernel that runs. */
static bool talks(struct sim *s, const struct op *op)
{
	const struct instance *i = op->where == ON_INSTANCE ? instance_by_name(s, op->target) : NULL;

	return i && i->state == STATE_ACTIVE;
}

static int execute(struct sim *s, const struct blob *b, struct tx *tx, const struct fault *f,
		   int *delay_ms)
{
	if (fault_is(f, FAULT_ERRNO))
		return f->error;
	if (fault_is(f, FAULT_OVERLAY_FAIL))
		return -EINVAL;
	for (int i = 0; i < tx->nops; i++) {
		struct op *op = &tx->ops[i];
		bool cpu = op->kind == OP_CPU_ADD || op->kind == OP_CPU_REMOVE;
		int ret;

		if (fault_is(f, FAULT_APPLIED_WITHOUT_CPUS) && cpu)
			continue;
		if (fault_is(f, FAULT_POOL_ENOMEM) && op->kind == OP_MEMORY_ADD)
			return -ENOMEM;
		if (fault_is(f, FAULT_POOL_BUSY) && op->where == ON_POOL &&
		    (op->kind == OP_MEMORY_REMOVE || cpu))
			return -EBUSY;
		if (talks(s, op) && cpu) {
			struct instance *target = instance_by_name(s, op->target);

			if (target->hung || fault_is(f, FAULT_MOVE_TIMEOUT)) {
				*delay_ms += fault_is(f, FAULT_MOVE_TIMEOUT) ? f->ms : 10000;
				/* The CPU may still leave later, 11.4. */
				if (!target->hung)
					overlay_execute(s, b, op);
				return -ETIMEDOUT;
			}
		}
		ret = overlay_execute(s, b, op);
		if (ret < 0)
			return ret;
		if (op->where == ON_INSTANCE && op->kind == OP_CPU_ADD)
			s->cpus[machine_cpu_of(&s->machine, op->phys)].visible_at =
				fault_is(f, FAULT_CPU_LATE) ? clock_ns() + f->ms * NSEC_PER_MSEC : 0;
		if (fault_is(f, FAULT_APPLIED_WITHOUT_CPUS) && op->kind == OP_INSTANCE_CREATE) {
			struct instance *made = instance_by_name(s, op->target);

			while (made && made->ncpus)
				instance_remove_cpu(s, made, s->machine.cpus[made->cpus[0]].phys);
		}
	}
	return fault_is(f, FAULT_APPLIED_BUT_ERROR) ? -EIO : 0;
}

static int header(struct sim *s, const void *data, size_t len)
{
	struct err e = ERR_INIT;
	uint32_t total;

	if (blob_check_header(data, len, &total, &e) < 0) {
		log_line(&s->log, "  %s", e.text);
		return -EINVAL;
	}
	return 0;
}

ssize_t overlay_write(struct sim *s, const void *data, size_t len, const struct fault *f,
		      int *delay_ms)
{
	struct tx *tx;
	struct blob b;
	struct err e = ERR_INIT;
	const char *resources;
	size_t taken = len;
	int ret;

	if (len == 0)
		return -EINVAL;
	if (taken > SIM_PAGE) {
		log_strict(&s->log, "overlay of %zu bytes is cut to one page", len);
		taken = SIM_PAGE;
	}
	if (fault_is(f, FAULT_BLOB_CUT))
		taken /= 2;
	ret = header(s, data, taken);
	if (ret < 0)
		return ret;
	tx = calloc(1, sizeof(*tx));
	if (!tx)
		return -ENOMEM;
	tx->id = ++s->last_tx;
	tx->blob = malloc(taken);
	if (!tx->blob) {
		tx_free(tx);
		return -ENOMEM;
	}
	memcpy(tx->blob, data, taken);
	tx->blob_size = taken;
	strcpy(tx->first_target, "unknown");
	strcpy(tx->resources, "unknown");

	if (blob_open(&b, tx->blob, taken, &e) < 0) {
		if (!fault_is(f, FAULT_BLOB_CUT))
			log_strict(&s->log, "overlay: %s: the kernel reads past its copy", e.text);
		ret = -EINVAL;
	} else {
		cleanup_buf struct buf text = BUF_INIT;

		blob_print(&b, &text);
		if (!text.failed && text.data)
			log_text(&s->log, text.data);
		grammar_check_overlay(s, &b);
		resources = blob_string(&b, blob_root(&b), "mk,resources");
		if (resources)
			snprintf(tx->resources, sizeof(tx->resources), "%s", resources);
		ret = overlay_parse(s, &b, tx);
		if (ret == 0)
			ret = execute(s, &b, tx, f, delay_ms);
	}
	tx->applied = ret == 0;
	if (ret < 0)
		sim_printk(s, 3, "multikernel: Failed to apply overlay transaction %d: %d", tx->id,
			   ret);
	log_line(&s->log, "  tx_%d %s%s%s", tx->id, tx->applied ? "applied" : "failed",
		 ret < 0 ? " " : "", ret < 0 ? errno_name(ret) : "");
	if (fault_is(f, FAULT_TX_LOST))
		tx_free(tx);
	else
		append(s, tx);
	return taken;
}
