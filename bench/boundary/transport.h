/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_BOUNDARY_TRANSPORT_H
#define MKSPLIT_BENCH_BOUNDARY_TRANSPORT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/boundary/crew.h"
#include "common/err.h"

/* Ways to hand messages from one thread to another and back. Side 0 is A, side 1 is B. */

#define MESSAGE_MAX 4096

/* One direction of a mailbox: even is empty, odd is full. */
struct mailbox {
	_Alignas(LINE_PAD) _Atomic uint32_t sequence;
	_Alignas(LINE_PAD) _Atomic uint32_t sleepers; /* of the kinds that register them */
	_Alignas(LINE_PAD) char payload[MESSAGE_MAX];
};

struct channel {
	int in[2], out[2]; /* descriptors by side, -1 where there are none */
	struct mailbox *box; /* [0] from A to B, [1] from B to A */
};

struct transport {
	const char *name;
	int spins; /* both sides need a CPU of their own */
	int (*open)(struct channel *c, struct err *e);
	/* The whole message; -EPIPE from receive() when the other side has ended. */
	int (*send)(struct channel *c, int side, const void *data, size_t len);
	int (*receive)(struct channel *c, int side, void *data, size_t len);
};

extern const struct transport transports[];
extern const char *const transport_names[];

/* Without a box; open() makes descriptors, channel_end() says "no more" for a side. */
void channel_init(struct channel *c, struct mailbox *box);
void channel_end(struct channel *c, int side);
void channel_close(struct channel *c);

#endif
