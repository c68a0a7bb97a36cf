// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "harness/machine/internal.h"

/*
 * Physical CPU ids.
 *
 * x86: "apicid" of /proc/cpuinfo (arch/x86/kernel/cpu/proc.c). riscv: "hart" there
 * (arch/riscv/kernel/cpu.c). arm64: the "reg" of the CPU's node in the device tree is its
 * MPIDR_EL1 affinity (Documentation/devicetree/bindings/arm/cpus.yaml); with ACPI the kernel
 * shows it nowhere, and the id stays unknown.
 */

/* "key<white space>: value" of one line; NULL where the line has another key. */
static const char *value_of(const char *line, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(line, key, n) != 0)
		return NULL;
	line += n;
	while (*line == ' ' || *line == '\t')
		line++;
	if (*line != ':')
		return NULL;
	line++;
	while (*line == ' ' || *line == '\t')
		line++;
	return line;
}

static bool number_of(const char *line, const char *key, long long *value)
{
	const char *text = value_of(line, key);
	char *end;

	if (!text)
		return false;
	errno = 0;
	*value = strtoll(text, &end, 10);
	return errno == 0 && end != text;
}

static struct topo_cpu *find(struct topology *t, long long cpu)
{
	return cpu < INT_MAX ? (struct topo_cpu *)topology_cpu(t, (int)cpu) : NULL;
}

static void scan_cpuinfo(struct topology *t, char *text)
{
	static const char *const id_keys[] = {"apicid", "hart"};
	/* x86; loongarch and mips; riscv; s390 and others have none. */
	static const char *const model_keys[] = {"model name", "Model Name", "cpu model", "uarch"};
	struct topo_cpu *cpu = NULL;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		long long n;

		if (number_of(line, "processor", &n))
			cpu = find(t, n);
		for (size_t i = 0; i < sizeof(id_keys) / sizeof(id_keys[0]); i++)
			if (cpu && number_of(line, id_keys[i], &n) && n >= 0)
				cpu->phys.v = n;
		for (size_t i = 0; i < sizeof(model_keys) / sizeof(model_keys[0]); i++) {
			const char *model = value_of(line, model_keys[i]);

			if (model && !t->model[0])
				snprintf(t->model, sizeof(t->model), "%s", model);
		}
	}
}

/* A device tree's "reg": one or two big-endian cells. */
static void read_reg(struct topo_cpu *c, const struct root *r)
{
	unsigned char reg[8];
	int64_t id = 0;
	ssize_t n;
	cleanup_close int fd =
		root_open_file(r, O_RDONLY, "/sys/devices/system/cpu/cpu%d/of_node/reg", c->cpu);

	if (fd < 0)
		return;
	n = read(fd, reg, sizeof(reg));
	if (n != 4 && n != 8)
		return;
	for (ssize_t i = 0; i < n; i++)
		id = (int64_t)((uint64_t)id << 8 | reg[i]);
	if (id >= 0)
		c->phys.v = id;
}

/* A dump has no uname(2): the shape of /proc/cpuinfo tells enough. */
static const char *arch_of(const char *cpuinfo)
{
	static const struct {
		const char *key, *arch;
	} marks[] = {
		{"\napicid", "x86_64"},
		{"\nvendor_id\t:", "x86_64"},
		{"\nCPU implementer", "aarch64"},
		{"\nhart", "riscv64"},
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(cpuinfo, marks[i].key))
			return marks[i].arch;
	return "";
}

int topology_read_phys(struct topology *t, const struct root *r, struct err *e)
{
	cleanup_free char *text = NULL;
	struct err ignored = ERR_INIT;
	struct utsname u;
	int rc = root_read_big(r, &text, &ignored, "/proc/cpuinfo");

	if (rc < 0 && rc != -ENOENT) {
		*e = ignored;
		return rc;
	}
	if (r->real && uname(&u) == 0)
		snprintf(t->arch, sizeof(t->arch), "%s", u.machine);
	else if (text)
		snprintf(t->arch, sizeof(t->arch), "%s", arch_of(text));
	if (text)
		scan_cpuinfo(t, text);
	for (int i = 0; i < t->ncpus; i++)
		if (t->cpus[i].phys.v < 0)
			read_reg(&t->cpus[i], r);
	return 0;
}
