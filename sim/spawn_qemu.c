// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sim/child.h"
#include "sim/mktty.h"
#include "sim/rooms.h"
#include "sim/spawn.h"

/*
 * A spawn kernel as a guest: a stand-in image, since an emulated PC cannot enter a kernel as
 * mklinux does, with the instance's number of CPUs and its memory, its initramfs and its
 * command line. Its serial line is the console. The guest numbers its CPUs itself: with few
 * CPUs and gaps in the APIC ids a guest locks up, so the machine's ids are not imitated.
 */

struct guest {
	struct spawn spawn;
	pid_t pid;
	int line; /* our end of the serial line */
	bool killed;
	int64_t retry;
};

static void guest_kill(struct spawn *s)
{
	struct guest *g = (struct guest *)s;

	g->killed = true;
	kill(g->pid, SIGKILL);
}

static void guest_freeze(struct spawn *s)
{
	kill(((struct guest *)s)->pid, SIGSTOP);
}

static void guest_cpus_changed(struct spawn *s)
{
	log_line(&s->sim->log, "  a guest of --spawn qemu keeps the CPUs that it booted with");
}

static void retry_input(void *arg)
{
	struct guest *g = arg;

	g->retry = 0;
	mktty_pump(g->spawn.sim->mktty, g->spawn.id);
}

static size_t guest_input(struct spawn *s, const void *data, size_t len)
{
	enum {
		RETRY_MS = 10
	};
	struct guest *g = (struct guest *)s;
	ssize_t n = send(g->line, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		n = 0;
	if ((size_t)n < len && !g->retry)
		g->retry = loop_after(s->sim->loop, RETRY_MS, retry_input, g);
	return n;
}

static void guest_free(struct spawn *s)
{
	struct guest *g = (struct guest *)s;

	if (g->retry > 0)
		loop_cancel(s->sim->loop, g->retry);
	if (g->line >= 0) {
		loop_unwatch(s->sim->loop, g->line);
		close(g->line);
	}
	free(g);
}

static bool drain(struct guest *g)
{
	char data[4096];
	ssize_t n = recv(g->line, data, sizeof(data), MSG_DONTWAIT);

	if (n > 0)
		spawn_output(&g->spawn, data, n);
	return n > 0;
}

static void on_line(void *arg, int fd, unsigned events)
{
	struct guest *g = arg;

	if (!drain(g) && (events & POLLHUP))
		loop_unwatch(g->spawn.sim->loop, fd);
}

static void on_end(void *arg, int status)
{
	struct guest *g = arg;
	char why[100];

	while (drain(g))
		;
	if (g->killed)
		snprintf(why, sizeof(why), "parked");
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		snprintf(why, sizeof(why), "the guest has ended");
	else
		snprintf(why, sizeof(why), "QEMU ended with status %d",
			 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	spawn_ended(&g->spawn, why);
}

/* The newest of the machine's own kernels, as version numbers sort. The caller frees. */
static char *newest_kernel(void)
{
	glob_t found = {0};
	char *best = NULL;

	if (glob("/boot/vmlinuz-*", 0, NULL, &found) == 0) {
		size_t newest = 0;

		for (size_t k = 1; k < found.gl_pathc; k++)
			if (strverscmp(found.gl_pathv[k], found.gl_pathv[newest]) > 0)
				newest = k;
		best = strdup(found.gl_pathv[newest]);
	}
	globfree(&found);
	return best;
}

/*
 * The stand-in has no mktty: its console is the serial line. panic=-1 makes a panic end the
 * guest, as it ends a spawn kernel; mksplit's agent is told which line its link is.
 */
static void write_cmdline(struct buf *out, const char *line)
{
	static const char name[] = "mktty0";

	while (*line) {
		const char *at = strstr(line, name);

		buf_add(out, line, at ? (size_t)(at - line) : strlen(line));
		if (!at)
			break;
		buf_str(out, "ttyS0");
		line = at + strlen(name);
	}
	buf_str(out, " panic=-1 mksplit.link=ttyS0");
}

enum {
	GUEST_INITRD = 3
};

static void run_qemu(char **argv, int line, int initrd, pid_t parent)
{
	sigset_t none;

	room_die_with(parent);
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(line, STDIN_FILENO);
	dup2(line, STDOUT_FILENO);
	if (initrd >= 0)
		dup2(initrd, GUEST_INITRD);
	close_range(initrd >= 0 ? GUEST_INITRD + 1 : GUEST_INITRD, ~0u, 0);
	execvp(argv[0], argv);
	fprintf(stderr, "mksim: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int spawn_guest(struct sim *s, struct instance *i, struct guest *g, int line, struct err *e)
{
	cleanup_free char *kernel = s->options.image ? strdup(s->options.image) : newest_kernel();
	cleanup_buf struct buf cmdline = BUF_INIT;
	char smp[32], memory[32];
	char *argv[40] = {"qemu-system-x86_64",
			  "-accel",
			  "tcg,thread=multi",
			  "-cpu",
			  "max",
			  "-nodefaults",
			  "-no-user-config",
			  "-no-reboot",
			  "-display",
			  "none",
			  "-monitor",
			  "none",
			  "-serial",
			  "stdio"};
	int n = 14;
	pid_t parent = getpid();

	if (!kernel)
		return err_set(e, ENOENT, "no kernel in /boot: name one with --spawn-image");
	write_cmdline(&cmdline, i->image->cmdline);
	if (cmdline.failed)
		return err_set(e, ENOMEM, "no memory");
	snprintf(smp, sizeof(smp), "%d", i->ncpus);
	snprintf(memory, sizeof(memory), "%llum", (unsigned long long)(instance_memory(i) >> 20));
	argv[n++] = "-smp";
	argv[n++] = smp;
	argv[n++] = "-m";
	argv[n++] = memory;
	argv[n++] = "-kernel";
	argv[n++] = kernel;
	argv[n++] = "-append";
	argv[n++] = cmdline.data;
	if (i->image->initrd >= 0) {
		argv[n++] = "-initrd";
		argv[n++] = "/proc/self/fd/3";
	}
	g->pid = fork();
	if (g->pid == 0)
		run_qemu(argv, line, i->image->initrd, parent);
	return g->pid < 0 ? err_sys(e, "cannot fork") : 0;
}

static int guest_start(struct sim *s, struct instance *i, struct err *e)
{
	struct guest *g = calloc(1, sizeof(*g));
	int pair[2], ret;

	if (!g)
		return err_set(e, ENOMEM, "no memory");
	g->spawn = (struct spawn){&spawn_qemu_ops, s, i->id};
	g->line = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		guest_free(&g->spawn);
		return err_sys(e, "cannot make a socket pair");
	}
	g->line = pair[0];
	ret = spawn_guest(s, i, g, pair[1], e);
	close(pair[1]);
	if (ret == 0 && (child_watch(s->loop, g->pid, on_end, g) < 0 ||
			 loop_watch(s->loop, g->line, POLLIN, on_line, g) < 0)) {
		kill(g->pid, SIGKILL);
		ret = err_set(e, ENOMEM, "no memory");
	}
	if (ret < 0) {
		guest_free(&g->spawn);
		return ret;
	}
	i->spawn = &g->spawn;
	mktty_wipe_input(s->mktty, i->id);
	return 0;
}

const struct spawn_ops spawn_qemu_ops = {
	.start = guest_start,
	.kill = guest_kill,
	.freeze = guest_freeze,
	.cpus_changed = guest_cpus_changed,
	.input = guest_input,
	.free = guest_free,
};
