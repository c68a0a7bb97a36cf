// SPDX-License-Identifier: GPL-2.0-or-later
/* Latencies and other values that are no sum, of each partition by itself: terminal and HTML. */
#include <errno.h>

#include "harness/analysis/values.h"
#include "harness/report/format.h"
#include "harness/report/html.h"
#include "harness/report/parts.h"

static const char *partition_name(const struct model *m, const struct part_value *v)
{
	const struct marm *a = &m->arms[v->arm];

	return v->partition < a->npartitions ? a->partitions[v->partition].name : "";
}

static const char *row_name(const struct model *m, const struct part_value *v, char *buf, size_t size)
{
	char label[96];

	snprintf(buf, size, "%s%s %s", mtest_label(&m->tests[v->test], label, sizeof(label)),
		 v->threads ? " (threads)" : "", m->metrics[v->metric].name);
	return buf;
}

int print_values(FILE *f, const struct analysis *a)
{
	cleanup_free struct part_value *values = NULL;
	size_t n;

	if (part_values(a->m, &values, &n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct part_value *v = &values[i];
		const char *unit = a->m->metrics[v->metric].unit;
		char name[200], clean[200], arm[64], part[64], value[FORMAT_ROOM],
			least[FORMAT_ROOM], most[FORMAT_ROOM];

		if (i == 0)
			fprintf(f, "\nvalues of each partition\n%-28s %5s %-12s %-12s %10s  %s\n",
				"test", "tasks", "arm", "partition", "mean", "range");
		fprintf(f, "%-28s %5d %-12s %-12s %10s  %s to %s in %zu cells\n",
			clean_text(clean, sizeof(clean), row_name(a->m, v, name, sizeof(name))),
			v->tasks, clean_text(arm, sizeof(arm), a->m->arms[v->arm].name),
			clean_text(part, sizeof(part), partition_name(a->m, v)),
			format_value(value, v->value, unit), format_value(least, v->least, unit),
			format_value(most, v->most, unit), v->ncells);
	}
	return 0;
}

int html_values(struct page *p)
{
	cleanup_free struct part_value *values = NULL;
	FILE *f = p->f;
	size_t n;

	if (part_values(p->m, &values, &n) < 0)
		return -ENOMEM;
	if (n == 0)
		return 0;
	fputs("<section><h2>Values of each partition</h2><p class=\"note\">Latencies and other "
	      "figures that "
	      "do not add up over kernels: geometric mean and range over all cells.</p>"
	      "<div class=\"card scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Values of "
	      "each "
	      "partition\"><table><thead><tr><th scope=\"col\" class=\"l\">Test and metric</th>"
	      "<th scope=\"col\">Tasks</th><th scope=\"col\" class=\"l\">Arm</th><th scope=\"col\" "
	      "class=\"l\">Partition</th><th scope=\"col\">Mean</th><th scope=\"col\" "
	      "class=\"wide\">"
	      "Least</th><th scope=\"col\" class=\"wide\">Most</th><th scope=\"col\" "
	      "class=\"wide\">Cells"
	      "</th></tr></thead><tbody>\n",
	      f);
	for (size_t i = 0; i < n; i++) {
		const struct part_value *v = &values[i];
		const char *unit = p->m->metrics[v->metric].unit;
		char name[200], number[FORMAT_ROOM];

		put_html(f, "<tr><th scope=\"row\" class=\"l\">%s</th>",
			 row_name(p->m, v, name, sizeof(name)));
		fprintf(f, "<td>%d</td>", v->tasks);
		put_td(f, "l", p->m->arms[v->arm].name);
		put_td(f, "l", partition_name(p->m, v));
		put_td(f, "", format_value(number, v->value, unit));
		put_td(f, "wide", format_value(number, v->least, unit));
		put_td(f, "wide", format_value(number, v->most, unit));
		fprintf(f, "<td class=\"wide\">%zu</td></tr>\n", v->ncells);
	}
	fputs("</tbody></table></div></section>\n", f);
	return 0;
}
