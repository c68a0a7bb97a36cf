// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/plan/placement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds the search for shares; a sensible plan needs about as many steps as it has atoms. */
#define MAX_STEPS 200000

struct atom {
	int *cpus; /* in the order in which they are used */
	int ncpus;
	int *owner; /* partition, for each arm of the group */
	int taken; /* tasks of the task count at hand */
};

struct part {
	int arm, partition; /* arm: index inside the group */
	int usable; /* CPUs of it that can carry tasks */
	int low, high; /* tasks it may get */
	int assigned; /* tasks of the atoms before the one at hand */
	int rest; /* CPUs of the atoms from the one at hand on */
};

struct placer {
	const struct plan *plan;
	const struct topology *t;
	int group;
	const struct plan_arm **arms;
	int narms;
	struct atom *atoms;
	int natoms;
	struct part *parts; /* of all arms, arm by arm */
	int nparts;
	int *first_part; /* of each arm */
	int usable; /* CPUs */
	int steps;
};

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory for a placement");
}

void placement_free(struct placement *p)
{
	free(p->cpus);
	free(p->counts);
	*p = (struct placement){0};
}

void placer_free(struct placer **pp)
{
	struct placer *p = *pp;

	if (!p)
		return;
	for (int i = 0; i < p->natoms; i++) {
		free(p->atoms[i].cpus);
		free(p->atoms[i].owner);
	}
	free(p->atoms);
	free(p->arms);
	free(p->parts);
	free(p->first_part);
	free(p);
	*pp = NULL;
}

static int owner_of(const struct plan_arm *a, int cpu)
{
	for (int i = 0; i < a->npartitions; i++)
		if (cpumask_test(&a->partitions[i].cpus, cpu))
			return i;
	return -1;
}

static struct atom *find_atom(struct placer *p, const int *owner)
{
	for (int i = 0; i < p->natoms; i++)
		if (memcmp(p->atoms[i].owner, owner, (size_t)p->narms * sizeof(*owner)) == 0)
			return &p->atoms[i];
	return NULL;
}

static struct atom *add_atom(struct placer *p, int **owner)
{
	struct atom *more = reallocarray(p->atoms, (size_t)p->natoms + 1, sizeof(*more));

	if (!more)
		return NULL;
	p->atoms = more;
	more = &p->atoms[p->natoms];
	*more = (struct atom){.cpus = calloc((size_t)p->usable, sizeof(int))};
	if (!more->cpus)
		return NULL;
	more->owner = take_ptr(*owner);
	p->natoms++;
	return more;
}

/* CPUs arrive in the order of their use: all first hardware threads, then all second ones. */
static int add_cpu(struct placer *p, int cpu)
{
	cleanup_free int *owner = calloc((size_t)p->narms, sizeof(*owner));
	struct atom *a;

	if (!owner)
		return -ENOMEM;
	for (int i = 0; i < p->narms; i++) {
		owner[i] = owner_of(p->arms[i], cpu);
		p->parts[p->first_part[i] + owner[i]].usable++;
	}
	a = find_atom(p, owner);
	if (!a)
		a = add_atom(p, &owner);
	if (!a)
		return -ENOMEM;
	a->cpus[a->ncpus++] = cpu;
	return 0;
}

static int list_parts(struct placer *p)
{
	const struct plan *plan = p->plan;

	p->arms = calloc((size_t)plan->narms, sizeof(*p->arms));
	p->first_part = calloc((size_t)plan->narms, sizeof(*p->first_part));
	if (!p->arms || !p->first_part)
		return -ENOMEM;
	for (int i = 0; i < plan->narms; i++)
		if (plan->arms[i].group == p->group) {
			p->first_part[p->narms] = p->nparts;
			p->arms[p->narms++] = &plan->arms[i];
			p->nparts += plan->arms[i].npartitions;
		}
	p->parts = calloc((size_t)p->nparts + 1, sizeof(*p->parts));
	if (!p->parts)
		return -ENOMEM;
	for (int i = 0; i < p->narms; i++)
		for (int k = 0; k < p->arms[i]->npartitions; k++)
			p->parts[p->first_part[i] + k] = (struct part){.arm = i, .partition = k};
	return 0;
}

int placer_new(struct placer **out, const struct plan *plan, int group, const struct topology *t,
	       struct err *e)
{
	cleanup_placer struct placer *p = calloc(1, sizeof(*p));
	const struct cpumask *usable = &plan->groups[group].usable;
	int placed = 0;

	if (!p)
		return no_memory(e);
	p->plan = plan;
	p->t = t;
	p->group = group;
	p->usable = cpumask_weight(usable);
	if (list_parts(p) < 0)
		return no_memory(e);
	for (int smt = 0; placed < p->usable; smt++)
		for (int i = 0; i < t->ncpus; i++) {
			const struct topo_cpu *c = &t->cpus[i];

			if (c->smt != smt || !cpumask_test(usable, c->cpu))
				continue;
			if (add_cpu(p, c->cpu) < 0)
				return no_memory(e);
			placed++;
		}
	*out = take_ptr(p);
	return 0;
}

/* Deals n tasks to one arm's partitions by largest remainder. */
static void want(struct placer *p, int arm, int n)
{
	struct part *parts = &p->parts[p->first_part[arm]];
	int k = p->arms[arm]->npartitions, dealt = 0;

	for (int i = 0; i < k; i++) {
		parts[i].low = (int)((int64_t)n * parts[i].usable / p->usable);
		dealt += parts[i].low;
		parts[i].high = -1; /* has not had a remainder yet */
	}
	for (; dealt < n; dealt++) {
		int64_t largest = -1;
		int best = 0;

		for (int i = 0; i < k; i++) {
			int64_t rest = (int64_t)n * parts[i].usable % p->usable;

			if (parts[i].high < 0 && rest > largest) {
				largest = rest;
				best = i;
			}
		}
		parts[best].low++;
		parts[best].high = 0;
	}
	for (int i = 0; n >= k && i < k; i++) {
		int richest = 0;

		if (parts[i].low > 0)
			continue;
		for (int j = 0; j < k; j++)
			if (parts[j].low > parts[richest].low)
				richest = j;
		parts[richest].low--;
		parts[i].low++;
	}
	for (int i = 0; i < k; i++)
		parts[i].high = parts[i].low;
}

/* One task more or less a partition, but none without any when there are enough. */
static void relax(struct placer *p, int n)
{
	for (int i = 0; i < p->nparts; i++) {
		struct part *x = &p->parts[i];
		int least = n >= p->arms[x->arm]->npartitions ? 1 : 0;

		x->low = x->low - 1 > least ? x->low - 1 : least;
		x->high = x->high + 1 < x->usable ? x->high + 1 : x->usable;
	}
}

static struct part *part_of(struct placer *p, int arm, const struct atom *a)
{
	return &p->parts[p->first_part[arm] + a->owner[arm]];
}

/* The last entry of parts[] is the whole group: it holds exactly n tasks. */
static int deal(struct placer *p, int at, int n)
{
	struct atom *a = &p->atoms[at];
	struct part *total = &p->parts[p->nparts];
	int low = 0, high, ideal, result = -ENOENT;

	if (at == p->natoms)
		return 0;
	if (++p->steps > MAX_STEPS)
		return -ELOOP;
	high = a->ncpus;
	for (int i = 0; i <= p->narms; i++) {
		struct part *x = i < p->narms ? part_of(p, i, a) : total;
		int behind = x->rest - a->ncpus;

		if (x->low - x->assigned - behind > low)
			low = x->low - x->assigned - behind;
		if (x->high - x->assigned < high)
			high = x->high - x->assigned;
	}
	ideal = (int)(((int64_t)n * a->ncpus * 2 + p->usable) / (2 * (int64_t)p->usable));
	if (ideal < low)
		ideal = low;
	if (ideal > high)
		ideal = high;
	/* From the proportional share outwards: ideal, +1, -1, +2, -2, ... */
	for (int i = 0; result == -ENOENT && (ideal + i <= high || ideal - i >= low); i++)
		for (int sign = 1; sign >= -1 && result == -ENOENT; sign -= 2) {
			int x = ideal + sign * i;

			if (x < low || x > high || (i == 0 && sign < 0))
				continue;
			for (int k = 0; k <= p->narms; k++) {
				struct part *q = k < p->narms ? part_of(p, k, a) : total;

				q->assigned += x;
				q->rest -= a->ncpus;
			}
			a->taken = x;
			result = deal(p, at + 1, n);
			for (int k = 0; k <= p->narms; k++) {
				struct part *q = k < p->narms ? part_of(p, k, a) : total;

				q->assigned -= x;
				q->rest += a->ncpus;
			}
		}
	return result;
}

static int search(struct placer *p, int n)
{
	for (int i = 0; i < p->nparts; i++) {
		p->parts[i].assigned = 0;
		p->parts[i].rest = p->parts[i].usable;
	}
	p->parts[p->nparts] = (struct part){.low = n, .high = n, .rest = p->usable};
	p->steps = 0;
	return deal(p, 0, n);
}

static int cannot(const struct placer *p, int n, struct err *e)
{
	char names[600] = "";
	size_t len = 0;

	for (int i = 0; i < p->narms && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s\"%s\"", i ? ", " : "",
					p->arms[i]->name);
	return err_usage(e,
			 "%d tasks cannot be dealt so that arms %s use the same CPUs, each in "
			 "proportion to its partitions",
			 n, names);
}

static int too_many(const struct placer *p, int n, struct err *e)
{
	cleanup_free char *usable = cpumask_format(&p->plan->groups[p->group].usable);
	cleanup_free char *allowed = cpumask_format(&p->t->allowed);

	return err_usage(e, "%d tasks need %d CPUs, and %d can carry one: %s (allowed: %d, CPUs %s)",
			 n, n, p->usable, usable ? usable : "?", cpumask_weight(&p->t->allowed),
			 allowed ? allowed : "?");
}

static int order_of(const struct placer *p, int cpu)
{
	int rank = topology_rank(p->t, cpu);

	return p->t->cpus[rank].smt * p->t->ncpus + rank;
}

static void sort_cpus(const struct placer *p, int *cpus, int n)
{
	/* Insertion: the pieces that are merged here are sorted, and few. */
	for (int i = 1; i < n; i++)
		for (int k = i; k > 0 && order_of(p, cpus[k]) < order_of(p, cpus[k - 1]); k--) {
			int swap = cpus[k];

			cpus[k] = cpus[k - 1];
			cpus[k - 1] = swap;
		}
}

static int fill(const struct placer *p, int arm, int n, struct placement *out, struct err *e)
{
	int used = 0;

	*out = (struct placement){
		.ntasks = n,
		.cpus = calloc((size_t)n, sizeof(int)),
		.counts = calloc((size_t)p->arms[arm]->npartitions, sizeof(int)),
	};
	if (!out->cpus || !out->counts)
		return no_memory(e);
	for (int part = 0; part < p->arms[arm]->npartitions; part++) {
		int first = used;

		for (int i = 0; i < p->natoms; i++)
			if (p->atoms[i].owner[arm] == part)
				for (int k = 0; k < p->atoms[i].taken; k++)
					out->cpus[used++] = p->atoms[i].cpus[k];
		out->counts[part] = used - first;
		sort_cpus(p, out->cpus + first, used - first);
	}
	return 0;
}

static void free_all(struct placement *out, int n)
{
	for (int i = 0; i < n; i++)
		placement_free(&out[i]);
}

int placer_place(struct placer *p, int n, struct placement *out, struct err *e)
{
	int rc;

	memset(out, 0, (size_t)p->narms * sizeof(*out));
	if (n < 1 || n > p->usable)
		return too_many(p, n, e);
	for (int i = 0; i < p->narms; i++)
		want(p, i, n);
	rc = search(p, n);
	if (rc < 0) {
		relax(p, n);
		rc = search(p, n);
	}
	if (rc < 0)
		return cannot(p, n, e);
	for (int i = 0; i < p->narms && rc == 0; i++)
		rc = fill(p, i, n, &out[i], e);
	if (rc < 0)
		free_all(out, p->narms);
	return rc;
}

/* The first CPU of a partition that is in a set, or else the first usable one. */
static int anchor_cpu(const struct placer *p, int arm, int part, const struct placement *set)
{
	for (int i = 0; i < set->ntasks; i++)
		if (owner_of(p->arms[arm], set->cpus[i]) == part)
			return set->cpus[i];
	for (int i = 0; i < p->natoms; i++)
		if (p->atoms[i].owner[arm] == part)
			return p->atoms[i].cpus[0];
	return -1;
}

int placer_anchor(struct placer *p, struct placement *out, struct err *e)
{
	cleanup_free struct placement *all = calloc((size_t)p->narms, sizeof(*all));
	int most = 0, rc;

	memset(out, 0, (size_t)p->narms * sizeof(*out));
	if (!all)
		return no_memory(e);
	for (int i = 0; i < p->narms; i++)
		if (p->arms[i]->npartitions > p->arms[most]->npartitions)
			most = i;
	rc = placer_place(p, p->arms[most]->npartitions, all, e);
	for (int i = 0; i < p->narms && rc == 0; i++) {
		int n = p->arms[i]->npartitions;

		out[i] = (struct placement){
			.ntasks = n,
			.cpus = calloc((size_t)n, sizeof(int)),
			.counts = calloc((size_t)n, sizeof(int)),
		};
		if (!out[i].cpus || !out[i].counts) {
			rc = no_memory(e);
			break;
		}
		for (int k = 0; k < n; k++) {
			out[i].cpus[k] = anchor_cpu(p, i, k, &all[most]);
			out[i].counts[k] = 1;
		}
	}
	free_all(all, p->narms);
	if (rc < 0)
		free_all(out, p->narms);
	return rc;
}
