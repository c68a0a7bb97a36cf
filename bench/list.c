// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/test.h"

static void each_test(void (*one)(const struct family *f, const struct test_info *t))
{
	const struct test_info *t;

	for (const struct family *const *f = families; *f; f++)
		for (size_t i = 0; (t = (*f)->info(i)); i++)
			one(*f, t);
}

static void line(const struct family *f, const struct test_info *t)
{
	printf("%-17s %-9s %-14s %s\n", t->name, f->name, role_name(t->role), t->title);
}

/* Our own texts, but quotes and backslashes may stand in them. */
static void json_text(const char *key, const char *text)
{
	printf("\"%s\": \"", key);
	for (; text && *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		if (*text == '\n')
			fputs("\\n", stdout);
		else
			putchar(*text);
	}
	putchar('"');
}

static void json(const struct family *f, const struct test_info *t)
{
	static bool more;

	printf("%s\n  {", more ? "," : "");
	more = true;
	json_text("family", f->name);
	fputs(", ", stdout);
	json_text("test", t->name);
	fputs(", ", stdout);
	json_text("summary", t->title);
	fputs(", ", stdout);
	json_text("counts", t->counts);
	fputs(", ", stdout);
	json_text("shared", t->shared);
	fputs(", ", stdout);
	json_text("role", role_name(t->role));
	printf(",\n   \"modes\": [%s%s%s],\n   \"needs\": {\"memory\": %" PRIu64
	       ", \"memory_per_task\": %" PRIu64 ", \"tmpfs\": %" PRIu64
	       ", \"tmpfs_per_task\": %" PRIu64 ", \"mapping\": %" PRIu64
	       ", \"descriptors_per_task\": %d, \"privilege\": %s, ",
	       t->modes & MODE_PROCESSES ? "\"processes\"" : "", t->modes == MODE_BOTH ? ", " : "",
	       t->modes & MODE_THREADS ? "\"threads\"" : "", t->needs.memory,
	       t->needs.memory_per_task, t->needs.tmpfs, t->needs.tmpfs_per_task, t->needs.mapping,
	       t->needs.descriptors_per_task, t->needs.privilege ? "true" : "false");
	json_text("special", t->needs.special);
	fputs("}}", stdout);
}

static void size(uint64_t bytes, const char *what, const char **comma)
{
	if (!bytes)
		return;
	if (bytes % (1 << 20) == 0)
		printf("%s%" PRIu64 " MiB %s", *comma, bytes >> 20, what);
	else
		printf("%s%" PRIu64 " KiB %s", *comma, (bytes + 1023) >> 10, what);
	*comma = ", ";
}

static void markdown(const struct family *f, const struct test_info *t)
{
	static const struct family *last;
	const char *comma = "";

	if (f != last)
		printf("\n## %s\n\n"
		       "| test | a task | one count | kernel state that processes share | role | "
		       "modes | needs |\n"
		       "| --- | --- | --- | --- | --- | --- | --- |\n",
		       f->name);
	last = f;
	printf("| `%s` | %s | %s | %s | %s | %s | ", t->name, t->title, t->counts, t->shared,
	       role_name(t->role),
	       t->modes == MODE_BOTH	   ? "both"
	       : t->modes & MODE_PROCESSES ? "processes"
					   : "threads");
	size(t->needs.memory, "of memory", &comma);
	size(t->needs.memory_per_task, "of memory a task", &comma);
	size(t->needs.tmpfs, "of files", &comma);
	size(t->needs.tmpfs_per_task, "of files a task", &comma);
	size(t->needs.mapping, "mapped", &comma);
	if (t->needs.descriptors_per_task) {
		printf("%s%d descriptors a task", comma, t->needs.descriptors_per_task);
		comma = ", ";
	}
	if (t->needs.privilege) {
		printf("%sprivilege", comma);
		comma = ", ";
	}
	if (t->needs.special)
		printf("%s%s", comma, t->needs.special);
	puts(" |");
}

static const char preface[] =
	"# Tests\n\n"
	"Made by `mksplit-bench list --markdown` from the tables in bench/; a test checks that it "
	"is current.\n\n"
	"A role says what splitting the kernel can do to the test in processes mode: a **control** "
	"writes no\n"
	"kernel state that other tasks write and must not move (a *user* control does not even "
	"enter the\n"
	"kernel); an **effect** takes a lock or changes a cache line that all tasks of one kernel "
	"share; for an\n"
	"**unknown** one measures before claiming anything; **machine** tests measure hardware "
	"between given\n"
	"CPUs and memory.\n\n"
	"In threads mode tasks share one address space and one descriptor table, so they cannot be "
	"dealt to\n"
	"several kernels; it is there to tell the address space's effects from the kernel's.\n";

int list_main(int argc, char **argv)
{
	if (argc > 2 || (argc == 2 && strcmp(argv[1], "--json") && strcmp(argv[1], "--markdown"))) {
		fputs("usage: mksplit-bench list [--json|--markdown]\n", stderr);
		return 2;
	}
	if (argc == 1) {
		each_test(line);
	} else if (strcmp(argv[1], "--json") == 0) {
		fputs("{\"tests\": [", stdout);
		each_test(json);
		puts("\n]}");
	} else {
		fputs(preface, stdout);
		each_test(markdown);
	}
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
