// SPDX-License-Identifier: GPL-2.0-or-later
/* One attempt at a cell: prepare, agree on a start, keep silent, fetch what was counted. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/frame.h"
#include "harness/session/internal.h"

#define CLOCK_ROUNDS 16

/* For one answer. A guest that is alive but this slow cannot be told from one that hangs. */
#define ANSWER_TIMEOUT_MS 60000

/* For a partition that has just been found not to answer. */
#define LOST_TIMEOUT_MS 2000

/* Test files for a large machine's tasks take minutes on an emulated one. */
#define PREPARE_TIMEOUT_NS (900 * NSEC_PER_SEC)

/* After the stop: the slowest task still ends its iteration, and the runner its clean-up. */
#define DONE_TIMEOUT_NS (300 * NSEC_PER_SEC)

/* Polls of DONE start quick, since most tests are ready at once, and soon become rare. */
#define POLL_FIRST_NS (2 * NSEC_PER_MSEC)
#define POLL_MAX_NS   (100 * NSEC_PER_MSEC)

/*
 * How far ahead the start lies: every agent has to hear GO before. A GO takes a round trip, which
 * is at most twice the uncertainty of the clock and a little more as the frame is longer.
 */
#define LEAD_NS	     (20 * NSEC_PER_MSEC)
#define LEAD_EACH_NS (10 * NSEC_PER_MSEC)
#define LEAD_MAX_NS  (5 * NSEC_PER_SEC)

/* Sleeps until then on our clock; false when a signal ended it. */
static bool sleep_until(int64_t when)
{
	for (;;) {
		int64_t left = when - clock_ns();
		struct timespec ts = {left / NSEC_PER_SEC, left % NSEC_PER_SEC};

		if (stop_asked())
			return false;
		if (left <= 0)
			return true;
		/* The raw clock cannot be slept on; a slewed one comes close, and then again. */
		nanosleep(&ts, NULL);
	}
}

/* What an error of the link means for the attempt. */
static enum outcome outcome_of(int ret)
{
	switch (ret) {
	case -EINTR:
		return OUTCOME_STOPPED;
	case -EREMOTEIO:
	case -EPROTO:
	case -EFBIG:
		return OUTCOME_FAILED;
	default:
		return OUTCOME_LOST;
	}
}

static enum outcome failed(const struct part *p, int ret, struct err *e)
{
	if (ret != -ESHUTDOWN && ret != -EINTR)
		err_wrap(e, "partition \"%s\"", p->m->partition->name);
	return outcome_of(ret);
}

/* Appends " key=value" with the value escaped; false when it does not fit. */
static bool add_word(char *line, size_t size, const char *prefix, const char *key, const char *value)
{
	char word[2048];
	size_t len = strlen(line);
	int n;

	if (word_escape(word, sizeof(word), value, strlen(value)) < 0)
		return false;
	n = snprintf(line + len, size - len, " %s%s=%s", prefix, key, word);
	return n >= 0 && (size_t)n < size - len;
}

/* The CPUs of a part in the agent's numbers, in the order of its tasks. */
static int cpu_list(const struct attempt *a, const struct part *p, char *list, size_t size,
		    struct err *e)
{
	size_t len = 0;

	list[0] = '\0';
	for (int i = 0; i < p->ntasks; i++) {
		int cpu = a->cell->placement->cpus[p->first_task + i];
		int there = p->m->backend->ops->agent_cpu(p->m->backend, p->m->index, cpu);
		int n = snprintf(list + len, size - len, "%s%d", i ? "," : "", there);

		if (there < 0)
			return err_set(e, EINVAL, "CPU %d has no number in partition \"%s\"", cpu,
				       p->m->partition->name);
		if (n < 0 || (size_t)n >= size - len)
			return err_set(e, E2BIG, "too many tasks for one request");
		len += n;
	}
	return 0;
}

/* A quiet CPU of the partition carries the sampler, where there is one. */
static void sampler_of(const struct part *p, char *word, size_t size)
{
	const struct cpumask *quiet = &p->m->s->env->plan->quiet;

	snprintf(word, size, "-");
	cpumask_for_each(cpu, &p->m->partition->cpus) {
		int there = p->m->backend->ops->agent_cpu(p->m->backend, p->m->index, cpu);

		if (there >= 0 && cpumask_test(quiet, cpu)) {
			snprintf(word, size, "%d", there);
			return;
		}
	}
}

static enum outcome prepare(struct attempt *a, struct part *p, uint32_t id, struct err *e)
{
	const struct plan *plan = p->m->s->env->plan;
	const struct plan_test *t = &plan->tests[a->cell->test];
	char line[FRAME_PAYLOAD_MAX] = "", cpus[4096], sampler[16], guard[32], reply[1024];
	bool fits;
	int ret = cpu_list(a, p, cpus, sizeof(cpus), e);

	if (ret < 0)
		return OUTCOME_FAILED;
	sampler_of(p, sampler, sizeof(sampler));
	snprintf(guard, sizeof(guard), "%" PRId64, plan->guard_ns);
	fits = add_word(line, sizeof(line), "", "family", t->family) &&
	       add_word(line, sizeof(line), "", "test", t->test) &&
	       add_word(line, sizeof(line), "", "mode",
			a->cell->mode == MODE_THREADS ? "threads" : "processes") &&
	       add_word(line, sizeof(line), "", "cpus", cpus) &&
	       add_word(line, sizeof(line), "", "guard", guard);
	for (int i = 0; fits && i < t->nparams; i++)
		fits = add_word(line, sizeof(line), "p.", t->params[i].name, t->params[i].value);
	if (!fits) {
		err_set(e, E2BIG, "the parameters of %s do not fit a request", t->test);
		return OUTCOME_FAILED;
	}
	/* A lone dash stands for "none" here, so these two are not escaped. */
	ret = link_ask(p->m->link, reply, sizeof(reply), ANSWER_TIMEOUT_MS, e,
		       "PREP %u%s sampler=%s dir=-", id, line, sampler);
	return ret < 0 ? failed(p, ret, e) : OUTCOME_MEASURED;
}

/* The agent's reason: what is left of a reply, as text for people. */
static void reason_of(char *words, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (char *word = words; word && *word && n + 1 < size;) {
		char *next = strchr(word, ' ');
		int len;

		if (next)
			*next++ = '\0';
		len = word_unescape(word);
		if (n)
			out[n++] = ' ';
		for (int i = 0; i < len && n + 1 < size; i++)
			out[n++] = word[i] >= 0x20 && word[i] < 0x7f ? word[i] : '?';
		word = next;
	}
	out[n] = '\0';
	if (!n)
		snprintf(out, size, "no reason given");
}

/* Polls DONE until the wanted state is there. */
static enum outcome await(struct part *p, uint32_t id, const char *want, int64_t timeout_ns,
			  struct err *e)
{
	int64_t end = clock_ns() + timeout_ns, pause = POLL_FIRST_NS;

	for (;;) {
		char reply[FRAME_PAYLOAD_MAX + 1], state[32] = "", why[1000];
		int at = 0, ret = link_ask(p->m->link, reply, sizeof(reply), ANSWER_TIMEOUT_MS, e,
					   "DONE %u", id);

		if (ret < 0)
			return failed(p, ret, e);
		if (sscanf(reply, "%*u %31s %n", state, &at) < 1 || !at)
			at = strlen(reply);
		if (strcmp(state, want) == 0)
			return OUTCOME_MEASURED;
		if (strcmp(state, "failed") == 0 || strcmp(state, "unavailable") == 0) {
			reason_of(reply + at, why, sizeof(why));
			err_set(e, EREMOTEIO, "partition \"%s\": %s", p->m->partition->name, why);
			return *state == 'f' ? OUTCOME_FAILED : OUTCOME_UNAVAILABLE;
		}
		if (strcmp(state, "preparing") != 0 && strcmp(state, "running") != 0 &&
		    strcmp(state, "ready") != 0) {
			err_set(e, EPROTO, "partition \"%s\": an unknown state of the cell: %.40s",
				p->m->partition->name, reply);
			return OUTCOME_FAILED;
		}
		if (clock_ns() > end) {
			err_set(e, ETIMEDOUT, "partition \"%s\" was still %s after %d s",
				p->m->partition->name, state, (int)(timeout_ns / NSEC_PER_SEC));
			return OUTCOME_FAILED;
		}
		if (!sleep_until(clock_ns() + pause)) {
			err_set(e, EINTR, "stopped by a signal");
			return OUTCOME_STOPPED;
		}
		pause = pause * 2 > POLL_MAX_NS ? POLL_MAX_NS : pause * 2;
	}
}

static enum outcome read_clock(struct part *p, struct clock_fix *fix, struct err *e)
{
	int ret = link_time(p->m->link, CLOCK_ROUNDS, fix, e);

	return ret < 0 ? failed(p, ret, e) : OUTCOME_MEASURED;
}

/* Tells everyone when to start; *stop is the end on our clock. */
static enum outcome go(struct attempt *a, uint32_t id, int64_t *stop, struct err *e)
{
	const struct plan *plan = a->up->s->env->plan;
	int64_t lead = LEAD_NS, start, first, warmup;

	for (int i = 0; i < a->n; i++)
		lead += LEAD_EACH_NS + 4 * a->parts[i].before.uncertainty_ns;
	if (lead > LEAD_MAX_NS)
		lead = LEAD_MAX_NS;
	warmup = plan->warmup_ns > plan->guard_ns ? plan->warmup_ns : plan->guard_ns;
	start = clock_ns() + lead;
	first = start + warmup;
	*stop = first + plan->samples * plan->interval_ns + plan->guard_ns;
	for (int i = 0; i < a->n; i++) {
		struct part *p = &a->parts[i];
		int64_t offset = p->before.offset_ns;
		char reply[256];
		int ret;

		p->start = start + offset;
		p->first = first + offset;
		p->stop = *stop + offset;
		ret = link_ask(p->m->link, reply, sizeof(reply), ANSWER_TIMEOUT_MS, e,
			       "GO %u %" PRId64 " %" PRId64 " %" PRId64 " %d %" PRId64, id,
			       p->start, p->first, plan->interval_ns, plan->samples, p->stop);
		/* It has heard too late, then. Whether all ran in time is told by the cover. */
		if (ret == -EREMOTEIO) {
			failed(p, ret, e);
			return OUTCOME_INVALID;
		}
		if (ret < 0)
			return failed(p, ret, e);
	}
	return OUTCOME_MEASURED;
}

int64_t part_host_time(const struct part *p, int64_t agent_ns)
{
	int64_t span = p->after.host_ns - p->before.host_ns;
	int64_t moved = p->after.offset_ns - p->before.offset_ns;
	int64_t host = agent_ns - p->before.offset_ns;
	double along = span > 0 ? (double)(host - p->before.host_ns) / span : 0;

	return host - (int64_t)(moved * along);
}

static void compare_clocks(struct part *p)
{
	double span = p->after.host_ns - p->before.host_ns;

	if (span <= 0)
		return;
	p->rate_error = (p->after.offset_ns - p->before.offset_ns) / span;
	p->rate_slack = (p->before.uncertainty_ns + p->after.uncertainty_ns) / span;
}

static enum outcome fetch(struct part *p, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len;
	int ret = link_get(p->m->link, "result", RESULT_MAX, &text, &len, e);

	if (ret == 0)
		ret = result_parse(&p->result, text, len, e);
	if (ret < 0)
		return failed(p, ret, e);
	p->have_result = true;
	return OUTCOME_MEASURED;
}

/* An end that leaves nothing behind, also in partitions that are fine. */
static void drop(struct attempt *a, uint32_t id, int timeout_ms)
{
	for (int i = 0; i < a->n; i++) {
		struct member *m = a->parts[i].m;
		struct err silent = ERR_INIT;
		bool was = m->ending;
		char reply[256];

		m->ending = true;
		if (member_alive(m, &silent) == 0)
			link_ask(m->link, reply, sizeof(reply), timeout_ms, &silent, "DROP %u", id);
		m->ending = was;
	}
}

/* Does one thing for each part, until one does not succeed. */
#define for_parts(out, p, a, call)                                                                   \
	for (struct part *p = (a)->parts; (out) == OUTCOME_MEASURED && p < (a)->parts + (a)->n; p++) \
	(out) = (call)

static enum outcome measure(struct attempt *a, uint32_t id, struct err *e)
{
	enum outcome out = OUTCOME_MEASURED;
	const struct plan *plan = a->up->s->env->plan;
	int64_t began = clock_ns(), prepared, stop = 0;

	for_parts(out, p, a, prepare(a, p, id, e));
	for_parts(out, p, a, await(p, id, "ready", PREPARE_TIMEOUT_NS, e));
	for_parts(out, p, a, read_clock(p, &p->before, e));
	if (out != OUTCOME_MEASURED)
		return out;
	prepared = clock_ns();
	a->prepare = seconds_between(began, prepared);
	out = go(a, id, &stop, e);
	if (out != OUTCOME_MEASURED)
		return out;
	/* Silence: no frame, no poll, no byte to a terminal or a file. */
	if (!sleep_until(stop)) {
		err_set(e, EINTR, "stopped by a signal");
		return OUTCOME_STOPPED;
	}
	a->measure = (plan->warmup_ns + plan->samples * plan->interval_ns) / 1e9;
	for_parts(out, p, a, await(p, id, "done", DONE_TIMEOUT_NS, e));
	for_parts(out, p, a, read_clock(p, &p->after, e));
	for_parts(out, p, a, fetch(p, e));
	if (out != OUTCOME_MEASURED)
		return out;
	for (int i = 0; i < a->n; i++)
		compare_clocks(&a->parts[i]);
	return attempt_check(a, e) < 0 ? OUTCOME_INVALID : OUTCOME_MEASURED;
}

/* The parts of the arm that have tasks in this cell. */
static int make_parts(struct attempt *a)
{
	const struct placement *where = a->cell->placement;
	int task = 0;

	a->parts = calloc(a->up->n, sizeof(*a->parts));
	if (!a->parts)
		return -ENOMEM;
	for (int i = 0; i < a->up->n; i++) {
		if (where->counts[i] > 0)
			a->parts[a->n++] = (struct part){
				.m = &a->up->members[i],
				.first_task = task,
				.ntasks = where->counts[i],
			};
		task += where->counts[i];
	}
	return 0;
}

enum outcome attempt_run(struct attempt *a, struct err *e)
{
	uint32_t id = ++a->up->s->next_id;
	int64_t began = clock_ns();
	enum outcome out;

	if (make_parts(a) < 0) {
		err_set(e, ENOMEM, "no memory");
		return OUTCOME_FAILED;
	}
	out = measure(a, id, e);
	drop(a, id, out == OUTCOME_LOST ? LOST_TIMEOUT_MS : ANSWER_TIMEOUT_MS);
	a->total = seconds_between(began, clock_ns());
	return out;
}

void attempt_free(struct attempt *a)
{
	for (int i = 0; i < a->n; i++)
		if (a->parts[i].have_result)
			result_free(&a->parts[i].result);
	free(take_ptr(a->parts));
	a->n = 0;
}
