// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/boundary/boundary.h"
#include "bench/boundary/crew.h"
#include "bench/boundary/memory.h"
#include "bench/topology.h"

#define DEFAULT_REPEATS 5
#define CHECK_SIZE	(16 << 20)

static const char header[] = "test,variant,tier,cpu_a,cpu_b,mem_node,size,repeat,metric,value,unit";

struct printer {
	const char *test, *label;
	bool extended;
};

static void print_row(void *arg, const struct row *r, int repeat)
{
	const struct printer *p = arg;

	printf("%s,%s,%s,%d,%d,%d,%" PRIu64 ",%d,%s,%.3f,%s", p->test, r->variant, p->label,
	       r->cpu_a, r->cpu_b, r->mem_node, r->size, repeat, r->metric, r->value, r->unit);
	if (p->extended)
		printf(",%d", r->real_node);
	putchar('\n');
	fflush(stdout);
}

static void print_note(void *arg, const char *text)
{
	const struct printer *p = arg;

	fprintf(stderr, "%s: %s\n", p->test, text);
}

static int complain(const char *command, const struct err *e)
{
	fprintf(stderr, "%s: %s\n", command, e->text);
	return e->exit ? e->exit : EXIT_FAILURE;
}

static void usage(FILE *to)
{
	fputs("usage: mkbench COMMAND [options]\n"
	      "commands: check memlat membw pingpong atomics lock ipc wakeup tlbshoot csvheader\n"
	      "          tiers (the pairs of CPUs and nodes that stand for T0 to T3)\n"
	      "all: -r REPEATS (5) -l LABEL (-) -x more rows, and a column behind unit\n"
	      "COMMAND --help lists the command's own\n",
	      to);
}

static int run_repeats(const struct boundary_test *t, const struct options *o, long repeats,
		       struct sink *s, struct err *e)
{
	void *state = NULL;
	int ret = t->setup(o, s, &state, e);

	for (s->repeat = 0; ret == 0 && s->repeat < repeats; s->repeat++)
		ret = t->repeat(state, s, e);
	if (state)
		t->teardown(state);
	return ret;
}

static int run_test(const struct boundary_test *t, int argc, char **argv)
{
	struct printer p = {.test = t->name, .label = "-"};
	struct sink s = {.row = print_row, .note = print_note, .arg = &p};
	struct err e = ERR_INIT;
	struct options o;
	long repeats;

	if (options_parse(&o, argc, argv, t->letters, &e) < 0 ||
	    option_number(&o, 'r', DEFAULT_REPEATS, INT_MIN, INT_MAX, &repeats, &e) < 0)
		return complain(t->name, &e);
	if (o.value['l'])
		p.label = o.value['l'];
	p.extended = s.extended = o.value['x'] != NULL;
	if (repeats <= 0)
		return EXIT_SUCCESS;
	return run_repeats(t, &o, repeats, &s, &e) < 0 ? complain(t->name, &e) : EXIT_SUCCESS;
}

int boundary_check(const struct options *o, char *line, size_t size, struct err *e)
{
	struct memory m = {0};
	struct err inner = ERR_INIT;
	long node;
	int cpu, ret;

	if (option_cpu(o, 'c', 0, &cpu, e) < 0 ||
	    option_number(o, 'm', 0, INT16_MIN, INT16_MAX, &node, e) < 0)
		return e->code;
	ret = pin_to_cpu(cpu, &inner);
	if (ret == 0)
		ret = memory_map(&m, CHECK_SIZE, (int)node, HUGE_SYSTEM, &inner);
	if (ret == 0) {
		memory_touch(&m);
		ret = memory_verify(&m, 1, &inner);
	}
	memory_unmap(&m);
	if (ret == -EXDEV) {
		snprintf(line, size, "check FAIL: %s", inner.text);
		return ret;
	}
	if (ret < 0) {
		*e = inner;
		return ret;
	}
	if (node < 0)
		snprintf(line, size, "check PASS cpu=%d node=default (no node asked for)", cpu);
	else if (m.real_node != node)
		snprintf(line, size, "check PASS cpu=%d node=default (not to be verified)", cpu);
	else
		snprintf(line, size, "check PASS cpu=%d node=%ld", cpu, node);
	return 0;
}

static int run_check(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct options o;
	char line[2100];
	int ret;

	if (options_parse(&o, argc, argv, "c:m:", &e) < 0)
		return complain("check", &e);
	ret = boundary_check(&o, line, sizeof(line), &e);
	if (ret < 0 && ret != -EXDEV)
		return complain("check", &e);
	puts(line);
	return ret < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_header(int argc, char **argv)
{
	bool extended = argc > 0 && strcmp(argv[0], "-x") == 0;

	printf("%s%s\n", header, extended ? ",real_node" : "");
	return EXIT_SUCCESS;
}

static int run_tiers(int argc, char **argv)
{
	cleanup_cpumask struct cpumask allowed = CPUMASK_INIT;
	cleanup_topology struct topology t = TOPOLOGY_INIT;
	struct err e = ERR_INIT;
	int a, b;

	if (cpumask_get_affinity(&allowed, 0, &e) < 0 || topology_read(&t, "", &allowed, &e) < 0)
		return complain("tiers", &e);
	for (enum tier tier = TIER_T0; tier <= TIER_T3; tier++)
		if (topology_pair(&t, tier, &a, &b) == 0)
			printf("%s %d %d\n", tier_name(tier), a, b);
	printf("local %d %d\n", t.cpus[0].cpu, t.cpus[0].node);
	b = topology_remote_node(&t, t.cpus[0].cpu);
	if (b >= 0)
		printf("remote %d %d\n", t.cpus[0].cpu, b);
	return EXIT_SUCCESS;
}

int boundary_main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {{"check", run_check}, {"csvheader", run_header}, {"tiers", run_tiers}};
	const struct boundary_test *t;

	if (argc >= 2 && strcmp(argv[1], "--help") == 0) {
		usage(stdout);
		return EXIT_SUCCESS;
	}
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 2, argv + 2);
	t = find_boundary_test(argv[1]);
	if (!t) {
		fprintf(stderr, "mkbench: unknown command \"%s\"\n", argv[1]);
		usage(stderr);
		return EXIT_USAGE;
	}
	if (argc >= 3 && strcmp(argv[2], "--help") == 0) {
		printf("usage: mkbench %s [options]\n%s"
		       "  -r REPEATS (5) -l LABEL (-) -x more rows\n",
		       t->name, t->help);
		return EXIT_SUCCESS;
	}
	return run_test(t, argc - 2, argv + 2);
}
