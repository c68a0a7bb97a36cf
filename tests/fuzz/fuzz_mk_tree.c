// SPDX-License-Identifier: GPL-2.0-or-later
/* Trees that a kernel gives back, and the log lines about them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/mklinux/klog.h"
#include "harness/mklinux/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct phys_id asked[] = {{8}, {10}};
	struct mk_request create = {MK_INSTANCE_CREATE, "west", 1, asked, 2, .memory = 4096};
	struct mk_tree t = MK_TREE_INIT;
	struct err e = ERR_INIT;
	char why[64], *text = malloc(size + 1);

	if (!mk_tree_parse(&t, data, size, &e))
		mk_tree_compare(&t, &create, &e);
	mk_tree_free(&t);
	memcpy(text, data, size);
	text[size] = '\0';
	klog_overlay_errno(text, 2, why, sizeof(why));
	free(text);
	return 0;
}
