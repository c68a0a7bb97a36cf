// SPDX-License-Identifier: GPL-2.0-or-later
/* The agent as a program: every loop, damaged lines, tasks that die, and what is left behind. */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/test.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/frame.h"
#include "config.h"
#include "harness/results/result.h"

#define BENCH MKSPLIT_BUILD_DIR "/bench/mksplit-bench"

/* Nothing here takes so long, but the machine may have a lot else to do. */
#define PATIENCE_NS (60 * NSEC_PER_SEC)

struct host {
	int fd;
	pid_t agent;
	uint32_t seq;
	struct frame_reader reader;
	char in[8192];
	size_t at, len;
};

static int cpus[2], ncpus;

static void find_cpus(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && ncpus < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[ncpus++] = cpu;
}

static void nap(void)
{
	poll(NULL, 0, 10);
}

/* uid 0: as whoever we are. */
static void start(struct host *h, uid_t uid)
{
	int pair[2], program = open(BENCH, O_PATH);

	assert_true(program >= 0);
	*h = (struct host){0};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	h->agent = fork();
	assert_true(h->agent >= 0);
	if (h->agent == 0) {
		char *argv[] = {"mksplit-bench", "agent", "--fd", "60", "--token", "word", NULL};
		char *envp[] = {NULL};

		dup2(pair[1], 60);
		dup2(program, 61);
		if (uid && (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0))
			_exit(126);
		fcntl(61, F_SETFD, FD_CLOEXEC);
		fexecve(61, argv, envp);
		_exit(127);
	}
	close(program);
	close(pair[1]);
	h->fd = pair[0];
	frame_reader_init(&h->reader, FRAME_FROM_AGENT);
}

static bool next_frame(struct host *h, uint32_t *seq, const char **payload, int64_t until)
{
	for (;;) {
		struct pollfd p = {.fd = h->fd, .events = POLLIN};
		size_t used;
		ssize_t n;

		while (h->at < h->len) {
			bool found = frame_reader_push(&h->reader, h->in + h->at, h->len - h->at,
						       &used, seq, payload);

			h->at += used;
			if (found)
				return true;
		}
		if (clock_ns() >= until ||
		    poll(&p, 1, (int)((until - clock_ns()) / NSEC_PER_MSEC) + 1) <= 0)
			return false;
		n = read(h->fd, h->in, sizeof(h->in));
		if (n <= 0)
			return false;
		h->at = 0;
		h->len = (size_t)n;
	}
}

static void send_bytes(struct host *h, const char *data, size_t n)
{
	while (n > 0) {
		ssize_t done = send(h->fd, data, n, MSG_NOSIGNAL);

		assert_true(done > 0);
		data += done;
		n -= (size_t)done;
	}
}

static void send_payload(struct host *h, uint32_t seq, const char *payload)
{
	char line[FRAME_LINE_MAX];
	size_t len = frame_encode(line, sizeof(line), FRAME_FROM_HOST, seq, payload);

	assert_true(len > 0);
	send_bytes(h, line, len);
}

/* Waits for the answer of that number. */
static void answer(struct host *h, uint32_t want, char *reply, size_t size)
{
	int64_t until = clock_ns() + PATIENCE_NS;
	const char *payload;
	uint32_t seq;

	while (next_frame(h, &seq, &payload, until))
		if (seq == want && strncmp(payload, "HELLO", 5) != 0) {
			snprintf(reply, size, "%s", payload);
			return;
		}
	fail_msg("no answer to number %u", want);
}

static void ask(struct host *h, char *reply, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void ask(struct host *h, char *reply, size_t size, const char *fmt, ...)
{
	char payload[FRAME_PAYLOAD_MAX + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(payload, sizeof(payload), fmt, ap);
	va_end(ap);
	send_payload(h, ++h->seq, payload);
	answer(h, h->seq, reply, size);
}

static void greet(struct host *h)
{
	char reply[300];

	ask(h, reply, sizeof(reply), "HI word 600");
	assert_memory_equal(reply, "OK 1 ", 5);
}

static void finish(struct host *h)
{
	char reply[300];
	int status;

	ask(h, reply, sizeof(reply), "OFF word");
	assert_string_equal(reply, "OK");
	assert_int_equal(waitpid(h->agent, &status, 0), h->agent);
	assert_int_equal(status, 0);
	close(h->fd);
}

/* Polls DONE until it no longer says what it says now. */
static void await(struct host *h, uint32_t id, const char *now, char *reply, size_t size)
{
	int64_t until = clock_ns() + PATIENCE_NS;

	do {
		char word[40];

		ask(h, reply, size, "DONE %u", id);
		snprintf(word, sizeof(word), "OK %u %s", id, now);
		if (strcmp(reply, word) != 0)
			return;
		nap();
	} while (clock_ns() < until);
	fail_msg("still %s", now);
}

static void get_object(struct host *h, const char *name, char **data, size_t *len)
{
	static char reply[FRAME_PAYLOAD_MAX + 1];
	size_t total;

	*data = NULL;
	*len = 0;
	do {
		char *chunk;
		int n, at;

		ask(h, reply, sizeof(reply), "GET %s %zu", name, *len);
		assert_int_equal(sscanf(reply, "OK %zu %n", &total, &at), 1);
		chunk = reply + at;
		n = word_unescape(chunk);
		assert_true(n >= 0);
		*data = realloc(*data, *len + (size_t)n + 1);
		assert_non_null(*data);
		memcpy(*data + *len, chunk, (size_t)n);
		*len += (size_t)n;
		(*data)[*len] = '\0';
		assert_true(n > 0 || *len == total);
	} while (*len < total);
}

static void cpu_list(char *list, size_t size, int ntasks)
{
	if (ntasks == 2)
		snprintf(list, size, "%d,%d", cpus[0], cpus[ncpus - 1]);
	else
		snprintf(list, size, "%d", cpus[0]);
}

static void go(struct host *h, uint32_t id, int64_t interval, int n)
{
	char reply[300], want[30];
	int64_t begin = clock_ns() + 20 * NSEC_PER_MSEC, first = begin + 5 * NSEC_PER_MSEC;

	snprintf(want, sizeof(want), "OK %u", id);
	ask(h, reply, sizeof(reply), "GO %u %" PRId64 " %" PRId64 " %" PRId64 " %d %" PRId64, id,
	    begin, first, interval, n, first + n * interval + 5 * NSEC_PER_MSEC);
	assert_string_equal(reply, want);
}

/* False when the machine was too busy for all tasks to be there in time. */
static bool check_result(const char *text, size_t len, int ntasks)
{
	cleanup_result struct result r = {0};
	struct err e = ERR_INIT;
	const struct result_sample *first, *last;

	if (result_parse(&r, text, len, &e) < 0)
		fail_msg("%s\n%s", e.text, text);
	assert_int_equal(r.ntasks, ntasks);
	assert_int_equal(r.nsamples, 3);
	first = &r.samples[0];
	last = &r.samples[2];
	assert_true(r.has_cover);
	if (r.cover_from > first->before)
		return false;
	assert_true(r.cover_to >= last->after);
	for (int i = 0; i < ntasks; i++) {
		assert_true(last->counts[i] > first->counts[i]);
		assert_int_equal(r.tasks[i].cpu_before, r.tasks[i].cpu);
		assert_int_equal(r.tasks[i].cpu_after, r.tasks[i].cpu);
		assert_true(r.tasks[i].wall_ns >= last->after - first->before);
		assert_true(r.tasks[i].cpu_ns > 0);
	}
	return true;
}

/* One short cell; true when it was measured, false with the reason that it is not available. */
static bool short_cell(struct host *h, const char *test, enum test_mode mode, char *why, size_t size)
{
	int64_t interval = 10 * NSEC_PER_MSEC;
	static uint32_t id;
	char list[40], reply[4000];
	size_t len;

	cpu_list(list, sizeof(list), 2);
	/* On a busy machine a task may not get to its CPU in a short window: a longer one then. */
	for (int attempt = 0; attempt < 8; attempt++, interval *= 2) {
		cleanup_free char *text = NULL;

		id++;
		ask(h, reply, sizeof(reply),
		    "PREP %u family=scale test=%s mode=%s cpus=%s sampler=- dir=- guard=1000000",
		    id, test, mode_name(mode), list);
		assert_memory_equal(reply, "OK ", 3);
		await(h, id, "preparing", reply, sizeof(reply));
		if (strstr(reply, " unavailable ")) {
			snprintf(why, size, "%s", reply);
			return false;
		}
		if (!strstr(reply, " ready"))
			fail_msg("%s: %s", test, reply);
		go(h, id, interval, 2);
		await(h, id, "running", reply, sizeof(reply));
		if (strstr(reply, "counted%20nothing"))
			continue;
		if (!strstr(reply, " done "))
			fail_msg("%s as %s: %s", test, mode_name(mode), reply);
		get_object(h, "result", &text, &len);
		if (check_result(text, len, 2))
			return true;
	}
	fail_msg("%s as %s: %s", test, mode_name(mode), reply);
	return false;
}

/* Folders of that owner that look like ours. */
static int leftovers(uid_t uid)
{
	static const char *const folders[] = {"/tmp", "/dev/shm"};
	int n = 0;

	for (size_t i = 0; i < 2; i++) {
		cleanup_dir DIR *d = opendir(folders[i]);
		struct dirent *entry;

		while (d && (entry = readdir(d))) {
			struct stat st;

			if (strncmp(entry->d_name, "mksplit-", 8) == 0 &&
			    fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			    st.st_uid == uid)
				n++;
		}
	}
	return n;
}

/* Children of a process, from /proc. */
static int children(pid_t parent, pid_t *list, int max)
{
	cleanup_dir DIR *d = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	assert_non_null(d);
	while ((entry = readdir(d))) {
		char path[300], state;
		cleanup_file FILE *f = NULL;
		int pid = atoi(entry->d_name), ppid;

		if (pid <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		f = fopen(path, "re");
		/* The name stands in parentheses and is one of ours without spaces, or no child. */
		if (f && fscanf(f, "%*d (%*[^)]) %c %d", &state, &ppid) == 2 && ppid == parent &&
		    state != 'Z' && n < max)
			list[n++] = pid;
	}
	return n;
}

static int orphans(void)
{
	pid_t list[50];

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return children(getpid(), list, 50);
}

static void wait_for_none(void)
{
	int64_t until = clock_ns() + PATIENCE_NS;

	while (orphans() > 0) {
		assert_true(clock_ns() < until);
		nap();
	}
}

static void every_loop_of(enum test_mode mode, uid_t uid)
{
	const struct test_info *t;
	struct host h;
	int measured = 0;
	char why[4000];

	start(&h, uid);
	greet(&h);
	for (size_t i = 0; (t = scale_family.info(i)); i++) {
		if (!(t->modes & mode))
			continue;
		if (short_cell(&h, t->name, mode, why, sizeof(why)))
			measured++;
		else
			print_message("%s: %s\n", t->name, why);
		/* The runner has cleaned up before it hands its result over. */
		if (uid && leftovers(uid) > 0)
			fail_msg("%s left a folder", t->name);
	}
	assert_true(measured >= 60);
	finish(&h);
	wait_for_none();
}

static void every_loop(void **state)
{
	(void)state;
	every_loop_of(MODE_PROCESSES, 0);
	every_loop_of(MODE_THREADS, 0);
}

/* Without privilege files lie where everybody sees them. */
static uid_t some_user(void)
{
	return getuid() == 0 ? 61000 + (uid_t)getpid() % 4000 : 0;
}

static void every_loop_of_a_user(void **state)
{
	(void)state;
	if (!some_user())
		skip();
	every_loop_of(MODE_PROCESSES, some_user());
	every_loop_of(MODE_THREADS, some_user());
}

static void prepare_ready(struct host *h, uint32_t id, const char *test, enum test_mode mode)
{
	char list[40], reply[4000], want[40];

	cpu_list(list, sizeof(list), 2);
	ask(h, reply, sizeof(reply),
	    "PREP %u family=scale test=%s mode=%s cpus=%s sampler=- dir=- guard=1000000", id, test,
	    mode_name(mode), list);
	assert_memory_equal(reply, "OK ", 3);
	await(h, id, "preparing", reply, sizeof(reply));
	snprintf(want, sizeof(want), "OK %u ready", id);
	assert_string_equal(reply, want);
}

/* The runner, and the tasks that it has. */
static pid_t tasks_of(struct host *h, pid_t *tasks, int n)
{
	pid_t runner;

	assert_int_equal(children(h->agent, &runner, 1), 1);
	assert_int_equal(children(runner, tasks, n), n);
	return runner;
}

static void lost_task(int sig, const char *name)
{
	char reply[4000];
	pid_t tasks[2];
	struct host h;

	start(&h, 0);
	greet(&h);
	prepare_ready(&h, 1, "getppid1", MODE_PROCESSES);
	tasks_of(&h, tasks, 2);
	go(&h, 1, NSEC_PER_SEC, 60);
	poll(NULL, 0, 100);
	assert_int_equal(kill(tasks[1], sig), 0);
	/* Long before the cell is over, and with the reason. */
	await(&h, 1, "running", reply, sizeof(reply));
	assert_memory_equal(reply, "OK 1 failed ", 12);
	assert_non_null(strstr(reply, "task%20"));
	assert_non_null(strstr(reply, "on%20CPU%20"));
	assert_non_null(strstr(reply, name));
	assert_true(kill(tasks[0], 0) < 0 && errno == ESRCH);
	assert_true(kill(tasks[1], 0) < 0 && errno == ESRCH);
	finish(&h);
}

static void killed_task(void **state)
{
	(void)state;
	lost_task(SIGKILL, "SIGKILL");
}

static void stopped_task(void **state)
{
	(void)state;
	lost_task(SIGSTOP, "SIGSTOP");
}

static void lost_runner(int sig, const char *name)
{
	char reply[4000];
	pid_t runner;
	struct host h;

	start(&h, 0);
	greet(&h);
	prepare_ready(&h, 1, "unlink1", MODE_THREADS);
	assert_int_equal(children(h.agent, &runner, 1), 1);
	go(&h, 1, NSEC_PER_SEC, 60);
	poll(NULL, 0, 100);
	kill(runner, sig);
	await(&h, 1, "running", reply, sizeof(reply));
	assert_memory_equal(reply, "OK 1 failed ", 12);
	assert_non_null(strstr(reply, name));
	/* The next cell is not touched by it. */
	assert_true(short_cell(&h, "getppid1", MODE_THREADS, reply, sizeof(reply)));
	finish(&h);
}

static void killed_runner(void **state)
{
	(void)state;
	lost_runner(SIGKILL, "SIGKILL");
}

static void stopped_runner(void **state)
{
	(void)state;
	lost_runner(SIGSTOP, "SIGSTOP");
}

/* An agent that is gone takes runner, tasks and files with it, whatever it died of. */
static void lost_agent(int sig, uid_t uid, enum test_mode mode)
{
	pid_t tasks[2], runner;
	struct host h;

	start(&h, uid);
	greet(&h);
	prepare_ready(&h, 1, "open1", mode);
	if (mode == MODE_PROCESSES)
		tasks_of(&h, tasks, 2);
	else
		assert_int_equal(children(h.agent, &runner, 1), 1);
	if (uid)
		assert_int_equal(leftovers(uid), 1);
	go(&h, 1, NSEC_PER_SEC, 60);
	kill(h.agent, sig);
	wait_for_none();
	if (uid)
		assert_int_equal(leftovers(uid), 0);
	close(h.fd);
}

static void ended_agent(void **state)
{
	(void)state;
	for (int mode = MODE_PROCESSES; mode <= MODE_THREADS; mode++) {
		lost_agent(SIGKILL, 0, mode);
		lost_agent(SIGTERM, 0, mode);
		lost_agent(SIGINT, 0, mode);
	}
}

static void ended_agent_of_a_user(void **state)
{
	uid_t uid = some_user();

	(void)state;
	if (!uid)
		skip();
	for (int mode = MODE_PROCESSES; mode <= MODE_THREADS; mode++) {
		lost_agent(SIGKILL, uid, mode);
		lost_agent(SIGTERM, uid, mode);
	}
}

/* The room of a user is marked as what it is. */
static void room_of_a_user(void **state)
{
	uid_t uid = some_user();
	cleanup_free char *text = NULL;
	char reply[4000];
	struct host h;
	size_t len;

	(void)state;
	if (!uid)
		skip();
	start(&h, uid);
	greet(&h);
	prepare_ready(&h, 1, "getppid1", MODE_PROCESSES);
	go(&h, 1, 200 * NSEC_PER_MSEC, 2);
	await(&h, 1, "running", reply, sizeof(reply));
	get_object(&h, "result", &text, &len);
	assert_non_null(strstr(text, "\nnote room=shared\n"));
	assert_non_null(strstr(text, "mount:EPERM"));
	finish(&h);
	assert_int_equal(leftovers(uid), 0);
}

static void refusals(void **state)
{
	static const struct {
		const char *ask, *want;
	} table[] = {
		{"NONSENSE", "unknown%20request"}, {"GET nothing 0", "no%20such%20object"},
		{"GET facts -1", "is%20wanted"},   {"TIME x", "TIME%20K"},
		{"PREP 1", "PREP%20ID"},	   {"GO 7 1 2 3 4 5", "no%20such%20cell"},
		{"DONE 7", "no%20such%20cell"},	   {"OFF wrong", "another%20token"},
		{"HI wrong 5", "another%20token"}, {"HI word 0", "lease"},
	};
	static const char *const cells[] = {
		"family=none test=getppid1 mode=processes cpus=0",
		"family=scale test=none mode=processes cpus=0",
		"family=scale test=getppid1 mode=other cpus=0",
		"family=scale test=getppid1 mode=processes cpus=x",
		"family=scale test=getppid1 mode=processes cpus=65535",
		"family=scale test=getppid1 mode=processes",
		"family=scale test=getppid1 mode=processes cpus=0 p.unknown=1",
		"family=scale test=open4 mode=processes cpus=0 p.path=/dev/null",
	};
	char reply[4000];
	struct host h;

	(void)state;
	start(&h, 0);
	ask(&h, reply, sizeof(reply), "CPUS");
	assert_string_equal(reply, "NO HI%20comes%20first");
	greet(&h);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		ask(&h, reply, sizeof(reply), "%s", table[i].ask);
		assert_memory_equal(reply, "NO ", 3);
		assert_non_null(strstr(reply, table[i].want));
	}
	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
		ask(&h, reply, sizeof(reply), "PREP %zu %s", i + 1, cells[i]);
		if (strncmp(reply, "OK", 2) == 0)
			await(&h, (uint32_t)i + 1, "preparing", reply, sizeof(reply));
		if (!strstr(reply, "failed") && !strstr(reply, "unavailable") &&
		    strncmp(reply, "NO ", 3) != 0)
			fail_msg("%s: %s", cells[i], reply);
	}
	finish(&h);
}

static long peak_kib(pid_t pid)
{
	char path[60], line[200];
	cleanup_file FILE *f = NULL;
	long kib = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %ld", &kib);
	return kib;
}

/* What lines do to bytes: each kind, many times, and each request is answered once and rightly. */
static void damaged_line(void **state)
{
	char line[FRAME_LINE_MAX], reply[4000], first[4000], payload[100];
	unsigned int seed = 17;
	struct host h;
	long before;

	(void)state;
	start(&h, 0);
	greet(&h);
	before = peak_kib(h.agent);
	for (int i = 0; i < 2000; i++) {
		uint32_t seq = ++h.seq;
		size_t len, where;

		snprintf(payload, sizeof(payload), "TIME %d", i);
		len = frame_encode(line, sizeof(line), FRAME_FROM_HOST, seq, payload);
		where = (size_t)rand_r(&seed) % len;
		switch (i % 8) {
		case 0: /* a bit fell over, and it came again */
			line[where] ^= (char)(1 << rand_r(&seed) % 7);
			send_bytes(&h, line, len);
			break;
		case 1: /* the rest of it got lost */
			send_bytes(&h, line, where);
			break;
		case 2: /* kernel text in the middle */
			send_bytes(&h, line, where);
			send_bytes(&h, "\r\n[   12.345678] usb 1-1: new device\r\n", 39);
			send_bytes(&h, line + where, len - where);
			break;
		case 3: /* twice, quickly */
			send_payload(&h, seq, payload);
			break;
		case 4: /* an echo of the agent's own */
			len = frame_encode(line, sizeof(line), FRAME_FROM_AGENT, seq, "OK 1 2 3");
			send_bytes(&h, line, len);
			break;
		case 5: /* an old number, which must not be answered */
			send_payload(&h, seq - 1, "OFF word");
			send_payload(&h, 1, "OFF word");
			break;
		case 6: /* garbage */
			for (int k = 0; k < 1000; k++) {
				char byte = (char)rand_r(&seed);

				send_bytes(&h, &byte, 1);
			}
			break;
		}
		send_payload(&h, seq, payload);
		answer(&h, seq, reply, sizeof(reply));
		assert_int_equal(sscanf(reply, "OK %60s", first), 1);
		assert_int_equal(atoi(first), i);
	}
	/* A repeated number gets the very same answer. */
	send_payload(&h, ++h.seq, "TIME 77");
	answer(&h, h.seq, first, sizeof(first));
	send_payload(&h, h.seq, "TIME 77");
	answer(&h, h.seq, reply, sizeof(reply));
	assert_string_equal(first, reply);
	/* A line without an end. */
	memset(line, 'x', sizeof(line));
	send_bytes(&h, "~H 5 ", 5);
	for (size_t sent = 0; sent < 10 << 20; sent += sizeof(line))
		send_bytes(&h, line, sizeof(line));
	ask(&h, reply, sizeof(reply), "TIME 78");
	assert_memory_equal(reply, "OK 78 ", 6);
	assert_true(peak_kib(h.agent) < before + 1024);
	finish(&h);
}

static void doubled_returns(void **state)
{
	char line[FRAME_LINE_MAX], twice[2 * FRAME_LINE_MAX], reply[300];
	struct host h;
	size_t len, n = 0;

	(void)state;
	start(&h, 0);
	len = frame_encode(line, sizeof(line), FRAME_FROM_HOST, ++h.seq, "HI word 600");
	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\n') {
			twice[n++] = '\r';
			twice[n++] = '\r';
		}
		twice[n++] = line[i];
	}
	send_bytes(&h, twice, n);
	answer(&h, h.seq, reply, sizeof(reply));
	assert_memory_equal(reply, "OK 1 ", 5);
	finish(&h);
}

/* Nobody speaks any more: the agent ends by itself, and not while a cell runs. */
static void lease(void **state)
{
	char reply[300];
	struct host h;
	int status;

	(void)state;
	start(&h, 0);
	ask(&h, reply, sizeof(reply), "HI word 1");
	prepare_ready(&h, 1, "getppid1", MODE_PROCESSES);
	go(&h, 1, NSEC_PER_SEC, 2);
	poll(NULL, 0, 1500);
	await(&h, 1, "running", reply, sizeof(reply));
	assert_memory_equal(reply, "OK 1 done ", 10);
	assert_int_equal(waitpid(h.agent, &status, 0), h.agent);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 0);
	close(h.fd);
}

static void facts(void **state)
{
	cleanup_free char *text = NULL;
	const char *last = "";
	char reply[300];
	struct host h;
	size_t len;
	int n = 0;

	(void)state;
	start(&h, 0);
	greet(&h);
	ask(&h, reply, sizeof(reply), "FACTS");
	get_object(&h, "facts", &text, &len);
	for (char *save, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *mark = strchr(line, '=');

		assert_non_null(mark);
		assert_true(mark > line);
		/* Exactly one word as its value. */
		assert_null(strchr(line, ' '));
		*mark = '\0';
		assert_true(strcmp(last, line) < 0);
		last = line;
		n++;
	}
	assert_true(n > 20);
	finish(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_loop),	  cmocka_unit_test(every_loop_of_a_user),
		cmocka_unit_test(killed_task),	  cmocka_unit_test(stopped_task),
		cmocka_unit_test(killed_runner),  cmocka_unit_test(stopped_runner),
		cmocka_unit_test(ended_agent),	  cmocka_unit_test(ended_agent_of_a_user),
		cmocka_unit_test(room_of_a_user), cmocka_unit_test(refusals),
		cmocka_unit_test(damaged_line),	  cmocka_unit_test(doubled_returns),
		cmocka_unit_test(lease),	  cmocka_unit_test(facts),
	};

	signal(SIGPIPE, SIG_IGN);
	/* Orphans come here, where they can be counted. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	find_cpus();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
