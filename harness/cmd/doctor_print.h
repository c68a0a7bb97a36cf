/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_CMD_DOCTOR_PRINT_H
#define MKSPLIT_CMD_DOCTOR_PRINT_H

#include <stdio.h>

#include "harness/backend/backend.h"

/* What one backend said of itself. */
struct backend_report {
	const struct backend_ops *ops;
	struct check_results checks;
	enum nature nature;
	bool ready; /* nothing failed */
	char error[400]; /* why it could not even be asked, "" */
};

struct doctor_view {
	const struct root *root;
	const struct topology *t;
	struct check_results checks; /* of the machine */
	struct backend_report *backends;
	int nbackends;
};

int doctor_print_text(const struct doctor_view *v, FILE *f);
int doctor_print_json(const struct doctor_view *v, FILE *f);

/* One line: what can be run here, and what keeps the rest from it. The caller frees. */
char *doctor_verdict(const struct doctor_view *v);

#endif
