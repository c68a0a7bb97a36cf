// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tuning on a tree of files, with a journal in memory that can die at any step: what is put
 * back is what the entries say that were written by then.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/file_value.h"
#include "harness/machine/tuning.h"
#include "tests/unit/fake_machine.h"

#define CPU "/sys/devices/system/cpu"

struct journal {
	json_t *entries[100];
	bool open[100];
	int n;
	int die_after; /* entries; later ones fail as if the process was killed there */
};

int journal_before(struct journal *j, const char *kind, json_t *undo, struct err *e)
{
	assert_string_equal(kind, FILE_VALUE_KIND);
	if (j->n == j->die_after) {
		json_decref(undo);
		return err_set(e, EIO, "killed");
	}
	j->entries[j->n] = undo;
	j->open[j->n++] = true;
	return j->n;
}

int journal_gone(struct journal *j, int entry, struct err *e)
{
	j->open[entry - 1] = false;
	return 0;
}

struct lines {
	char text[4000];
	int n;
};

static void say(void *arg, const char *line)
{
	struct lines *l = arg;

	l->n++;
	strncat(l->text, line, sizeof(l->text) - strlen(l->text) - 2);
	strcat(l->text, "\n");
}

static void undo_all(struct journal *j, struct lines *l)
{
	for (int i = j->n - 1; i >= 0; i--) {
		struct err e = ERR_INIT;

		if (j->open[i] && file_value_undo(j->entries[i], say, l, &e) < 0)
			fail_msg("%s", e.text);
	}
}

static void journal_clear(struct journal *j)
{
	for (int i = 0; i < j->n; i++)
		json_decref(j->entries[i]);
	*j = (struct journal){.die_after = 100};
}

static void assert_file(const struct root *r, const char *path, const char *value)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(root_read(r, &text, &e, "%s", path), 0);
	assert_string_equal(text, value);
}

/* Four CPUs of five: mixed governors, one CPU offline, interrupts here and there. */
static const struct {
	const char *path, *value;
} files[] = {
	{CPU "/cpu0/cpufreq/scaling_governor", "performance"},
	{CPU "/cpu1/cpufreq/scaling_governor", "powersave"},
	{CPU "/cpu2/cpufreq/scaling_governor", "schedutil"},
	{CPU "/cpu3/cpufreq/scaling_governor", "ondemand"},
	{CPU "/intel_pstate/no_turbo", "0"},
	{"/proc/sys/kernel/numa_balancing", "1"},
	{"/proc/sys/kernel/watchdog", "1"},
	{"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"},
	{"/proc/irq/1/smp_affinity_list", "0-3"},
	{"/proc/irq/2/smp_affinity_list", "2"},
	{"/proc/irq/3/smp_affinity_list", "0"},
	{"/dev/cpu_dma_latency", "x"},
};

enum {
	NFILES = sizeof(files) / sizeof(files[0])
};

struct fixture {
	struct fake_machine m;
	struct fake_cpu cpus[4];
	struct topology t;
	struct root r;
	struct cpumask measured;
	struct journal j;
};

static void fixture_make(struct fixture *f)
{
	struct err e = ERR_INIT;

	*f = (struct fixture){.r = ROOT_INIT, .j.die_after = 100};
	for (int i = 0; i < 4; i++)
		f->cpus[i] = (struct fake_cpu){
			.cpu = i, .phys = i, .core = i, .package = i / 2, .node = i / 2, .llc = i / 2};
	f->m = (struct fake_machine){.cpus = f->cpus, .ncpus = 4, .possible = "0-4", .node_mib = 64};
	fake_machine_make(&f->m);
	for (int i = 0; i < NFILES; i++)
		fake_machine_file(&f->m, files[i].path, "%s", files[i].value);
	fake_machine_topology(&f->m, &f->t);
	assert_int_equal(root_open(&f->r, f->m.dir, &e), 0);
	cpumask_set(&f->measured, 1);
	cpumask_set(&f->measured, 2);
}

static void fixture_free(struct fixture *f)
{
	journal_clear(&f->j);
	cpumask_free(&f->measured);
	topology_free(&f->t);
	root_close(&f->r);
	fake_machine_remove(&f->m);
}

static int tune(struct fixture *f, struct lines *l)
{
	json_t *wish = tuning_default();
	struct tuning *t = NULL;
	struct err e = ERR_INIT;
	int rc;

	assert_int_equal(tuning_check(wish, &e), 0);
	rc = tuning_apply(&t, wish, &f->r, &f->t, &f->measured, &f->j, say, l, &e);
	tuning_release(&t);
	json_decref(wish);
	return rc;
}

static void assert_as_before(const struct fixture *f)
{
	for (int i = 0; i < NFILES; i++)
		if (strncmp(files[i].path, "/dev", 4) != 0)
			assert_file(&f->r, files[i].path,
				    strchr(files[i].value, '[') ? "always [madvise] never"
								: files[i].value);
}

static void test_apply_and_undo(void **state)
{
	struct fixture f;
	struct lines l = {"", 0};

	fixture_make(&f);
	assert_int_equal(tune(&f, &l), 0);
	assert_int_equal(l.n, 0);
	for (int i = 0; i < 4; i++)
		assert_file(&f.r, files[i].path, "performance");
	assert_file(&f.r, CPU "/intel_pstate/no_turbo", "1");
	assert_file(&f.r, "/proc/sys/kernel/watchdog", "0");
	assert_file(&f.r, "/proc/sys/kernel/numa_balancing", "0");
	assert_file(&f.r, "/proc/irq/1/smp_affinity_list", "0,3");
	assert_file(&f.r, "/proc/irq/2/smp_affinity_list", "0,3");
	assert_file(&f.r, "/proc/irq/3/smp_affinity_list", "0");
	/* What already was as wished is not ours to put back. */
	assert_int_equal(f.j.n, 3 + 1 + 2 + 2);
	undo_all(&f.j, &l);
	assert_as_before(&f);
	undo_all(&f.j, &l);
	assert_as_before(&f);
	assert_int_equal(l.n, 0);
	fixture_free(&f);
}

/* Killed at every step: each CPU gets its own former value back. */
static void test_killed_anywhere(void **state)
{
	for (int step = 0; step < 8; step++) {
		struct fixture f;
		struct lines l = {"", 0};

		fixture_make(&f);
		f.j.die_after = step;
		assert_true(tune(&f, &l) < 0);
		assert_int_equal(f.j.n, step);
		undo_all(&f.j, &l);
		assert_as_before(&f);
		fixture_free(&f);
	}
}

/* Written to the journal, killed before the change itself: nothing to undo, nothing said. */
static void test_killed_before_the_change(void **state)
{
	struct fixture f;
	struct lines l = {"", 0};
	json_t *entry;
	struct err e = ERR_INIT;

	fixture_make(&f);
	entry = file_value_entry(&f.r, "/proc/sys/kernel/watchdog", "1", "0");
	assert_int_equal(file_value_undo(entry, say, &l, &e), 0);
	assert_as_before(&f);
	assert_int_equal(l.n, 0);
	json_decref(entry);
	fixture_free(&f);
}

/* What somebody else set in between stays, and is named; a vanished CPU is named. */
static void test_foreign_change(void **state)
{
	struct fixture f;
	struct lines l = {"", 0};
	char path[200];

	fixture_make(&f);
	assert_int_equal(tune(&f, &l), 0);
	fake_machine_file(&f.m, CPU "/cpu2/cpufreq/scaling_governor", "userspace");
	snprintf(path, sizeof(path), "%s" CPU "/cpu3/cpufreq/scaling_governor", f.m.dir);
	assert_int_equal(unlink(path), 0);
	undo_all(&f.j, &l);
	assert_file(&f.r, CPU "/cpu1/cpufreq/scaling_governor", "powersave");
	assert_file(&f.r, CPU "/cpu2/cpufreq/scaling_governor", "userspace");
	assert_file(&f.r, "/proc/sys/kernel/watchdog", "1");
	assert_int_equal(l.n, 2);
	assert_non_null(strstr(l.text,
			       "cpu2/cpufreq/scaling_governor is \"userspace\", which somebody "
			       "else set since (before: \"schedutil\", mksplit: \"performance\")"));
	assert_non_null(
		strstr(l.text, "cpu3/cpufreq/scaling_governor is gone; it was \"ondemand\""));
	fixture_free(&f);
}

/* Machines without the switches: warnings with reasons, no error, nothing in the journal. */
static void test_without_switches(void **state)
{
	struct fixture f;
	struct lines l = {"", 0};

	fixture_make(&f);
	fake_machine_remove(&f.m);
	fake_machine_make(&f.m);
	root_close(&f.r);
	assert_int_equal(root_open(&f.r, f.m.dir, &(struct err){0}), 0);
	cpumask_set(&f.measured, 0);
	cpumask_set(&f.measured, 3);
	assert_int_equal(tune(&f, &l), 0);
	assert_int_equal(f.j.n, 0);
	assert_non_null(strstr(l.text, "this kernel does not control CPU frequency"));
	assert_non_null(strstr(l.text, "there is no switch for it"));
	assert_non_null(strstr(l.text, "the watchdog cannot be set: this kernel has no "
				       "/proc/sys/kernel/watchdog"));
	assert_non_null(strstr(l.text, "every CPU carries tasks"));
	assert_non_null(strstr(l.text, "/dev/cpu_dma_latency"));
	fixture_free(&f);
}

static void assert_wish(const char *text, const char *why)
{
	json_t *wish = json_loads(text, 0, NULL);
	struct err e = ERR_INIT;

	assert_non_null(wish);
	if (why) {
		assert_true(tuning_check(wish, &e) < 0);
		assert_int_equal(e.exit, EXIT_USAGE);
		if (!strstr(e.text, why))
			fail_msg("\"%s\" should have said \"%s\"", e.text, why);
	} else {
		assert_int_equal(tuning_check(wish, &e), 0);
	}
	json_decref(wish);
}

static void test_wishes(void **state)
{
	assert_wish("{}", NULL);
	assert_wish("{\"thp\": \"never\", \"boost\": true, \"dma_latency\": 10}", NULL);
	assert_wish("{\"thp\": \"sometimes\"}", "thp: \"always\", \"madvise\" or \"never\"");
	assert_wish("{\"governor\": \"../x\"}", "governor: the name of a governor");
	assert_wish("{\"boost\": 1}", "boost: true or false");
	assert_wish("{\"dma_latency\": -1}", "dma_latency: microseconds");
	assert_wish("{\"irqs\": \"here\"}", "irqs: \"away\"");
	assert_wish("{\"turbo\": false}", "turbo: there is no such setting");
	assert_wish("[]", "an object");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apply_and_undo),
		cmocka_unit_test(test_killed_anywhere),
		cmocka_unit_test(test_killed_before_the_change),
		cmocka_unit_test(test_foreign_change),
		cmocka_unit_test(test_without_switches),
		cmocka_unit_test(test_wishes),
	};

	return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
