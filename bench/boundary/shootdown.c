// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/boundary/shootdown.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io.h"

#define PROC_MAX (64 << 20) /* cpuinfo has 1.5 KB a CPU, interrupts 11 bytes a CPU and line */

static char *proc_text(const char *path)
{
	struct err e = ERR_INIT;
	char *text = NULL;

	return read_file_at(AT_FDCWD, path, PROC_MAX, &text, NULL, &e) == 0 ? text : NULL;
}

long shootdowns_in(const char *interrupts)
{
	const char *p = strstr(interrupts, "TLB:");
	long sum = 0;

	if (!p)
		return -1;
	p += strlen("TLB:");
	for (;;) {
		char *end;

		while (*p == ' ')
			p++;
		if (!isdigit((unsigned char)*p))
			return sum;
		sum += strtol(p, &end, 10);
		p = end;
	}
}

long shootdowns_now(void)
{
	cleanup_free char *text = proc_text("/proc/interrupts");

	return text ? shootdowns_in(text) : -1;
}

static bool has_flag(const char *cpuinfo, const char *flag)
{
	size_t len = strlen(flag);

	for (const char *p = cpuinfo; (p = strstr(p, flag)); p += len)
		if (p > cpuinfo && isspace((unsigned char)p[-1]) &&
		    (!p[len] || isspace((unsigned char)p[len])))
			return true;
	return false;
}

const char *broadcast_in(const char *cpuinfo)
{
#ifdef __aarch64__
	return "broadcast TLBI";
#endif
	if (has_flag(cpuinfo, "invlpgb"))
		return "INVLPGB";
	return has_flag(cpuinfo, "rar") ? "RAR" : NULL;
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* cpuinfo shows flags that the kernel knows and uses; an older kernel knows none of it. */
static const char *cpuid_broadcast(void)
{
	unsigned int eax, ebx, ecx, edx;

	/* AMD's manual, 8000_0008h EBX bit 3. */
	if (__get_cpuid(0x80000008, &eax, &ebx, &ecx, &edx) && (ebx & 1u << 3))
		return "INVLPGB that the kernel does not use";
	return NULL;
}
#else
static const char *cpuid_broadcast(void)
{
	return NULL;
}
#endif

const char *broadcast_hardware(void)
{
	cleanup_free char *text = proc_text("/proc/cpuinfo");
	const char *found = text ? broadcast_in(text) : NULL;

	return found ? found : cpuid_broadcast();
}
