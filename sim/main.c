// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/io.h"
#include "sim/calls_impl.h"
#include "sim/child.h"
#include "sim/fault.h"
#include "sim/image.h"
#include "sim/kmsg.h"
#include "sim/rooms.h"
#include "sim/sim.h"
#include "sim/spawn.h"
#include "sim/vfs.h"

/* The program mksim: options, the client's start and end, the exit status. */

enum {
	EXIT_STRICT = 3, /* the client succeeded, but strict mode has errors */
	EXIT_OWN = 125, /* mksim itself failed; 126 and 127 as a shell says it */
};

struct arguments {
	struct sim_options options;
	struct fault_list faults;
	const char *topology, *log, *write_kernel;
	char **command;
	struct err err;
};

enum {
	OPT_ABI = 256,
	OPT_TOPOLOGY,
	OPT_SPAWN,
	OPT_SPAWN_IMAGE,
	OPT_STRICT,
	OPT_LOG,
	OPT_FAULT,
	OPT_LIST_FAULTS,
	OPT_LIST_STEPS,
	OPT_NODE_MEMORY,
	OPT_LOAD_LIMIT,
	OPT_WRITE_KERNEL,
};

static const struct argp_option argp_options[] = {
	{"abi", OPT_ABI, "GENERATION", 0, "g2a (v7.0-mk2, the default) or g2b (later releases)", 0},
	{"topology", OPT_TOPOLOGY, "SPEC", 0,
	 "the machine: hwloc's synthetic syntax, an hwloc XML file, or the dump of a machine "
	 "(folder or tar file with proc/ and sys/)",
	 0},
	{"node-memory", OPT_NODE_MEMORY, "SIZE", 0,
	 "memory of each node of a synthetic machine that says none (default 64G)", 0},
	{"spawn", OPT_SPAWN, "KIND", 0,
	 "spawn kernels are processes in namespaces (process, the default) or guests (qemu)", 0},
	{"spawn-image", OPT_SPAWN_IMAGE, "FILE", 0,
	 "kernel for --spawn qemu (default: the newest /boot/vmlinuz-*)", 0},
	{"strict", OPT_STRICT, NULL, 0,
	 "what the real kernel would silently misread or ignore, or not survive, is an error, and "
	 "so is a machine that is not as it was at the end",
	 0},
	{"log", OPT_LOG, "FILE", 0, "write down what the client did and was answered", 0},
	{"fault", OPT_FAULT, "NAME@STEP[+SECONDS]", 0, "make a step go wrong (may be repeated)", 0},
	{"list-faults", OPT_LIST_FAULTS, NULL, 0, "print the names of faults", 0},
	{"list-steps", OPT_LIST_STEPS, NULL, 0, "print each step of the client on standard error", 0},
	{"load-limit", OPT_LOAD_LIMIT, "N", 0,
	 "kernel.kexec_load_limit_reboot: loads and unloads that are left", 0},
	{"write-kernel", OPT_WRITE_KERNEL, "FILE", 0,
	 "write a stand-in vmlinux with the multikernel note, and exit", 0},
	{0},
};

static bool parse_size(const char *text, uint64_t *size)
{
	char *end;
	unsigned long long v = strtoull(text, &end, 10);
	static const char units[] = "KMGT";
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (end == text || (*end && (!unit || end[1])) || v == 0 || v > (1ull << 40))
		return false;
	*size = unit ? (uint64_t)v << 10 * (unit - units + 1) : v;
	return true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	cleanup_buf struct buf table = BUF_INIT;
	char *end;

	switch (key) {
	case OPT_ABI:
		if (strcmp(arg, "g2a") == 0)
			a->options.abi = ABI_G2A;
		else if (strcmp(arg, "g2b") == 0)
			a->options.abi = ABI_G2B;
		else
			argp_error(state, "--abi %s: not g2a or g2b", arg);
		break;
	case OPT_TOPOLOGY:
		a->topology = arg;
		break;
	case OPT_NODE_MEMORY:
		if (!parse_size(arg, &a->options.node_memory))
			argp_error(state, "--node-memory %s: not a size", arg);
		break;
	case OPT_SPAWN:
		if (strcmp(arg, "process") != 0 && strcmp(arg, "qemu") != 0)
			argp_error(state, "--spawn %s: not process or qemu", arg);
		a->options.qemu = *arg == 'q';
		break;
	case OPT_SPAWN_IMAGE:
		a->options.image = arg;
		break;
	case OPT_STRICT:
		a->options.strict = true;
		break;
	case OPT_LOG:
		a->log = arg;
		break;
	case OPT_FAULT:
		if (fault_parse(&a->faults, arg, &a->err) < 0)
			argp_error(state, "%s", a->err.text);
		break;
	case OPT_LIST_FAULTS:
		fault_print_table(&table);
		fputs(table.data ? table.data : "", stdout);
		exit(0);
	case OPT_LIST_STEPS:
		a->options.list_steps = true;
		break;
	case OPT_LOAD_LIMIT:
		a->options.load_limit = strtoll(arg, &end, 10);
		if (end == arg || *end || a->options.load_limit < -1)
			argp_error(state, "--load-limit %s: not a number", arg);
		break;
	case OPT_WRITE_KERNEL:
		a->write_kernel = arg;
		break;
	case ARGP_KEY_ARGS:
		a->command = state->argv + state->next;
		break;
	case ARGP_KEY_NO_ARGS:
		if (!a->write_kernel)
			argp_error(state, "no command");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	argp_options,
	parse_option,
	"-- COMMAND...",
	"Run COMMAND, unmodified, on a machine that looks like an mklinux host.\v"
	"The exit status is that of COMMAND; 3 when only strict mode has something to object; 125 "
	"when mksim itself failed.",
	NULL,
	NULL,
	NULL,
};

static int write_kernel(const char *path, struct err *e)
{
	cleanup_buf struct buf image = BUF_INIT;

	if (image_write_stand_in(&image) < 0)
		return err_set(e, ENOMEM, "no memory");
	return replace_file(path, image.data, image.len, 0644, e);
}

struct run {
	struct sim *sim;
	pid_t client; /* PID 1 of its room */
	int control, signals, real_kmsg;
	int status;
	bool ended;
	int64_t give_up; /* timer of the end */
};

static void on_signal(void *arg, int fd, unsigned events)
{
	struct run *r = arg;
	struct signalfd_siginfo info;

	/* SIGINT and SIGQUIT of a terminal reach the client by themselves. */
	while (read(fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP)
			kill(r->client, (int)info.ssi_signo);
}

static void on_control(void *arg, int fd, unsigned events)
{
	struct run *r = arg;
	int filter = receive_fd(fd);

	if (filter >= 0) {
		calls_set_client(r->sim, r->client);
		rooms_remember_mounts(r->sim, r->client);
		if (calls_watch(r->sim, filter, NULL) == 0)
			(void)!write(fd, "", 1);
		return;
	}
	loop_unwatch(r->sim->loop, fd);
	close(fd);
	r->control = -1;
}

static void on_real_kmsg(void *arg, int fd, unsigned events)
{
	struct run *r = arg;
	char record[8192];
	ssize_t n;

	while ((n = read(fd, record, sizeof(record))) > 0)
		kmsg_forward(r->sim->kmsg, record, n);
	if (n < 0 && errno != EAGAIN && errno != EPIPE)
		loop_unwatch(r->sim->loop, fd);
}

static bool anything_runs(const struct sim *s)
{
	for (const struct instance *i = s->instances; i; i = i->next)
		if (i->spawn)
			return true;
	return false;
}

static void on_tick(void *arg)
{
	enum {
		TICK_MS = 20
	};
	struct run *r = arg;

	if (!anything_runs(r->sim))
		loop_stop(r->sim->loop);
	else
		loop_after(r->sim->loop, TICK_MS, on_tick, r);
}

static void on_give_up(void *arg)
{
	loop_stop(((struct run *)arg)->sim->loop);
}

/* The client's end: what still runs is compared with the start, then ended. */
static void on_client_end(void *arg, int status)
{
	enum {
		GIVE_UP_MS = 10000
	};
	struct run *r = arg;
	struct sim *s = r->sim;
	int differences;

	r->ended = true;
	r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	log_line(&s->log, "the client ended with status %d", r->status);
	differences = sim_compare_with_start(s);
	log_line(&s->log, "the machine is %s", differences ? "NOT as it was" : "as it was");
	for (struct instance *i = s->instances; i; i = i->next)
		if (i->spawn)
			i->spawn->ops->kill(i->spawn);
	loop_after(s->loop, 0, on_tick, r);
	loop_after(s->loop, GIVE_UP_MS, on_give_up, r);
}

static int block_signals(int *fd)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

static int start(struct run *r, struct arguments *a, struct err *e)
{
	struct sim *s = r->sim;
	struct machine_options m = {a->options.node_memory};

	if (machine_read(&s->machine, a->topology, &m, e) < 0 || sim_init(s, e) < 0 ||
	    log_open(&s->log, a->log, a->options.strict, e) < 0)
		return e->code;
	s->loop = loop_new();
	s->kmsg = kmsg_new();
	s->calls = calloc(1, sizeof(*s->calls));
	if (!s->loop || !s->kmsg || !s->calls)
		return err_set(e, ENOMEM, "no memory");
	s->calls->sim = s;
	log_line(&s->log, "mksim --abi %s, %s", abi_name(s->options.abi), s->machine.what);
	if (block_signals(&r->signals) < 0)
		return err_sys(e, "signalfd");
	r->real_kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (rooms_enter(s, e) < 0 || vfs_start(s, ROOMS_BASE, e) < 0)
		return e->code;
	r->client = rooms_start_client(s, a->command, &r->control, e);
	if (r->client < 0)
		return e->code;
	if (child_watch(s->loop, r->client, on_client_end, r) < 0 ||
	    loop_watch(s->loop, r->control, POLLIN, on_control, r) < 0 ||
	    loop_watch(s->loop, r->signals, POLLIN, on_signal, r) < 0)
		return err_set(e, ENOMEM, "no memory");
	if (r->real_kmsg >= 0) {
		lseek(r->real_kmsg, 0, SEEK_END);
		loop_watch(s->loop, r->real_kmsg, POLLIN, on_real_kmsg, r);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments a = {.options = {.load_limit = -1, .node_memory = UINT64_C(64) << 30}};
	struct sim sim = {0};
	struct run run = {.sim = &sim, .control = -1, .signals = -1, .real_kmsg = -1};
	struct err e = ERR_INIT;
	int ret;

	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a) != 0)
		return EXIT_USAGE;
	if (a.write_kernel) {
		ret = write_kernel(a.write_kernel, &e);
		if (ret < 0)
			fprintf(stderr, "mksim: %s\n", e.text);
		return ret < 0 ? EXIT_OWN : 0;
	}
	a.options.faults = &a.faults;
	sim.options = a.options;
	ret = start(&run, &a, &e);
	if (ret == 0)
		ret = loop_run(sim.loop);
	if (ret < 0) {
		fprintf(stderr, "mksim: %s\n", *e.text ? e.text : strerror(-ret));
		run.status = e.exit == EXIT_USAGE ? EXIT_USAGE : EXIT_OWN;
	} else if (run.status == 0 && a.options.strict && sim.log.errors) {
		fprintf(stderr, "mksim: strict: %u errors\n", sim.log.errors);
		run.status = EXIT_STRICT;
	}
	for (int k = 0; k < a.faults.n; k++)
		if (!a.faults.v[k].struck)
			log_line(&sim.log, "fault at step %d did not strike", a.faults.v[k].step);
	vfs_stop(&sim);
	calls_free(&sim);
	rooms_free(&sim);
	kmsg_free(sim.kmsg);
	loop_free(sim.loop);
	sim_free(&sim);
	fault_list_free(&a.faults);
	return run.status;
}
