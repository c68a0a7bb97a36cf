// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/scale/tasks.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/scale/task.h"
#include "common/clock.h"
#include "common/cpumask.h"

/* Ends of tasks are seen by SIGCHLD; this is for what is lost between two looks. */
#define LOOK_NS	 (100 * NSEC_PER_MSEC)
#define AGAIN_NS (5 * NSEC_PER_MSEC)

#define AREAS	    16
#define AREAS_AHEAD (256UL << 20) /* room for the heap */

/* Preparing 128 MiB a task, on an emulated machine. */
#define READY_NS (600 * NSEC_PER_SEC)
/* The last pass of the longest loop, on an emulated machine. */
#define LEAVE_NS (120 * NSEC_PER_SEC)

/*
 * The kernel keeps a process's areas in a tree whose leaves hold 16 ranges (lib/maple_tree.c). A
 * static program has so few that the only border between two leaves lies just where the break and
 * the next mapping change, and each change there rebuilds both: measured, brk2 at 0.6 and mmap1 at
 * 0.75 of the rate of a program with some libraries. With more areas above the break the border is
 * elsewhere. Their pages are never touched.
 */
static int add_areas(const struct scale *s, struct err *e)
{
	const size_t page = s->page_size;
	uintptr_t above = ((uintptr_t)sbrk(0) + AREAS_AHEAD) & -page;
	char *first = mmap((void *)above, AREAS * page, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (first == MAP_FAILED)
		return err_sys(e, "no memory for areas");
	/* Neighbours of one kind would be one area. */
	for (int i = 0; i < AREAS; i += 2)
		if (mprotect(first + i * page, page, PROT_READ) < 0)
			return err_sys(e, "no memory for areas");
	return 0;
}

int tasks_alloc(struct scale *s, struct err *e)
{
	size_t slots = s->ntasks * sizeof(struct slot);
	size_t reports = s->ntasks * sizeof(struct task_report);

	if (add_areas(s, e) < 0)
		return e->code;
	/* Slots begin on a page of their own; the rest begins on another line than theirs. */
	s->shared_size = slots + reports + sizeof(struct start) + 2 * sizeof(struct slot);
	s->shared = mmap(NULL, s->shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	if (s->shared == MAP_FAILED) {
		s->shared = NULL;
		return err_sys(e, "no memory for %d tasks", s->ntasks);
	}
	s->tasks = calloc(s->ntasks, sizeof(*s->tasks));
	if (!s->tasks)
		return err_set(e, ENOMEM, "no memory for %d tasks", s->ntasks);
	s->slots = s->shared;
	s->start = (struct start *)((char *)s->shared + slots + sizeof(struct slot));
	s->reports = (struct task_report *)((char *)s->start + sizeof(struct slot));
	for (int i = 0; i < s->ntasks; i++)
		s->tasks[i] = (struct task){
			.n = i,
			.slot = &s->slots[i],
			.report = &s->reports[i],
			.scale = s,
			.fd = -1,
			.fds = {-1, -1, -1, -1},
		};
	return 0;
}

int this_cpu(int *node)
{
	unsigned int cpu, n;

	if (syscall(SYS_getcpu, &cpu, &n, NULL) < 0)
		return -1;
	if (node)
		*node = n;
	return cpu;
}

static int bind_to(int cpu, struct err *e)
{
	cleanup_cpumask struct cpumask m = CPUMASK_INIT;
	int ret = cpumask_set(&m, cpu);

	if (ret < 0)
		return err_set(e, ret, "CPU %d: %s", cpu, strerror(-ret));
	return cpumask_set_affinity(&m, 0, e);
}

int tasks_wait(int64_t until)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	for (;;) {
		int64_t left = until - clock_ns();
		struct timespec ts = {0};
		int sig;

		if (left > 0)
			ts = (struct timespec){left / NSEC_PER_SEC, left % NSEC_PER_SEC};
		sig = sigtimedwait(&set, NULL, &ts);
		if (sig == SIGCHLD)
			return 1;
		if (sig > 0)
			return -EINTR;
		if (left <= 0)
			return 0;
	}
}

static int task_error(struct scale *s, int i, struct err *e, const char *what)
{
	const struct cell *c = s->cell;

	return c->unpinned ? err_set(e, ECHILD, "task %d (pid %d): %s", i, s->reports[i].pid, what)
			   : err_set(e, ECHILD, "task %d on CPU %d (pid %d): %s", i, c->cpus[i],
				     s->reports[i].pid, what);
}

/* What the task itself reported. */
static int check_report(struct scale *s, int i, struct err *e)
{
	const struct task_report *r = &s->reports[i];
	uint32_t state = __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
	char text[300];

	if (state != TASK_FAILED && state != TASK_UNAVAILABLE)
		return 0;
	if (r->signal)
		snprintf(text, sizeof(text), "killed by SIG%s", sigabbrev_np(r->signal));
	else
		snprintf(text, sizeof(text), "%.*s: %s (%s)", (int)sizeof(r->step), r->step,
			 strerror(r->error), strerrorname_np(r->error) ?: "?");
	task_error(s, i, e, text);
	if (state == TASK_UNAVAILABLE)
		return err_set(e, EOPNOTSUPP, "%.*s: %s", (int)sizeof(r->step), r->step,
			       strerror(r->error));
	return e->code;
}

static int task_of_pid(const struct scale *s, pid_t pid)
{
	for (int i = 0; i < s->started; i++)
		if (s->reports[i].pid == pid)
			return i;
	return -1;
}

/* What the kernel says of a child that is a task. */
static int check_child(struct scale *s, const siginfo_t *info, struct err *e)
{
	int i = task_of_pid(s, info->si_pid);
	char text[100];

	if (i < 0)
		return 0; /* a partner whose task is gone */
	if (check_report(s, i, e) < 0)
		return e->code;
	if (info->si_code == CLD_STOPPED || info->si_code == CLD_TRAPPED)
		snprintf(text, sizeof(text), "stopped by SIG%s", sigabbrev_np(info->si_status));
	else if (info->si_code == CLD_EXITED)
		snprintf(text, sizeof(text), "ended with status %d", info->si_status);
	else
		snprintf(text, sizeof(text), "killed by SIG%s", sigabbrev_np(info->si_status));
	if (info->si_code == CLD_EXITED && s->reports[i].state == TASK_DONE)
		return 0;
	return task_error(s, i, e, text);
}

int tasks_check(struct scale *s, struct err *e)
{
	struct err first = ERR_INIT;

	for (;;) {
		siginfo_t info = {0};

		if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG) < 0 || info.si_pid == 0)
			break;
		if (first.code == 0)
			check_child(s, &info, &first);
		/* Reaped: its number may be another process's from now on. */
		if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED &&
		    s->cell->mode == MODE_PROCESSES) {
			int i = task_of_pid(s, info.si_pid);

			if (i >= 0)
				s->tasks[i].partner = -1;
		}
	}
	for (int i = 0; first.code == 0 && i < s->started; i++)
		check_report(s, i, &first);
	if (first.code < 0)
		*e = first;
	return first.code;
}

/* Whether every task has come so far. */
static bool all_are(const struct scale *s, enum task_state state)
{
	for (int i = 0; i < s->started; i++)
		if (__atomic_load_n(&s->reports[i].state, __ATOMIC_ACQUIRE) < (uint32_t)state)
			return false;
	return true;
}

static int wait_for(struct scale *s, enum task_state state, int64_t timeout, const char *what,
		    struct err *e)
{
	int64_t end = clock_ns() + timeout;
	bool wake = s->test->blocks && state == TASK_DONE;

	for (;;) {
		int ret = tasks_check(s, e);

		if (ret < 0)
			return ret;
		if (all_are(s, state))
			return 0;
		if (clock_ns() > end) {
			int i = 0;

			while (s->reports[i].state >= (uint32_t)state)
				i++;
			return task_error(s, i, e, what);
		}
		/* Again and again: a task may be just about to block. */
		for (int i = 0; wake && i < s->ntasks; i++)
			if (s->reports[i].state == TASK_RUNNING)
				syscall(SYS_tgkill, s->reports[i].pid, s->reports[i].tid,
					WAKE_SIGNAL);
		if (tasks_wait(clock_ns() + (wake ? AGAIN_NS : LOOK_NS)) < 0)
			return err_set(e, EINTR, "ended by a signal");
	}
}

static int start_one(struct scale *s, int i, struct err *e)
{
	struct task *t = &s->tasks[i];
	pid_t runner = getpid();

	if (s->cell->mode == MODE_THREADS) {
		int ret;

		t->report->pid = runner;
		ret = pthread_create(&s->threads[i], NULL, task_thread, t);
		return ret ? err_set(e, ret, "task %d: cannot make a thread: %s", i, strerror(ret))
			   : 0;
	}
	t->report->pid = fork();
	if (t->report->pid < 0)
		return err_sys(e, "task %d: cannot fork", i);
	if (t->report->pid == 0)
		task_process(t, runner);
	return 0;
}

int tasks_start(struct scale *s, int home, struct err *e)
{
	cleanup_cpumask struct cpumask inherited = CPUMASK_INIT;
	int ret = cpumask_get_affinity(&inherited, 0, e);

	if (ret < 0)
		return ret;
	if (s->cell->mode == MODE_THREADS) {
		s->threads = calloc(s->ntasks, sizeof(pthread_t));
		if (!s->threads)
			return err_set(e, ENOMEM, "no memory for threads");
	}
	/* Stacks and page tables of a task come from the memory of the CPU its parent is on. */
	for (int i = 0; i < s->ntasks; i++) {
		if (!s->cell->unpinned)
			ret = bind_to(s->cell->cpus[i], e);
		if (ret < 0)
			return err_wrap(e, "task %d", i);
		ret = start_one(s, i, e);
		if (ret < 0)
			return ret;
		s->started++;
	}
	ret = home >= 0 ? bind_to(home, e) : cpumask_set_affinity(&inherited, 0, e);
	if (ret < 0)
		return err_wrap(e, "sampler");
	return wait_for(s, TASK_READY, READY_NS, "was not ready in time", e);
}

void tasks_go(struct scale *s, int64_t at)
{
	s->start->at = at;
	__atomic_store_n(&s->start->go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->start->go, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

int tasks_stop(struct scale *s, struct err *e)
{
	for (int i = 0; i < s->ntasks; i++)
		s->slots[i].stop = 1;
	return wait_for(s, TASK_DONE, LEAVE_NS, "did not leave its loop in time", e);
}

/* Threads that were told to stop; those that hang end with the process. */
static void join_threads(struct scale *s)
{
	for (int i = 0; i < s->started; i++) {
		struct timespec end;
		int ret;

		for (int again = 0; again < 400; again++) {
			clock_gettime(CLOCK_REALTIME, &end);
			end.tv_nsec += AGAIN_NS;
			if (end.tv_nsec >= NSEC_PER_SEC) {
				end.tv_nsec -= NSEC_PER_SEC;
				end.tv_sec++;
			}
			ret = pthread_timedjoin_np(s->threads[i], NULL, &end);
			if (ret == 0)
				break;
			if (s->test->blocks)
				pthread_kill(s->threads[i], WAKE_SIGNAL);
		}
	}
}

static void end_processes(struct scale *s)
{
	bool left = false;

	for (int i = 0; i < s->started; i++) {
		if (s->tasks[i].partner < 0)
			continue; /* reaped */
		kill(s->reports[i].pid, SIGKILL);
		left = true;
	}
	/* Partners come to the runner when their task has gone, and die by that signal. */
	while (left && waitpid(-1, NULL, 0) > 0)
		;
}

void tasks_end(struct scale *s)
{
	if (s->shared) {
		for (int i = 0; i < s->ntasks; i++)
			s->slots[i].stop = 1;
		if (s->start->go == 0) {
			__atomic_store_n(&s->start->go, 2, __ATOMIC_RELEASE);
			syscall(SYS_futex, &s->start->go, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
		}
	}
	if (s->cell->mode == MODE_THREADS)
		join_threads(s);
	else
		end_processes(s);
	s->started = 0;
}

void tasks_free(struct scale *s)
{
	free(s->threads);
	free(s->tasks);
	if (s->shared)
		munmap(s->shared, s->shared_size);
	s->shared = NULL;
	s->tasks = NULL;
	s->threads = NULL;
}
