/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_DUMP_H
#define MKSPLIT_MACHINE_DUMP_H

#include "harness/machine/root.h"

/*
 * Writes the files of /proc and /sys that describe this machine's CPUs, caches, memory nodes
 * and settings into a .tar.gz, so that --sysroot on the unpacked folder sees the same
 * machine. Nothing that names a person or a serial number is in it. A dump of a dump is
 * the same dump. Returns the number of files.
 */
int dump_machine(const struct root *r, const char *file, struct err *e);

#endif
