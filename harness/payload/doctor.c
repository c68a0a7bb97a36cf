// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/payload/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "harness/payload/image.h"
#include "harness/payload/kconfig.h"

int doctor_kernel_image(struct check_results *c, const char *path, struct err *e)
{
	cleanup_kernel_image struct kernel_image i = KERNEL_IMAGE_INIT;
	struct err why = ERR_INIT;

	if (kernel_image_open(&i, path, &why))
		return check_add(
			c, "kernel-image", CHECK_FAIL,
			"give a vmlinux, or a bzImage with one inside, that was built with "
			"CONFIG_MULTIKERNEL=y from the host kernel's tree",
			"%s", why.text);
	return check_add(c, "kernel-image", CHECK_PASS, NULL,
			 "%s: %s, %zu bytes, %d segments over %" PRIu64
			 " MiB, multikernel entry at 0x%" PRIx64 "; needs %" PRIu64
			 " MiB of memory",
			 path, i.kind, i.size, i.elf.segments,
			 (i.elf.highest - i.elf.lowest + (1 << 20) - 1) >> 20, i.elf.entry,
			 vmlinux_memory_needed(&i.elf, 0) >> 20);
}

/* The missing options of one level, "CONFIG_A=y (is n): why" joined by "; ". */
static char *missing(const struct kconfig_misses *m, bool need)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	const char *gap = "";

	if (!f)
		return NULL;
	for (int i = 0; i < m->n; i++) {
		if (m->v[i].need != need)
			continue;
		fprintf(f, "%s%s=%s (is %s): %s", gap, m->v[i].option, m->v[i].wanted,
			m->v[i].found, m->v[i].why);
		gap = "; ";
	}
	fclose(f);
	return text;
}

int doctor_kernel_options(struct check_results *c, const struct root *root, const char *name,
			  const char *list, struct err *e)
{
	cleanup_free char *config = NULL, *from = NULL, *need = NULL, *want = NULL;
	struct kconfig_misses m = {0};
	struct err why = ERR_INIT;
	int rc;

	if (kconfig_read(root, &config, &from, &why))
		return check_add(c, "kernel-options", CHECK_WARN,
				 "build the kernel with CONFIG_IKCONFIG_PROC=y", "%s", why.text);
	rc = kconfig_check(&m, list, config, e);
	if (rc)
		return rc;
	need = missing(&m, true);
	want = missing(&m, false);
	if (need && *need)
		rc = check_add(
			c, "kernel-options", CHECK_FAIL,
			"rebuild the kernel with these options (configs/kernel is a fragment for "
			"merge_config.sh)",
			"%s, %s list: %s", from, name, need);
	else
		rc = check_add(c, "kernel-options", CHECK_PASS, NULL,
			       "%s has all that is needed of %d options", from, m.checked);
	if (!rc && want && *want)
		rc = check_add(c, "kernel-options-wanted", CHECK_WARN,
			       "rebuild the kernel with these options when convenient", "%s", want);
	kconfig_misses_free(&m);
	return rc;
}
