// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/backend/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/change/undo.h"

#define PASSED_FD 3

/* How long a program has between SIGTERM and SIGKILL, and how often we look. */
#define TERM_MS	      3000
#define LOOK_EVERY_MS 10

/* What of a log is worth a message. */
#define TAIL_BYTES 2048
#define TAIL_LINES 6

/* Behind a panic comes the trace of each CPU. */
#define SEARCH_BYTES (64 << 10)

/* In the child: only calls that are safe after fork. Never returns. */
static void become(char *const argv[], char *const envp[], int pass, int log, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before the line above */
		_exit(127);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	if (pass == PASSED_FD)
		fcntl(pass, F_SETFD, 0);
	else if (pass >= 0)
		dup2(pass, PASSED_FD);
	execve(argv[0], argv, envp);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Our environment with the mark. The array is the caller's to free, and its first string. */
static char **marked_environment(const char *token)
{
	extern char **environ;
	size_t n = 0, at = 0;
	char **envp;

	while (environ[n])
		n++;
	envp = calloc(n + 2, sizeof(*envp));
	if (!envp || asprintf(&envp[at++], UNDO_MARKER "%s", token ? token : "") < 0) {
		free(envp);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], UNDO_MARKER, strlen(UNDO_MARKER)) != 0)
			envp[at++] = environ[i];
	return envp;
}

int local_start(struct local_process *p, char *const argv[], int pass, char *log,
		const struct backend_env *env, struct err *e)
{
	cleanup_free char *path = log;
	cleanup_close int fd =
		open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	pid_t parent = getpid(), pid;
	char **envp;
	off_t start;

	if (fd < 0)
		return err_sys(e, "%s", path);
	start = lseek(fd, 0, SEEK_END);
	envp = marked_environment(env->token);
	if (!envp)
		return err_set(e, ENOMEM, "no memory");
	pid = fork();
	if (pid == 0)
		become(argv, envp, pass, fd, parent);
	free(envp[0]);
	free(envp);
	if (pid < 0)
		return err_sys(e, "cannot start %s", argv[0]);
	p->pid = pid;
	p->log_start = start;
	free(p->log);
	p->log = take_ptr(path);
	return 0;
}

/* At most size - 1 bytes from the end of a file, behind an offset, as a string. */
static size_t read_tail(const char *path, off_t first, char *tail, size_t size)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = 0;

	if (end - first > (off_t)size - 1)
		first = end - (off_t)size + 1;
	if (end > first)
		n = pread(fd, tail, size - 1, first);
	if (n < 0)
		n = 0;
	tail[n] = '\0';
	return n;
}

static char printable(char c)
{
	return c >= 0x20 && c < 0x7f ? c : '?';
}

void last_lines(const char *path, off_t first, char *out, size_t size)
{
	char tail[TAIL_BYTES + 1];
	size_t n = read_tail(path, first, tail, sizeof(tail)), at = 0;
	int lines = 0;
	char *from;

	while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == '\r'))
		n--;
	tail[n] = '\0';
	for (from = tail + n; from > tail && lines < TAIL_LINES; from--)
		if (from[-1] == '\n' && ++lines == TAIL_LINES)
			break;
	for (; *from && at + 4 < size; from++) {
		if (*from == '\n') {
			memcpy(out + at, " | ", 3);
			at += 3;
		} else if (*from != '\r') {
			out[at++] = printable(*from);
		}
	}
	out[at] = '\0';
}

void last_line_with(const char *text, const char *path, off_t from, char *out, size_t size)
{
	cleanup_free char *tail = malloc(SEARCH_BYTES + 1);
	char *found = NULL;
	size_t at = 0;

	*out = '\0';
	if (!tail)
		return;
	read_tail(path, from, tail, SEARCH_BYTES + 1);
	for (char *next = tail; (next = strstr(next, text)); next++)
		found = next;
	for (; found && *found && *found != '\n' && *found != '\r' && at + 1 < size; found++)
		out[at++] = printable(*found);
	out[at] = '\0';
}

static bool has_ended(pid_t pid, siginfo_t *info)
{
	info->si_pid = 0;
	return waitid(P_PID, pid, info, WEXITED | WNOHANG | WNOWAIT) < 0 || info->si_pid == pid;
}

enum kernel_state local_state(struct local_process *p, char *why, size_t size)
{
	char lines[TAIL_BYTES];
	siginfo_t info;

	if (!p->pid)
		return KERNEL_DOWN;
	if (!has_ended(p->pid, &info))
		return KERNEL_RUNNING;
	last_lines(p->log, p->log_start, lines, sizeof(lines));
	if (info.si_code == CLD_EXITED)
		snprintf(why, size, "it ended with status %d%s%s", info.si_status,
			 *lines ? ": " : "", lines);
	else
		snprintf(why, size, "it was killed by signal %d (%s)%s%s", info.si_status,
			 strsignal(info.si_status), *lines ? ": " : "", lines);
	return KERNEL_DEAD;
}

static bool wait_end(pid_t pid, int ms)
{
	siginfo_t info;

	for (; ms >= 0; ms -= LOOK_EVERY_MS) {
		if (has_ended(pid, &info))
			return true;
		poll(NULL, 0, LOOK_EVERY_MS);
	}
	return false;
}

void local_stop(struct local_process *p, int grace_ms)
{
	if (p->pid) {
		if (!wait_end(p->pid, grace_ms)) {
			kill(p->pid, SIGTERM);
			if (!wait_end(p->pid, TERM_MS))
				kill(p->pid, SIGKILL);
		}
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	p->pid = 0;
	free(take_ptr(p->log));
}

int local_agent_start(struct local_process *p, int *fd, const char *arm, const char *partition,
		      const struct backend_env *env, struct err *e)
{
	cleanup_close int ours = -1, theirs = -1;
	char *argv[] = {(char *)env->bench, "agent", "--fd", "3", "--token",
			(char *)env->token, NULL};
	int pair[2], ret;
	char *log;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "cannot make a link");
	ours = pair[0];
	theirs = pair[1];
	if (asprintf(&log, "%s/consoles/%s-%s.log", env->results_dir, arm, partition) < 0)
		return err_set(e, ENOMEM, "no memory");
	ret = local_start(p, argv, theirs, log, env, e);
	if (ret == 0)
		*fd = take_fd(ours);
	return ret;
}
