/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_MKTTY_H
#define MKSPLIT_SIM_MKTTY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sim/sim.h"

/* /dev/mktty, docs/mklinux-abi.md section 10.1: connections with a ring each. */
struct mktty;
struct mktty_open;

/* on_data is called when a connection that may be waited for has got bytes. */
struct mktty *mktty_new(struct sim *s, void (*on_data)(void *arg, struct mktty_open *o), void *arg);
void mktty_free(struct mktty *t);

struct mktty_open *mktty_connect(struct mktty *t); /* open(2); NULL: no memory */
void mktty_disconnect(struct mktty_open *o);

/* Bytes taken or a negative errno. */
ssize_t mktty_write(struct mktty_open *o, const void *data, size_t len);
/* Bytes read, -EAGAIN when there are none, -ENOTCONN before an instance was chosen. */
ssize_t mktty_read(struct mktty_open *o, void *data, size_t len);
bool mktty_readable(const struct mktty_open *o);

/* Output of an instance: to the newest connection, or nowhere. */
void mktty_output(struct mktty *t, int id, const void *data, size_t len);
/* Boot wipes the input that waits. */
void mktty_wipe_input(struct mktty *t, int id);
/* A running instance may take waiting input. */
void mktty_pump(struct mktty *t, int id);

#endif
