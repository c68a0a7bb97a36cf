// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/spawn.h"

/* Instances and their CPUs, sections 6.8, 6.9, 7 and 11. */

enum {
	CONTROL_BLOCK = 16 << 10
};

struct instance *instance_by_name(struct sim *s, const char *name)
{
	for (struct instance *i = s->instances; i; i = i->next)
		if (strcmp(i->name, name) == 0)
			return i;
	return NULL;
}

struct instance *instance_by_id(struct sim *s, int id)
{
	for (struct instance *i = s->instances; i; i = i->next)
		if (i->id == id)
			return i;
	return NULL;
}

uint64_t instance_memory(const struct instance *i)
{
	uint64_t sum = 0;

	for (int k = 0; k < i->nregions; k++)
		sum += i->regions[k].size;
	return sum;
}

static int refuse(struct sim *s, int error, const char *what)
{
	sim_printk(s, 3, "multikernel: instance-create: %s", what);
	return error;
}

/* A length other than 4 or a value above 31 bits is silently ignored, 6.3. */
static int choose_id(struct sim *s, const struct blob *b, int node)
{
	uint32_t len;
	const void *v = blob_get(b, node, "id", &len);
	int id = 1;

	if (v && len == 4 && blob_u32(v) < 0x80000000u) {
		id = blob_u32(v);
		if (id == 0 || instance_by_id(s, id))
			return refuse(s, -EEXIST, "id is in use");
		if (id > SIM_ID_MAX)
			log_strict(&s->log, "instance id %d does not fit the load flags", id);
		return id;
	}
	if (v)
		log_strict(&s->log, "instance-create: id is ignored, an automatic one is chosen");
	while (instance_by_id(s, id))
		id++;
	return id;
}

struct wish {
	const uint8_t *cpus;
	int ncpus;
	uint64_t memory;
	int node;
};

static int read_wish(struct sim *s, const struct blob *b, int node, struct wish *w)
{
	int resources = blob_find(b, node, "resources");
	const uint8_t *v;
	uint32_t len;

	*w = (struct wish){.node = -1};
	if (resources < 0)
		return refuse(s, -EINVAL, "no resources node");
	if (blob_get(b, resources, "device-names", &len))
		return refuse(s, -EINVAL, "device-names is not accepted");
	v = blob_get(b, resources, "cpus", &len);
	if (v) {
		if (!len || len % 8)
			return refuse(s, -EINVAL, "cpus is not a list of 8-byte ids");
		w->cpus = v;
		w->ncpus = len / 8;
	}
	v = blob_get(b, resources, "memory-bytes", &len);
	if (v) {
		if (len != 8 || !blob_u64(v) || blob_u64(v) % SIM_PAGE)
			return refuse(s, -EINVAL, "memory-bytes is not a size of whole pages");
		w->memory = blob_u64(v);
	}
	v = blob_get(b, resources, "numa-nodes", &len);
	if (v) {
		if (!len || len % 4 || blob_u32(v) >= SIM_MAX_NODES)
			return refuse(s, -EINVAL, "bad numa-nodes");
		w->node = blob_u32(v);
	}
	return 0;
}

/* All or nothing, and nothing is no failure: the trap of 6.8. */
static int reserve_cpus(struct sim *s, struct instance *i, const struct wish *w)
{
	i->cpus = calloc(s->machine.ncpus, sizeof(*i->cpus));
	if (!i->cpus)
		return -ENOMEM;
	for (int k = 0; k < w->ncpus; k++) {
		int cpu = machine_cpu_of(&s->machine, blob_u64(w->cpus + 8 * k));

		if (cpu < 0 || s->cpus[cpu].owner != OWNER_POOL) {
			sim_printk(s, 4, "multikernel: CPU %llu is not free. Continuing without CPUs",
				   (unsigned long long)blob_u64(w->cpus + 8 * k));
			for (int j = 0; j < i->ncpus; j++) {
				s->cpus[i->cpus[j]].owner = OWNER_POOL;
				s->cpus[i->cpus[j]].instance = NULL;
			}
			i->ncpus = 0;
			return 0;
		}
		s->cpus[cpu].owner = OWNER_INSTANCE;
		s->cpus[cpu].instance = i;
		i->cpus[i->ncpus++] = cpu;
	}
	return 0;
}

static void instance_free(struct instance *i)
{
	image_free(i->image);
	free(i->cpus);
	free(i->regions);
	free(i->slots);
	free(i);
}

int instance_create(struct sim *s, const struct blob *b, int node, const char *name)
{
	struct instance *i, **at = &s->instances;
	struct wish w;
	int id, ret = read_wish(s, b, node, &w);

	if (ret < 0)
		return ret;
	if (instance_by_name(s, name))
		return refuse(s, -EEXIST, "name is in use");
	id = choose_id(s, b, node);
	if (id < 0)
		return id;
	i = calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	i->id = id;
	strcpy(i->name, name);
	i->state = STATE_READY;
	if (w.memory) {
		ret = w.memory > CONTROL_BLOCK ? pool_take(s, i, w.memory, w.node) : -ENOMEM;
		if (ret < 0) {
			instance_free(i);
			return refuse(s, ret, "no pool memory");
		}
	}
	ret = reserve_cpus(s, i, &w);
	if (ret < 0) {
		pool_give_back(s, i);
		instance_free(i);
		return ret;
	}
	while (*at)
		at = &(*at)->next;
	*at = i;
	return 0;
}

int instance_remove(struct sim *s, struct instance *i)
{
	struct instance **at = &s->instances;

	if (i->state == STATE_ACTIVE || i->state == STATE_LOADED)
		return -EBUSY;
	if (i->poisoned || i->region_given_back) {
		sim_crash(s, "instance %s is removed after %s", i->name,
			  i->poisoned ? "a failed load" : "a memory-remove of its own region");
		return -EIO;
	}
	for (int k = 0; k < i->ncpus; k++) {
		s->cpus[i->cpus[k]].owner = OWNER_POOL;
		s->cpus[i->cpus[k]].instance = NULL;
	}
	if (i->spawn) {
		/* A CPU that is still out keeps its memory: the kernel leaks it. */
		sim_printk(s, 4, "multikernel: instance %s: CPU did not park, leaking its memory",
			   i->name);
	} else {
		pool_give_back(s, i);
	}
	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
	instance_free(i);
	return 0;
}

static bool knows(const struct instance *i, int cpu)
{
	for (int k = 0; k < i->nslots; k++)
		if (i->slots[k] == cpu)
			return true;
	return false;
}

static void changed(struct instance *i)
{
	if (i->state == STATE_ACTIVE && i->spawn && i->spawn->ops->cpus_changed)
		i->spawn->ops->cpus_changed(i->spawn);
}

int instance_add_cpu(struct sim *s, struct instance *i, uint64_t phys)
{
	int cpu = machine_cpu_of(&s->machine, phys);

	if (cpu < 0 || s->cpus[cpu].owner != OWNER_POOL)
		return -EBUSY;
	if (i->state == STATE_ACTIVE && !knows(i, cpu)) {
		sim_printk(s, 3, "multikernel: instance %s has no slot for CPU %llu", i->name,
			   (unsigned long long)phys);
		return -ENODEV;
	}
	s->cpus[cpu].owner = OWNER_INSTANCE;
	s->cpus[cpu].instance = i;
	i->cpus[i->ncpus++] = cpu;
	changed(i);
	return 0;
}

int instance_remove_cpu(struct sim *s, struct instance *i, uint64_t phys)
{
	int cpu = machine_cpu_of(&s->machine, phys), at = 0;

	while (at < i->ncpus && i->cpus[at] != cpu)
		at++;
	if (cpu < 0 || at == i->ncpus)
		return -EINVAL;
	if (i->state == STATE_ACTIVE && at == 0) {
		sim_printk(s, 3, "multikernel: CPU %llu is the boot CPU of instance %s",
			   (unsigned long long)phys, i->name);
		return -EINVAL;
	}
	memmove(i->cpus + at, i->cpus + at + 1, (--i->ncpus - at) * sizeof(*i->cpus));
	s->cpus[cpu].owner = OWNER_POOL;
	s->cpus[cpu].instance = NULL;
	changed(i);
	return 0;
}
