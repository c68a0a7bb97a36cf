/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PAYLOAD_KCONFIG_H
#define MKSPLIT_PAYLOAD_KCONFIG_H

#include <stdbool.h>

#include "common/err.h"
#include "harness/machine/root.h"

/*
 * The options of a kernel against a list of configs/kernel/. A list is a fragment that
 * scripts/kconfig/merge_config.sh takes; comment lines "# need: WHY" and "# want: WHY" stand
 * before the option that they are about.
 */
struct kconfig_miss {
	bool need; /* else only wanted */
	char option[64]; /* "CONFIG_MKTTY" */
	char wanted[32], found[32]; /* "y", "n" for not set */
	char why[200];
};

struct kconfig_misses {
	struct kconfig_miss *v;
	int n;
	int checked; /* options in the list */
};
void kconfig_misses_free(struct kconfig_misses *m);

/* list and config are whole files. -EINVAL for a list with a line that it should not have. */
int kconfig_check(struct kconfig_misses *m, const char *list, const char *config, struct err *e);

/*
 * The running kernel's options: /proc/config.gz, else /boot/config-RELEASE. *from says which; the
 * caller frees both.
 */
int kconfig_read(const struct root *root, char **config, char **from, struct err *e);

#endif
