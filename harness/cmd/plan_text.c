// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "harness/cmd/machine_args.h"
#include "harness/cmd/plan_print.h"

#define LINE_WIDTH 100

static void print_duration(FILE *f, double seconds)
{
	long s = (long)(seconds + 0.5);

	if (s >= 3600)
		fprintf(f, "%ld h %02ld min", s / 3600, s % 3600 / 60);
	else if (s >= 60)
		fprintf(f, "%ld min %02ld s", s / 60, s % 60);
	else
		fprintf(f, "%ld s", s);
}

static void print_machine(const struct plan_view *v, FILE *f)
{
	cleanup_free char *machine = machine_text(v->t);
	cleanup_free char *allowed = cpus_text(&v->t->allowed);
	cleanup_free char *quiet = cpus_text(&v->p->quiet);

	fprintf(f, "Plan %s%s%s\n", v->p->name, *v->p->description ? ": " : "", v->p->description);
	fprintf(f, "Machine  %s (allowed: %s)\n", machine, allowed);
	fprintf(f, "Quiet    %s\n", quiet);
	fprintf(f, "Seed     %llu%s\n", (unsigned long long)v->p->seed,
		v->p->quick ? "   (quick: one block, short samples)" : "");
	for (int i = 0; i < v->p->nwarnings; i++)
		fprintf(f, "Warning  %s\n", v->p->warnings[i]);
}

static void print_partition(const struct plan_view *v, const struct plan_partition *part,
			    char letter, FILE *f)
{
	cleanup_free char *cpus = cpus_text(&part->cpus);
	cleanup_free char *phys = phys_text(v->t, &part->cpus);
	cleanup_free char *nodes = cpus_text(&part->nodes);

	fprintf(f, "  %c  %-12s CPUs %s (physical %s)", letter, part->name, cpus, phys);
	if (part->memory)
		fprintf(f, ", %llu MiB of node %s", (unsigned long long)part->memory >> 20, nodes);
	if (part->kernel >= 0)
		fprintf(f, ", kernel %s (%s)", v->p->kernels[part->kernel].name,
			v->p->kernels[part->kernel].image);
	else if (part->host)
		fputs(", the running kernel", f);
	fputc('\n', f);
}

/* a to z, then a sign that stands for all the rest. */
static char letter_of(int partition)
{
	return partition < 26 ? (char)('a' + partition) : '#';
}

static void print_arms(const struct plan_view *v, FILE *f)
{
	for (int i = 0; i < v->p->narms; i++) {
		const struct plan_arm *a = &v->p->arms[i];
		json_t *steps = json_array_get(v->steps, (size_t)i), *step;
		size_t k;

		fprintf(f, "\nArm %s (%s)\n", a->name, a->backend);
		for (int j = 0; j < a->npartitions; j++)
			print_partition(v, &a->partitions[j], letter_of(j), f);
		if (json_is_object(steps))
			fprintf(f, "  Steps are not known: %s\n",
				json_string_value(json_object_get(steps, "error")));
		json_array_foreach(steps, k, step)
			fprintf(f, "  %2lld. %s\n",
				(long long)json_integer_value(json_object_get(step, "number")),
				json_string_value(json_object_get(step, "what")));
	}
}

struct marker {
	const struct plan_view *v;
	const struct plan_arm *arm;
	const struct placement *placement;
};

/*
 * A partition's letter for a core with tasks (a capital when each of several threads has
 * one), q for a quiet core, a dot for an idle one, and a dash for one outside the arm.
 */
static char mark_core(const struct cpumask *core, void *arg)
{
	const struct marker *m = arg;
	int busy = 0, at = 0;
	char mark = 0;

	for (int part = 0; part < m->arm->npartitions; part++)
		for (int i = 0; i < m->placement->counts[part]; i++, at++)
			if (cpumask_test(core, m->placement->cpus[at])) {
				busy++;
				mark = letter_of(part);
			}
	if (busy > 1 && mark >= 'a' && mark <= 'z')
		return (char)(mark - 'a' + 'A');
	if (busy)
		return mark;
	if (cpumask_intersects(core, &m->v->p->quiet))
		return 'q';
	for (int part = 0; part < m->arm->npartitions; part++)
		if (cpumask_intersects(core, &m->arm->partitions[part].cpus))
			return '.';
	return '-';
}

/* The arm's placement of a task count (0: its anchor), from any cell that has it. */
static const struct placement *find_placement(const struct schedule *s, int arm, int tasks)
{
	for (int i = 0; i < s->nboots; i++)
		for (int k = 0; k < s->boots[i].ncells && s->boots[i].arm == arm; k++) {
			const struct cell *c = &s->boots[i].cells[k];

			if (tasks ? c->tasks == tasks : c->anchor)
				return c->placement;
		}
	return NULL;
}

/* Continues on the next line, between packages, where a machine is wide. */
static void print_drawing(const char *drawing, int indent, FILE *f)
{
	int width = indent;

	for (const char *p = drawing; *p;) {
		const char *end = strstr(p, "  ");
		int n = end ? (int)(end - p) : (int)strlen(p);

		if (width > indent && width + n + 2 > LINE_WIDTH) {
			fprintf(f, "\n%*s", indent, "");
			width = indent;
		}
		width += fprintf(f, "%s%.*s", width > indent ? "  " : "", n, p);
		p += n + (end ? 2 : 0);
	}
	fputc('\n', f);
}

static void print_placement(const struct plan_view *v, int arm, const char *label, int tasks, FILE *f)
{
	const struct plan_arm *a = &v->p->arms[arm];
	struct marker m = {v, a, find_placement(v->s, arm, tasks)};
	struct core_drawing d = {v->t, mark_core, &m};
	cleanup_free char *drawing = NULL;
	int indent;

	if (!m.placement)
		return;
	drawing = draw_cores(&d);
	indent = fprintf(f, "  %6s  %-12s ", label, a->name);
	print_drawing(drawing ? drawing : "", indent, f);
}

static bool has_count(const struct plan *p, int n)
{
	for (int i = 0; i < p->ntests; i++)
		for (int k = 0; k < p->tests[i].ntasks; k++)
			if (p->tests[i].tasks[k] == n)
				return true;
	return false;
}

static void print_placements(const struct plan_view *v, FILE *f)
{
	fputs("\nWhere the tasks run: a core a character, packages apart, caches between bars.\n"
	      "The letter is the partition's (a capital: on two threads), q quiet, . idle, - not "
	      "in the "
	      "arm.\n   tasks  arm\n",
	      f);
	for (int i = 0; i < v->p->narms; i++)
		print_placement(v, i, "anchor", 0, f);
	for (int n = 1; n <= v->t->ncpus; n++) {
		char label[16];

		snprintf(label, sizeof(label), "%d", n);
		for (int i = 0; has_count(v->p, n) && i < v->p->narms; i++)
			print_placement(v, i, label, n, f);
	}
}

/* "rename1:V@24t*": variant, task count, t for threads, * for an anchor. */
static int cell_label(const struct plan *p, const struct cell *c, char *text, size_t size)
{
	const struct plan_test *t = &p->tests[c->test];

	return snprintf(text, size, "%s%s%s@%d%s%s", t->test, *t->variant ? ":" : "", t->variant,
			c->tasks, c->mode == MODE_THREADS ? "t" : "", c->anchor ? "*" : "");
}

static void print_boot(const struct plan *p, const struct boot *b, FILE *f)
{
	int width = 0;

	fprintf(f, "  block %d, %s: %d cells\n", b->block, p->arms[b->arm].name, b->ncells);
	for (int i = 0; i < b->ncells; i++) {
		char label[256];
		int n = cell_label(p, &b->cells[i], label, sizeof(label));

		if (width && width + n + 1 > LINE_WIDTH) {
			fputc('\n', f);
			width = 0;
		}
		width += fprintf(f, "%s%s", width ? " " : "    ", label);
	}
	if (width)
		fputc('\n', f);
}

static void print_cells(const struct plan_view *v, FILE *f)
{
	fputs("\nCells in their order (TEST@TASKS; t: threads, *: one task a kernel)\n", f);
	for (int i = 0; i < v->s->nboots; i++)
		print_boot(v->p, &v->s->boots[i], f);
}

int plan_print_text(const struct plan_view *v, FILE *f)
{
	const struct plan *p = v->p;

	print_machine(v, f);
	print_arms(v, f);
	print_placements(v, f);
	print_cells(v, f);
	fprintf(f,
		"\n%d cells in %d boots of %d block%s; each cell warms up for %.1f s and takes %d "
		"samples of %.2g s.\nAbout ",
		v->s->ncells, v->s->nboots, p->blocks, p->blocks == 1 ? "" : "s",
		(double)p->warmup_ns / (double)NSEC_PER_SEC, p->samples,
		(double)p->interval_ns / (double)NSEC_PER_SEC);
	print_duration(f, v->s->seconds);
	fputs(" in all.\n", f);
	if (p->blocks < 6)
		fputs("Fewer than six blocks: figures, but no verdict.\n", f);
	return ferror(f) ? -EIO : 0;
}
