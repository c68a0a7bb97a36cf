// SPDX-License-Identifier: GPL-2.0-or-later
/* The machine as packages and CPUs with each arm's partitions on it, and the run over time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpumask.h"
#include "harness/report/format.h"
#include "harness/report/html.h"
#include "harness/report/svg.h"

enum {
	SIDE = 15,
	GAP = 3,
	COLUMNS = 16,
	PAD = 10,
	HEAD = 18
};

/* Index of the partition that owns a CPU, or -1. */
static int owner(const struct marm *a, int cpu)
{
	for (size_t i = 0; i < a->npartitions; i++)
		for (size_t k = 0; k < a->partitions[i].ncpus; k++)
			if (a->partitions[i].cpus[k] == cpu)
				return i;
	return -1;
}

static bool is_quiet(const struct model *m, int cpu)
{
	for (size_t i = 0; i < m->nquiet; i++)
		if (m->quiet[i] == cpu)
			return true;
	return false;
}

static size_t package_size(const struct model *m, int package)
{
	size_t n = 0;

	for (size_t i = 0; i < m->ncpus; i++)
		n += m->cpus[i].package == package;
	return n;
}

static int last_package(const struct model *m)
{
	int last = -1;

	for (size_t i = 0; i < m->ncpus; i++)
		last = m->cpus[i].package > last ? m->cpus[i].package : last;
	return last;
}

static double package_height(size_t cpus)
{
	return HEAD + PAD + (cpus + COLUMNS - 1) / COLUMNS * (SIDE + GAP) + PAD;
}

static void put_cpu(FILE *f, const struct model *m, const struct marm *a, const struct mcpu *c,
		    double x, double y)
{
	int part = owner(a, c->cpu);
	char css[32], title[160];

	if (is_quiet(m, c->cpu))
		snprintf(css, sizeof(css), "cpu quiet");
	else if (part >= 0)
		snprintf(css, sizeof(css), "fill %s", arm_class(part));
	else
		snprintf(css, sizeof(css), "cpu");
	snprintf(title, sizeof(title), "CPU %d, node %d, LLC %d%s%s%s", c->cpu, c->node, c->llc,
		 part >= 0 ? ": " : "", part >= 0 ? a->partitions[part].name : "",
		 is_quiet(m, c->cpu) ? " (quiet)" : "");
	svg_rect_titled(f, css, x, y, SIDE, SIDE, 3, title);
}

static void put_package(FILE *f, const struct model *m, const struct marm *a, int package, double y)
{
	size_t n = package_size(m, package), i = 0;
	char text[40];

	snprintf(text, sizeof(text), "package %d", package);
	svg_rect(f, "frame", 0.5, y + 0.5, COLUMNS * (SIDE + GAP) + 2 * PAD, package_height(n) - 6,
		 6);
	svg_text(f, "", PAD, y + HEAD - 3, SVG_START, package < 0 ? "CPUs" : text);
	for (size_t k = 0; k < m->ncpus; k++) {
		if (m->cpus[k].package != package)
			continue;
		put_cpu(f, m, a, &m->cpus[k], PAD + i % COLUMNS * (SIDE + GAP),
			y + HEAD + PAD / 2.0 + i / COLUMNS * (SIDE + GAP));
		i++;
	}
}

static void put_partitions(FILE *f, const struct model *m, const struct marm *a)
{
	for (size_t i = 0; i < a->npartitions; i++) {
		const struct mpartition *p = &a->partitions[i];
		cleanup_cpumask struct cpumask set = CPUMASK_INIT;
		cleanup_free char *list = NULL;
		char memory[FORMAT_ROOM];

		for (size_t k = 0; k < p->ncpus; k++)
			cpumask_set(&set, p->cpus[k]);
		list = cpumask_format(&set);
		fprintf(f,
			"<span class=\"key\"><svg viewBox=\"0 0 26 12\" width=\"26\" height=\"12\" "
			"aria-hidden=\"true\"><rect class=\"fill %s\" x=\"4\" width=\"12\" "
			"height=\"12\" "
			"rx=\"2\"/></svg>",
			arm_class(i));
		put_html(f, "%s%s: CPUs %s", p->name, p->host ? " (the running kernel)" : "",
			 list ? list : "?");
		if (p->memory > 0) {
			snprintf(memory, sizeof(memory), ", %.4g GiB", p->memory / (1 << 30));
			fputs(memory, f);
		}
		fputs("</span>", f);
	}
}

static void put_arm(struct page *p, const struct marm *a)
{
	const struct model *m = p->m;
	double height = 0, y = 0;
	char title[160];
	FILE *f = p->f;

	for (int k = -1; k <= last_package(m); k++)
		height += package_size(m, k) ? package_height(package_size(m, k)) : 0;
	snprintf(title, sizeof(title), "CPUs of the machine and the partitions of %s", a->name);
	put_html(f, "<figure><figcaption>%s<span class=\"say\">%s, %s%s</span></figcaption>",
		 a->name, a->backend, nature_name(a->nature),
		 a->fresh ? ", booted anew in each block" : ", not booted anew in each block");
	svg_begin(f, COLUMNS * (SIDE + GAP) + 2 * PAD + 2, height, title, "");
	for (int k = -1; k <= last_package(m); k++) {
		if (!package_size(m, k))
			continue;
		put_package(f, m, a, k, y);
		y += package_height(package_size(m, k));
	}
	svg_end(f);
	put_partitions(f, m, a);
	fputs("</figure>\n", f);
}

int html_machine(struct page *p)
{
	if (p->m->ncpus == 0 || p->m->narms == 0)
		return 0;
	fputs("<section><h2>Who had which CPUs</h2><p class=\"note\">Grey CPUs are quiet: no task "
	      "of any "
	      "arm runs there. Empty ones were not used.</p><div class=\"grid\">\n",
	      p->f);
	for (size_t i = 0; i < p->m->narms; i++)
		put_arm(p, &p->m->arms[i]);
	fputs("</div></section>\n", p->f);
	return 0;
}

/* ---- the run over time ---- */

enum {
	T_WIDTH = 1040,
	T_LEFT = 120,
	T_RIGHT = 14,
	LANE = 30
};

/* When the last cell of a boot was stored; the boot's own end if it has none. */
static double boot_end(const struct model *m, const struct mboot *b)
{
	double end = b->utc;

	for (size_t i = 0; i < m->ncells; i++)
		if (m->cells[i].block == b->block && m->cells[i].arm == b->arm &&
		    m->cells[i].utc > end)
			end = m->cells[i].utc;
	return end;
}

static void put_lanes(struct page *p, const struct scale *x)
{
	const struct model *m = p->m;
	FILE *f = p->f;

	for (size_t i = 0; i < m->narms; i++) {
		svg_text(f, "strong", T_LEFT - 10, 6 + i * LANE + 16, SVG_END, m->arms[i].name);
		svg_line(f, "gridline", T_LEFT, 6 + (i + 1) * LANE, T_WIDTH - T_RIGHT,
			 6 + (i + 1) * LANE);
	}
	for (size_t i = 0; i < m->nboots; i++) {
		const struct mboot *b = &m->boots[i];
		double y = 6 + b->arm * LANE + 4, up = b->utc - (b->seconds > 0 ? b->seconds : 0);
		double x0 = scale_clamped(x, up - m->begin), x1 = scale_clamped(x, b->utc - m->begin);
		double x2 = scale_clamped(x, boot_end(m, b) - m->begin);
		char css[40], title[120];

		if (!isfinite(b->utc))
			continue;
		snprintf(title, sizeof(title), "block %d: %s", b->block,
			 b->ok ? "boot and cells" : "the boot failed");
		snprintf(css, sizeof(css), b->ok ? "fill light %s" : "fault", arm_class(b->arm));
		svg_rect_titled(f, css, x0, y, fmax(1.5, x2 - x0), LANE - 10, 2, title);
		snprintf(css, sizeof(css), b->ok ? "fill %s" : "fault", arm_class(b->arm));
		svg_rect(f, css, x0, y, fmax(1, x1 - x0), LANE - 10, 1);
	}
	for (size_t i = 0; i < m->ncells; i++) {
		const struct mcell *c = &m->cells[i];

		if (c->status == CELL_FAILED && isfinite(c->utc))
			svg_rect_titled(f, "fault", scale_clamped(x, c->utc - m->begin) - 1,
					6 + c->arm * LANE + 1, 2.5, LANE - 4, 0, c->key);
	}
}

int html_timeline(struct page *p)
{
	const struct model *m = p->m;
	double length = m->end - m->begin, ticks[10];
	double height = 6 + m->narms * LANE + 26;
	struct scale x = {0, length, T_LEFT, T_WIDTH - T_LEFT - T_RIGHT, false};
	/* Minutes and hours have no powers of ten: ticks are drawn in the unit that fits. */
	double unit = length > 7200 ? 3600 : length > 120 ? 60 : 1;
	struct scale tick_scale = {0, length / unit, x.start, x.length, false};
	size_t n;
	FILE *f = p->f;

	if (m->nboots == 0 || !(length > 0))
		return 0;
	n = scale_ticks(&tick_scale, ticks, 8);
	fputs("<section><h2>The run</h2><p class=\"note\">Solid: the boot; light: its cells. Red: "
	      "what failed.</p><figure class=\"panel\">",
	      f);
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Plot of the "
	      "run\">",
	      f);
	svg_begin(f, T_WIDTH, height, "Boots and cells of each arm over time", "");
	for (size_t i = 0; i < n; i++) {
		char text[FORMAT_ROOM];

		snprintf(text, sizeof(text), "%.4g %s", ticks[i],
			 unit == 3600 ? "h"
			 : unit == 60 ? "min"
				      : "s");
		svg_line(f, "gridline", scale_at(&tick_scale, ticks[i]), 6,
			 scale_at(&tick_scale, ticks[i]), 6 + m->narms * LANE);
		svg_text(f, "", scale_at(&tick_scale, ticks[i]), height - 8, SVG_MIDDLE, text);
	}
	put_lanes(p, &x);
	svg_end(f);
	fputs("</div>", f);
	fputs("<details><summary>Numbers</summary><table><thead><tr><th scope=\"col\">Block</th>"
	      "<th scope=\"col\" class=\"l\">Arm</th><th scope=\"col\" class=\"l\">Came up at</th>"
	      "<th scope=\"col\">Boot took</th><th scope=\"col\" "
	      "class=\"l\">Outcome</th></tr></thead>"
	      "<tbody>",
	      f);
	for (size_t i = 0; i < m->nboots; i++) {
		const struct mboot *b = &m->boots[i];
		char utc[FORMAT_ROOM], took[FORMAT_ROOM];

		fprintf(f, "<tr><th scope=\"row\">%d</th>", b->block);
		put_html(f,
			 "<td class=\"l\">%s</td><td class=\"l\">%s</td><td>%s</td><td "
			 "class=\"l\">%s</td>"
			 "</tr>",
			 m->arms[b->arm].name, format_utc(utc, b->utc),
			 format_seconds(took, b->seconds), b->ok ? "up" : b->error);
	}
	fputs("</tbody></table></details></figure></section>\n", f);
	return 0;
}
