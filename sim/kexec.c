// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "sim/fault.h"
#include "sim/image.h"
#include "sim/sim.h"
#include "sim/spawn.h"

/* Load, unload, boot, halt, force halt: sections 8 and 9. */

#define MIB (UINT64_C(1) << 20)

enum {
	KNOWN_FLAGS = 0xffff,
	HALT_TIMEOUT_MS = 30000,
	COMMAND_LINE_SIZE = 2048,
};

void image_free(struct image *image)
{
	if (!image)
		return;
	if (image->initrd >= 0)
		close(image->initrd);
	free(image->cmdline);
	free(image);
}

/* status-stale: what the status file says from now on for a while. */
static void keep_status(struct instance *i, const struct fault *f)
{
	if (!i || !fault_is(f, FAULT_STATUS_STALE))
		return;
	i->stale_state = i->state;
	i->stale_until = clock_ns() + f->ms * NSEC_PER_MSEC;
}

static int unload(struct sim *s, struct instance *i)
{
	if (!i || (!i->image && !i->poisoned))
		return -ENOENT;
	if (i->poisoned) {
		sim_crash(s, "UNLOAD of instance %s after a failed load", i->name);
		return -EIO;
	}
	if (i->state == STATE_ACTIVE) {
		sim_crash(s, "UNLOAD of instance %s while it is active", i->name);
		return -EIO;
	}
	image_free(i->image);
	i->image = NULL;
	i->state = STATE_READY;
	return 0;
}

/*
 * Buffers are placed as the loader does: parameters from the top, the kernel from the bottom
 * on a 2 MiB boundary, the initrd from the top; each inside of one region.
 */
struct placing {
	uint64_t low, high;
};

static bool place_top(struct placing *p, int n, uint64_t size)
{
	for (int k = n - 1; k >= 0; k--) {
		if (p[k].high - p[k].low >= size) {
			p[k].high = (p[k].high - size) / SIM_PAGE * SIM_PAGE;
			return true;
		}
	}
	return false;
}

static bool place_kernel(struct placing *p, int n, uint64_t span)
{
	uint64_t size = (span + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);

	for (int k = 0; k < n; k++) {
		uint64_t at = (p[k].low + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);

		if (at <= p[k].high && p[k].high - at >= size) {
			p[k].low = at + size;
			return true;
		}
	}
	return false;
}

/* Which buffer does not fit, or NULL. */
static const char *first_misfit(const struct instance *i, uint64_t span, uint64_t initrd)
{
	enum {
		CONTROL_BLOCK = 16 << 10
	};
	cleanup_free struct placing *p = calloc(i->nregions + 1, sizeof(*p));

	if (!p)
		return "parameters";
	for (int k = 0; k < i->nregions; k++)
		p[k] = (struct placing){i->regions[k].base + (k ? 0 : CONTROL_BLOCK),
					i->regions[k].base + i->regions[k].size};
	if (!place_top(p, i->nregions, MIB))
		return "parameters";
	if (!place_kernel(p, i->nregions, span))
		return "kernel";
	if (initrd && !place_top(p, i->nregions, initrd))
		return "initrd";
	return NULL;
}

/* The image object is attached already: whatever fails now poisons the instance, 8.8. */
static int load_attached(struct sim *s, struct instance *i, struct load_request *r,
			 const struct fault *f)
{
	struct image_info info = {0};
	struct err e = ERR_INIT;
	const char *unsafe, *misfit;
	int ret;

	if (fault_is(f, FAULT_LOAD_DANGLING))
		return -ENOEXEC;
	if (!r->kernel)
		return r->kernel_errno;
	ret = image_check(r->kernel, r->kernel_size, &info, &unsafe, &e);
	if (unsafe) {
		sim_crash(s, "kernel image: %s", unsafe);
		return -EIO;
	}
	if (ret < 0) {
		log_line(&s->log, "  kernel image: %s", e.text);
		return ret;
	}
	if (!(r->flags & LOAD_NO_INITRD) && r->initrd < 0)
		return r->initrd_errno;
	if (r->cmdline_len && r->cmdline[r->cmdline_len - 1] != '\0')
		return -EINVAL;
	if (r->cmdline_len > COMMAND_LINE_SIZE)
		log_strict(&s->log, "command line of %zu bytes is cut to %d", r->cmdline_len,
			   COMMAND_LINE_SIZE);
	misfit = first_misfit(i, info.span, r->initrd_size);
	if (misfit && strcmp(misfit, "initrd") == 0) {
		sim_crash(s, "initrd of %llu bytes does not fit instance %s",
			  (unsigned long long)r->initrd_size, i->name);
		return -EIO;
	}
	if (misfit) {
		log_line(&s->log, "  no room for the %s", misfit);
		return -ENOMEM;
	}
	i->image = calloc(1, sizeof(*i->image));
	if (!i->image)
		return -ENOMEM;
	i->image->entry = info.entry;
	i->image->span = info.span;
	i->image->initrd = -1;
	i->image->cmdline = strndup(r->cmdline_len ? r->cmdline : "", COMMAND_LINE_SIZE - 1);
	if (!i->image->cmdline) {
		image_free(take_ptr(i->image));
		return -ENOMEM;
	}
	if (!(r->flags & LOAD_NO_INITRD)) {
		i->image->initrd = take_fd(r->initrd);
		i->image->initrd_size = r->initrd_size;
	}
	return 0;
}

static int load_id(const struct load_request *r)
{
	return (r->flags & LOAD_ID_MASK) >> LOAD_ID_SHIFT;
}

int kexec_load(struct sim *s, struct load_request *r)
{
	int id = load_id(r), ret;
	struct instance *i = instance_by_id(s, id);
	bool unloading = r->flags & LOAD_UNLOAD;
	const struct fault *f;

	f = sim_step(s, unloading ? "unload" : "load", "flags 0x%lx id %d (%s) \"%.*s\"", r->flags,
		     id, i ? i->name : "none", (int)(r->cmdline_len ? r->cmdline_len - 1 : 0),
		     r->cmdline ? r->cmdline : "");
	keep_status(i, f);
	if (s->host_dead)
		return -EIO;
	if (s->load_disabled || s->load_limit == 0)
		return -EPERM;
	if (s->load_limit > 0)
		s->load_limit--;
	if (r->flags & ~(unsigned long)KNOWN_FLAGS)
		return -EINVAL;
	if (!(r->flags & LOAD_MULTIKERNEL)) {
		log_strict(&s->log, "kexec_file_load without the multikernel flag: an ordinary "
				    "kexec image of the host");
		return -EPERM;
	}
	if (id == 0 || r->flags & LOAD_ON_CRASH) {
		if (r->flags & LOAD_ON_CRASH)
			log_strict(&s->log, "multikernel load with the crash flag");
		return -EINVAL;
	}
	if (s->kexec_locked)
		return -EBUSY;
	if (fault_is(f, FAULT_ERRNO))
		ret = f->error;
	else if (unloading)
		return unload(s, i);
	else if (!i)
		return -ENOENT;
	else if (i->image || i->poisoned)
		return -EBUSY;
	else
		ret = load_attached(s, i, r, f);
	if (ret == 0) {
		i->state = STATE_LOADED;
		return 0;
	}
	if (i && !unloading && ret != -EPERM && ret != -EBUSY && ret != -ENOENT) {
		i->poisoned = true;
		log_line(&s->log, "  instance %s is poisoned", i->name);
	}
	return ret;
}

static int compare_ints(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Which CPUs the kernel will ever know: frozen at boot, 11.5. */
static int freeze_slots(struct sim *s, struct instance *i)
{
	int n = i->ncpus;

	free(i->slots);
	i->slots = calloc(s->machine.ncpus, sizeof(*i->slots));
	if (!i->slots)
		return -ENOMEM;
	memcpy(i->slots, i->cpus, i->ncpus * sizeof(*i->slots));
	for (int cpu = 0; cpu < s->machine.ncpus; cpu++) {
		const struct sim_cpu *c = &s->cpus[cpu];
		bool pooled =
			c->owner == OWNER_POOL || (c->owner == OWNER_INSTANCE && c->instance != i);
		bool host = c->owner == OWNER_HOST && c->online;

		if (pooled || (host && s->options.abi == ABI_G2B))
			i->slots[n++] = cpu;
	}
	qsort(i->slots + i->ncpus, n - i->ncpus, sizeof(*i->slots), compare_ints);
	i->nslots = n;
	return 0;
}

static void on_timed_fault(void *arg);

struct timed_fault {
	struct sim *sim;
	int id, boot;
	enum fault_kind kind;
};

static void arm_fault(struct sim *s, struct instance *i, const struct fault *f)
{
	struct timed_fault *t;

	if (!fault_is(f, FAULT_PANIC) && !fault_is(f, FAULT_SILENT_HANG))
		return;
	t = calloc(1, sizeof(*t));
	if (!t)
		return;
	*t = (struct timed_fault){s, i->id, i->boots, f->kind};
	if (loop_after(s->loop, f->ms, on_timed_fault, t) < 0)
		free(t);
}

static void on_timed_fault(void *arg)
{
	cleanup_free struct timed_fault *t = arg;
	struct instance *i = instance_by_id(t->sim, t->id);

	if (!i || i->boots != t->boot || i->state != STATE_ACTIVE || !i->spawn)
		return;
	if (t->kind == FAULT_SILENT_HANG) {
		log_line(&t->sim->log, "fault: instance %s freezes", i->name);
		i->hung = true;
		i->spawn->ops->freeze(i->spawn);
		return;
	}
	log_line(&t->sim->log, "fault: instance %s panics", i->name);
	static const char text[] =
		"[   42.000000] Kernel panic - not syncing: sysrq triggered crash\r\n"
		"[   42.000001] ---[ end Kernel panic - not syncing: sysrq "
		"triggered crash ]---\r\n";

	spawn_output(i->spawn, text, sizeof(text) - 1);
	i->spawn->ops->kill(i->spawn);
}

int instance_boot(struct sim *s, int id)
{
	struct instance *i = instance_by_id(s, id);
	const struct fault *f = sim_step(s, "boot", "id %d (%s)", id, i ? i->name : "none");
	struct err e = ERR_INIT;
	int ret;

	keep_status(i, f);
	if (s->host_dead)
		return -EIO;
	if (fault_is(f, FAULT_ERRNO))
		return f->error;
	if (!i)
		return s->options.abi == ABI_G2B ? -ENOENT : -EINVAL;
	if (i->poisoned) {
		sim_crash(s, "boot of instance %s after a failed load", i->name);
		return -EIO;
	}
	if (s->kexec_locked)
		return -EBUSY;
	if (!i->image)
		return -EINVAL;
	if (i->state == STATE_ACTIVE) {
		log_strict(&s->log, "boot of instance %s, which is active", i->name);
		if (i->spawn || i->hung)
			return -EBUSY;
		i->state = STATE_LOADED;
	}
	if (i->state != STATE_LOADED || i->spawn || clock_ns() < i->parked_at)
		return -EBUSY;
	if (i->ncpus == 0)
		return -EINVAL;
	if (freeze_slots(s, i) < 0)
		return -ENOMEM;
	i->boots++;
	i->state = STATE_ACTIVE;
	i->hung = fault_is(f, FAULT_BOOT_HANG);
	if (i->hung)
		return 0;
	ret = (s->options.qemu ? &spawn_qemu_ops : &spawn_process_ops)->start(s, i, &e);
	if (ret < 0) {
		/* mksim's own trouble must not look like the client's. */
		log_line(&s->log, "  mksim: cannot run instance %s: %s", i->name, e.text);
		fprintf(stderr, "mksim: cannot run instance %s: %s\n", i->name, e.text);
		i->state = STATE_LOADED;
		return -ENOMEM;
	}
	i->spawn->started = clock_ns();
	if (fault_is(f, FAULT_CONSOLE_DROP) || fault_is(f, FAULT_CONSOLE_PRINTK) ||
	    fault_is(f, FAULT_CONSOLE_DEAD))
		i->spawn->fault = f;
	arm_fault(s, i, f);
	return 0;
}

static void finish_halt(struct instance *i, int result)
{
	void (*done)(void *, int) = i->halt_done;

	i->halt_done = NULL;
	if (done)
		done(i->halt_arg, result);
}

struct halt_wait {
	struct sim *sim;
	int id;
};

static void on_halt_timeout(void *arg)
{
	cleanup_free struct halt_wait *w = arg;
	struct instance *i = instance_by_id(w->sim, w->id);

	w->sim->kexec_locked = false;
	if (i && i->halt_done) {
		log_line(&w->sim->log, "  halt of instance %s timed out", i->name);
		finish_halt(i, -ETIMEDOUT);
	}
}

void instance_halt(struct sim *s, int id, void (*done)(void *arg, int result), void *arg)
{
	struct instance *i = instance_by_id(s, id);
	const struct fault *f = sim_step(s, "halt", "id %d (%s)", id, i ? i->name : "none");
	struct halt_wait *w;
	int ret = 0;

	keep_status(i, f);
	if (s->host_dead)
		ret = -EIO;
	else if (fault_is(f, FAULT_ERRNO))
		ret = f->error;
	else if (!i)
		ret = -ENOENT;
	else if (i->state != STATE_ACTIVE || i->halt_done)
		ret = -EINVAL;
	if (ret < 0) {
		done(arg, ret);
		return;
	}
	i->halt_done = done;
	i->halt_arg = arg;
	if (!i->hung && !fault_is(f, FAULT_HALT_TIMEOUT) && i->spawn) {
		i->spawn->ops->kill(i->spawn); /* stops now: no shutdown of user space, 9.3 */
		return;
	}
	w = malloc(sizeof(*w));
	if (!w) {
		finish_halt(i, -ENOMEM);
		return;
	}
	*w = (struct halt_wait){s, id};
	s->kexec_locked = true;
	loop_after(s->loop, fault_is(f, FAULT_HALT_TIMEOUT) ? f->ms : HALT_TIMEOUT_MS,
		   on_halt_timeout, w);
}

static void on_late_kill(void *arg)
{
	cleanup_free struct halt_wait *w = arg;
	struct instance *i = instance_by_id(w->sim, w->id);

	if (i && i->spawn)
		i->spawn->ops->kill(i->spawn);
}

int instance_force_halt(struct sim *s, int id)
{
	struct instance *i = instance_by_id(s, id);
	const struct fault *f = sim_step(s, "force-halt", "id %d (%s)", id, i ? i->name : "none");

	keep_status(i, f);
	if (s->host_dead)
		return -EIO;
	if (fault_is(f, FAULT_ERRNO))
		return f->error;
	if (!i)
		return -ENOENT;
	if ((i->state != STATE_ACTIVE && i->state != STATE_LOADED) || i->ncpus == 0)
		return -EINVAL;
	i->state = STATE_LOADED;
	i->hung = false;
	if (fault_is(f, FAULT_FORCE_HALT_LATE)) {
		struct halt_wait *w = malloc(sizeof(*w));

		i->parked_at = clock_ns() + f->ms * NSEC_PER_MSEC;
		if (w) {
			*w = (struct halt_wait){s, id};
			loop_after(s->loop, f->ms, on_late_kill, w);
		}
	} else if (i->spawn) {
		i->spawn->ops->kill(i->spawn);
	}
	return 0;
}

void instance_stopped(struct sim *s, struct instance *i, const char *why)
{
	log_line(&s->log, "instance %s stopped: %s", i->name, why);
	sim_printk(s, 6, "multikernel: instance %d (%s) halted", i->id, i->name);
	i->spawn = NULL;
	free(i->slots);
	i->slots = NULL;
	i->nslots = 0;
	if (i->state == STATE_ACTIVE)
		i->state = STATE_LOADED;
	if (clock_ns() > i->parked_at)
		i->parked_at = clock_ns();
	finish_halt(i, 0);
}
