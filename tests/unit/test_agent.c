// SPDX-License-Identifier: GPL-2.0-or-later
/* The real agent against docs/protocol.md. */
#include "tests/unit/agent_client.h"

#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/agent.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define TOKEN "a%20word"

/* Long enough to know that nothing comes, short beside what else is waited for. */
#define QUIET_MS 300

static char cpu[20]; /* that tasks run on */

static void assert_starts(const char *text, const char *with)
{
	if (strncmp(text, with, strlen(with)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", text, with);
}

static void assert_contains(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("\"%s\" is not in \"%.500s\"", what, text);
}

static void hello_until_hi(void **state)
{
	struct client c;
	char *words[6];
	uint32_t seq;
	char nonce[40];

	client_start(&c, "a word");
	while (c.hellos < 2) {
		unsigned int before = c.hellos;

		/* No reply comes; the greetings are counted on the way. */
		assert_false(client_frame(&c, 1500, &seq));
		assert_true(c.hellos > before);
	}
	assert_int_equal(words_split(c.hello, words, 6), 4);
	assert_string_equal(words[1], "1");
	snprintf(nonce, sizeof(nonce), "%s", words[3]);
	/* Nothing but HI is answered before it, and a wrong token changes nothing. */
	assert_starts(client_ask(&c, "FACTS"), "NO ");
	assert_starts(client_ask(&c, "CPUS"), "NO ");
	assert_starts(client_ask(&c, "HI other 60"), "NO ");
	assert_starts(client_ask(&c, "HI %%2 60"), "NO ");
	assert_starts(client_ask(&c, "HI %s 0", TOKEN), "NO ");
	assert_starts(client_ask(&c, "HI %s", TOKEN), "NO ");
	assert_starts(client_ask(&c, "FACTS"), "NO ");
	c.hellos = 0;
	assert_false(client_frame(&c, 2500, &seq));
	assert_true(c.hellos >= 1);

	client_ask(&c, "HI %s 60", TOKEN);
	assert_int_equal(words_split(c.reply, words, 6), 5);
	assert_string_equal(words[0], "OK");
	assert_string_equal(words[1], "1");
	assert_string_equal(words[3], nonce);
	assert_string_equal(words[4], "0");
	c.hellos = 0;
	assert_false(client_frame(&c, 2500, &seq));
	assert_int_equal(c.hellos, 0);
	assert_int_equal(client_end(&c), AGENT_LINK);
}

static void facts_in_chunks(void **state)
{
	cleanup_free char *facts = NULL, *again = NULL;
	const char *before = "";
	struct client c;
	size_t len, len2;
	int lines = 0;

	client_start_greeted(&c, "a");
	assert_starts(client_ask(&c, "GET facts 0"), "NO ");
	assert_starts(client_ask(&c, "GET result 0"), "NO ");
	assert_starts(client_ask(&c, "GET ../facts 0"), "NO ");
	assert_starts(client_ask(&c, "FACTS"), "OK ");
	len = strtoul(c.reply + 3, NULL, 10);
	facts = client_get(&c, "facts", &len2);
	assert_int_equal(len, len2);
	assert_true(len > 2048);
	again = client_get(&c, "facts", &len2);
	assert_string_equal(facts, again);
	assert_contains(facts, "\nkernel.release=");
	for (char *save, *line = strtok_r(facts, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save), lines++) {
		assert_non_null(strchr(line, '='));
		*strchr(line, '=') = '\0';
		assert_true(strcmp(before, line) < 0);
		before = line;
	}
	assert_true(lines > 70);
	assert_starts(client_ask(&c, "GET facts -1"), "NO ");
	assert_starts(client_ask(&c, "GET facts 1x"), "NO ");
	assert_starts(client_ask(&c, "GET facts"), "NO ");
	/* Far beyond the end is the end. */
	assert_starts(client_ask(&c, "GET facts 9223372036854775807"), "OK ");
	assert_string_equal(strrchr(c.reply, ' '), " -");
	free(client_get(&c, "log", &len));
	client_end(&c);
}

static void time_and_cpus(void **state)
{
	int64_t before, received, sent;
	struct client c;
	char *words[6];
	unsigned int k;

	client_start_greeted(&c, "a");
	for (unsigned int round = 0; round < 16; round++) {
		before = clock_ns();
		client_ask(&c, "TIME %u", round);
		/* The agent is in this kernel: its clock is ours. */
		assert_int_equal(sscanf(c.reply, "OK %u %" SCNd64 " %" SCNd64, &k, &received, &sent),
				 3);
		assert_int_equal(k, round);
		assert_true(before <= received && received <= sent && sent <= clock_ns());
	}
	assert_starts(client_ask(&c, "TIME"), "NO ");
	assert_starts(client_ask(&c, "TIME x"), "NO ");
	client_ask(&c, "CPUS");
	assert_int_equal(words_split(c.reply, words, 6), 3);
	assert_string_equal(words[0], "OK");
	client_end(&c);
}

/* A line of a result that begins with this; not the first one's business where it ends. */
static const char *line_of(const char *result, const char *start)
{
	const char *at = strstr(result, start);

	if (!at || at[-1] != '\n')
		fail_msg("no line \"%s\" in %s", start, result);
	return at;
}

static void whole_cell(const char *test)
{
	cleanup_free char *result = NULL;
	uint64_t count[3];
	struct client c;
	char want[100];
	size_t len;
	int n;

	client_start_greeted(&c, "a");
	assert_string_equal(client_ask(&c,
				       "PREP 7 family=scale test=%s mode=processes cpus=%s "
				       "sampler=- dir=- guard=50000000",
				       test, cpu),
			    "OK 7");
	assert_string_equal(client_settled(&c, 7), "ready");
	assert_starts(client_ask(&c, "GET result 0"), "NO ");
	assert_starts(client_ask(&c, "DONE 8"), "NO ");
	client_go(&c, 7, 2, 200, 50);
	assert_starts(client_ask(&c, "GO 7 1 2 3 1 9"), "NO ");
	assert_starts(client_settled(&c, 7), "done ");
	len = strtoul(c.reply + strlen("OK 7 done "), NULL, 10);
	result = client_get(&c, "result", &len);
	assert_starts(result, "result 1\n");
	snprintf(want, sizeof(want), "test family=scale name=%s mode=processes\n", test);
	line_of(result, want);
	line_of(result, "metric id=0 name=ops unit=1/s better=more kind=rate combine=sum\n");
	snprintf(want, sizeof(want), " cpu=%s ", cpu);
	assert_contains(line_of(result, "task n=0 pid="), want);
	line_of(result, "cover from=");
	n = sscanf(line_of(result, "sample metric=0 k=0 "),
		   "sample metric=0 k=0 before=%*u after=%*u counts=%" SCNu64
		   "\nsample metric=0 k=1 before=%*u after=%*u counts=%" SCNu64
		   "\nsample metric=0 k=2 before=%*u after=%*u counts=%" SCNu64,
		   &count[0], &count[1], &count[2]);
	assert_int_equal(n, 3);
	assert_true(count[0] <= count[1] && count[1] <= count[2] && count[0] < count[2]);
	assert_null(strstr(result, "sample metric=0 k=3"));
	assert_string_equal(result + len - 5, "\nend\n");
	assert_string_equal(client_ask(&c, "DROP 7"), "OK 7");
	assert_starts(client_ask(&c, "GET result 0"), "NO ");
	assert_starts(client_ask(&c, "DONE 7"), "NO ");
	client_end(&c);
}

static void cell_of_getppid1(void **state)
{
	whole_cell("getppid1");
}

static void cell_of_unlink1(void **state)
{
	whole_cell("unlink1");
}

static void repeated_and_old_numbers(void **state)
{
	char first[FRAME_PAYLOAD_MAX + 1];
	struct client c;
	uint32_t seq;

	client_start_greeted(&c, "a");
	client_ask(&c, "TIME 5");
	strcpy(first, c.reply);
	/* Had it been done again, the clock would have gone on. */
	client_send(&c, c.seq, "TIME 5");
	assert_true(client_frame(&c, 60000, &seq));
	assert_int_equal(seq, c.seq);
	assert_string_equal(c.reply, first);
	/* The number counts, whatever is asked under it. */
	client_send(&c, c.seq, "OFF a");
	assert_true(client_frame(&c, 60000, &seq));
	assert_string_equal(c.reply, first);
	client_send(&c, c.seq - 1, "OFF a");
	assert_false(client_frame(&c, QUIET_MS, &seq));
	c.seq = UINT32_MAX - 1;
	assert_starts(client_ask(&c, "TIME 6"), "OK 6 ");
	client_send(&c, 1, "TIME 7");
	assert_false(client_frame(&c, QUIET_MS, &seq));
	assert_int_equal(client_end(&c), AGENT_LINK);
}

static void damage_is_survived(void **state)
{
	cleanup_free char *big = malloc(1 << 20);
	char line[FRAME_LINE_MAX], noise[5000];
	struct client c;
	uint32_t seq;
	size_t len;

	assert_non_null(big);
	client_start_greeted(&c, "a");
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)(i * 2654435761u >> 13);
	client_write(&c, noise, sizeof(noise));
	assert_starts(client_ask(&c, "TIME 1"), "OK 1 ");

	/* Half a frame, then nothing, then a whole one in the middle of that line. */
	len = frame_encode(line, sizeof(line), FRAME_FROM_HOST, c.seq + 1, "OFF a");
	client_write(&c, line, len / 2);
	assert_false(client_frame(&c, QUIET_MS, &seq));
	assert_starts(client_ask(&c, "TIME 2"), "OK 2 ");

	/* One damaged byte, and the other direction's frame. */
	len = frame_encode(line, sizeof(line), FRAME_FROM_HOST, c.seq + 1, "OFF a");
	line[len - 2] ^= 1;
	client_write(&c, line, len);
	len = frame_encode(line, sizeof(line), FRAME_FROM_AGENT, c.seq + 1, "OFF a");
	client_write(&c, line, len);
	assert_false(client_frame(&c, QUIET_MS, &seq));
	assert_starts(client_ask(&c, "TIME 3"), "OK 3 ");

	/* A line of a megabyte, as a frame and as none. */
	memset(big, 'x', 1 << 20);
	client_write(&c, big, 1 << 20);
	memcpy(big, "~H 9999 1048500 00000000 ", 25);
	big[(1 << 20) - 1] = '\n';
	client_write(&c, big, 1 << 20);
	assert_starts(client_ask(&c, "TIME 4"), "OK 4 ");

	/* A terminal's way with line ends, and byte by byte. */
	len = frame_encode(line, sizeof(line), FRAME_FROM_HOST, ++c.seq, "TIME 5");
	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\n')
			client_write(&c, "\r\r", 2);
		client_write(&c, &line[i], 1);
	}
	assert_true(client_frame(&c, 60000, &seq));
	assert_starts(c.reply, "OK 5 ");

	assert_starts(client_ask(&c, "%s", ""), "NO ");
	assert_starts(client_ask(&c, "time 1"), "NO ");
	assert_starts(client_ask(&c, "TIME  1"), "NO ");
	/* More words than any request has. */
	memset(big, 'a', 4000);
	for (size_t i = 1; i < 4000; i += 2)
		big[i] = ' ';
	big[3999] = '\0';
	assert_starts(client_ask(&c, "%s", big), "NO ");
	assert_int_equal(client_end(&c), AGENT_LINK);
}

/* What cannot be prepared says why, and the agent goes on. */
static void bad_preparations(void **state)
{
	static const struct {
		const char *spec, *why; /* escaped */
	} cases[] = {
		{"test=getppid1 cpus=%s colour=red", "colour"},
		{"test=getppid1 cpus=%s mode=fibres", "fibres"},
		{"test=getppid1 cpus=%s family=none", "none"},
		{"test=getppid0 cpus=%s", "getppid0"},
		{"test=getppid1 cpus=%s p.size=4096", "size"},
		{"test=getppid1 cpus=%s guard=-1", "guard"},
		{"test=getppid1 cpus=%s sampler=x", "sampler"},
		{"test=getppid1 cpus=%s dir=%%G1", "escaped"},
		{"test=getppid1 cpus=%s word", "word"},
		{"test=getppid1 cpus=%s dir=/nonexistent/%%2E", "/nonexistent"},
		{"cpus=%s", "test"},
		{"test=getppid1", "cpus"},
		{"test=getppid1 cpus=", "cpus"},
		{"test=getppid1 tasks=2", "cpus"},
		{"test=getppid1 tasks=2 cpus=%s", "tasks"},
		{"test=getppid1 cpus=0-", "cpus"},
		{"test=getppid1 cpus=3-1", "cpus"},
		{"test=getppid1 cpus=0-9999", "cpus"},
		{"test=getppid1 cpus=99999999999999999999", "cpus"},
		{"test=getppid1 cpus=4095", "4095"}, /* no machine of tests has it */
	};
	struct client c;

	client_start_greeted(&c, "a");
	assert_starts(client_ask(&c, "PREP"), "NO ");
	assert_starts(client_ask(&c, "PREP 1"), "NO ");
	assert_starts(client_ask(&c, "PREP x test=getppid1"), "NO ");
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char spec[200], want[40];

		snprintf(spec, sizeof(spec), cases[i].spec, cpu);
		snprintf(want, sizeof(want), "OK %u", i + 1);
		assert_string_equal(client_ask(&c, "PREP %u %s", i + 1, spec), want);
		assert_starts(client_settled(&c, i + 1), "failed ");
		assert_contains(c.reply, cases[i].why);
		assert_starts(client_ask(&c, "GO %u 1 2 3 1 9", i + 1), "NO ");
		assert_starts(client_ask(&c, "GET result 0"), "NO ");
	}
	assert_int_equal(client_end(&c), AGENT_LINK);
}

static void what_cannot_run_is_unavailable(void **state)
{
	struct client c;

	client_start_greeted(&c, "a");
	client_ask(&c, "PREP 1 test=open4 cpus=%s p.path=/nonexistent/file", cpu);
	assert_starts(client_settled(&c, 1), "unavailable ");
	assert_contains(c.reply, "/nonexistent/file");
	assert_starts(client_ask(&c, "GO 1 1 2 3 1 9"), "NO ");
	/* The agent goes on. */
	client_ask(&c, "PREP 2 test=getppid1 cpus=%s", cpu);
	assert_string_equal(client_settled(&c, 2), "ready");
	client_end(&c);
}

static void go_wants_ready_and_an_order_of_time(void **state)
{
	static const char *const bad[] = {
		"",
		"1",
		"1 2 3 1",
		"1 2 3 1 9 9",
		"9 2 3 1 20", /* first before start */
		"1 2 0 1 20",
		"1 2 3 0 20",
		"1 2 3 -1 20",
		"1 2 10 2 20",
		"x 2 3 1 20",
		"1 2 9223372036854775807 2 9223372036854775807",
		"1 20 1 1 2",
		"-5 2 3 1 20",
		"1 2 1 1000000000 9223372036854775807",
	};
	struct client c;

	client_start_greeted(&c, "a");
	assert_starts(client_ask(&c, "GO 1 1 2 3 1 9"), "NO ");
	client_ask(&c, "PREP 1 test=getppid1 cpus=%s", cpu);
	/* Ready or not by now: another cell's GO is none. */
	assert_starts(client_ask(&c, "GO 2 1 2 3 1 9"), "NO ");
	assert_string_equal(client_settled(&c, 1), "ready");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_starts(client_ask(&c, "GO 1%s%s", *bad[i] ? " " : "", bad[i]), "NO ");
	assert_string_equal(client_settled(&c, 1), "ready");
	client_go(&c, 1, 1, 100, 10);
	assert_starts(client_settled(&c, 1), "done ");
	/* A second GO for what is over. */
	assert_starts(client_ask(&c, "GO 1 1 2 3 1 9"), "NO ");
	client_end(&c);
}

/* The processes that descend from this one, by their parent's number. */
static int children_of(pid_t parent, pid_t *out, int max)
{
	cleanup_dir DIR *d = opendir("/proc");
	int n = 0;

	for (struct dirent *entry; d && (entry = readdir(d));) {
		char path[300], text[300] = "";
		int ppid;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		f = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (!f)
			continue;
		if (fgets(text, sizeof(text), f) && strrchr(text, ')') &&
		    sscanf(strrchr(text, ')'), ") %*c %d", &ppid) == 1 && ppid == parent && n < max)
			out[n++] = atoi(entry->d_name);
		fclose(f);
	}
	return n;
}

static void wait_until_gone(pid_t pid)
{
	for (int i = 0; i < 6000 && kill(pid, 0) == 0; i++)
		poll(NULL, 0, 10);
	assert_int_not_equal(kill(pid, 0), 0);
}

/* Into a long run, by the numbers of runner and task. */
static void start_long(struct client *c, unsigned int id, pid_t *runner, pid_t *task)
{
	client_ask(c, "PREP %u test=getppid1 cpus=%s", id, cpu);
	assert_string_equal(client_settled(c, id), "ready");
	assert_int_equal(children_of(c->pid, runner, 1), 1);
	assert_int_equal(children_of(*runner, task, 1), 1);
	client_go(c, id, 600, 1000, 10);
}

static void drop_ends_what_runs(void **state)
{
	pid_t runner, task;
	struct client c;

	client_start_greeted(&c, "a");
	start_long(&c, 1, &runner, &task);
	assert_string_equal(client_ask(&c, "DONE 1"), "OK 1 running");
	/* Another's number drops nothing. */
	assert_string_equal(client_ask(&c, "DROP 2"), "OK 2");
	assert_string_equal(client_ask(&c, "DONE 1"), "OK 1 running");
	assert_string_equal(client_ask(&c, "DROP 1"), "OK 1");
	wait_until_gone(runner);
	wait_until_gone(task);
	assert_starts(client_ask(&c, "DONE 1"), "NO ");
	/* And the next one takes its place, also without DROP. */
	start_long(&c, 2, &runner, &task);
	start_long(&c, 3, &runner, &task);
	assert_string_equal(client_ask(&c, "DONE 3"), "OK 3 running");
	assert_starts(client_ask(&c, "DONE 2"), "NO ");
	assert_int_equal(client_end(&c), AGENT_LINK);
	wait_until_gone(runner);
	wait_until_gone(task);
}

static void off_wants_the_token(void **state)
{
	struct client c;

	client_start_greeted(&c, "a");
	assert_starts(client_ask(&c, "OFF"), "NO ");
	assert_starts(client_ask(&c, "OFF b"), "NO ");
	assert_starts(client_ask(&c, "OFF a a"), "NO ");
	assert_starts(client_ask(&c, "TIME 1"), "OK ");
	assert_string_equal(client_ask(&c, "OFF a"), "OK");
	assert_int_equal(client_end(&c), AGENT_OFF);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_until_hi),
		cmocka_unit_test(facts_in_chunks),
		cmocka_unit_test(time_and_cpus),
		cmocka_unit_test(cell_of_getppid1),
		cmocka_unit_test(cell_of_unlink1),
		cmocka_unit_test(repeated_and_old_numbers),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(bad_preparations),
		cmocka_unit_test(what_cannot_run_is_unavailable),
		cmocka_unit_test(go_wants_ready_and_an_order_of_time),
		cmocka_unit_test(drop_ends_what_runs),
		cmocka_unit_test(off_wants_the_token),
	};

	client_dispatch(argc, argv);
	client_cpus(cpu, sizeof(cpu), 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
