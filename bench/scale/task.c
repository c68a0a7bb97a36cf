// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/scale/task.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/scale/tasks.h"
#include "common/clock.h"
#include "common/cpumask.h"

/* The last part of the way to the start is spent looking at the clock. */
#define SPIN_NS (2 * NSEC_PER_MSEC)

/* For the handler of signals that end a thread. */
static __thread struct task *this_task;

static void finish(struct task *t, enum task_state state)
{
	__atomic_store_n(&t->report->state, state, __ATOMIC_RELEASE);
	/* The end of a process brings a SIGCHLD by itself, but not the other states. */
	kill(t->scale->cell->mode == MODE_THREADS ? getpid() : getppid(), SIGCHLD);
}

static int failed(struct task *t, enum task_state state, const char *step, int code)
{
	struct task_report *r = t->report;

	r->error = code ? code : EIO; /* a short transfer has no errno */
	strncpy(r->step, step, sizeof(r->step) - 1);
	finish(t, state);
	return -r->error;
}

int task_fail(struct task *t, const char *step, int code)
{
	return failed(t, TASK_FAILED, step, code);
}

int task_unavailable(struct task *t, const char *step, int code)
{
	return failed(t, TASK_UNAVAILABLE, step, code);
}

static void interrupt(int sig)
{
	(void)sig; /* only the interrupted call matters */
}

/*
 * A thread that hits a missing page would take the runner with it, and nobody could say which
 * it was: it is named, and waits for the end.
 */
static void died(int sig)
{
	struct task *t = this_task;

	if (!t) {
		signal(sig, SIG_DFL);
		return; /* and into it once more */
	}
	t->report->signal = sig;
	t->report->error = EFAULT;
	finish(t, TASK_FAILED);
	for (;;)
		pause();
}

static void set_signals(const struct task *t)
{
	static const int deadly[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
	struct sigaction act = {.sa_handler = interrupt};
	sigset_t none;

	/* No SA_RESTART: a blocking call has to return. */
	sigaction(WAKE_SIGNAL, &act, NULL);
	act.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &act, NULL);
	if (t->scale->cell->mode == MODE_THREADS) {
		act.sa_handler = died;
		for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
			sigaction(deadly[i], &act, NULL);
		/* SIGCHLD and SIGTERM stay with the runner's own thread. */
		sigemptyset(&none);
		sigaddset(&none, WAKE_SIGNAL);
		pthread_sigmask(SIG_UNBLOCK, &none, NULL);
		return;
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * The CPU is inherited from the parent. The task asks for it once more itself: a machine that mksim
 * plays knows of a mask only who asked for it, and the parent moves on.
 */
static int verify_cpu(struct task *t)
{
	cleanup_cpumask struct cpumask own = CPUMASK_INIT;
	const struct cell *c = t->scale->cell;
	struct err e = ERR_INIT;

	if (c->unpinned)
		return 0;
	if (cpumask_set(&own, c->cpus[t->n]) == 0 && cpumask_set_affinity(&own, 0, &e) == 0 &&
	    this_cpu(NULL) == c->cpus[t->n])
		return 0;
	return task_fail(t, "runs on another CPU than it was bound to", EXDEV);
}

/* Sleeps to just before the start, then spins: no wake-up lies between start and loop. */
static void await_start(int64_t at)
{
	int64_t left = at - SPIN_NS - clock_ns();

	while (left > 0) {
		struct timespec ts = {left / NSEC_PER_SEC, left % NSEC_PER_SEC};

		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
		left = at - SPIN_NS - clock_ns();
	}
	while (clock_ns() < at)
		;
}

struct usage {
	int64_t cpu_ns;
	long involuntary, voluntary;
};

static struct usage usage_now(void)
{
	struct timespec ts;
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (struct usage){ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec, r.ru_nivcsw, r.ru_nvcsw};
}

/* One pass outside the measurement through what is read around the loop. */
static void warm(const struct start *start)
{
	clock_ns();
	usage_now();
	this_cpu(NULL);
	__atomic_load_n(&start->at, __ATOMIC_RELAXED);
}

static void measure(struct task *t)
{
	struct task_report *r = t->report;
	struct usage before, after;

	await_start(t->scale->start->at);
	r->cpu_before = this_cpu(&r->node);
	r->single_threaded = __libc_single_threaded;
	__atomic_store_n(&r->state, TASK_RUNNING, __ATOMIC_RELEASE);
	before = usage_now();
	r->entered = clock_ns();
	if (t->scale->test->run(t) < 0)
		return;
	r->left = clock_ns();
	after = usage_now();
	r->cpu_after = this_cpu(NULL);
	r->cpu_ns = after.cpu_ns - before.cpu_ns;
	r->involuntary = after.involuntary - before.involuntary;
	r->voluntary = after.voluntary - before.voluntary;
}

static void run_task(struct task *t)
{
	const struct test *test = t->scale->test;
	struct start *start = t->scale->start;
	struct task_report *r = t->report;

	r->tid = gettid();
	r->node = r->cpu_before = r->cpu_after = -1;
	if (verify_cpu(t) < 0 || (test->task_prepare && test->task_prepare(t) < 0))
		return;
	warm(start);
	finish(t, TASK_READY);
	while (__atomic_load_n(&start->go, __ATOMIC_ACQUIRE) == 0)
		syscall(SYS_futex, &start->go, FUTEX_WAIT, 0, NULL, NULL, 0);
	if (start->go == 1)
		measure(t);
}

static void end_task(struct task *t)
{
	const struct test *test = t->scale->test;

	if (test->task_cleanup)
		test->task_cleanup(t);
	if (t->fd >= 0)
		close(t->fd);
	for (size_t i = 0; i < sizeof(t->fds) / sizeof(*t->fds); i++)
		if (t->fds[i] >= 0)
			close(t->fds[i]);
	/* Last, so that the end of a loop is the end of what it used. */
	if (__atomic_load_n(&t->report->state, __ATOMIC_RELAXED) <= TASK_RUNNING)
		finish(t, TASK_DONE);
}

_Noreturn void task_process(struct task *t, pid_t runner)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != runner)
		_exit(0);
	/* The parent stores it too, but perhaps later than it is needed. */
	t->report->pid = getpid();
	set_signals(t);
	run_task(t);
	end_task(t);
	_exit(0);
}

void *task_thread(void *arg)
{
	struct task *t = arg;

	this_task = t;
	set_signals(t);
	run_task(t);
	end_task(t);
	return NULL;
}
