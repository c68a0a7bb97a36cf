// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/byhand.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "bench/launch.h"
#include "bench/spec.h"
#include "bench/topology.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/frame.h"

/* Samples that are printed and not counted, as upstream's constant and loop have it. */
#define WARMUP_SAMPLES 6

#define INTERVAL_NS    NSEC_PER_SEC
#define GUARD_NS       (100 * NSEC_PER_MSEC)
#define START_AHEAD_NS (50 * NSEC_PER_MSEC)

struct options {
	const char *test, *dir, *cpus;
	long tasks, samples;
	bool smt, unpinned, threads, verbose, json, oversubscribe;
};

/* What is added up while samples arrive. */
struct tally {
	const struct options *o;
	int n;
	uint64_t last[SPEC_TASKS_MAX];
	int64_t last_time;
	uint64_t sum; /* of counted samples */
	bool any;
};

enum {
	OPT_THREADS = 256,
	OPT_JSON,
	OPT_DIR,
	OPT_CPUS,
	OPT_OVERSUBSCRIBE
};

static const struct option long_options[] = {
	{"tasks", required_argument, NULL, 't'},
	{"samples", required_argument, NULL, 's'},
	{"smt", no_argument, NULL, 'm'},
	{"no-affinity", no_argument, NULL, 'n'},
	{"verbose", no_argument, NULL, 'v'},
	{"threads", no_argument, NULL, OPT_THREADS},
	{"json", no_argument, NULL, OPT_JSON},
	{"dir", required_argument, NULL, OPT_DIR},
	{"cpus", required_argument, NULL, OPT_CPUS},
	{"oversubscribe", no_argument, NULL, OPT_OVERSUBSCRIBE},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void usage(FILE *f)
{
	fputs("usage: mksplit-bench scale TEST [options]\n"
	      "  -t, --tasks N       tasks (default 1)\n"
	      "  -s, --samples N     samples of a second, after 6 that are not counted (default "
	      "5)\n"
	      "  -m, --smt           tasks on hardware threads too, not only one a core\n"
	      "  -n, --no-affinity   no pinning\n"
	      "      --threads       threads of one process instead of processes\n"
	      "      --cpus LIST     these CPUs, in this order\n"
	      "      --oversubscribe more tasks than CPUs are wanted\n"
	      "      --dir DIR       files go there, instead of into a tmpfs\n"
	      "  -v, --verbose       every task's count\n"
	      "      --json          samples as JSON\n"
	      "`mksplit-bench list` names the tests.\n",
	      f);
}

static int parse_count(const char *what, const char *text, long max, long *value)
{
	char *end;

	errno = 0;
	*value = strtol(text, &end, 10);
	if (!errno && end != text && !*end && *value >= 1 && *value <= max)
		return 0;
	fprintf(stderr, "mksplit-bench: %s: a number from 1 to %ld is wanted, not \"%s\"\n", what,
		max, text);
	return -EINVAL;
}

/* 0, or the exit status to end with. */
static int parse(int argc, char **argv, struct options *o, bool *over)
{
	int c;

	*over = true;
	*o = (struct options){.tasks = 1, .samples = 5};
	while ((c = getopt_long(argc, argv, "t:s:mnvh", long_options, NULL)) != -1) {
		switch (c) {
		case 't':
			if (parse_count("tasks", optarg, SPEC_TASKS_MAX, &o->tasks) < 0)
				return EXIT_USAGE;
			break;
		case 's':
			if (parse_count("samples", optarg, 100000, &o->samples) < 0)
				return EXIT_USAGE;
			break;
		case 'm':
			o->smt = true;
			break;
		case 'n':
			o->unpinned = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case OPT_THREADS:
			o->threads = true;
			break;
		case OPT_JSON:
			o->json = true;
			break;
		case OPT_DIR:
			o->dir = optarg;
			break;
		case OPT_CPUS:
			o->cpus = optarg;
			break;
		case OPT_OVERSUBSCRIBE:
			o->oversubscribe = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind != argc - 1) {
		usage(stderr);
		return EXIT_USAGE;
	}
	o->test = argv[optind];
	*over = false;
	return 0;
}

/* One task a core in topology order, never outside the inherited mask. */
static int default_cpus(const struct options *o, FILE *f, int *n, struct err *e)
{
	cleanup_cpumask struct cpumask allowed = CPUMASK_INIT;
	cleanup_topology struct topology t = TOPOLOGY_INIT;
	int ret = cpumask_get_affinity(&allowed, 0, e);

	if (ret == 0 && o->cpus) {
		cleanup_cpumask struct cpumask wanted = CPUMASK_INIT;

		ret = cpumask_parse(&wanted, o->cpus, e);
		if (ret == 0 && !cpumask_subset(&wanted, &allowed)) {
			cleanup_free char *list = cpumask_format(&allowed);

			ret = err_usage(e, "--cpus %s: allowed are %s", o->cpus, list ? list : "?");
		}
		/* In the order given, which a mask does not keep. */
		*n = cpumask_weight(&wanted);
		fputs(o->cpus, f);
		return ret;
	}
	if (ret == 0)
		ret = topology_read(&t, "", &allowed, e);
	*n = 0;
	for (int i = 0; ret == 0 && i < t.n; i++) {
		if (t.cpus[i].thread > 0 && !o->smt)
			continue;
		fprintf(f, "%s%d", *n ? "," : "", t.cpus[i].cpu);
		++*n;
	}
	return ret;
}

/* "0,1,0,1": as many as there are tasks. */
static int choose_cpus(const struct options *o, char **list, struct err *e)
{
	cleanup_free char *have = NULL;
	size_t size;
	FILE *f = open_memstream(&have, &size);
	int n = 0, ret = f ? default_cpus(o, f, &n, e) : err_set(e, ENOMEM, "no memory"), at = 0;

	if (f)
		fclose(f);
	if (ret < 0)
		return ret;
	if (o->tasks > n && !o->oversubscribe)
		return err_usage(e,
				 "%ld tasks need %ld CPUs, usable: %d (%s%s); fewer tasks%s, or "
				 "--oversubscribe",
				 o->tasks, o->tasks, n, have, o->smt || o->cpus ? "" : ", one a core",
				 o->smt || o->cpus ? "" : ", -m");
	f = open_memstream(list, &size);
	if (!f)
		return err_set(e, ENOMEM, "no memory");
	for (long task = 0; task < o->tasks;) {
		cleanup_free char *copy = strdup(have);

		for (char *save, *part = copy ? strtok_r(copy, ",", &save) : NULL;
		     part && task < o->tasks; part = strtok_r(NULL, ",", &save)) {
			int first = atoi(part),
			    last = strchr(part, '-') ? atoi(strchr(part, '-') + 1) : first;

			for (int cpu = first; cpu <= last && task < o->tasks; cpu++, at++, task++)
				fprintf(f, "%s%d", at ? "," : "", cpu);
		}
		if (!copy)
			break;
	}
	return fclose(f) == 0 ? 0 : err_set(e, ENOMEM, "no memory");
}

static void print_sample(void *arg, int k, int64_t before, int64_t after, const uint64_t *counts,
			 int n)
{
	struct tally *t = arg;
	const struct options *o = t->o;
	uint64_t sum = 0, min = UINT64_MAX, max = 0;
	int64_t now = before + (after - before) / 2;

	if (n > SPEC_TASKS_MAX)
		n = SPEC_TASKS_MAX;
	if (o->json)
		printf("%s\n  {\"k\": %d, \"before\": %" PRId64 ", \"after\": %" PRId64
		       ", \"counts\": [",
		       t->any ? "," : "", k, before, after);
	for (int i = 0; i < n; i++) {
		/* As upstream's sleep(1) means it, but over the time that was measured. */
		uint64_t diff = k == 0 ? 0
				       : (uint64_t)((double)(counts[i] - t->last[i]) * INTERVAL_NS /
						    (double)(now - t->last_time));

		if (o->json)
			printf("%s%" PRIu64, i ? ", " : "", counts[i]);
		else if (k > 0 && o->verbose)
			printf("%4d -> %" PRIu64 "\n", i, diff);
		sum += diff;
		min = diff < min ? diff : min;
		max = diff > max ? diff : max;
		t->last[i] = counts[i];
	}
	if (o->json)
		fputs("]}", stdout);
	else if (k > 0)
		printf("min:%" PRIu64 " max:%" PRIu64 " total:%" PRIu64 "\n", min, max, sum);
	if (!o->json && k == WARMUP_SAMPLES)
		puts("measurement");
	if (k > WARMUP_SAMPLES)
		t->sum += sum;
	t->last_time = now;
	t->any = true;
	fflush(stdout);
}

static char *spec_of(const struct options *o, const char *cpus)
{
	char test[200], dir[4096] = "-";
	char *spec;

	if (word_escape(test, sizeof(test), o->test, strlen(o->test)) < 0 ||
	    (o->dir && word_escape(dir, sizeof(dir), o->dir, strlen(o->dir)) < 0))
		return NULL;
	if (asprintf(&spec, "family=scale test=%s mode=%s %s%s dir=%s live=1%s tasks=%ld", test,
		     o->threads ? "threads" : "processes",
		     o->unpinned ? "" : "cpus=", o->unpinned ? "sampler=-" : cpus, dir,
		     o->unpinned ? " unpinned=1" : "", o->tasks) < 0)
		return NULL;
	return spec;
}

static int wait_while(struct launch *l, enum launch_state state, int signals)
{
	while (l->state == state) {
		struct pollfd p[] = {{.fd = l->fd, .events = POLLIN},
				     {.fd = signals, .events = POLLIN}};

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents)
			return -EINTR;
		if (p[0].revents)
			launch_hear(l);
	}
	return 0;
}

static int measure(struct launch *l, const struct options *o, const char *spec, int signals,
		   struct err *e)
{
	struct go go = {.interval = INTERVAL_NS, .n = WARMUP_SAMPLES + (int)o->samples};
	int ret = launch_start(l, spec, e);

	if (ret == 0 && wait_while(l, LAUNCH_PREPARING, signals) < 0)
		ret = err_set(e, EINTR, "ended by a signal");
	if (ret == 0 && l->state == LAUNCH_READY) {
		go.start = clock_ns() + START_AHEAD_NS;
		go.first = go.start + GUARD_NS;
		go.stop = go.first + go.n * go.interval + GUARD_NS;
		if (!o->json)
			puts("warmup");
		ret = launch_go(l, &go, e);
		if (ret == 0 && wait_while(l, LAUNCH_RUNNING, signals) < 0)
			ret = err_set(e, EINTR, "ended by a signal");
	}
	if (ret == 0 && l->state != LAUNCH_DONE)
		ret = err_set(e, l->state == LAUNCH_UNAVAILABLE ? EOPNOTSUPP : EIO, "%s", l->why);
	return ret;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int run(const struct options *o, struct err *e)
{
	static struct tally tally;
	cleanup_free char *cpus = NULL, *spec = NULL;
	cleanup_close int signals = open_signals();
	const struct test_info *info = find_test(&scale_family, o->test);
	struct launch l = LAUNCH_INIT;
	int ret;

	if (!info)
		return err_usage(e, "there is no test \"%s\"; `mksplit-bench list` names them",
				 o->test);
	tally = (struct tally){.o = o};
	l.live = print_sample;
	l.live_arg = &tally;
	ret = o->unpinned ? 0 : choose_cpus(o, &cpus, e);
	if (ret < 0)
		return ret;
	spec = spec_of(o, cpus);
	if (!spec)
		return err_set(e, ENOMEM, "no memory, or a name that is too long");
	if (o->json)
		printf("{\"test\": \"%s\", \"tasks\": %ld, \"mode\": \"%s\", \"warmup\": %d, "
		       "\"samples\": [",
		       info->name, o->tasks, o->threads ? "threads" : "processes", WARMUP_SAMPLES);
	else
		printf("testcase:%s\n", info->title);
	fflush(stdout);
	ret = measure(&l, o, spec, signals, e);
	launch_drop(&l);
	if (ret < 0)
		return ret;
	if (o->json)
		printf("\n], \"average\": %" PRIu64 "}\n", tally.sum / (uint64_t)o->samples);
	else
		printf("average:%" PRIu64 "\n", tally.sum / (uint64_t)o->samples);
	return 0;
}

int byhand_main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct options o;
	bool over;
	int status = parse(argc, argv, &o, &over);

	if (over)
		return status;
	if (run(&o, &e) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "mksplit-bench: %s: %s\n", o.test, e.text);
	return e.code == -EINTR ? 130 : e.exit;
}
