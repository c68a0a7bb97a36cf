/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_RUNNING_H
#define MKSPLIT_CMD_RUNNING_H

#include <jansson.h>
#include <stdbool.h>

#include "common/err.h"

/* The run that is under way on this machine, or that crashed and was not cleaned up. */
struct running {
	json_t *journal;
	json_t *status; /* its status.json, NULL where there is none */
	bool alive;
	long pid;
};

/* -ESRCH when there is none. Free it after success. */
int running_read(struct running *r, struct err *e);
void running_free(struct running *r);

#endif
