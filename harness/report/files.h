/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_REPORT_FILES_H
#define MKSPLIT_REPORT_FILES_H

#include "harness/analysis/published.h"
#include "harness/report/report.h"

/*
 * Writes report.html, report.json and report.csv into a folder, each replaced as a whole. pub may
 * be NULL.
 */
int report_files(const struct analysis *a, const struct published *pub, const char *dir,
		 struct err *e);

/*
 * The data of every plot with a gnuplot script beside it, for papers: TEST-MODE.dat and .gp for each
 * scaling curve, ratios-N.dat and .gp for each compare. Makes the folder if it is missing.
 */
int report_plots(const struct analysis *a, const char *dir, struct err *e);

#endif
