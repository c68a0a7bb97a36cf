// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/room.h"
#include "bench/runner.h"
#include "common/cleanup.h"

#define RUNNER_FD 3

/* A result has a line a task and a line a sample; this is 100 samples of 4096 tasks. */
#define RESULT_MAX (16 << 20)

/* A runner that is told to end removes files first; a pass of a loop may have to end before. */
#define END_MS	      5000
#define LOOK_EVERY_MS 5

/*
 * This program anew. For a user-mode emulator of another architecture /proc/self/exe is itself when
 * it comes to exec, so it has to be named in MKSPLIT_EMULATOR, with its path.
 */
static void execute(char **argv)
{
	char *emulator = getenv("MKSPLIT_EMULATOR"), path[PATH_MAX];
	char *emulated[] = {emulator, path, argv[1], argv[2], NULL};
	ssize_t n = emulator ? readlink("/proc/self/exe", path, sizeof(path) - 1) : -1;

	if (n > 0) {
		path[n] = '\0';
		execv(emulator, emulated);
	} else {
		execv("/proc/self/exe", argv);
	}
}

static void become_runner(int fd, pid_t parent)
{
	char number[12];
	char *argv[] = {"mksplit-bench", "runner", number, NULL};
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	if (fd == RUNNER_FD)
		fcntl(fd, F_SETFD, 0);
	else
		dup2(fd, RUNNER_FD);
	snprintf(number, sizeof(number), "%d", RUNNER_FD);
	/* Takes effect at exec: layouts in memory are then the same in every cell (personality(2)). */
	personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	execute(argv);
	_exit(127);
}

int launch_start(struct launch *l, const char *spec, struct err *e)
{
	cleanup_free char *message = NULL;
	pid_t parent = getpid();
	int pair[2], len;

	if (strlen(spec) + 2 > RUNNER_MESSAGE_MAX)
		return err_set(e, E2BIG, "too much to prepare");
	len = asprintf(&message, "P%s", spec);
	if (len < 0) {
		message = NULL;
		return err_set(e, ENOMEM, "no memory");
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "cannot make a socket for a runner");
	l->pid = fork();
	if (l->pid == 0)
		become_runner(pair[1], parent);
	close(pair[1]);
	if (l->pid < 0) {
		l->pid = 0;
		close(pair[0]);
		return err_sys(e, "cannot start a runner");
	}
	l->fd = pair[0];
	l->state = LAUNCH_PREPARING;
	/* A runner that is already dead is seen when its end of the socket closes. */
	send(l->fd, message, len, MSG_NOSIGNAL);
	return 0;
}

/* Of what a runner that is to end has still said, only the folder matters. */
static void hear_folder(struct launch *l)
{
	char message[PATH_MAX + 1];
	ssize_t n;

	while (l->fd >= 0 && (n = recv(l->fd, message, PATH_MAX, MSG_DONTWAIT)) > 0) {
		message[n] = '\0';
		if (message[0] == 'M')
			snprintf(l->folder, sizeof(l->folder), "%s", message + 1);
	}
}

/* Waits for the end of the process, with force in the end. Returns its wait status. */
static int reap(struct launch *l)
{
	int status = 0, waited = 0;
	pid_t ret;

	while ((ret = waitpid(l->pid, &status, WNOHANG)) == 0 || (ret < 0 && errno == EINTR)) {
		hear_folder(l);
		if (waited == END_MS)
			kill(-l->pid, SIGKILL);
		poll(NULL, 0, LOOK_EVERY_MS);
		waited += LOOK_EVERY_MS;
	}
	/* Tasks ask for their parent's death signal; a partner of a task may not have got to it. */
	kill(-l->pid, SIGKILL);
	l->pid = 0;
	hear_folder(l);
	if (l->folder[0])
		room_remove(l->folder);
	l->folder[0] = '\0';
	return status;
}

static bool is_over(const struct launch *l)
{
	return l->state == LAUNCH_DONE || l->state == LAUNCH_FAILED || l->state == LAUNCH_UNAVAILABLE;
}

/* The socket has closed. Without a last word from the runner, its end is the failure. */
static void ended(struct launch *l)
{
	int status;

	close(take_fd(l->fd));
	status = reap(l);
	if (is_over(l))
		return;
	l->state = LAUNCH_FAILED;
	if (WIFSIGNALED(status))
		snprintf(l->why, sizeof(l->why), "the runner was killed by SIG%s",
			 sigabbrev_np(WTERMSIG(status)));
	else
		snprintf(l->why, sizeof(l->why), "the runner ended with status %d and said nothing",
			 WEXITSTATUS(status));
}

static void add_result(struct launch *l, const char *text, size_t n)
{
	char *bigger = l->len + n <= RESULT_MAX ? realloc(l->result, l->len + n + 1) : NULL;

	if (!bigger) {
		l->state = LAUNCH_FAILED;
		snprintf(l->why, sizeof(l->why), "the result is too large");
		return;
	}
	l->result = bigger;
	memcpy(l->result + l->len, text, n);
	l->len += n;
	l->result[l->len] = '\0';
}

static void hear_sample(struct launch *l, char *text)
{
	uint64_t *counts;
	int64_t before, after;
	int k, n = 0, at;

	if (!l->live || sscanf(text, "%d %" SCNd64 " %" SCNd64 "%n", &k, &before, &after, &at) != 3)
		return;
	counts = calloc(strlen(text) / 2 + 1, sizeof(*counts));
	for (char *p = text + at, *end; counts; p = end) {
		uint64_t v = strtoull(p, &end, 10);

		if (end == p)
			break;
		counts[n++] = v;
	}
	if (counts)
		l->live(l->live_arg, k, before, after, counts, n);
	free(counts);
}

void launch_hear(struct launch *l)
{
	cleanup_free char *message = malloc(RUNNER_MESSAGE_MAX + 1);
	ssize_t n = message ? recv(l->fd, message, RUNNER_MESSAGE_MAX, 0) : 0;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		ended(l);
		return;
	}
	message[n] = '\0';
	switch (message[0]) {
	case 'M':
		snprintf(l->folder, sizeof(l->folder), "%s", message + 1);
		break;
	case 'R':
		l->state = LAUNCH_READY;
		break;
	case 'S':
		hear_sample(l, message + 1);
		break;
	case 'D':
		add_result(l, message + 1, n - 1);
		break;
	case 'E':
		if (l->state != LAUNCH_FAILED)
			l->state = LAUNCH_DONE;
		break;
	case 'F':
	case 'U':
		l->state = message[0] == 'F' ? LAUNCH_FAILED : LAUNCH_UNAVAILABLE;
		snprintf(l->why, sizeof(l->why), "%s", message + 1);
		break;
	}
}

void launch_look(struct launch *l)
{
	siginfo_t info = {0};
	int sig;

	if (!l->pid || waitid(P_PID, l->pid, &info, WSTOPPED | WNOHANG) < 0 || info.si_pid == 0)
		return;
	sig = info.si_status;
	kill(-l->pid, SIGKILL);
	reap(l);
	if (l->fd >= 0)
		close(take_fd(l->fd));
	l->state = LAUNCH_FAILED;
	snprintf(l->why, sizeof(l->why), "the runner was stopped by SIG%s", sigabbrev_np(sig));
}

int launch_go(struct launch *l, const struct go *go, struct err *e)
{
	char message[200];
	int len;

	if (l->state != LAUNCH_READY)
		return err_set(e, EINVAL, "nothing is ready to start");
	len = snprintf(message, sizeof(message), "G%" PRId64 " %" PRId64 " %" PRId64 " %d %" PRId64,
		       go->start, go->first, go->interval, go->n, go->stop);
	if (send(l->fd, message, len, MSG_NOSIGNAL) < 0)
		return err_sys(e, "the runner does not hear");
	l->state = LAUNCH_RUNNING;
	return 0;
}

void launch_drop(struct launch *l)
{
	if (l->pid) {
		/* It sees the end of the socket, and can still say what it made. */
		shutdown(l->fd, SHUT_WR);
		kill(l->pid, SIGTERM);
		reap(l);
	}
	if (l->fd >= 0)
		close(take_fd(l->fd));
	free(l->result);
	*l = (struct launch){.fd = -1, .live = l->live, .live_arg = l->live_arg};
}
