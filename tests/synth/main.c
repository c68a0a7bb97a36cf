// SPDX-License-Identifier: GPL-2.0-or-later
/* synth [-b BLOCKS] [-s SEED] [-t NTESTS] [-c COUNTS] [-n NATURE] [-T] [-q SCALE] > events.jsonl */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/synth/synth.h"

static const struct synth_test named[] = {
	{"getppid1", .control = true, .ratio = 1, .anchor = 1, .rate = 1.5e7, .sigma = 0.008},
	{"futex4", .control = true, .ratio = 1, .anchor = 1, .rate = 7.6e6, .sigma = 0.008},
	{"poll2", .control = true, .ratio = 1, .anchor = 1, .rate = 1.5e6, .sigma = 0.008},
	{"unlink1", .primary = true, .ratio = 2.6, .anchor = 1.005, .rate = 4.6e5, .sigma = 0.9,
	 .kappa = 0.03},
	{"rename1", .primary = true, .ratio = 2.14, .anchor = 1.004, .rate = 8.5e5, .sigma = 0.7,
	 .kappa = 0.02},
	{"open1", .primary = true, .ratio = 2.02, .anchor = 1, .rate = 2e6, .sigma = 0.18},
	{"open3", .primary = true, .ratio = 2.17, .anchor = 1, .rate = 1.49e6, .sigma = 0.4},
	{"stat2", .primary = true, .ratio = 2.1, .anchor = 1, .rate = 3.36e6, .sigma = 0.3},
	{"mmap1", .primary = true, .ratio = 1.23, .anchor = 1, .rate = 7.9e5, .sigma = 0.03},
	{"tcp_conn1", .primary = true, .ratio = 1.16, .anchor = 1, .rate = 1.4e5, .sigma = 0.03},
	{"page_fault1", .ratio = 0.99, .anchor = 1, .rate = 6.9e5, .sigma = 0.1},
	{"brk1", .ratio = 1.015, .anchor = 0.94, .rate = 9e6, .sigma = 0.01},
	{"malloc1", .ratio = 0.95, .anchor = 1, .rate = 6e5, .sigma = 0.03},
};

enum {
	NAMED = sizeof(named) / sizeof(named[0]),
	TESTS_MAX = 200,
	COUNTS_MAX = 10
};

int main(int argc, char **argv)
{
	static const int counts[COUNTS_MAX] = {1, 2, 4, 8, 12, 16, 24, 32, 40, 48};
	static struct synth_test tests[TESTS_MAX];
	static char names[TESTS_MAX][24];
	struct synth s = synth_default;
	double quiet = 0.3;
	int opt;

	s.repetitions = 1;
	s.ntests = NAMED;
	s.ntasks = 7;
	while ((opt = getopt(argc, argv, "b:s:t:c:n:q:T")) != -1) {
		switch (opt) {
		case 'b':
			s.blocks = atoi(optarg);
			break;
		case 's':
			s.seed = strtoull(optarg, NULL, 10);
			break;
		case 't':
			s.ntests = atoi(optarg);
			break;
		case 'c':
			s.ntasks = atoi(optarg);
			break;
		case 'n':
			s.nature = optarg;
			break;
		case 'q':
			quiet = atof(optarg);
			break;
		case 'T':
			s.per_task = true;
			break;
		default:
			return 2;
		}
	}
	if (s.ntests < 1 || s.ntests > TESTS_MAX || s.ntasks < 1 || s.ntasks > COUNTS_MAX)
		return 2;
	for (int i = 0; i < s.ntests; i++) {
		tests[i] = named[i % NAMED];
		if (i >= NAMED) {
			snprintf(names[i], sizeof(names[i]), "%s_%d", named[i % NAMED].name,
				 i / NAMED);
			tests[i].name = names[i];
			tests[i].control = tests[i].primary = false;
		}
	}
	s.tests = tests;
	s.tasks = counts;
	s.sd_block *= quiet;
	s.sd_boot *= quiet;
	s.sd_repetition *= quiet;
	s.sd_sample *= quiet;
	s.control_share = 0.5;
	synth_write(stdout, &s);
	return ferror(stdout) ? 1 : 0;
}
