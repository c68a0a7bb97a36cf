// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A tuned run on a tree of files is killed after every single step, journal entry or write;
 * somebody else changes a switch; cleanup from the journal on disk puts the rest back.
 * Linked with --wrap for the two functions whose calls are the steps.
 */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/machine/file_value.h"
#include "harness/machine/tuning.h"
#include "tests/unit/fake_machine.h"

#define CPU	"/sys/devices/system/cpu"
#define FOREIGN CPU "/cpu2/cpufreq/scaling_governor"

static const struct undo_kind undo_file_value = {FILE_VALUE_KIND, file_value_undo};
const struct undo_kind *const undo_kinds[] = {&undo_file_value, NULL};

/* Of the child that is to die: steps left to do, the last one included. */
static int steps_left;

static void step(void)
{
	if (--steps_left == 0)
		raise(SIGKILL);
}

int __real_journal_before(struct journal *j, const char *kind, json_t *undo, struct err *e);
int __wrap_journal_before(struct journal *j, const char *kind, json_t *undo, struct err *e);
int __wrap_journal_before(struct journal *j, const char *kind, json_t *undo, struct err *e)
{
	int rc = __real_journal_before(j, kind, undo, e);

	step();
	return rc;
}

int __real_root_write(const struct root *r, const char *value, struct err *e, const char *fmt, ...);
int __wrap_root_write(const struct root *r, const char *value, struct err *e, const char *fmt, ...);
int __wrap_root_write(const struct root *r, const char *value, struct err *e, const char *fmt, ...)
{
	va_list ap;
	int rc;

	assert_string_equal(fmt, "%s");
	va_start(ap, fmt);
	rc = __real_root_write(r, value, e, "%s", va_arg(ap, const char *));
	va_end(ap);
	step();
	return rc;
}

/* Mixed governors, CPU 4 offline. */
static const struct {
	const char *path, *value;
} files[] = {
	{CPU "/cpu0/cpufreq/scaling_governor", "performance"},
	{CPU "/cpu1/cpufreq/scaling_governor", "powersave"},
	{CPU "/cpu2/cpufreq/scaling_governor", "schedutil"},
	{CPU "/cpu3/cpufreq/scaling_governor", "ondemand"},
	{CPU "/cpufreq/boost", "1"},
	{"/proc/sys/kernel/numa_balancing", "1"},
	{"/proc/sys/kernel/watchdog", "1"},
	{"/proc/irq/7/smp_affinity_list", "0-3"},
};

enum {
	NFILES = sizeof(files) / sizeof(files[0]),
	NSTEPS = 2 * (NFILES - 1) /* one is as wished already */
};

struct lines {
	char text[4000];
};

static void say(void *arg, const char *line)
{
	struct lines *l = arg;

	strncat(l->text, line, sizeof(l->text) - strlen(l->text) - 2);
	strcat(l->text, "\n");
}

static void make(struct fake_machine *m, struct fake_cpu *cpus)
{
	for (int i = 0; i < 4; i++)
		cpus[i] = (struct fake_cpu){
			.cpu = i, .phys = i, .core = i, .package = i / 2, .node = i / 2};
	*m = (struct fake_machine){.cpus = cpus, .ncpus = 4, .possible = "0-4", .node_mib = 64};
	fake_machine_make(m);
	for (int i = 0; i < NFILES; i++)
		fake_machine_file(m, files[i].path, "%s", files[i].value);
}

static void run_and_die(const struct fake_machine *m, int steps)
{
	json_t *wish =
		json_loads("{\"governor\":\"performance\",\"boost\":false,\"numa_balancing\":false,"
			   "\"watchdog\":false,\"irqs\":\"away\"}",
			   0, NULL);
	struct cpumask measured = CPUMASK_INIT;
	struct root r = ROOT_INIT;
	struct topology t = {0};
	struct journal *j = NULL;
	struct tuning *tuning = NULL;
	struct lines l = {""};
	struct err e = ERR_INIT;

	cpumask_set(&measured, 1);
	cpumask_set(&measured, 2);
	if (root_open(&r, m->dir, &e) < 0 || topology_read(&t, &r, &e) < 0 || journal_open(&j, &e) < 0)
		_exit(1);
	steps_left = steps;
	tuning_apply(&tuning, wish, &r, &t, &measured, j, say, &l, &e);
	_exit(2); /* more steps were asked for than there are */
}

static void assert_values(const struct fake_machine *m, const char *foreign)
{
	cleanup_root struct root r = ROOT_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(root_open(&r, m->dir, &e), 0);
	for (int i = 0; i < NFILES; i++) {
		cleanup_free char *text = NULL;

		assert_int_equal(root_read(&r, &text, &e, "%s", files[i].path), 0);
		assert_string_equal(text, foreign && strcmp(files[i].path, FOREIGN) == 0
						  ? foreign
						  : files[i].value);
	}
}

static void kill_after(int steps, bool foreign)
{
	struct fake_machine m;
	struct fake_cpu cpus[4];
	struct lines l = {""};
	struct err e = ERR_INIT;
	int status;
	pid_t pid;

	make(&m, cpus);
	pid = fork();
	if (pid == 0)
		run_and_die(&m, steps);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

	if (foreign)
		fake_machine_file(&m, FOREIGN, "userspace");
	if (journal_cleanup(false, say, &l, &e) < 0)
		fail_msg("%s", e.text);
	assert_values(&m, foreign ? "userspace" : NULL);
	/* Named, if it was among what the run had changed by then: its entry is the third step. */
	assert_int_equal(strstr(l.text, "\"userspace\", which somebody else set") != NULL,
			 foreign && steps >= 3);
	assert_int_equal(journal_cleanup(false, say, &l, &e), 0);
	assert_values(&m, foreign ? "userspace" : NULL);
	fake_machine_remove(&m);
}

static void test_every_step(void **state)
{
	for (int steps = 1; steps <= NSTEPS; steps++) {
		kill_after(steps, false);
		kill_after(steps, true);
	}
}

/* The journal's folder is the user's own: as root it would be the machine's. */
static int private_folder(void **state)
{
	static char folder[] = "/tmp/mksplit-test-XXXXXX";

	if (geteuid() == 0 &&
	    (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
		return -1;
	if (!mkdtemp(folder))
		return -1;
	*state = folder;
	return setenv("XDG_RUNTIME_DIR", folder, 1);
}

static int remove_folder(void **state)
{
	struct fake_machine m;

	snprintf(m.dir, sizeof(m.dir), "%s", (char *)*state);
	fake_machine_remove(&m);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_step)};

	return cmocka_run_group_tests_name("tuned-kill", tests, private_folder, remove_folder);
}
