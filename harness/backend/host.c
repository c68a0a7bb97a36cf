// SPDX-License-Identifier: GPL-2.0-or-later
/* Backend "host": the running kernel. An agent is a plain process; root is not needed. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/backend/local.h"
#include "harness/backend/nature.h"

/* An agent that was told OFF is gone at once; one that was not gets a signal after this. */
#define GRACE_MS 2000

struct agent {
	struct local_process process;
	int fd; /* our end of its link, -1 once it was given away */
};

struct host {
	const struct plan_arm *arm; /* that is up, or partly up */
	struct agent *agents; /* one a partition of it */
};

static int host_open(struct backend *b, struct err *e)
{
	b->own = calloc(1, sizeof(struct host));
	return b->own ? 0 : err_set(e, ENOMEM, "no memory");
}

static void stop_agent(struct agent *a)
{
	if (a->fd >= 0)
		close(take_fd(a->fd));
	local_stop(&a->process, GRACE_MS);
}

static void forget_arm(struct host *h)
{
	for (int i = 0; h->arm && i < h->arm->npartitions; i++)
		stop_agent(&h->agents[i]);
	free(take_ptr(h->agents));
	h->arm = NULL;
}

static void host_close(struct backend *b)
{
	forget_arm(b->own);
	free(b->own);
}

static int host_probe(struct backend *b, struct check_results *out, struct err *e)
{
	int ret = check_add(out, "host", CHECK_PASS, NULL, "the running kernel is always there");

	if (ret == 0 && geteuid() != 0)
		ret = check_add(out, "clean-room", CHECK_WARN,
				"run as root, or results are marked as measured without it",
				"without root there are no namespaces and no tmpfs of our own");
	(void)b;
	return ret < 0 ? err_set(e, ret, "no memory") : 0;
}

static enum nature host_nature(struct backend *b)
{
	return machine_nature(b->env.root);
}

static int add_step(struct steps *s, const char *kind, const char *verb, const struct plan_arm *arm,
		    int partition)
{
	struct step *v = reallocarray(s->v, s->n + 1, sizeof(*v));
	struct step *n;

	if (!v)
		return -ENOMEM;
	s->v = v;
	n = &v[s->n];
	*n = (struct step){
		.number = s->n + 1, .partition = partition, .kind = kind, .own = (void *)arm};
	if (asprintf(&n->what, "%s the agent of partition \"%s\" under the running kernel", verb,
		     arm->partitions[partition].name) < 0) {
		n->what = NULL;
		return -ENOMEM;
	}
	s->n++;
	return 0;
}

static const char start_agent[] = "start-agent", end_agent[] = "stop-agent";

static int host_plan(struct backend *b, const struct layout *is, const struct layout *want,
		     struct steps *out, struct err *e)
{
	int ret = 0;

	for (int i = 0; ret == 0 && is->arm && i < is->arm->npartitions; i++)
		ret = add_step(out, end_agent, "end", is->arm, i);
	for (int i = 0; ret == 0 && want->arm && i < want->arm->npartitions; i++)
		ret = add_step(out, start_agent, "start", want->arm, i);
	(void)b;
	return ret < 0 ? err_set(e, ret, "no memory for the steps") : 0;
}

/* The arrays for the arm that comes up; an arm that was up before is gone by then. */
static int enter_arm(struct host *h, const struct plan_arm *arm, struct err *e)
{
	if (h->arm == arm)
		return 0;
	forget_arm(h);
	h->agents = calloc(arm->npartitions, sizeof(*h->agents));
	if (!h->agents)
		return err_set(e, ENOMEM, "no memory");
	for (int i = 0; i < arm->npartitions; i++)
		h->agents[i].fd = -1;
	h->arm = arm;
	return 0;
}

static int host_apply(struct backend *b, const struct step *s, struct err *e)
{
	struct host *h = b->own;
	const struct plan_arm *arm = s->own;
	struct agent *a;
	int ret;

	if (s->kind == end_agent) {
		if (h->arm == arm)
			stop_agent(&h->agents[s->partition]);
		return 0;
	}
	ret = enter_arm(h, arm, e);
	if (ret < 0)
		return ret;
	a = &h->agents[s->partition];
	return local_agent_start(&a->process, &a->fd, arm->name, arm->partitions[s->partition].name,
				 &b->env, e);
}

static int host_channel(struct backend *b, int partition, struct err *e)
{
	struct host *h = b->own;

	if (!h->arm || h->agents[partition].fd < 0)
		return err_set(e, ENOTCONN, "there is no link to this agent, or it was given away");
	return take_fd(h->agents[partition].fd);
}

static int host_agent_cpu(struct backend *b, int partition, int host_cpu)
{
	(void)b;
	(void)partition;
	return host_cpu;
}

static enum kernel_state host_state(struct backend *b, int partition, char *why, size_t size)
{
	struct host *h = b->own;

	return h->arm ? local_state(&h->agents[partition].process, why, size) : KERNEL_DOWN;
}

static const char *host_console(struct backend *b, int partition)
{
	(void)b;
	(void)partition;
	return NULL; /* its console is the machine's */
}

const struct backend_ops backend_host = {
	.name = "host",
	.summary = "the running kernel; an agent is a plain process",
	.open = host_open,
	.close = host_close,
	.probe = host_probe,
	.nature = host_nature,
	.plan = host_plan,
	.apply = host_apply,
	.channel = host_channel,
	.agent_cpu = host_agent_cpu,
	.state = host_state,
	.console = host_console,
};
