/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_TTY_H
#define MKSPLIT_BENCH_TTY_H

#include "common/err.h"

/*
 * Opens a terminal line for the link: raw, no echo, no flow control, whatever it was before
 * (mklinux's console starts in either mode, docs/mklinux-abi.md 10.2). name is a path, or a name
 * in /dev. Waits a while for a device that a driver has still to make. The descriptor is
 * non-blocking and the caller's.
 */
int tty_open(const char *name, struct err *e);

#endif
