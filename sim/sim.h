/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_SIM_H
#define MKSPLIT_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cpumask.h"
#include "common/err.h"
#include "sim/blob.h"
#include "sim/buf.h"
#include "sim/log.h"
#include "sim/loop.h"
#include "sim/machine.h"

/*
 * The model of an mklinux host: who owns which CPU, the pool's memory, instances,
 * transactions. Section numbers in comments are those of docs/mklinux-abi.md. Functions
 * that stand for something a client does return 0 or the negative errno the kernel would
 * return; a `struct err` is for mksim's own trouble.
 */

enum {
	SIM_PAGE = 4096,
	SIM_ROOT_MAX = 1 << 20, /* longest baseline, 2.2 */
	SIM_ID_MAX = 2047, /* 11 bits in the load flags, 6.9 */
	SIM_NAME_MAX = 64,
	SIM_MAX_NODES = 1024, /* MAX_NUMNODES of a distribution kernel, 3.1 */
};

enum sim_abi {
	ABI_G2A,
	ABI_G2B,
	ABI_G1B
};

enum sim_owner {
	OWNER_HOST,
	OWNER_POOL, /* free in the pool */
	OWNER_INSTANCE
};

struct sim_cpu {
	enum sim_owner owner;
	struct instance *instance;
	bool present, online; /* as the host sees it */
	int64_t visible_at; /* clock_ns() from which on its instance's kernel sees it */
	int pool_order; /* when it joined the pool, for the order of read-backs */
};

/* One contiguous piece of pool memory, and what is taken from it. */
struct chunk {
	uint64_t base, size;
	int node;
	bool parking; /* the parking area and page tables of the pool lie in it, 5.1 */
	struct taken {
		uint64_t base, size;
		int owner; /* instance id, 0 for the pool's own */
	} * taken;
	int ntaken;
};

enum instance_state {
	STATE_EMPTY,
	STATE_READY,
	STATE_LOADED,
	STATE_ACTIVE,
	STATE_FAILED
};

struct image {
	uint64_t entry, span; /* of the ELF file */
	int initrd; /* memory file, -1 for none */
	uint64_t initrd_size;
	char *cmdline;
};

struct instance {
	struct instance *next;
	int id;
	char name[SIM_NAME_MAX];
	enum instance_state state;
	int *cpus; /* Linux numbers of the machine, in the ABI's order: the first boots */
	int ncpus;
	struct range *regions; /* physical */
	int nregions;
	bool region_given_back; /* memory-remove of a create-time region: removal would crash */
	struct image *image;
	bool poisoned; /* after a failed load, 8.8 */
	/* From boot to stop. */
	int *slots; /* its kernel's CPU numbers: slots[k] is the machine's; own CPUs first */
	int nslots;
	struct spawn *spawn; /* what runs; NULL when nothing does */
	bool hung; /* nothing answers any more */
	/* The status file says this until then, whatever is true. */
	enum instance_state stale_state;
	int64_t stale_until;
	int boots;
	int64_t parked_at; /* clock_ns() when the last CPU has parked after a stop */
	/* A halt that waits for the spawn: called with its result. */
	void (*halt_done)(void *arg, int result);
	void *halt_arg;
	int64_t halt_timer;
};

/* One operation of an overlay, as parsed. */
enum op_kind {
	OP_INSTANCE_CREATE,
	OP_MEMORY_REMOVE,
	OP_MEMORY_ADD,
	OP_CPU_REMOVE,
	OP_CPU_ADD,
	OP_DEVICE_REMOVE,
	OP_DEVICE_ADD,
	OP_INSTANCE_REMOVE,
	OP_KINDS
};

enum op_where {
	ON_POOL, /* target-path /resources */
	ON_INSTANCES, /* /instances */
	ON_INSTANCE /* /instances/NAME */
};

struct op {
	enum op_kind kind;
	enum op_where where;
	char target[SIM_NAME_MAX]; /* the instance, for ON_INSTANCE and create/remove */
	int node; /* of the item or operation in the blob */
	/* What was done, for the way back. */
	uint64_t phys;
	struct range range;
	int numa;
};

struct tx {
	struct tx *next;
	int id;
	bool applied;
	char first_target[128];
	char resources[256];
	void *blob;
	size_t blob_size;
	struct op *ops;
	int nops;
};

struct sim_options {
	enum sim_abi abi;
	bool qemu; /* spawn kernels in QEMU, not processes */
	const char *image; /* stand-in kernel for QEMU; NULL: the newest of /boot */
	bool strict, list_steps;
	uint64_t node_memory;
	int64_t load_limit; /* kernel.kexec_load_limit_reboot, -1: none */
	struct fault_list *faults; /* NULL for none */
};

struct sim {
	struct sim_options options;
	struct machine machine;
	struct log log;
	struct loop *loop;

	struct sim_cpu *cpus; /* machine.ncpus of them */
	int pool_counter;
	struct chunk *chunks;
	int nchunks;
	struct instance *instances; /* ascending creation */
	struct tx *transactions;
	int last_tx; /* starts at 1: the first is tx_2, 2.5 */
	int64_t load_limit;
	bool load_disabled;
	bool kexec_locked; /* a halt or a slow overlay is under way, 6.6 */
	bool host_dead; /* the real one would have crashed */
	int step; /* number of the last step */

	struct kmsg *kmsg;
	struct mktty *mktty;
	struct rooms *rooms;
	struct calls *calls;
	struct vfs *vfs;
};

const char *abi_name(enum sim_abi abi);
const char *abi_release(enum sim_abi abi); /* as uname -r */
const char *state_name(enum instance_state state);

/* Prepares the model; the machine is read already. */
int sim_init(struct sim *s, struct err *e);
void sim_free(struct sim *s);

/*
 * The kernel's log: a line in the simulated /dev/kmsg and in the protocol log. level is
 * syslog's (3 error, 4 warning, 6 information).
 */
void sim_printk(struct sim *s, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * A state-changing thing that a client does begins: it gets a number and a log line.
 * Returns the fault that is to strike here, or NULL.
 */
const struct fault *sim_step(struct sim *s, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What the real kernel would not survive: an error in strict mode, and noted in any. */
void sim_crash(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* pool.c */
bool pool_exists(const struct sim *s);
/* Free bytes of a node that the host itself still has. */
uint64_t node_free(const struct sim *s, int index);
uint64_t node_pool(const struct sim *s, int index);
int pool_add_chunk(struct sim *s, uint64_t size, int node);
int pool_remove_chunk(struct sim *s, uint64_t base, uint64_t size);
/* node -1: any. Appends to the instance's regions. */
int pool_take(struct sim *s, struct instance *i, uint64_t size, int node);
void pool_give_back(struct sim *s, struct instance *i);
/* A host CPU joins the pool; a free pool CPU goes back to the host. */
int pool_take_cpu(struct sim *s, int cpu);
int pool_return_cpu(struct sim *s, int cpu);
/* CPUs of the pool in the order they joined, lent ones too unless free_only. */
int pool_cpus(const struct sim *s, bool free_only, uint64_t **phys, size_t *n);

/* baseline.c: the write to device_tree, 3 */
int baseline_write(struct sim *s, const void *data, size_t len, const struct fault *f);

/* overlay.c: the write to overlays/new, 2.4 and 6; returns bytes taken or a negative errno. */
ssize_t overlay_write(struct sim *s, const void *data, size_t len, const struct fault *f,
		      int *delay_ms);
struct tx *tx_find(struct sim *s, int id);
void tx_free(struct tx *tx);
/* rmdir of a transaction, 6.7 */
int overlay_undo(struct sim *s, struct tx *tx);
int overlay_execute(struct sim *s, const struct blob *b, struct op *op);
int overlay_parse(struct sim *s, const struct blob *b, struct tx *tx);

/* grammar.c: strict mode's look at what the kernel would ignore or misread */
void grammar_check_baseline(struct sim *s, const struct blob *b);
void grammar_check_overlay(struct sim *s, const struct blob *b);

/* trees.c: read-backs, 7.4; the caller frees *out */
int tree_root(struct sim *s, struct buf *out);
int tree_instance(struct sim *s, const struct instance *i, struct buf *out);

/* instance.c */
struct instance *instance_by_name(struct sim *s, const char *name);
struct instance *instance_by_id(struct sim *s, int id);
int instance_create(struct sim *s, const struct blob *b, int node, const char *name);
int instance_remove(struct sim *s, struct instance *i);
int instance_add_cpu(struct sim *s, struct instance *i, uint64_t phys);
int instance_remove_cpu(struct sim *s, struct instance *i, uint64_t phys);
uint64_t instance_memory(const struct instance *i);

/* kexec.c: load, boot and stop, 8 and 9 */
enum {
	LOAD_UNLOAD = 0x1,
	LOAD_ON_CRASH = 0x2,
	LOAD_NO_INITRD = 0x4,
	LOAD_DEBUG = 0x8,
	LOAD_MULTIKERNEL = 0x10,
	LOAD_ID_MASK = 0xffe0,
	LOAD_ID_SHIFT = 5,
};

struct load_request {
	unsigned long flags;
	const void *kernel; /* whole file; NULL when it could not be read */
	size_t kernel_size;
	int kernel_errno; /* why not, negative */
	int initrd; /* memory file with the content, given away on success; -1: none */
	uint64_t initrd_size;
	int initrd_errno;
	const char *cmdline;
	size_t cmdline_len; /* with the NUL */
};
int kexec_load(struct sim *s, struct load_request *r);

int instance_boot(struct sim *s, int id);
/* Calls done(arg, result) now or later. */
void instance_halt(struct sim *s, int id, void (*done)(void *arg, int result), void *arg);
int instance_force_halt(struct sim *s, int id);
/* What runs in the instance has ended: powered off, or panicked. */
void instance_stopped(struct sim *s, struct instance *i, const char *why);
void image_free(struct image *image);

/* At the end: what is not as it was, one line each, in the log. Returns how many. */
int sim_compare_with_start(struct sim *s);

#endif
