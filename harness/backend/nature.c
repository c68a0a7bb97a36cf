// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/backend/nature.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Leaf 0x40000000 holds the hypervisor's name in EBX, ECX, EDX (Intel SDM, AMD APM: reserved for it). */
static bool emulated_cpu(void)
{
	unsigned int eax, name[3] = {0};

	__cpuid(0x40000000, eax, name[0], name[1], name[2]);
	return memcmp(name, "TCGTCGTCGTCG", sizeof(name)) == 0;
}
#else
static bool emulated_cpu(void)
{
	return false;
}
#endif

/* Whether the CPU flags of a dump or of this machine name a hypervisor. */
static bool under_hypervisor(const struct root *root)
{
	cleanup_free char *text = NULL;
	struct err e = ERR_INIT;

	if (root_exists(root, "/sys/hypervisor/type"))
		return true;
	return root_read_big(root, &text, &e, "/proc/cpuinfo") == 0 && strstr(text, " hypervisor");
}

enum nature machine_nature(const struct root *root)
{
	const char *sim = getenv("MKSIM");

	if (root->real && sim && strcmp(sim, "1") == 0)
		return NATURE_SIMULATED;
	if (!under_hypervisor(root))
		return NATURE_NATIVE;
	return root->real && emulated_cpu() ? NATURE_EMULATED : NATURE_VIRTUAL;
}

enum nature nature_worse(enum nature a, enum nature b)
{
	return a > b ? a : b; /* the enum is in that order */
}
