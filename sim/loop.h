/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_LOOP_H
#define MKSPLIT_SIM_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The one loop of mksim: file descriptors to watch and things to do later. Everything runs
 * in one thread, so no handler may wait for somebody who waits for mksim (a client that
 * reads a simulated file, say); what takes time is answered from a timer.
 */
struct loop;

typedef void (*loop_fd_fn)(void *arg, int fd, unsigned events);
typedef void (*loop_timer_fn)(void *arg);

/* NULL without memory. */
struct loop *loop_new(void);
void loop_free(struct loop *l);

/* Calls fn when poll(2) reports any of events (or an error) for fd. Returns 0 or -ENOMEM. */
int loop_watch(struct loop *l, int fd, unsigned events, loop_fd_fn fn, void *arg);
void loop_unwatch(struct loop *l, int fd);

/* Calls fn once, at least ms milliseconds from now. Returns an id > 0, or -ENOMEM. */
int64_t loop_after(struct loop *l, int64_t ms, loop_timer_fn fn, void *arg);
void loop_cancel(struct loop *l, int64_t timer);

/* Runs until loop_stop(). Returns 0 or a negative errno of poll(2). */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);

#endif
