// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every test of the family scale in each of its modes, with two tasks where there are two CPUs,
 * through the real agent: it gets ready, counts in its window, and leaves nothing behind.
 */
#include "tests/unit/agent_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/test.h"
#include "common/cleanup.h"

#define INTERVAL_MS 50
/* A pass of the slowest loops touches 128 MiB, which takes an emulator and a sanitizer a second. */
#define LONGER_MS 5000
#define GUARD_MS  5

/* True when a task has counted nothing, which a longer window may mend. */
static bool run(struct client *c, unsigned int id, const struct test_info *t, enum test_mode mode,
		const char *cpus, int interval_ms)
{
	cleanup_free char *result = NULL;
	size_t len;

	client_ask(c, "PREP %u test=%s mode=%s cpus=%s", id, t->name, mode_name(mode), cpus);
	if (strncmp(client_settled(c, id), "unavailable ", 12) == 0) {
		print_message("%s in %s: %s\n", t->name, mode_name(mode), c->reply);
		return false;
	}
	if (strstr(c->reply, " ready") == NULL)
		fail_msg("%s in %s: %s", t->name, mode_name(mode), c->reply);
	client_go(c, id, 1, interval_ms, GUARD_MS);
	if (strncmp(client_settled(c, id), "done ", 5) != 0) {
		if (strstr(c->reply, "counted%20nothing"))
			return true;
		fail_msg("%s in %s: %s", t->name, mode_name(mode), c->reply);
	}
	result = client_get(c, "result", &len);
	assert_non_null(strstr(result, "\nsample metric=0 k=1 "));
	assert_string_equal(result + len - 5, "\nend\n");
	return false;
}

static void every_loop(enum test_mode mode)
{
	const struct test_info *t;
	struct client c;
	char cpus[40];
	int ran = 0;

	client_cpus(cpus, sizeof(cpus), 2);
	client_start_greeted(&c, "a");
	for (size_t i = 0; (t = scale_family.info(i)); i++) {
		unsigned int id = (unsigned int)i + 1;

		if (!(t->modes & mode))
			continue;
		if (run(&c, id, t, mode, cpus, INTERVAL_MS) && run(&c, id, t, mode, cpus, LONGER_MS))
			fail_msg("%s in %s: %s", t->name, mode_name(mode), c.reply);
		ran++;
	}
	assert_true(ran > 60);
	client_end(&c);
}

static void in_processes(void **state)
{
	every_loop(MODE_PROCESSES);
}

static void in_threads(void **state)
{
	every_loop(MODE_THREADS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_processes),
		cmocka_unit_test(in_threads),
	};

	client_dispatch(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
