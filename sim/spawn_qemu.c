// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "sim/spawn.h"

static int qemu_start(struct sim *s, struct instance *i, struct err *e)
{
	return err_set(e, ENOSYS, "not built");
}

const struct spawn_ops spawn_qemu_ops = {.start = qemu_start};
