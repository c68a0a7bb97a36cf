/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_ANALYSIS_CAUSE_H
#define MKSPLIT_ANALYSIS_CAUSE_H

/*
 * Why two arms differ, where the plan has arms that can tell: the same pair with one setting
 * changed in both ("vary"), or the same test in the other mode. Each is a rule about verdicts, not
 * a guess.
 */
enum cause {
	CAUSE_UNKNOWN,
	CAUSE_STRUCTURAL, /* still there under every changed setting that was measured */
	CAUSE_CONFIGURATION, /* gone with a setting changed */
	CAUSE_SIZING, /* gone with more or less memory a CPU */
	CAUSE_ADDRESS_SPACE, /* there with threads, gone with processes */
};

/* "structural", "configuration", ...; "" for unknown */
const char *cause_name(enum cause c);

struct analysis;

/* Fills cause and cause_why of the rows that differ. After the verdicts. */
void find_causes(struct analysis *a);

#endif
