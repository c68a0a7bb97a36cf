// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Backend "qemu": one guest a partition, its virtual CPUs pinned one to one to the
 * partition's CPUs. QEMU itself writes the console's log and serves its socket, so that
 * nothing of ours runs while cells are measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/backend/nature.h"
#include "harness/backend/qemu/guest.h"
#include "harness/backend/qemu/pin.h"
#include "harness/payload/initramfs.h"

/* QEMU makes its sockets after it has filled the guest's memory, on a machine that may be busy. */
#define CONTROL_MS 120000
/* The agent was told OFF: its kernel powers off, which an emulated one does in a second or two. */
#define OFF_MS 10000
/* From the end of its sockets to that of QEMU itself. */
#define DEATH_MS       2000
#define DEATH_EVERY_MS 20

struct qemu {
	char *program; /* qemu-system-... */
	int kvm; /* 1, 0, or -1: not known yet */
	char *kvm_why;
	char initramfs[PATH_MAX];
	const struct plan_arm *arm; /* that is up, or partly up */
	struct guest *guests;
};

static const char make_initramfs[] = "make-initramfs", start_guest[] = "start-guest",
		  pin_cpus[] = "pin-vcpus", run_guest[] = "run-guest", stop_guest[] = "stop-guest";

static void note(const struct backend *b, const char *fmt, const char *text)
{
	char line[1024];

	if (!b->env.note)
		return;
	snprintf(line, sizeof(line), fmt, text);
	b->env.note(b->env.note_arg, line);
}

static int qemu_open(struct backend *b, struct err *e)
{
	struct qemu *q = calloc(1, sizeof(*q));
	struct err none = ERR_INIT;

	if (!q)
		return err_set(e, ENOMEM, "no memory");
	b->own = q;
	q->kvm = -1;
	/* Its absence is for probe() and apply() to say. */
	find_qemu(&q->program, &none);
	if (b->env.run_dir)
		snprintf(q->initramfs, sizeof(q->initramfs), "%s/initramfs", b->env.run_dir);
	return 0;
}

static void free_guest(struct guest *g)
{
	qmp_close(&g->qmp);
	local_stop(&g->process, 0);
	if (g->console)
		unlink(g->console);
	if (g->link)
		unlink(g->link);
	if (g->control)
		unlink(g->control);
	free(g->console);
	free(g->link);
	free(g->control);
	free(g->log);
	free(g->cpus);
}

static void forget_arm(struct qemu *q)
{
	for (int i = 0; q->arm && i < q->arm->npartitions; i++)
		free_guest(&q->guests[i]);
	free(take_ptr(q->guests));
	q->arm = NULL;
}

static void qemu_close(struct backend *b)
{
	struct qemu *q = b->own;

	forget_arm(q);
	free(q->program);
	free(q->kvm_why);
	free(q);
}

/* An image to see KVM with: any will do that boots. */
static int any_image(char **path, const struct backend *b, struct err *e)
{
	const struct plan *p = b->env.plan;
	const struct plan_kernel found = {.name = "auto", .image = "auto"};

	return guest_image(path, p && p->nkernels ? &p->kernels[0] : &found, e);
}

static int find_kvm(struct backend *b, struct err *e)
{
	struct qemu *q = b->own;
	cleanup_free char *image = NULL;
	int ret;

	if (q->kvm >= 0)
		return 0;
	ret = any_image(&image, b, e);
	if (ret < 0)
		return ret;
	ret = kvm_works(q->program, image, &b->env, &q->kvm_why, e);
	if (ret < 0)
		return ret;
	q->kvm = ret;
	note(b, q->kvm ? "guests run under KVM: %s" : "guests are emulated (TCG): %s",
	     q->kvm_why ? q->kvm_why : "");
	return 0;
}

static int qemu_probe(struct backend *b, struct check_results *out, struct err *e)
{
	struct qemu *q = b->own;
	cleanup_free char *image = NULL;
	struct err why = ERR_INIT;
	int ret;

	if (!q->program) {
		find_qemu(&q->program, &why);
		ret = check_add(out, "qemu", CHECK_FAIL, "install QEMU", "%s", why.text);
		return ret < 0 ? err_set(e, ret, "no memory") : 0;
	}
	ret = check_add(out, "qemu", CHECK_PASS, NULL, "%s", q->program);
	if (ret == 0 && any_image(&image, b, &why) < 0)
		ret = check_add(out, "guest-kernel", CHECK_FAIL, "install or name a kernel image",
				"%s", why.text);
	else if (ret == 0)
		ret = check_add(out, "guest-kernel", CHECK_PASS, NULL, "%s", image);
	if (ret == 0 && image && find_kvm(b, &why) < 0)
		ret = check_add(out, "kvm", CHECK_WARN, NULL, "cannot be tried: %s", why.text);
	else if (ret == 0 && image)
		ret = check_add(
			out, "kvm", q->kvm ? CHECK_PASS : CHECK_WARN,
			q->kvm ? NULL
			       : "guests are emulated: everything runs, but no ratio is evidence",
			"%s", q->kvm_why ? q->kvm_why : "");
	return ret < 0 ? err_set(e, ret, "no memory") : 0;
}

static enum nature qemu_nature(struct backend *b)
{
	struct qemu *q = b->own;
	struct err e = ERR_INIT;

	if (q->kvm < 0 && (!q->program || find_kvm(b, &e) < 0))
		return NATURE_EMULATED; /* nothing better is proven */
	return nature_worse(machine_nature(b->env.root), q->kvm ? NATURE_VIRTUAL : NATURE_EMULATED);
}

static int add_step(struct steps *s, const struct plan_arm *arm, int partition, const char *kind,
		    double expected_s, char *what)
{
	struct step *v = what ? reallocarray(s->v, s->n + 1, sizeof(*v)) : NULL;

	if (!v) {
		free(what);
		return -ENOMEM;
	}
	s->v = v;
	v[s->n] = (struct step){.number = s->n + 1,
				.partition = partition,
				.kind = kind,
				.what = what,
				.expected_s = expected_s,
				.own = (void *)arm};
	s->n++;
	return 0;
}

static char *sentence(const char *fmt, const struct plan_partition *p, bool with_cpus)
{
	cleanup_free char *cpus = cpumask_format(&p->cpus);
	char *text;

	if (with_cpus ? asprintf(&text, fmt, p->name, cpus ? cpus : "?") < 0
		      : asprintf(&text, fmt, p->name) < 0)
		return NULL;
	return text;
}

static int qemu_plan(struct backend *b, const struct layout *is, const struct layout *want,
		     struct steps *out, struct err *e)
{
	const struct plan_arm *arm = want->arm;
	int ret = 0;

	(void)b;
	for (int i = 0; ret == 0 && is->arm && i < is->arm->npartitions; i++)
		ret = add_step(out, is->arm, i, stop_guest, 1,
			       sentence("end the guest of partition \"%s\"",
					&is->arm->partitions[i], false));
	if (ret == 0 && arm)
		ret = add_step(out, arm, -1, make_initramfs, 0.2,
			       strdup("write the initramfs that carries mksplit-bench as /init"));
	/* All are started before the first is waited for: QEMU fills the guest's memory meanwhile. */
	for (int i = 0; ret == 0 && arm && i < arm->npartitions; i++)
		ret = add_step(out, arm, i, start_guest, 0.1,
			       sentence("start QEMU, stopped, for partition \"%s\"",
					&arm->partitions[i], false));
	for (int i = 0; ret == 0 && arm && i < arm->npartitions; i++)
		ret = add_step(out, arm, i, pin_cpus, 0.4,
			       sentence("pin the virtual CPUs of \"%s\" one to one to CPUs %s",
					&arm->partitions[i], true));
	for (int i = 0; ret == 0 && arm && i < arm->npartitions; i++)
		ret = add_step(out, arm, i, run_guest, 5,
			       sentence("let the guest of partition \"%s\" run",
					&arm->partitions[i], false));
	return ret < 0 ? err_set(e, ret, "no memory for the steps") : 0;
}

static char *in_folder(const char *folder, int partition, const char *suffix)
{
	char *path;

	return asprintf(&path, "%s/p%d.%s", folder, partition, suffix) < 0 ? NULL : path;
}

static int enter_arm(struct backend *b, const struct plan_arm *arm, struct err *e)
{
	struct qemu *q = b->own;

	if (q->arm == arm)
		return 0;
	forget_arm(q);
	q->guests = calloc(arm->npartitions, sizeof(*q->guests));
	if (!q->guests)
		return err_set(e, ENOMEM, "no memory");
	q->arm = arm;
	for (int i = 0; i < arm->npartitions; i++) {
		struct guest *g = &q->guests[i];

		g->partition = &arm->partitions[i];
		if (g->partition->host || g->partition->kernel < 0)
			return err_set(
				e,
				EINVAL, "partition \"%s\" is the running kernel, and backend qemu has guests",
				g->partition->name);
		g->kernel = &b->env.plan->kernels[g->partition->kernel];
		g->console = in_folder(b->env.run_dir, i, "console");
		g->link = in_folder(b->env.run_dir, i, "link");
		g->control = in_folder(b->env.run_dir, i, "qmp");
		if (asprintf(&g->log, "%s/consoles/%s-%s.log", b->env.results_dir, arm->name,
			     g->partition->name) < 0)
			g->log = NULL;
		if (!g->console || !g->link || !g->control || !g->log)
			return err_set(e, ENOMEM, "no memory");
		if (guest_order(g, b->env.topology, e) < 0)
			return e->code;
	}
	return 0;
}

/* Made once for all boots. It has its name only when it is whole. */
static int write_initramfs(struct backend *b, struct err *e)
{
	struct qemu *q = b->own;
	char part[PATH_MAX + 8];
	cleanup_close int fd = -1;
	int ret;

	if (access(q->initramfs, R_OK) == 0)
		return 0;
	snprintf(part, sizeof(part), "%s.part", q->initramfs);
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, "%s", part);
	ret = initramfs_write(fd, b->env.bench, e);
	if (ret == 0 && rename(part, q->initramfs) < 0)
		ret = err_sys(e, "%s", q->initramfs);
	return ret;
}

static enum kernel_state guest_state(struct guest *g, char *why, size_t size)
{
	enum kernel_state state = local_state(&g->process, why, size);
	char lines[1024];
	size_t len;

	if (state == KERNEL_RUNNING && g->qmp && qmp_stopped(g->qmp)) {
		snprintf(why, size, "QEMU has stopped it, which it does after an error of its own");
		state = KERNEL_DEAD;
	}
	if (state != KERNEL_DEAD)
		return state;
	last_line_with("Kernel panic", g->log, g->log_start, lines, sizeof(lines));
	len = strlen(why);
	if (*lines)
		snprintf(why + len, size - len, "; %s", lines);
	last_lines(g->log, g->log_start, lines, sizeof(lines));
	len = strlen(why);
	snprintf(why + len, size - len, "; its console ended with: %s", *lines ? lines : "(nothing)");
	return state;
}

static int alive(void *arg, struct err *e)
{
	char why[1500];

	if (guest_state(arg, why, sizeof(why)) == KERNEL_RUNNING)
		return 0;
	return err_set(e, ECHILD, "QEMU: %s", why);
}

/*
 * What is wrong with a guest whose QEMU stopped speaking to us: a process that dies closes what it
 * had open some time before it can be waited for.
 */
static int explain(struct guest *g, int ret, struct err *e)
{
	bool closed = ret == -EPIPE || ret == -ECONNRESET;

	for (int ms = 0; closed && ms <= DEATH_MS; ms += DEATH_EVERY_MS) {
		struct err why = ERR_INIT;

		if (alive(g, &why) < 0) {
			*e = why;
			return e->code;
		}
		poll(NULL, 0, DEATH_EVERY_MS);
	}
	return ret;
}

static int start(struct backend *b, struct guest *g, struct err *e)
{
	struct qemu *q = b->own;
	cleanup_words struct words w = {0};
	cleanup_free char *image = NULL;
	struct stat st;
	char *log;
	int ret = find_kvm(b, e);

	if (ret == 0)
		ret = guest_image(&image, g->kernel, e);
	if (ret < 0)
		return ret;
	note(b, "kernel image %s", image);
	words_add(&w, "%s", q->program);
	guest_command(&w, g, &(struct guest_files){image, q->initramfs}, q->kvm, &b->env);
	if (w.failed || asprintf(&log, "%s/consoles/%s-%s.qemu", b->env.results_dir, q->arm->name,
				 g->partition->name) < 0)
		return err_set(e, ENOMEM, "no memory");
	/* Earlier boots of the partition have written to the same file. */
	g->log_start = stat(g->log, &st) == 0 ? st.st_size : 0;
	ret = local_start(&g->process, w.v, -1, log, &b->env, e);
	if (ret == 0 && guest_shape(g, b->env.topology).flat && g->ncpus > 1)
		note(b, "the guest of \"%s\" has one flat socket: its CPUs are uneven, or QEMU cannot boot their like",
		     g->partition->name);
	return ret;
}

static int pin(struct backend *b, struct guest *g, struct err *e)
{
	int ret = g->qmp ? 0 : qmp_open(&g->qmp, g->control, CONTROL_MS, alive, g, e);

	if (ret == 0)
		ret = guest_pin(g, &b->env.plan->quiet, e);
	if (ret == 0 && cpumask_weight(&b->env.plan->quiet) == 0)
		note(b, "no CPU is quiet: QEMU's own threads share the CPUs of \"%s\" with its guest",
		     g->partition->name);
	return ret;
}

static int stop(struct guest *g)
{
	char why[2048]; /* local_state() has more to say than we need */

	/* The session told the agent OFF; a guest that does not go by itself is ended. */
	for (int ms = 0;
	     ms < OFF_MS && local_state(&g->process, why, sizeof(why)) == KERNEL_RUNNING; ms += 20) {
		if (!g->linked || qmp_stopped(g->qmp))
			break;
		poll(NULL, 0, 20);
	}
	qmp_close(&g->qmp);
	local_stop(&g->process, 0);
	unlink(g->console);
	unlink(g->link);
	unlink(g->control);
	g->linked = false;
	return 0;
}

static int qemu_apply(struct backend *b, const struct step *s, struct err *e)
{
	struct qemu *q = b->own;
	struct guest *g;
	int ret;

	if (!q->program)
		return find_qemu(&q->program, e);
	if (s->kind == stop_guest)
		return q->arm == s->own ? stop(&q->guests[s->partition]) : 0;
	ret = enter_arm(b, s->own, e);
	if (ret == 0 && s->kind == make_initramfs)
		return write_initramfs(b, e);
	if (ret < 0)
		return ret;
	g = &q->guests[s->partition];
	if (s->kind == start_guest)
		ret = start(b, g, e);
	else if (s->kind == pin_cpus)
		ret = pin(b, g, e);
	else
		ret = qmp_do(g->qmp, "cont", NULL, NULL, e);
	ret = explain(g, ret, e);
	return ret < 0 ? err_wrap(e, "partition \"%s\"", g->partition->name) : 0;
}

static int qemu_channel(struct backend *b, int partition, struct err *e)
{
	struct qemu *q = b->own;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *path = q->arm ? q->guests[partition].link : NULL;

	if (fd < 0)
		return err_sys(e, "cannot make a socket");
	if (!path || strlen(path) >= sizeof(a.sun_path))
		return err_set(e, ENOTCONN, "there is no link to this guest");
	strcpy(a.sun_path, path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return err_sys(e, "%s", path);
	q->guests[partition].linked = true;
	return take_fd(fd);
}

static int qemu_agent_cpu(struct backend *b, int partition, int host_cpu)
{
	struct qemu *q = b->own;

	for (int i = 0; q->arm && i < q->guests[partition].ncpus; i++)
		if (q->guests[partition].cpus[i] == host_cpu)
			return i;
	return -1;
}

static enum kernel_state qemu_state(struct backend *b, int partition, char *why, size_t size)
{
	struct qemu *q = b->own;

	return q->arm ? guest_state(&q->guests[partition], why, size) : KERNEL_DOWN;
}

static const char *qemu_console(struct backend *b, int partition)
{
	struct qemu *q = b->own;

	/* With one port for both, the console is the link's, and the session keeps its log. */
	return q->arm && !q->guests[partition].kernel->one_console ? q->guests[partition].console
								   : NULL;
}

const struct backend_ops backend_qemu = {
	.name = "qemu",
	.summary = "one guest a partition, under KVM or emulated",
	.open = qemu_open,
	.close = qemu_close,
	.probe = qemu_probe,
	.nature = qemu_nature,
	.plan = qemu_plan,
	.apply = qemu_apply,
	.channel = qemu_channel,
	.agent_cpu = qemu_agent_cpu,
	.state = qemu_state,
	.console = qemu_console,
};
