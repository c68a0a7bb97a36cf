// SPDX-License-Identifier: GPL-2.0-or-later
/* What `mksplit doctor` looks at for this backend (docs/mklinux-abi.md 1). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/cmd/paths.h"
#include "harness/mklinux/abi.h"
#include "harness/mklinux/own.h"
#include "harness/payload/doctor.h"
#include "harness/payload/image.h"

#define MIB (UINT64_C(1) << 20)

static int check_generation(struct backend *b, struct check_results *c, struct err *e)
{
	struct mk_own *o = mk_own(b);
	struct err why = ERR_INIT;

	if (o->detection.generation == MK_GEN_UNKNOWN && mk_is_multikernel(b->env.root) &&
	    !mk_is_mounted(b->env.root))
		return check_add(c, "mk-generation", CHECK_WARN,
				 "mount it to see more: mount -t multikernel none " MK_FS_PATH
				 " (a run does it by itself)",
				 "a multikernel host; %s", o->detection.evidence);
	if (mk_check_generation(&o->detection, &why))
		return check_add(c, "mk-generation", CHECK_FAIL,
				 "boot a kernel of v7.0-mk2 or later", "%s", why.text);
	return check_add(c, "mk-generation", CHECK_PASS, NULL, "%s: %s",
			 mk_generation_name(o->detection.generation), o->detection.evidence);
}

static int check_options(struct backend *b, struct check_results *c, struct err *e)
{
	cleanup_free char *path = NULL, *list = NULL;
	int rc = find_data(&path, "configs/kernel/host.config", e);

	rc = rc ? rc : read_file_at(AT_FDCWD, path, 1 << 20, &list, NULL, e);
	return rc ? rc : doctor_kernel_options(c, b->env.root, "host", list, e);
}

static int check_lockdown(struct backend *b, struct check_results *c, struct err *e)
{
	cleanup_free char *text = NULL;
	struct err none = ERR_INIT;

	if (root_read(b->env.root, &text, &none, "/sys/kernel/security/lockdown"))
		return check_add(c, "mk-lockdown", CHECK_PASS, NULL, "this kernel has no lockdown");
	if (strstr(text, "[none]"))
		return check_add(c, "mk-lockdown", CHECK_PASS, NULL, "off");
	return check_add(c, "mk-lockdown", CHECK_FAIL,
			 "turn secure boot off in the firmware, or sign the spawn kernel's image",
			 "on (%s): an unsigned kernel is not loaded", text);
}

/* Loads and unloads of the plan: one of each an instance a boot. */
static long long loads_of(const struct plan *p)
{
	long long n = 0;

	for (int i = 0; p && i < p->narms; i++)
		for (int k = 0; k < p->arms[i].npartitions; k++)
			n += strcmp(p->arms[i].backend, MK_BACKEND) == 0 &&
			     !p->arms[i].partitions[k].host;
	return p ? 2 * n * p->blocks : 0;
}

static int check_kexec(struct backend *b, struct check_results *c, struct err *e)
{
	long long disabled = 0, limit = -1, wanted = loads_of(b->env.plan);
	struct err none = ERR_INIT;

	root_read_number(b->env.root, &disabled, &none, "/proc/sys/kernel/kexec_load_disabled");
	root_read_number(b->env.root, &limit, &none, "/proc/sys/kernel/kexec_load_limit_reboot");
	if (disabled)
		return check_add(c, "mk-kexec", CHECK_FAIL,
				 "reboot: kernel.kexec_load_disabled cannot be cleared again, so "
				 "find out who "
				 "sets it",
				 "loading is disabled (kernel.kexec_load_disabled=1)");
	if (limit >= 0 && limit < wanted)
		return check_add(
			c, "mk-kexec", CHECK_FAIL,
			"reboot with a higher kernel.kexec_load_limit_reboot, or plan fewer blocks",
			"%lld loads and unloads are left, this plan needs %lld", limit, wanted);
	if (limit >= 0)
		return check_add(c, "mk-kexec", CHECK_PASS, NULL,
				 "%lld loads and unloads are left (this plan: %lld)", limit, wanted);
	return check_add(c, "mk-kexec", CHECK_PASS, NULL, "loads are allowed, without limit");
}

static int check_block(struct backend *b, struct check_results *c, struct err *e)
{
	uint64_t block = mk_own(b)->block;

	return check_add(c, "mk-memory-block", block > 1024 * MIB ? CHECK_WARN : CHECK_PASS,
			 block > 1024 * MIB
				 ? "large blocks waste memory: leave a block of slack a node"
				 : NULL,
			 "%" PRIu64 " MiB", block / MIB);
}

static int check_cpus(struct backend *b, struct check_results *c, struct err *e)
{
	const struct topology *t = b->env.topology;
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	cleanup_free char *text = NULL;
	int unknown = 0;

	for (int i = 0; i < t->ncpus; i++) {
		unknown += t->cpus[i].phys.v < 0;
		if (t->cpus[i].cpu != 0 && cpumask_set(&m, t->cpus[i].cpu))
			return err_set(e, ENOMEM, "out of memory");
	}
	text = cpumask_format(&m);
	if (unknown)
		return check_add(
			c, "mk-cpus", CHECK_FAIL,
			"bring them online; on x86, /proc/cpuinfo has to show an apicid for each",
			"the physical ids of %d CPUs are not known", unknown);
	if (cpumask_weight(&m) == 0)
		return check_add(c, "mk-cpus", CHECK_FAIL, "use a machine with more CPUs",
				 "CPU 0 cannot be given away, and there is no other");
	return check_add(c, "mk-cpus", CHECK_PASS, NULL, "%d can be given to spawn kernels: %s",
			 cpumask_weight(&m), text ? text : "");
}

/* kB of a line "Node 0 MemFree: 123 kB". */
static uint64_t node_free(const struct root *root, int node)
{
	cleanup_free char *text = NULL;
	struct err none = ERR_INIT;
	const char *at;

	if (root_read(root, &text, &none, "/sys/devices/system/node/node%d/meminfo", node))
		return 0;
	at = strstr(text, "MemFree:");
	return at ? strtoull(at + 8, NULL, 10) << 10 : 0;
}

static int check_memory(struct backend *b, struct check_results *c, struct err *e)
{
	struct mk_own *o = mk_own(b);
	cleanup_free char *text = NULL;
	bool short_of = false;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return err_set(e, ENOMEM, "out of memory");
	for (int i = 0; i < b->env.topology->nnodes; i++) {
		int node = b->env.topology->nodes[i].node;
		uint64_t want = 0, have = node_free(b->env.root, node);

		for (size_t k = 0; k < o->pool.nchunks; k++)
			want += o->pool.chunks[k].node == node ? o->pool.chunks[k].size : 0;
		fprintf(f, "%snode %d: %" PRIu64 " MiB free", i ? "; " : "", node, have / MIB);
		if (want)
			fprintf(f, ", %" PRIu64 " MiB wanted in one piece", want / MIB);
		short_of |= want > have;
	}
	fclose(f);
	return check_add(c, "mk-pool-memory", short_of ? CHECK_WARN : CHECK_PASS,
			 short_of ? "start right after boot, drop the page cache (echo 3 > "
				    "/proc/sys/vm/drop_caches), or ask for less or smaller chunks "
				    "(settings.pool_chunk)"
				  : NULL,
			 "%s", text);
}

static int check_console(struct backend *b, struct check_results *c, struct err *e)
{
	if (root_exists(b->env.root, MK_CONSOLE_DEV))
		return check_add(c, "mk-console", CHECK_PASS, NULL, "%s", MK_CONSOLE_DEV);
	return check_add(
		c, "mk-console", CHECK_FAIL,
		"build the host's kernel with CONFIG_MKTTY=y, and mount a devtmpfs on /dev",
		"%s is not there", MK_CONSOLE_DEV);
}

static int check_others(struct backend *b, struct check_results *c, struct err *e)
{
	cleanup_names struct mk_names names = {0};
	cleanup_tree struct mk_tree t = MK_TREE_INIT;
	struct mk_own *o = mk_own(b);
	struct err none = ERR_INIT;

	if (root_exists(b->env.root, "/run/kerf.lock") ||
	    root_exists(b->env.root, "/tmp/kerf.lock"))
		return check_add(c, "mk-others", CHECK_FAIL,
				 "wait for kerf to end; if it crashed, remove its lock file",
				 "another multikernel program has its lock file (kerf.lock)");
	if (!mk_is_mounted(b->env.root))
		return check_add(c, "mk-others", CHECK_PASS, NULL, "no pool and no instance");
	if (mk_instances(&o->host, &names, &none) == 0 && names.n)
		return check_add(
			c, "mk-others", CHECK_FAIL,
			"run `mksplit cleanup`; if that leaves it, it is another program's: end it "
			"there",
			"%d instances are there, the first is \"%.40s\"", names.n, names.v[0]);
	if (mk_read_root(&o->host, &t, &none) == 0 && mk_tree_has_pool(&t))
		return check_add(c, "mk-others", CHECK_FAIL,
				 "run `mksplit cleanup`; if that leaves it, it is another "
				 "program's: give it "
				 "back there",
				 "a pool of %zu CPUs and %zu chunks of memory is there", t.ncpus,
				 t.nchunks);
	return check_add(c, "mk-others", CHECK_PASS, NULL, "no pool and no instance");
}

static int check_rights(struct backend *b, struct check_results *c, struct err *e)
{
	struct stat a, z;

	if (!b->env.root->real)
		return check_add(c, "mk-rights", CHECK_SKIP, NULL,
				 "this is the dump of another machine");
	if (geteuid() != 0)
		return check_add(c, "mk-rights", CHECK_FAIL, "run mksplit as root", "not root");
	/* Another PID namespace: reboot(2) answers EINVAL to all of this there (1.5). */
	if (stat("/proc/self/ns/pid", &a) == 0 && stat("/proc/1/ns/pid", &z) == 0 &&
	    a.st_ino != z.st_ino)
		return check_add(c, "mk-rights", CHECK_FAIL, "run mksplit outside of containers",
				 "in a container: kernels cannot be booted from here");
	return check_add(c, "mk-rights", CHECK_PASS, NULL, "root");
}

static int check_images(struct backend *b, struct check_results *c, struct err *e)
{
	const struct plan *p = b->env.plan;
	bool used = false;

	for (int i = 0; p && i < p->nkernels; i++) {
		cleanup_free char *found = NULL;
		struct err why = ERR_INIT;
		const char *path = p->kernels[i].image;
		int rc;

		used = true;
		if (strcmp(path, "auto") == 0) {
			if (kernel_image_find(&found, &why)) {
				rc = check_add(c, "kernel-image", CHECK_FAIL,
					       "name one in the plan", "%s", why.text);
				if (rc)
					return rc;
				continue;
			}
			path = found;
		}
		rc = doctor_kernel_image(c, path, e);
		if (rc)
			return rc;
	}
	return used ? 0
		    : check_add(c, "kernel-image", CHECK_SKIP, NULL,
				"no plan was given; check one with `mksplit doctor --kernel FILE`");
}

int mk_probe(struct backend *b, struct check_results *out, struct err *e)
{
	static int (*const checks[])(struct backend *, struct check_results *, struct err *) = {
		check_rights,  check_generation, check_options, check_lockdown,
		check_kexec,   check_block,	 check_cpus,	check_memory,
		check_console, check_others,	 check_images,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		int rc;

		/* On a machine that is no multikernel host the first answer is enough. */
		if (i > 1 && mk_own(b)->detection.generation == MK_GEN_NONE)
			break;
		rc = checks[i](b, out, e);
		if (rc)
			return rc;
	}
	return 0;
}
