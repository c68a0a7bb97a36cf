/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_SIM_KMSG_H
#define MKSPLIT_SIM_KMSG_H

#include <stddef.h>
#include <stdint.h>

/*
 * The simulated /dev/kmsg. A position in it is a byte offset in the record stream, which
 * makes lseek(SEEK_END) mean what it should; each read returns one record.
 */
struct kmsg;

struct kmsg *kmsg_new(void);
void kmsg_free(struct kmsg *k);

/* A record of our own; level is syslog's. */
void kmsg_add(struct kmsg *k, int level, const char *text);
/* A record as /dev/kmsg of the real kernel gives it, passed on under our own number. */
void kmsg_forward(struct kmsg *k, const char *record, size_t len);

uint64_t kmsg_size(const struct kmsg *k);
/*
 * The record at an offset: its length, or 0 at the end, or -EPIPE when it is overwritten
 * (*offset is then the oldest one's).
 */
int kmsg_record(const struct kmsg *k, uint64_t *offset, const char **record);

/* Called after every new record. */
void kmsg_on_new(struct kmsg *k, void (*fn)(void *arg), void *arg);

#endif
