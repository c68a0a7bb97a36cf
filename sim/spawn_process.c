// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#include "common/io.h"
#include "sim/calls.h"
#include "sim/child.h"
#include "sim/mktty.h"
#include "sim/rooms.h"
#include "sim/spawn.h"
#include "sim/spawn_room.h"

/*
 * A spawn kernel as a process: the initramfs' /init as PID 1 of namespaces of its own, with
 * a clock of its own, on a pseudo-terminal.
 */

struct process {
	struct spawn spawn;
	pid_t monitor; /* our child: it waits for the room's PID 1 */
	pid_t init; /* that one, as we number it; 0 until it is known */
	int master, control;
	int slave; /* kept open: without any, the master would only report a hang-up */
	bool kill_wanted, killed;
	const char *stopped_itself; /* how, or NULL */
	int64_t retry; /* timer for input that did not fit */
};

static void kill_now(struct process *p)
{
	p->killed = true;
	/* The PID 1's end ends everything in its namespace. */
	if (p->init)
		kill(p->init, SIGKILL);
	else
		p->kill_wanted = true;
}

static void process_kill(struct spawn *s)
{
	kill_now((struct process *)s);
}

void spawn_process_powered_off(struct spawn *s, const char *how)
{
	struct process *p = (struct process *)s;

	p->stopped_itself = how;
	kill_now(p);
}

/* Signals all processes of the room; twice, since they may fork meanwhile. */
static void process_freeze(struct spawn *s)
{
	struct process *p = (struct process *)s;
	char wanted[64], ns[64], path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", p->init);
	ssize_t n = readlink(path, wanted, sizeof(wanted) - 1);

	if (n < 0)
		return;
	wanted[n] = '\0';
	for (int round = 0; round < 2; round++) {
		cleanup_dir DIR *d = opendir("/proc");
		struct dirent *entry;

		while (d && (entry = readdir(d))) {
			pid_t pid = atoi(entry->d_name);

			if (pid <= 0)
				continue;
			snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
			n = readlink(path, ns, sizeof(ns) - 1);
			if (n < 0)
				continue;
			ns[n] = '\0';
			if (strcmp(ns, wanted) == 0)
				kill(pid, SIGSTOP);
		}
	}
}

static void process_cpus_changed(struct spawn *s)
{
	calls_cpus_changed(s->sim, s);
}

static void retry_input(void *arg)
{
	struct process *p = arg;

	p->retry = 0;
	mktty_pump(p->spawn.sim->mktty, p->spawn.id);
}

static size_t process_input(struct spawn *s, const void *data, size_t len)
{
	enum {
		RETRY_MS = 10
	};
	struct process *p = (struct process *)s;
	ssize_t n = write(p->master, data, len);

	if (n < 0)
		n = 0;
	if ((size_t)n < len && !p->retry)
		p->retry = loop_after(s->sim->loop, RETRY_MS, retry_input, p);
	return n;
}

static void process_free(struct spawn *s)
{
	struct process *p = (struct process *)s;

	if (p->retry > 0)
		loop_cancel(s->sim->loop, p->retry);
	if (p->master >= 0) {
		loop_unwatch(s->sim->loop, p->master);
		close(p->master);
	}
	if (p->slave >= 0)
		close(p->slave);
	if (p->control >= 0) {
		loop_unwatch(s->sim->loop, p->control);
		close(p->control);
	}
	free(p);
}

static bool drain(struct process *p)
{
	char data[4096];
	ssize_t n = read(p->master, data, sizeof(data));

	if (n > 0)
		spawn_output(&p->spawn, data, n);
	return n > 0;
}

static void on_console(void *arg, int fd, unsigned events)
{
	drain(arg);
}

static void say(struct process *p, const char *text)
{
	spawn_output(&p->spawn, text, strlen(text));
}

static void on_end(void *arg, int status)
{
	struct process *p = arg;
	char why[200];
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

	while (drain(p))
		;
	if (p->stopped_itself) {
		snprintf(why, sizeof(why), "%s", p->stopped_itself);
	} else if (p->killed) {
		snprintf(why, sizeof(why), "parked");
	} else {
		/* The end of PID 1 is a panic. */
		snprintf(why, sizeof(why), "panic: init ended with status %d", code);
		say(p,
		    "[   10.000000] Kernel panic - not syncing: Attempted to kill init!\r\n"
		    "[   10.000001] ---[ end Kernel panic - not syncing: Attempted to kill init! "
		    "]---\r\n");
	}
	spawn_ended(&p->spawn, why);
}

/* From the room: first the process id of its PID 1, then the filter's descriptor. */
static void on_control(void *arg, int fd, unsigned events)
{
	struct process *p = arg;

	if (!p->init) {
		int32_t pid;

		if (recv(fd, &pid, sizeof(pid), 0) == sizeof(pid)) {
			p->init = pid;
			if (p->kill_wanted)
				kill_now(p);
			return;
		}
	} else {
		int filter = receive_fd(fd);

		if (filter >= 0) {
			if (calls_watch(p->spawn.sim, filter, &p->spawn) < 0)
				close(filter);
			else
				send(fd, "", 1, MSG_NOSIGNAL);
			return;
		}
	}
	loop_unwatch(p->spawn.sim->loop, fd);
	close(fd);
	p->control = -1;
}

static int open_console(struct sim *s, struct process *p, char *name, size_t size, struct err *e)
{
	struct termios t;
	struct winsize w = {.ws_row = 25, .ws_col = 80};

	p->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (p->master < 0 || grantpt(p->master) < 0 || unlockpt(p->master) < 0 ||
	    ptsname_r(p->master, name, size) != 0)
		return err_sys(e, "cannot make a pseudo-terminal");
	p->slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->slave < 0 || tcgetattr(p->slave, &t) < 0)
		return err_sys(e, "%s", name);
	/* G1 and mk2 have a raw line, later ones the usual defaults, 10.2. */
	if (s->options.abi != ABI_G2B) {
		cfmakeraw(&t);
		tcsetattr(p->slave, TCSANOW, &t);
	}
	ioctl(p->slave, TIOCSWINSZ, &w);
	return 0;
}

static bool has_word(const char *line, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = line; (p = strstr(p, word)); p += len)
		if ((p == line || p[-1] == ' ') && (p[len] == '\0' || p[len] == ' '))
			return true;
	return false;
}

/* What the kernel prints before it starts /init. */
static void boot_messages(struct sim *s, struct process *p, struct instance *i)
{
	char text[2400];

	if (has_word(i->image->cmdline, "quiet"))
		return;
	snprintf(text, sizeof(text),
		 "[    0.000000] Linux version %s (mksim) #1 SMP PREEMPT_DYNAMIC simulated\r\n"
		 "[    0.000000] Command line: %.1500s\r\n"
		 "[    0.120000] smp: Brought up 1 node, %d CPUs\r\n"
		 "[    0.200000] printk: legacy console [mktty0] enabled\r\n"
		 "[    0.500000] Run /init as init process\r\n",
		 abi_release(s->options.abi), i->image->cmdline, i->ncpus);
	say(p, text);
}

static int process_start(struct sim *s, struct instance *i, struct err *e)
{
	struct process *p = calloc(1, sizeof(*p));
	struct spawn_room room = {.id = i->id, .initrd = i->image->initrd};
	char tty[64];
	int pair[2] = {-1, -1};

	if (!p)
		return err_set(e, ENOMEM, "no memory");
	p->spawn = (struct spawn){&spawn_process_ops, s, i->id};
	p->master = p->slave = p->control = -1;
	if (open_console(s, p, tty, sizeof(tty), e) < 0) {
		process_free(&p->spawn);
		return e->code;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		process_free(&p->spawn);
		return err_sys(e, "cannot make a socket pair");
	}
	room.tty = tty;
	room.control = pair[1];
	room.parent = getpid();
	p->control = pair[0];
	p->monitor = fork();
	if (p->monitor == 0)
		spawn_room_run(&room); /* does not return */
	close(pair[1]);
	if (p->monitor < 0 || child_watch(s->loop, p->monitor, on_end, p) < 0 ||
	    loop_watch(s->loop, p->control, POLLIN, on_control, p) < 0 ||
	    loop_watch(s->loop, p->master, POLLIN, on_console, p) < 0) {
		int ret = err_sys(e, "cannot start a process");

		if (p->monitor > 0)
			kill(p->monitor, SIGKILL);
		process_free(&p->spawn);
		return ret;
	}
	i->spawn = &p->spawn;
	mktty_wipe_input(s->mktty, i->id);
	boot_messages(s, p, i);
	return 0;
}

const struct spawn_ops spawn_process_ops = {
	.start = process_start,
	.kill = process_kill,
	.freeze = process_freeze,
	.cpus_changed = process_cpus_changed,
	.input = process_input,
	.free = process_free,
};
