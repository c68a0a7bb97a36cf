// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "harness/mklinux/own.h"

int mk_start_agent(struct backend *b, int partition, struct err *e)
{
	return err_set(e, ENOSYS, "x");
}

int mk_stop_agent(struct backend *b, int partition, struct err *e)
{
	return 0;
}
