// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "common/io.h"
#include "sim/calls_impl.h"
#include "sim/rooms.h"

/*
 * sched_setaffinity(2), sched_getaffinity(2) and getcpu(2). Every simulated CPU stands for a
 * real one ("folded"): the task is really pinned there, and told the simulated number.
 */

/* A task that asked for CPUs, and what it asked for. Tasks that it forks inherit it. */
struct pinned {
	struct pinned *next;
	pid_t tid;
	uint64_t start; /* a process id may come again */
	struct spawn *spawn;
	struct cpumask mask;
};

struct task {
	uint64_t start;
	pid_t parent;
	int real_cpu;
};

static int read_task(pid_t tid, struct task *t)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char path[64], *p;
	unsigned long long start;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	if (read_file_at(-1, path, 8192, &text, NULL, &e) < 0)
		return -ESRCH;
	/* The name, in brackets, may contain anything. */
	p = strrchr(text, ')');
	if (!p ||
	    sscanf(p + 1,
		   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		   "%*d %llu %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
		   &t->parent, &start, &t->real_cpu) != 3)
		return -ESRCH;
	t->start = start;
	return 0;
}

static struct pinned *find(struct calls *calls, pid_t tid, uint64_t start)
{
	for (struct pinned **at = &calls->pinned; *at; at = &(*at)->next) {
		struct pinned *p = *at;

		if (p->tid != tid)
			continue;
		if (p->start == start)
			return p;
		*at = p->next;
		cpumask_free(&p->mask);
		free(p);
		return NULL;
	}
	return NULL;
}

/* The entry that counts for a task: its own, its process's, or that of an ancestor. */
static struct pinned *effective(struct calls *calls, pid_t tid)
{
	enum {
		MAX_ANCESTORS = 64
	};

	for (int depth = 0; depth < MAX_ANCESTORS && tid > 1; depth++) {
		struct task t;
		struct pinned *p;
		pid_t process;

		if (read_task(tid, &t) < 0)
			return NULL;
		p = find(calls, tid, t.start);
		if (p)
			return p;
		process = task_process(tid);
		tid = process > 0 && process != tid ? process : t.parent;
	}
	return NULL;
}

/* Entries of tasks that have ended; looked for when their number has doubled. */
static void sweep(struct calls *calls)
{
	enum {
		FEW = 256
	};
	int n = 0;

	if (++calls->pinned_new < FEW || calls->pinned_new < calls->pinned_kept)
		return;
	for (struct pinned **at = &calls->pinned; *at;) {
		struct pinned *p = *at;
		struct task t;

		if (read_task(p->tid, &t) == 0 && t.start == p->start) {
			at = &p->next;
			n++;
			continue;
		}
		*at = p->next;
		cpumask_free(&p->mask);
		free(p);
	}
	calls->pinned_kept = n;
	calls->pinned_new = 0;
}

static struct pinned *entry(struct calls *calls, pid_t tid, struct spawn *spawn)
{
	struct task t;
	struct pinned *p;

	if (read_task(tid, &t) < 0)
		return NULL;
	p = find(calls, tid, t.start);
	if (p)
		return p;
	sweep(calls);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	*p = (struct pinned){calls->pinned, tid, t.start, spawn, CPUMASK_INIT};
	calls->pinned = p;
	return p;
}

/* A task without an entry gets one with what it inherited. */
static void settle(struct calls *calls, pid_t tid, struct spawn *spawn, const struct cpumask *mask)
{
	struct task t;
	struct pinned *p;

	if (read_task(tid, &t) < 0 || find(calls, tid, t.start))
		return;
	p = entry(calls, tid, spawn);
	if (p)
		cpumask_copy(&p->mask, mask);
}

/*
 * A task is about to ask for other CPUs: those that inherited from it, the children it forked
 * and the threads beside it, keep what it had.
 */
static void settle_heirs(struct calls *calls, pid_t tid)
{
	struct pinned *p = effective(calls, tid);
	pid_t process = task_process(tid);
	cleanup_cpumask struct cpumask had = CPUMASK_INIT; /* entries may go meanwhile */
	struct spawn *spawn = p ? p->spawn : NULL;
	cleanup_free char *children = NULL;
	cleanup_dir DIR *d = NULL;
	struct dirent *thread;
	struct err e = ERR_INIT;
	char path[64], *end;

	if (!p || process < 0 || cpumask_copy(&had, &p->mask) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", process, tid);
	if (read_file_at(-1, path, 1 << 20, &children, NULL, &e) == 0) {
		const char *at = children;
		long child;

		while ((child = strtol(at, &end, 10)) > 0 && end != at) {
			settle(calls, (pid_t)child, spawn, &had);
			at = end;
		}
	}
	snprintf(path, sizeof(path), "/proc/%d/task", process);
	d = process == tid ? opendir(path) : NULL;
	while (d && (thread = readdir(d)))
		if (atoi(thread->d_name) > 0 && atoi(thread->d_name) != tid)
			settle(calls, atoi(thread->d_name), spawn, &had);
}

/* The number of a task in its own PID namespace. */
static pid_t inner_number(pid_t tid)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;
	char path[64], *line, *end;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (read_file_at(-1, path, 65536, &text, NULL, &e) < 0)
		return -1;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return -1;
	line++;
	line[strcspn(line, "\n")] = '\0';
	end = strrchr(line, '\t');
	return end ? atoi(end + 1) : -1;
}

static pid_t search(const char *folder, pid_t wanted, const char *pid_ns)
{
	cleanup_dir DIR *d = opendir(folder);
	struct dirent *entry_;

	while (d && (entry_ = readdir(d))) {
		pid_t tid = atoi(entry_->d_name);
		char ns[64];

		if (isdigit((unsigned char)*entry_->d_name) && inner_number(tid) == wanted &&
		    task_ns(tid, "pid", ns, sizeof(ns)) == 0 && strcmp(ns, pid_ns) == 0)
			return tid;
	}
	return -1;
}

/* The task that the caller means, as we number it; -1 when there is none. */
static pid_t translate(const struct call *c, pid_t wanted)
{
	char ns[64], folder[64];
	pid_t tid;

	if (wanted == 0)
		return c->req.pid;
	if (wanted < 0 || task_ns(c->req.pid, "pid", ns, sizeof(ns)) < 0)
		return -1;
	snprintf(folder, sizeof(folder), "/proc/%d/task", task_process(c->req.pid));
	tid = search(folder, wanted, ns);
	if (tid > 0)
		return tid;
	tid = search("/proc", wanted, ns);
	if (tid > 0)
		return tid;
	/* A thread of another process: not in the list of /proc. */
	cleanup_dir DIR *d = opendir("/proc");
	struct dirent *process;

	while (d && (process = readdir(d))) {
		if (!isdigit((unsigned char)*process->d_name))
			continue;
		snprintf(folder, sizeof(folder), "/proc/%d/task", atoi(process->d_name));
		tid = search(folder, wanted, ns);
		if (tid > 0)
			return tid;
	}
	return -1;
}

static int pin(const struct view *w, pid_t tid, const struct cpumask *mask)
{
	cleanup_cpumask struct cpumask real = CPUMASK_INIT;
	struct err e = ERR_INIT;

	cpumask_for_each(number, mask)
		if (view_online(w, number) &&
		    cpumask_set(&real, rooms_fold(w->sim, view_machine_cpu(w, number))) < 0)
			return -ENOMEM;
	return cpumask_set_affinity(&real, tid, &e);
}

long call_setaffinity(struct call *c)
{
	enum {
		MAX_BYTES = 8192 / 8
	};
	const __u64 *a = c->req.data.args;
	struct view w = call_view(c);
	cleanup_cpumask struct cpumask mask = CPUMASK_INIT, online = CPUMASK_INIT;
	uint8_t bytes[MAX_BYTES] = {0};
	size_t len = a[1] < MAX_BYTES ? a[1] : MAX_BYTES;
	struct pinned *p;
	pid_t tid;
	int ret;

	if (call_read(c, a[2], bytes, len) < 0)
		return -EFAULT;
	for (int k = 0; k < view_possible(&w) && k / 8 < (int)len; k++)
		if ((bytes[k / 8] >> k % 8 & 1) && cpumask_set(&mask, k) < 0)
			return -ENOMEM;
	tid = translate(c, (pid_t)a[0]);
	if (tid < 0)
		return -ESRCH;
	if (view_online_mask(&w, &online) < 0)
		return -ENOMEM;
	if (!cpumask_intersects(&mask, &online))
		return -EINVAL;
	ret = pin(&w, tid, &mask);
	if (ret < 0)
		return ret;
	settle_heirs(c->listener->calls, tid);
	p = entry(c->listener->calls, tid, c->listener->spawn);
	return p ? cpumask_copy(&p->mask, &mask) : -ENOMEM;
}

/* The mask as sched_getaffinity() gives it: what is online of it. */
static int current_mask(const struct call *c, pid_t tid, struct cpumask *mask)
{
	struct view w = call_view(c);
	struct pinned *p = effective(c->listener->calls, tid);
	cleanup_cpumask struct cpumask asked = CPUMASK_INIT;
	int ret = view_online_mask(&w, mask);

	if (ret < 0 || !p)
		return ret;
	ret = cpumask_copy(&asked, &p->mask);
	if (ret < 0)
		return ret;
	settle(c->listener->calls, tid, c->listener->spawn, &asked);
	if (cpumask_intersects(&asked, mask))
		cpumask_and(mask, &asked);
	return 0;
}

long call_getaffinity(struct call *c)
{
	const __u64 *a = c->req.data.args;
	struct view w = call_view(c);
	cleanup_cpumask struct cpumask mask = CPUMASK_INIT;
	size_t size = (view_possible(&w) + 63) / 64 * 8, len = a[1] < size ? a[1] : size;
	uint8_t bytes[8192 / 8] = {0};
	pid_t tid;

	if (a[1] * 8 < (unsigned)view_possible(&w) || a[1] % sizeof(long))
		return -EINVAL;
	tid = translate(c, (pid_t)a[0]);
	if (tid < 0)
		return -ESRCH;
	if (current_mask(c, tid, &mask) < 0)
		return -ENOMEM;
	cpumask_for_each(cpu, &mask)
		bytes[cpu / 8] |= 1 << cpu % 8;
	return call_write(c, a[2], bytes, len) < 0 ? -EFAULT : (long)len;
}

long call_getcpu(struct call *c)
{
	const __u64 *a = c->req.data.args;
	struct view w = call_view(c);
	cleanup_cpumask struct cpumask mask = CPUMASK_INIT;
	struct task t = {0};
	int chosen = -1;
	unsigned node;

	if (current_mask(c, c->req.pid, &mask) < 0)
		return -ENOMEM;
	read_task(c->req.pid, &t);
	/* A simulated CPU that the real one may stand for. */
	cpumask_for_each(cpu, &mask)
		if (chosen < 0 && rooms_fold(w.sim, view_machine_cpu(&w, cpu)) == t.real_cpu)
			chosen = cpu;
	if (chosen < 0)
		chosen = cpumask_next(&mask, 0);
	node = view_node(&w, chosen) < 0 ? 0 : view_node(&w, chosen);
	if (a[0] && call_write(c, a[0], &chosen, sizeof(chosen)) < 0)
		return -EFAULT;
	if (a[1] && call_write(c, a[1], &node, sizeof(node)) < 0)
		return -EFAULT;
	return 0;
}

void calls_cpus_changed(struct sim *s, struct spawn *spawn)
{
	struct view w = {s, spawn ? spawn_instance(spawn) : NULL};
	cleanup_cpumask struct cpumask online = CPUMASK_INIT;

	if ((spawn && !w.instance) || view_online_mask(&w, &online) < 0)
		return;
	for (struct pinned **at = &s->calls->pinned; *at;) {
		struct pinned *p = *at;
		struct task t;

		if (p->spawn == spawn && (read_task(p->tid, &t) < 0 || t.start != p->start)) {
			*at = p->next;
			cpumask_free(&p->mask);
			free(p);
			continue;
		}
		/* A task whose CPUs have all gone may run anywhere, 11.6. */
		if (p->spawn == spawn && !cpumask_intersects(&p->mask, &online) &&
		    cpumask_copy(&p->mask, &online) == 0)
			pin(&w, p->tid, &p->mask);
		at = &p->next;
	}
}

void calls_free(struct sim *s)
{
	if (!s->calls)
		return;
	while (s->calls->listeners)
		calls_unwatch(s, s->calls->listeners->spawn);
	while (s->calls->pinned) {
		struct pinned *p = s->calls->pinned;

		s->calls->pinned = p->next;
		cpumask_free(&p->mask);
		free(p);
	}
	while (s->calls->waiting) {
		struct call *c = s->calls->waiting;

		s->calls->waiting = c->next;
		free(c);
	}
	free(s->calls);
	s->calls = NULL;
}
