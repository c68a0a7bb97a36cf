// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/backend/qemu/guest.h"

/* What a guest of which the plan says nothing is given, in MiB. */
#define DEFAULT_MEMORY_MB 512

void words_add(struct words *w, const char *fmt, ...)
{
	char **v = reallocarray(w->v, w->n + 2, sizeof(*v));
	va_list ap;

	if (!v) {
		w->failed = true;
		return;
	}
	w->v = v;
	va_start(ap, fmt);
	if (vasprintf(&w->v[w->n], fmt, ap) < 0)
		w->failed = true;
	else
		w->n++;
	va_end(ap);
	w->v[w->n] = NULL;
}

void words_free(struct words *w)
{
	for (int i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct words){0};
}

int guest_order(struct guest *g, const struct topology *t, struct err *e)
{
	const struct cpumask *set = &g->partition->cpus;

	free(g->cpus);
	g->cpus = calloc(cpumask_weight(set), sizeof(*g->cpus));
	g->ncpus = 0;
	if (!g->cpus)
		return err_set(e, ENOMEM, "no memory");
	for (int i = 0; i < t->ncpus; i++)
		if (cpumask_test(set, t->cpus[i].cpu))
			g->cpus[g->ncpus++] = t->cpus[i].cpu;
	if (g->ncpus != cpumask_weight(set))
		return err_set(e, EINVAL, "partition \"%s\" has CPUs that are not online",
			       g->partition->name);
	return 0;
}

/* How many CPUs in a row from i on agree in a field of the topology. */
#define RUN_OF(field, g, t, i)                                                                   \
	({                                                                                       \
		int n_ = 1;                                                                      \
		while ((i) + n_ < (g)->ncpus && topology_cpu((t), (g)->cpus[(i) + n_])->field == \
							topology_cpu((t), (g)->cpus[i])->field)  \
			n_++;                                                                    \
		n_;                                                                              \
	})

static bool power_of_two(int n)
{
	return (n & (n - 1)) == 0;
}

struct guest_shape guest_shape(const struct guest *g, const struct topology *t)
{
	struct guest_shape flat = {.sockets = 1, .cores = g->ncpus, .threads = 1, .flat = true};
	int package = RUN_OF(package, g, t, 0), core = RUN_OF(core, g, t, 0);

	for (int i = 0; i < g->ncpus; i += package)
		if (RUN_OF(package, g, t, i) != package)
			return flat;
	for (int i = 0; i < g->ncpus; i += core)
		if (RUN_OF(core, g, t, i) != core)
			return flat;
	if (package % core)
		return flat;
	/*
	 * Packages of a size that leaves gaps between APIC ids: a guest of at most 8 CPUs locks up
	 * in start-up then (seen with QEMU 7.2 and Linux 6.1; larger ones boot).
	 */
	if (package < g->ncpus && !power_of_two(package) && g->ncpus <= 8)
		return flat;
	return (struct guest_shape){
		.sockets = g->ncpus / package, .cores = package / core, .threads = core};
}

static uint64_t memory_mb(const struct guest *g)
{
	uint64_t mb = g->partition->memory >> 20;

	return mb ? mb : DEFAULT_MEMORY_MB;
}

/*
 * The kernel's distance between two nodes (a row names all online nodes, ascending), or 0 where it
 * gives none that QEMU takes (10 to 254; 10 is a node's own).
 */
static int node_distance(const struct root *r, const struct topology *t, int from, int to)
{
	cleanup_free char *row = NULL;
	struct err none = ERR_INIT;
	char *at;
	long d = 0;

	if (root_read(r, &row, &none, "/sys/devices/system/node/node%d/distance", from) < 0)
		return 0;
	at = row;
	for (int i = 0; i < t->nnodes; i++) {
		char *end;

		d = strtol(at, &end, 10);
		if (end == at)
			return 0;
		if (t->nodes[i].node == to)
			return d >= 10 && d < 255 ? (int)d : 0;
		at = end;
	}
	return 0;
}

/* QEMU wants all of them or none. */
static void add_distances(struct words *w, const struct guest *g, const struct backend_env *env)
{
	const struct cpumask *nodes = &g->partition->nodes;
	int a = 0;

	cpumask_for_each(from, nodes)
		cpumask_for_each(to, nodes)
			if (node_distance(env->root, env->topology, from, to) == 0)
				return;
	cpumask_for_each(from, nodes) {
		int b = 0;

		cpumask_for_each(to, nodes) {
			if (from != to) {
				words_add(w, "-numa");
				words_add(w, "dist,src=%d,dst=%d,val=%d", a, b,
					  node_distance(env->root, env->topology, from, to));
			}
			b++;
		}
		a++;
	}
}

/* Guest memory lies on the host nodes of the partition, in guest nodes that mirror them. */
static void add_memory(struct words *w, const struct guest *g, const struct backend_env *env)
{
	const struct topology *t = env->topology;
	const struct cpumask *nodes = &g->partition->nodes;
	int n = cpumask_weight(nodes), k = 0;
	uint64_t mb = memory_mb(g), left = mb;

	if (n <= 1 || t->nnodes <= 1) {
		words_add(w, "-object");
		if (n == 1 && t->nnodes > 1)
			words_add(w, "memory-backend-ram,id=m0,size=%lluM,prealloc=on,host-nodes=%d,policy=bind",
				  (unsigned long long)mb, cpumask_next(nodes, 0));
		else
			words_add(w, "memory-backend-ram,id=m0,size=%lluM,prealloc=on",
				  (unsigned long long)mb);
		words_add(w, "-machine");
		words_add(w, "memory-backend=m0");
		return;
	}
	cpumask_for_each(node, nodes) {
		uint64_t share = k == n - 1 ? left : mb / n;
		const char *comma = "";
		char *cpus = NULL;
		size_t size;
		FILE *f = open_memstream(&cpus, &size);

		left -= share;
		words_add(w, "-object");
		words_add(w, "memory-backend-ram,id=m%d,size=%lluM,prealloc=on,host-nodes=%d,policy=bind",
			  k, (unsigned long long)share, node);
		for (int i = 0; f && i < g->ncpus; i++) {
			if (topology_cpu(t, g->cpus[i])->node != node)
				continue;
			fprintf(f, "%scpus=%d", comma, i);
			comma = ",";
		}
		if (f)
			fclose(f);
		words_add(w, "-numa");
		words_add(w, "node,nodeid=%d,memdev=m%d%s%s", k, k, cpus && *cpus ? "," : "",
			  cpus ? cpus : "");
		k++;
		free(cpus);
	}
	add_distances(w, g, env);
}

/*
 * Parameters of the kernel: a panic ends the guest (panic=-1 reboots at once, and -no-reboot
 * turns that into the end of QEMU). An emulated timer on a busy host ticks too late for Linux'
 * check of it in start-up, which then panics ("IO-APIC + timer doesn't work"): no_timer_check, as
 * guests under KVM have it by themselves. What the plan appends stands last, so that it wins.
 */
static void add_kernel(struct words *w, const struct guest *g, const struct guest_files *f,
		       bool kvm, const struct backend_env *env)
{
	words_add(w, "-kernel");
	words_add(w, "%s", f->image);
	words_add(w, "-initrd");
	words_add(w, "%s", f->initramfs);
	words_add(w, "-append");
	words_add(w, "console=ttyS0 panic=-1%s mksplit.link=%s mksplit.token=%s%s%s",
		  kvm ? "" : " no_timer_check", g->kernel->one_console ? "ttyS0" : "ttyS1",
		  env->token, *g->kernel->append ? " " : "", g->kernel->append);
}

void guest_command(struct words *w, const struct guest *g, const struct guest_files *f, bool kvm,
		   const struct backend_env *env)
{
	struct guest_shape shape = guest_shape(g, env->topology);

	words_add(w, "-nodefaults");
	words_add(w, "-no-user-config");
	words_add(w, "-no-reboot");
	words_add(w, "-display");
	words_add(w, "none");
	words_add(w, "-sandbox");
	words_add(w, "on,obsolete=deny,elevateprivileges=deny,spawn=deny");
	words_add(w, "-name");
	words_add(w, "mksplit-%s,debug-threads=on", g->partition->name);
	words_add(w, "-machine");
	words_add(w, "pc");
	words_add(w, "-accel");
	words_add(w, "%s", kvm ? "kvm" : "tcg,thread=multi");
	words_add(w, "-cpu");
	/* Only Intel models show SMT siblings under TCG; the generic model is the fastest there. */
	words_add(w, "%s", kvm ? "host" : shape.threads > 1 ? "Nehalem" : "qemu64");
	words_add(w, "-smp");
	words_add(w, "%d,sockets=%d,cores=%d,threads=%d", g->ncpus, shape.sockets, shape.cores,
		  shape.threads);
	words_add(w, "-m");
	words_add(w, "%lluM", (unsigned long long)memory_mb(g));
	add_memory(w, g, env);
	/* Stopped until its virtual CPUs are where they belong. */
	words_add(w, "-S");
	words_add(w, "-qmp");
	words_add(w, "unix:%s,server=on,wait=off", g->control);
	if (!g->kernel->one_console) {
		words_add(w, "-chardev");
		words_add(w, "socket,id=console,path=%s,server=on,wait=off,logfile=%s,logappend=on",
			  g->console, g->log);
		words_add(w, "-serial");
		words_add(w, "chardev:console");
	}
	words_add(w, "-chardev");
	words_add(w, "socket,id=link,path=%s,server=on,wait=off%s%s", g->link,
		  g->kernel->one_console ? ",logappend=on,logfile=" : "",
		  g->kernel->one_console ? g->log : "");
	words_add(w, "-serial");
	words_add(w, "chardev:link");
	add_kernel(w, g, f, kvm, env);
}

int find_qemu(char **path, struct err *e)
{
	const char *dirs = getenv("PATH");
	cleanup_free char *copy = strdup(dirs ? dirs : "/usr/bin:/bin");
	struct utsname u;

	uname(&u);
	if (strcmp(u.machine, "x86_64") != 0)
		return err_set(e, ENOTSUP, "guests are built for x86_64 so far, this is %s",
			       u.machine);
	for (char *save, *dir = copy ? strtok_r(copy, ":", &save) : NULL; dir;
	     dir = strtok_r(NULL, ":", &save)) {
		if (asprintf(path, "%s/qemu-system-%s", dir, u.machine) < 0)
			return err_set(e, ENOMEM, "no memory");
		if (access(*path, X_OK) == 0)
			return 0;
		free(take_ptr(*path));
	}
	return err_set(e, ENOENT, "qemu-system-%s is not installed (Debian: qemu-system-x86)",
		       u.machine);
}
