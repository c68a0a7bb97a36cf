// SPDX-License-Identifier: GPL-2.0-or-later
/* The steps, one function each: journal, change, read-back. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/calls.h"
#include "harness/mklinux/explain.h"
#include "harness/mklinux/own.h"
#include "harness/mklinux/pool.h"
#include "harness/mklinux/record.h"
#include "harness/payload/image.h"
#include "harness/payload/initramfs.h"

/* An agent that was told to power off does so at once; one that hangs never does. */
#define OFF_PATIENCE_MS 3000

int mk_mount_step(struct backend *b, struct err *e)
{
	int entry, rc;

	if (mk_is_mounted(b->env.root))
		return 0;
	entry = journal_before(b->env.journal, MK_UNDO_MOUNT, json_object(), e);
	if (entry < 0)
		return entry;
	rc = mk_mount(b->env.root, e);
	if (rc)
		journal_gone(b->env.journal, entry, &(struct err){0});
	return rc;
}

int mk_take_pool(struct backend *b, struct err *e)
{
	struct mk_own *o = mk_own(b);
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	struct err ignored = ERR_INIT;
	int entry, rc;

	if (o->pool_taken)
		return 0;
	rc = mk_check_generation(&o->detection, e);
	if (rc)
		return rc;
	entry = journal_before(b->env.journal, MK_UNDO_POOL,
			       mk_record_pool(&o->host, &o->pool, b->env.topology), e);
	if (entry < 0)
		return entry;
	rc = mk_pool_take(&o->host, &o->pool, e);
	if (rc == 0) {
		o->pool_taken = true;
		return cpumask_copy(&o->in_pool, &o->pool.cpus);
	}
	/* The entry stays while anything of it may be there. */
	if (mk_read_root(&o->host, &t, &ignored) == 0 && !mk_tree_has_pool(&t))
		journal_gone(b->env.journal, entry, &ignored);
	return rc;
}

int mk_move_cpus(struct backend *b, const struct cpumask *cpus, bool home, struct err *e)
{
	struct mk_own *o = mk_own(b);
	cleanup_free struct phys_id *ids = NULL;
	size_t n;
	int rc = mk_ids_of(b->env.topology, cpus, &ids, &n, e);

	if (rc)
		return rc;
	rc = home ? mk_cpus_home(&o->host, ids, n, cpus, e) : mk_cpus_to_pool(&o->host, ids, n, e);
	if (rc)
		return rc;
	if (!home)
		return cpumask_or(&o->in_pool, cpus);
	cpumask_andnot(&o->in_pool, cpus);
	return 0;
}

/* An instance that is not what was asked for, or may not be, is taken away again. */
static void withdraw(struct backend *b, const struct mk_kernel *k, int entry)
{
	struct mk_request r = {.op = MK_INSTANCE_REMOVE, .instance = k->name};
	struct mk_own *o = mk_own(b);
	struct err e = ERR_INIT;
	char status[MK_STATUS_MAX];

	mk_status(&o->host, k->name, status);
	if (*status && mk_is_ours(b->env.root, o->host.prefix, k->name))
		mk_apply(&o->host, &r, &e);
	mk_status(&o->host, k->name, status);
	if (!*status)
		journal_gone(b->env.journal, entry, &e);
}

/* The instance's tree, its id, and what the pool lost, against the request (6.8). */
static int check_created(struct backend *b, const struct mk_kernel *k, struct err *e)
{
	cleanup_tree struct mk_tree t = MK_TREE_INIT, root = MK_TREE_INIT;
	struct mk_request r = mk_create_request(k);
	struct mk_own *o = mk_own(b);
	int rc = mk_read_instance(&o->host, k->name, &t, e);

	rc = rc ? rc : mk_tree_compare(&t, &r, e);
	rc = rc ? rc : mk_read_root(&o->host, &root, e);
	if (rc)
		return rc;
	if (mk_instance_id(&o->host, k->name) != (int)k->id)
		return err_set(e, EBADE, "instance \"%s\" has the id %d, asked was %u", k->name,
			       mk_instance_id(&o->host, k->name), k->id);
	for (size_t i = 0; i < k->ncpus; i++)
		if (mk_ids_contain(root.available, root.navailable, k->ids[i]))
			return err_set(e, EBADE,
				       "the CPU with physical id %" PRId64
				       " is free in the pool, and in instance \"%s\" too",
				       k->ids[i].v, k->name);
	mk_say(&o->host, "read back: id %u, %zu CPUs, %" PRIu64 " MiB at 0x%" PRIx64, k->id,
	       t.ncpus, t.memory >> 20, t.memory_base);
	return 0;
}

int mk_create(struct backend *b, int partition, struct err *e)
{
	struct mk_own *o = mk_own(b);
	const struct mk_kernel *k = &o->kernels.v[partition];
	struct mk_request r = mk_create_request(k);
	char status[MK_STATUS_MAX];
	int entry, rc;

	mk_status(&o->host, k->name, status);
	if (*status)
		return err_set(e, EEXIST,
			       "there is an instance \"%s\" already (\"%s\"), which is not of this "
			       "run: run "
			       "`mksplit cleanup`",
			       k->name, status);
	entry = journal_before(b->env.journal, MK_UNDO_INSTANCE,
			       mk_record_instance(&o->host, k->name, k->id), e);
	if (entry < 0)
		return entry;
	rc = mk_apply(&o->host, &r, e);
	rc = rc ? rc : check_created(b, k, e);
	if (rc) {
		withdraw(b, k, entry);
		return rc;
	}
	o->live[partition].entry = entry;
	return 0;
}

int mk_connect(struct backend *b, int partition, struct err *e)
{
	struct mk_own *o = mk_own(b);
	struct mk_live *l = &o->live[partition];
	const struct mk_kernel *k = &o->kernels.v[partition];
	char log[PATH_MAX], path[PATH_MAX];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(path, sizeof(path), "%s/console-%s", b->env.run_dir, k->partition->name);
	free(take_ptr(l->socket));
	l->socket = strdup(path);
	if (b->env.results_dir) {
		snprintf(log, sizeof(log), "%s/consoles", b->env.results_dir);
		mkdir(log, 0755);
		snprintf(log, sizeof(log), "%s/consoles/%s-%s-%lld.log", b->env.results_dir,
			 o->arm->name, k->partition->name, (long long)now.tv_sec);
	}
	return mk_console_open(&l->console, MK_CONSOLE_DEV, (int)k->id,
			       b->env.results_dir ? log : NULL, path, e);
}

/* A parameter of the host's command line that both sides should have alike: "name=value ". */
static char *host_parameter(const struct root *root, const char *name)
{
	cleanup_free char *line = NULL;
	struct err e = ERR_INIT;
	char *words, *word;

	if (root_read(root, &line, &e, "/proc/cmdline"))
		return NULL;
	words = line;
	while ((word = strsep(&words, " \n")))
		if (strncmp(word, name, strlen(name)) == 0)
			return strdup(word);
	return NULL;
}

char *mk_cmdline(const struct backend *b, int partition)
{
	const struct mk_kernel *k = &mk_own(b)->kernels.v[partition];
	const char *append = b->env.plan->kernels[k->partition->kernel].append;
	cleanup_free char *mitigations = NULL;
	char *line;

	/* Comparisons mean nothing between kernels with other mitigations (16.6). */
	if (!strstr(append, "mitigations="))
		mitigations = host_parameter(b->env.root, "mitigations=");
	if (asprintf(&line,
		     "console=mktty0 quiet loglevel=1 rdinit=/init mksplit.link=mktty0 "
		     "mksplit.token=%s%s%s%s%s",
		     b->env.token, mitigations ? " " : "", mitigations ? mitigations : "",
		     *append ? " " : "", append) < 0)
		return NULL;
	return line;
}

static int make_initrd(const struct backend *b, uint64_t *size, struct err *e)
{
	cleanup_close int fd = memfd_create("initramfs", MFD_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0)
		return err_sys(e, "memfd_create");
	rc = initramfs_write(fd, b->env.bench, e);
	if (rc)
		return rc;
	if (fstat(fd, &st) || lseek(fd, 0, SEEK_SET))
		return err_sys(e, "initramfs");
	*size = (uint64_t)st.st_size;
	return take_fd(fd);
}

static int open_kernel(const struct backend *b, const struct plan_kernel *kernel,
		       struct kernel_image *image, struct err *e)
{
	cleanup_free char *found = NULL;

	if (strcmp(kernel->image, "auto") != 0)
		return kernel_image_open(image, kernel->image, e);
	if (kernel_image_find(&found, e))
		return e->code;
	return kernel_image_open(image, found, e);
}

int mk_load_kernel(struct backend *b, int partition, struct err *e)
{
	struct mk_own *o = mk_own(b);
	struct mk_live *l = &o->live[partition];
	const struct mk_kernel *k = &o->kernels.v[partition];
	const struct plan_kernel *kernel = &b->env.plan->kernels[k->partition->kernel];
	cleanup_kernel_image struct kernel_image image = KERNEL_IMAGE_INIT;
	cleanup_free char *cmdline = mk_cmdline(b, partition);
	cleanup_close int initrd = -1;
	uint64_t size = 0, need;
	int rc = open_kernel(b, kernel, &image, e);

	if (rc)
		return rc;
	if (!cmdline)
		return err_set(e, ENOMEM, "out of memory");
	initrd = make_initrd(b, &size, e);
	if (initrd < 0)
		return e->code;
	/* One that does not fit can crash the host (8.8): it is never tried. */
	need = vmlinux_memory_needed(&image.elf, size);
	if (need > k->memory)
		return err_set(e, ENOMEM,
			       "partition \"%s\" has %" PRIu64
			       " MiB of memory; this kernel needs %" PRIu64
			       " MiB to be loaded safely",
			       k->partition->name, k->memory >> 20, need >> 20);
	mk_say(&o->host, "%s, initramfs of %" PRIu64 " bytes", image.kind, size);
	rc = mk_load(&o->host, k->name, (int)k->id, image.fd, initrd, cmdline, e);
	if (rc && mk_load_poisons(rc)) {
		struct err j = ERR_INIT;

		l->alone = true;
		journal_update(b->env.journal, l->entry, json_pack("{s:b}", "alone", 1), &j);
	}
	return rc;
}

int mk_boot_kernel(struct backend *b, int partition, struct err *e)
{
	struct mk_own *o = mk_own(b);
	const struct mk_kernel *k = &o->kernels.v[partition];
	int rc;

	/* Nothing isolates the host's memory from a spawn kernel: what is dirty goes to disk. */
	sync();
	rc = mk_boot(&o->host, k->name, (int)k->id, e);
	if (rc == 0)
		o->live[partition].booted_ns = clock_ns();
	return rc;
}

static int left_alone(const struct mk_kernel *k, struct err *e)
{
	return err_set(
		e, EBUSY,
		"instance \"%s\" is left alone since its load failed: what is done to it now can "
		"stop the host; reboot the host to get its CPUs and memory back",
		k->name);
}

int mk_stop_kernel(struct backend *b, int partition, struct err *e)
{
	struct mk_own *o = mk_own(b);
	struct mk_live *l = &o->live[partition];
	const struct mk_kernel *k = &o->kernels.v[partition];

	if (l->alone || !l->entry)
		return 0;
	return mk_stop(&o->host, k->name, (int)k->id, l->booted_ns ? OFF_PATIENCE_MS : 0, e);
}

int mk_unload_kernel(struct backend *b, int partition, struct err *e)
{
	struct mk_own *o = mk_own(b);
	const struct mk_kernel *k = &o->kernels.v[partition];
	char status[MK_STATUS_MAX];

	if (o->live[partition].alone || !o->live[partition].entry)
		return 0;
	mk_status(&o->host, k->name, status);
	return strcmp(status, "loaded") == 0 ? mk_unload(&o->host, k->name, (int)k->id, e) : 0;
}

int mk_remove(struct backend *b, int partition, struct err *e)
{
	struct mk_own *o = mk_own(b);
	struct mk_live *l = &o->live[partition];
	const struct mk_kernel *k = &o->kernels.v[partition];
	int rc;

	mk_console_close(&l->console);
	if (!l->entry)
		return 0;
	if (l->alone)
		return left_alone(k, e);
	rc = mk_remove_instance(&o->host, k->name, k->ids, k->ncpus, e);
	if (rc)
		return rc;
	journal_gone(b->env.journal, l->entry, &(struct err){0});
	l->entry = 0;
	l->booted_ns = 0;
	return 0;
}
