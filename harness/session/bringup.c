// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/frame.h"
#include "harness/session/internal.h"

/*
 * An emulated guest on a busy machine needs minutes to its agent's first word, and one that
 * died is noticed at once by asking the backend; so this only bounds a guest that hangs.
 */
#define HELLO_TIMEOUT_MS 300000
#define FACTS_TIMEOUT_MS 120000
#define FACTS_MAX	 (1 << 20)
#define OFF_TIMEOUT_MS	 5000

/*
 * Longer than anything that keeps us from speaking to an agent outside a cell: another
 * partition's way up.
 */
#define LEASE_S 900

/* How often agents hear from us while the user looks at what failed. */
#define HOLD_EVERY_S 60

int member_alive(void *arg, struct err *e)
{
	struct member *m = arg;
	char why[1500] = "";

	if (m->ending ? stop_hurry() : stop_asked() != 0)
		return err_set(e, EINTR, "stopped by a signal");
	if (m->backend->ops->state(m->backend, m->index, why, sizeof(why)) == KERNEL_DEAD)
		return err_set(e, ESHUTDOWN, "partition \"%s\" is dead: %s", m->partition->name,
			       *why ? why : "no reason known");
	return 0;
}

static json_t *step_event(const struct session *s, int block, int arm, const struct step *step,
			  double seconds, const struct err *e, int ret)
{
	return json_pack("{s:s,s:i,s:s,s:i,s:s,s:s?,s:f,s:b,s:s}", "event", "step", "block", block,
			 "arm", s->env->plan->arms[arm].name, "number", step->number, "kind",
			 step->kind, "what", step->what, "seconds", seconds, "ok", ret == 0,
			 "error", ret == 0 ? "" : e->text);
}

/* All steps between two layouts. On the way down a failed step does not keep the next ones. */
static int walk(struct up *u, const struct layout *is, const struct layout *want, bool down,
		struct err *e)
{
	const struct plan_arm *arm = &u->s->env->plan->arms[u->arm];
	struct steps steps = {0};
	int ret = u->backend->ops->plan(u->backend, is, want, &steps, e), failed = 0;

	if (ret < 0)
		return err_wrap(e, "arm \"%s\"", arm->name);
	for (int i = 0; i < steps.n && (down || failed == 0); i++) {
		const struct step *step = &steps.v[i];
		struct err own = ERR_INIT, store = ERR_INIT;
		int64_t began = clock_ns();

		if (!down && stop_asked()) {
			failed = err_set(e, EINTR, "stopped by a signal");
			break;
		}
		progress_say(u->s->progress, false, "  %s", step->what ? step->what : step->kind);
		ret = u->backend->ops->apply(u->backend, step, &own);
		if (ret < 0 && failed == 0) {
			*e = own;
			failed = err_wrap(e, "%s", step->what ? step->what : step->kind);
		}
		ret = store_event(u->s->env->store,
				  step_event(u->s, u->block, u->arm, step,
					     seconds_between(began, clock_ns()), &own, ret),
				  &store);
		if (ret < 0 && failed == 0) {
			*e = store;
			failed = ret;
		}
	}
	steps_free(&steps);
	return failed;
}

static void make_plain(char *text, int len)
{
	for (int i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			text[i] = '?';
}

/* What the agent says of itself, as an object of strings. */
static json_t *parse_facts(char *text)
{
	json_t *facts = json_object();
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, '=');
		int len;

		if (!value)
			continue;
		*value++ = '\0';
		len = word_unescape(value);
		if (len < 0)
			continue;
		make_plain(line, strlen(line));
		make_plain(value, len);
		json_object_set_new(facts, line, json_stringn(value, len));
	}
	return facts;
}

static int fetch_facts(struct member *m, int block, const char *arm, struct err *e)
{
	cleanup_free char *text = NULL;
	char reply[256];
	size_t len;
	int ret = link_ask(m->link, reply, sizeof(reply), FACTS_TIMEOUT_MS, e, "FACTS");

	if (ret == 0)
		ret = link_get(m->link, "facts", FACTS_MAX, &text, &len, e);
	if (ret < 0)
		return err_wrap(e, "facts of partition \"%s\"", m->partition->name);
	return store_event(m->s->env->store,
			   json_pack("{s:s,s:i,s:s,s:s,s:o}", "event", "facts", "block", block,
				     "arm", arm, "partition", m->partition->name, "facts",
				     parse_facts(text)),
			   e);
}

/* Every CPU of the partition has to be online in its kernel before anything is measured. */
static int check_cpus(struct member *m, struct err *e)
{
	cleanup_cpumask struct cpumask online = CPUMASK_INIT;
	char reply[FRAME_PAYLOAD_MAX + 1], *words[2];
	int ret = link_ask(m->link, reply, sizeof(reply), FACTS_TIMEOUT_MS, e, "CPUS");

	if (ret < 0)
		return err_wrap(e, "CPUs of partition \"%s\"", m->partition->name);
	if (words_split(reply, words, 2) < 1 || word_unescape(words[0]) < 0)
		return err_set(e, EPROTO, "partition \"%s\" does not say which CPUs it has",
			       m->partition->name);
	ret = cpumask_parse(&online, words[0], e);
	if (ret < 0)
		return err_wrap(e, "CPUs of partition \"%s\"", m->partition->name);
	cpumask_for_each(cpu, &m->partition->cpus) {
		int there = m->backend->ops->agent_cpu(m->backend, m->index, cpu);

		if (there < 0 || !cpumask_test(&online, there))
			return err_set(
				e, ENODEV,
				"CPU %d (CPU %d there) is not online in partition \"%s\", which "
				"has %s",
				cpu, there, m->partition->name, words[0]);
	}
	return 0;
}

static FILE *open_console(const struct up *u, const struct member *m)
{
	char path[PATH_MAX];

	/* Names of arms and partitions are checked by the plan to be plain words. */
	snprintf(path, sizeof(path), "%s/consoles/b%d-%s-%s.link", store_dir(u->s->env->store),
		 u->block, u->s->env->plan->arms[u->arm].name, m->partition->name);
	return fopen(path, "ae");
}

static int connect_member(struct up *u, struct member *m, struct err *e)
{
	int fd = u->backend->ops->channel(u->backend, m->index, e), ret;

	if (fd < 0)
		return err_wrap(e, "link to partition \"%s\"", m->partition->name);
	m->console = open_console(u, m);
	ret = link_open(&m->link, fd, m->partition->name, m->console, e);
	if (ret == 0)
		ret = link_hello(m->link, u->s->token, LEASE_S, HELLO_TIMEOUT_MS, member_alive, m, e);
	return ret;
}

static json_t *boot_partitions(const struct up *u)
{
	json_t *list = json_array();

	for (int i = 0; i < u->n; i++) {
		const struct member *m = &u->members[i];
		json_t *phys = json_array();

		cpumask_for_each(cpu, &m->partition->cpus) {
			const struct topo_cpu *t = topology_cpu(u->s->env->topology, cpu);

			json_array_append_new(phys, json_integer(t ? t->phys.v : -1));
		}
		json_array_append_new(
			list, json_pack("{s:s,s:s,s:s,s:b,s:o,s:o}", "name", m->partition->name,
					"boot_nonce", m->link ? link_agent(m->link)->nonce : "",
					"build", m->link ? link_agent(m->link)->build : "", "pid1",
					m->link ? link_agent(m->link)->pid1 : 0, "cpus",
					cpus_json(&m->partition->cpus), "phys", phys));
	}
	return list;
}

/* The agents of an arm whose kernels have been started. */
static int greet_all(struct up *u, double *hello, double *facts, struct err *e)
{
	const char *name = u->s->env->plan->arms[u->arm].name;
	int64_t began = clock_ns(), greeted;

	for (int i = 0; i < u->n; i++) {
		int ret = connect_member(u, &u->members[i], e);

		if (ret < 0)
			return ret;
	}
	greeted = clock_ns();
	*hello = seconds_between(began, greeted);
	for (int i = 0; i < u->n; i++) {
		int ret = check_cpus(&u->members[i], e);

		if (ret == 0)
			ret = fetch_facts(&u->members[i], u->block, name, e);
		if (ret < 0)
			return ret;
	}
	*facts = seconds_between(greeted, clock_ns());
	return 0;
}

static json_t *consoles_of(const struct up *u)
{
	json_t *consoles = json_object();

	for (int i = 0; i < u->n; i++) {
		const char *path = u->backend->ops->console(u->backend, i);

		if (path)
			json_object_set_new(consoles, u->members[i].partition->name,
					    json_string(path));
	}
	return consoles;
}

int arm_up(struct session *s, int block, int arm, struct up *u, struct err *e)
{
	const struct plan_arm *a = &s->env->plan->arms[arm];
	struct layout none = {0}, want = {.arm = a};
	double start, hello = 0, facts = 0;
	struct err store = ERR_INIT;
	int64_t began = clock_ns();
	int ret, stored;

	*u = (struct up){.s = s, .block = block, .arm = arm, .backend = s->backends[arm]};
	u->members = calloc(a->npartitions, sizeof(*u->members));
	if (!u->members)
		return err_set(e, ENOMEM, "no memory");
	u->n = a->npartitions;
	for (int i = 0; i < u->n; i++)
		u->members[i] = (struct member){
			.s = s, .backend = u->backend, .index = i, .partition = &a->partitions[i]};
	ret = walk(u, &none, &want, false, e);
	start = seconds_between(began, clock_ns());
	progress_consoles(s->progress, consoles_of(u));
	if (ret == 0)
		ret = greet_all(u, &hello, &facts, e);
	stored = store_event(s->env->store,
			     json_pack("{s:s,s:i,s:s,s:b,s:f,s:{s:f,s:f,s:f},s:o,s:s}", "event",
				       "boot", "block", block, "arm", a->name, "ok", ret == 0,
				       "seconds", seconds_between(began, clock_ns()), "phases",
				       "start", start, "hello", hello, "facts", facts, "partitions",
				       boot_partitions(u), "error", ret < 0 ? e->text : ""),
			     &store);
	if (ret < 0) {
		if (s->env->hold_on_failure && ret != -EINTR)
			arm_hold(u);
		arm_down(u, &(struct err){0});
	} else if (stored < 0) {
		arm_down(u, &(struct err){0});
		*e = store;
		ret = stored;
	}
	s->totals->boots += seconds_between(began, clock_ns());
	return ret;
}

static void close_member(struct up *u, struct member *m)
{
	char path[PATH_MAX];
	bool empty;

	link_close(&m->link);
	if (!m->console)
		return;
	empty = ftell(m->console) == 0;
	fclose(take_ptr(m->console));
	snprintf(path, sizeof(path), "%s/consoles/b%d-%s-%s.link", store_dir(u->s->env->store),
		 u->block, u->s->env->plan->arms[u->arm].name, m->partition->name);
	if (empty)
		unlink(path);
}

int arm_down(struct up *u, struct err *e)
{
	struct layout is = {.arm = &u->s->env->plan->arms[u->arm]}, none = {0};
	int ret;

	for (int i = 0; i < u->n; i++) {
		struct member *m = &u->members[i];
		struct err silent = ERR_INIT;
		char reply[64];

		m->ending = true;
		/* A kind word; the steps end those that did not hear it. */
		if (m->link && member_alive(m, &silent) == 0)
			link_ask(m->link, reply, sizeof(reply), OFF_TIMEOUT_MS, &silent, "OFF %s",
				 u->s->token);
		close_member(u, m);
	}
	progress_consoles(u->s->progress, NULL);
	ret = walk(u, &is, &none, true, e);
	free(take_ptr(u->members));
	u->n = 0;
	return ret;
}

void arm_hold(struct up *u)
{
	progress_say(u->s->progress, true,
		     "Held as it is, for you to look: results and consoles are in %s.",
		     store_dir(u->s->env->store));
	for (int i = 0; i < u->n; i++)
		if (u->backend->ops->console(u->backend, i))
			progress_say(u->s->progress, true, "  mksplit console %s",
				     u->members[i].partition->name);
	progress_say(u->s->progress, true,
		     "Press Ctrl-C (or send SIGTERM to process %ld) to end it.", (long)getpid());
	while (!stop_asked()) {
		poll(NULL, 0, HOLD_EVERY_S * 1000);
		for (int i = 0; i < u->n && !stop_asked(); i++) {
			struct err silent = ERR_INIT;
			char reply[FRAME_PAYLOAD_MAX + 1];

			if (u->members[i].link)
				link_ask(u->members[i].link, reply, sizeof(reply), OFF_TIMEOUT_MS,
					 &silent, "CPUS");
		}
	}
}
