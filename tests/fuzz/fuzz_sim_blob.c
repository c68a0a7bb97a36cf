// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mksim's reader of device-tree blobs, and the baseline and overlay parsers on top of it. The
 * first byte chooses which; a machine of eight CPUs is shared by all runs, and its instances
 * are what earlier inputs made of them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/mktty.h"
#include "sim/sim.h"
#include "sim/spawn.h"

static int no_start(struct sim *s, struct instance *i, struct err *e)
{
	return err_set(e, 38, "nothing runs here");
}

const struct spawn_ops spawn_process_ops = {.start = no_start};
const struct spawn_ops spawn_qemu_ops = {.start = no_start};

void calls_unwatch(struct sim *s, struct spawn *p);
void calls_unwatch(struct sim *s, struct spawn *p)
{
}

static struct sim *new_sim(uint8_t choice)
{
	struct machine_options o = {UINT64_C(4) << 30};
	struct sim *s = calloc(1, sizeof(*s));
	struct err e = ERR_INIT;

	s->options.abi = choice & 2 ? ABI_G2B : ABI_G2A;
	s->options.load_limit = -1;
	if (machine_read(&s->machine, "pack:2 [numa] core:4 pu:1", &o, &e) < 0 || sim_init(s, &e) < 0)
		abort();
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sim *sims[2];
	struct sim *s;
	int delay = 0;

	if (size < 1)
		return 0;
	for (int k = 0; k < 2; k++)
		if (!sims[k])
			sims[k] = new_sim(k * 2);
	s = sims[data[0] >> 1 & 1];
	s->host_dead = false;
	if (data[0] & 1) {
		baseline_write(s, data + 1, size - 1, NULL);
	} else {
		struct buf tree = BUF_INIT;

		overlay_write(s, data + 1, size - 1, NULL, &delay);
		if (tree_root(s, &tree) == 0) {
			struct blob b;
			struct err e = ERR_INIT;

			/* What is written must be readable. */
			if (blob_open(&b, tree.data, tree.len, &e) < 0)
				abort();
		}
		buf_free(&tree);
	}
	/* Transactions stay for ever, by design: not in a loop of millions. */
	while (s->transactions) {
		struct tx *t = s->transactions;

		s->transactions = t->next;
		tx_free(t);
	}
	return 0;
}
