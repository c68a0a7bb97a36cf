// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/image.h"
#include "sim/mktty.h"
#include "sim/rooms.h"
#include "sim/sim.h"
#include "sim/spawn.h"

/* The model without anything that runs: a spawn here is a counter. */

static int kills;
static char fed[8192];
static size_t nfed;

static int fake_start(struct sim *s, struct instance *i, struct err *e)
{
	struct spawn *p = calloc(1, sizeof(*p));

	*p = (struct spawn){&spawn_process_ops, s, i->id};
	i->spawn = p;
	return 0;
}

static void fake_kill(struct spawn *p)
{
	kills++;
	spawn_ended(p, "killed");
}

static void fake_freeze(struct spawn *p)
{
}

static size_t fake_input(struct spawn *p, const void *data, size_t len)
{
	if (len > sizeof(fed) - nfed)
		len = sizeof(fed) - nfed;
	memcpy(fed + nfed, data, len);
	nfed += len;
	return len;
}

static void fake_free(struct spawn *p)
{
	free(p);
}

const struct spawn_ops spawn_process_ops = {fake_start, fake_kill,  fake_freeze,
					    NULL,	fake_input, fake_free};
const struct spawn_ops spawn_qemu_ops = {fake_start, fake_kill,	 fake_freeze,
					 NULL,	     fake_input, fake_free};

void calls_unwatch(struct sim *s, struct spawn *p);
void calls_unwatch(struct sim *s, struct spawn *p)
{
}

static void on_data(void *arg, struct mktty_open *o)
{
}

static struct sim *new_sim(enum sim_abi abi)
{
	struct machine_options o = {UINT64_C(64) << 30};
	struct sim *s = calloc(1, sizeof(*s));
	struct err e = ERR_INIT;

	s->options.abi = abi;
	s->options.load_limit = -1;
	assert_int_equal(machine_read(&s->machine, "pack:2 [numa] core:4 pu:1", &o, &e), 0);
	assert_int_equal(log_open(&s->log, NULL, 0, &e), 0);
	assert_int_equal(sim_init(s, &e), 0);
	s->loop = loop_new();
	s->mktty = mktty_new(s, on_data, NULL);
	return s;
}

static void end_sim(struct sim *s)
{
	mktty_free(s->mktty);
	loop_free(s->loop);
	sim_free(s);
	free(s);
}

static struct buf baseline_blob(const uint64_t *cpus, size_t n, uint64_t bytes, int node)
{
	struct blob_writer w = {0};
	struct buf out;

	blob_begin(&w, "");
	blob_begin(&w, "resources");
	blob_put_u64s(&w, "cpus", cpus, n);
	blob_begin(&w, "memory@0");
	blob_put_u64s(&w, "size", &bytes, 1);
	blob_put_u32(&w, "numa-node-id", node);
	blob_end(&w);
	blob_end(&w);
	blob_end(&w);
	assert_int_equal(blob_finish(&w, &out), 0);
	return out;
}

static int baseline(struct sim *s, const uint64_t *cpus, size_t n, uint64_t bytes, int node)
{
	cleanup_buf struct buf b = baseline_blob(cpus, n, bytes, node);

	return baseline_write(s, b.data, b.len, NULL);
}

static void begin_overlay(struct blob_writer *w, const char *target, const char *operation)
{
	blob_begin(w, "");
	blob_begin(w, "fragment@0");
	blob_put_string(w, "target-path", target);
	blob_begin(w, "__overlay__");
	blob_begin(w, operation);
}

/* Writes it; returns whether it was applied. */
static bool end_overlay(struct sim *s, struct blob_writer *w)
{
	cleanup_buf struct buf out = BUF_INIT;
	int delay = 0;

	for (int k = 0; k < 4; k++)
		blob_end(w);
	assert_int_equal(blob_finish(w, &out), 0);
	assert_int_equal(overlay_write(s, out.data, out.len, NULL, &delay), out.len);
	return tx_find(s, s->last_tx)->applied;
}

static bool create(struct sim *s, const char *name, int id, const uint64_t *cpus, size_t n,
		   uint64_t bytes)
{
	struct blob_writer w = {0};

	begin_overlay(&w, "/instances", "instance-create");
	blob_put_string(&w, "instance-name", name);
	blob_put_u32(&w, "id", id);
	blob_begin(&w, "resources");
	blob_put_u64s(&w, "memory-bytes", &bytes, 1);
	blob_put_u64s(&w, "cpus", cpus, n);
	blob_end(&w);
	return end_overlay(s, &w);
}

static bool remove_instance(struct sim *s, const char *name)
{
	struct blob_writer w = {0};

	begin_overlay(&w, "/instances", "instance-remove");
	blob_put_string(&w, "instance-name", name);
	return end_overlay(s, &w);
}

static bool move(struct sim *s, const char *target, const char *operation, uint64_t phys)
{
	struct blob_writer w = {0};

	begin_overlay(&w, target, operation);
	blob_begin(&w, "cpu@1");
	blob_put_u64s(&w, "reg", &phys, 1);
	blob_end(&w);
	return end_overlay(s, &w);
}

static bool remove_chunk(struct sim *s, uint64_t base, uint64_t size)
{
	struct blob_writer w = {0};

	begin_overlay(&w, "/resources", "memory-remove");
	blob_begin(&w, "memory@0");
	blob_put_u64s(&w, "reg", (uint64_t[]){base, size}, 2);
	blob_end(&w);
	return end_overlay(s, &w);
}

static int load(struct sim *s, int id)
{
	cleanup_buf struct buf image = BUF_INIT;
	struct load_request r = {.flags = LOAD_MULTIKERNEL | LOAD_NO_INITRD | id << LOAD_ID_SHIFT,
				 .initrd = -1,
				 .cmdline = "quiet",
				 .cmdline_len = 6};

	assert_int_equal(image_write_stand_in(&image), 0);
	r.kernel = image.data;
	r.kernel_size = image.len;
	return kexec_load(s, &r);
}

static int unload(struct sim *s, int id)
{
	struct load_request r = {.flags = LOAD_MULTIKERNEL | LOAD_UNLOAD | id << LOAD_ID_SHIFT,
				 .initrd = -1};

	return kexec_load(s, &r);
}

static void note_result(void *arg, int result)
{
	*(int *)arg = result;
}

#define GIB (UINT64_C(1) << 30)

static void test_life(void **state)
{
	struct sim *s = new_sim(ABI_G2A);
	struct chunk *c;
	int result = 1;

	assert_int_equal(baseline(s, (uint64_t[]){2, 4, 6}, 3, GIB, 0), 0);
	assert_int_equal(baseline(s, (uint64_t[]){128}, 1, GIB, 0), -EBUSY);
	assert_true(create(s, "west", 1, (uint64_t[]){4, 2}, 2, GIB / 2));
	assert_int_equal(s->last_tx, 2); /* the first one */
	assert_int_equal(unload(s, 1), -ENOENT);
	assert_int_equal(load(s, 1), 0);
	assert_int_equal(load(s, 1), -EBUSY);
	assert_false(remove_instance(s, "west"));
	assert_int_equal(instance_boot(s, 1), 0);
	assert_int_equal(instance_by_id(s, 1)->state, STATE_ACTIVE);
	/* Its first CPU is the boot CPU: 4, not the lowest. */
	assert_false(move(s, "/instances/west", "cpu-remove", 4));
	assert_true(move(s, "/instances/west", "cpu-remove", 2));
	assert_true(move(s, "/instances/west", "cpu-add", 6));
	kills = 0;
	instance_halt(s, 1, note_result, &result);
	assert_int_equal(result, 0);
	assert_int_equal(kills, 1);
	assert_int_equal(instance_by_id(s, 1)->state, STATE_LOADED);
	/* While it is stopped any CPU may leave. */
	assert_true(move(s, "/instances/west", "cpu-remove", 4));
	assert_int_equal(unload(s, 1), 0);
	assert_true(remove_instance(s, "west"));
	assert_int_equal(sim_compare_with_start(s), 2);
	c = &s->chunks[0];
	/* The parking area holds the chunk while a CPU is parked. */
	assert_false(remove_chunk(s, c->base, c->size));
	for (int phys = 2; phys <= 6; phys += 2)
		assert_true(move(s, "/resources", "cpu-remove", phys));
	assert_true(remove_chunk(s, s->chunks[0].base, s->chunks[0].size));
	assert_int_equal(sim_compare_with_start(s), 0);
	end_sim(s);
}

/* One id that is not free: applied, ready, and no CPU at all. */
static void test_create_trap(void **state)
{
	struct sim *s = new_sim(ABI_G2B);

	assert_int_equal(baseline(s, (uint64_t[]){2, 4}, 2, GIB, 0), 0);
	assert_true(create(s, "west", 1, (uint64_t[]){2, 6}, 2, GIB / 2));
	assert_int_equal(instance_by_id(s, 1)->ncpus, 0);
	assert_int_equal(s->cpus[1].owner, OWNER_POOL);
	assert_int_equal(load(s, 1), 0);
	assert_int_equal(instance_boot(s, 1), -EINVAL);
	end_sim(s);
}

static void test_memory(void **state)
{
	struct sim *s = new_sim(ABI_G2B);
	struct instance *i;

	assert_int_equal(baseline(s, (uint64_t[]){2}, 1, 2 * GIB, 1), 0);
	assert_int_equal(s->chunks[0].node, 1);
	assert_int_equal(s->chunks[0].base % s->machine.block_size, 0);
	/* Two halves do not fit: the pool needs some pages itself. */
	assert_true(create(s, "a", 1, NULL, 0, GIB) == false); /* empty cpus is malformed */
	assert_true(create(s, "a", 1, (uint64_t[]){2}, 1, GIB));
	assert_false(create(s, "b", 2, (uint64_t[]){2}, 1, GIB));
	assert_true(create(s, "b", 2, (uint64_t[]){2}, 1, GIB / 2));
	i = instance_by_id(s, 2);
	assert_int_equal(instance_memory(i), GIB / 2);
	for (int r = 0; r < i->nregions; r++)
		assert_true(i->regions[r].base >= s->chunks[0].base &&
			    i->regions[r].base + i->regions[r].size <=
				    s->chunks[0].base + s->chunks[0].size);
	end_sim(s);
}

static void test_late_cpu(void **state)
{
	for (int abi = ABI_G2A; abi <= ABI_G2B; abi++) {
		struct sim *s = new_sim(abi);

		assert_int_equal(baseline(s, (uint64_t[]){2, 4}, 2, GIB, 0), 0);
		assert_true(create(s, "west", 1, (uint64_t[]){2}, 1, GIB / 2));
		assert_int_equal(load(s, 1), 0);
		assert_int_equal(instance_boot(s, 1), 0);
		assert_true(move(s, "/resources", "cpu-add", 6));
		/* Only later trees tell a spawn of the host's CPUs. */
		assert_int_equal(move(s, "/instances/west", "cpu-add", 6), abi == ABI_G2B);
		assert_true(move(s, "/instances/west", "cpu-add", 4));
		instance_force_halt(s, 1);
		end_sim(s);
	}
}

static void test_poison(void **state)
{
	struct sim *s = new_sim(ABI_G2A);
	struct load_request r = {.flags = LOAD_MULTIKERNEL | LOAD_NO_INITRD | 1 << LOAD_ID_SHIFT,
				 .kernel = "no ELF",
				 .kernel_size = 6,
				 .initrd = -1};

	assert_int_equal(baseline(s, (uint64_t[]){2}, 1, GIB, 0), 0);
	assert_true(create(s, "west", 1, (uint64_t[]){2}, 1, GIB / 2));
	assert_int_equal(kexec_load(s, &r), -ENOEXEC);
	assert_int_equal(load(s, 1), -EBUSY);
	assert_int_equal(s->log.errors, 0);
	assert_int_equal(unload(s, 1), -EIO);
	assert_int_equal(s->log.errors, 1);
	assert_true(s->host_dead);
	end_sim(s);
}

static void test_undo(void **state)
{
	struct sim *s = new_sim(ABI_G2B);
	struct tx *t;

	assert_int_equal(baseline(s, (uint64_t[]){2, 4}, 2, GIB, 0), 0);
	assert_true(create(s, "west", 1, (uint64_t[]){2}, 1, GIB / 2));
	assert_true(move(s, "/instances/west", "cpu-add", 4));
	t = tx_find(s, 3);
	assert_int_equal(overlay_undo(s, t), 0);
	assert_int_equal(instance_by_id(s, 1)->ncpus, 1);
	/* By name: the undo of the create takes away whoever has the name now. */
	assert_int_equal(overlay_undo(s, tx_find(s, 2)), 0);
	assert_null(instance_by_id(s, 1));
	assert_int_equal(overlay_undo(s, tx_find(s, 2)), 0);
	end_sim(s);
}

static void test_console(void **state)
{
	struct sim *s = new_sim(ABI_G2A);
	struct mktty_open *a, *b;
	static char data[20000];

	assert_int_equal(baseline(s, (uint64_t[]){2}, 1, GIB, 0), 0);
	assert_true(create(s, "west", 1, (uint64_t[]){2}, 1, GIB / 2));
	a = mktty_connect(s->mktty);
	assert_int_equal(mktty_read(a, data, 10), -ENOTCONN);
	assert_int_equal(mktty_write(a, "x", 1), -EINVAL);
	assert_int_equal(mktty_write(a, "0", 1), -EINVAL);
	assert_int_equal(mktty_write(a, "7\n", 2), -ENODEV);
	assert_int_equal(mktty_write(a, "1\n", 2), 2);
	assert_int_equal(mktty_write(a, "input", 5), -EINVAL); /* nothing is loaded */
	assert_int_equal(mktty_read(a, data, 10), -EAGAIN);
	b = mktty_connect(s->mktty);
	assert_int_equal(mktty_write(b, "1", 1), 1);
	mktty_output(s->mktty, 1, "to b", 4);
	assert_int_equal(mktty_read(a, data, 10), -EAGAIN);
	assert_int_equal(mktty_read(b, data, 2), 2);
	assert_memory_equal(data, "to", 2);
	mktty_disconnect(b);
	mktty_output(s->mktty, 1, data, sizeof(data));
	assert_int_equal(mktty_read(a, data, sizeof(data)), 16383);

	/* While loaded 63 messages wait, then ENOSPC; boot wipes them. */
	assert_int_equal(load(s, 1), 0);
	for (int k = 0; k < 63; k++)
		assert_int_equal(mktty_write(a, "m", 1), 1);
	assert_int_equal(mktty_write(a, "m", 1), -ENOSPC);
	mktty_wipe_input(s->mktty, 1);
	assert_int_equal(instance_boot(s, 1), 0);
	nfed = 0;
	assert_int_equal(mktty_write(a, "hello", 5), 5);
	assert_int_equal(nfed, 5);
	mktty_disconnect(a);
	instance_force_halt(s, 1);
	end_sim(s);
}

static void test_faults(void **state)
{
	struct fault_list l = {0};
	struct err e = ERR_INIT;

	assert_int_equal(fault_parse(&l, "EBUSY@3", &e), 0);
	assert_int_equal(fault_parse(&l, "panic@4+1.5", &e), 0);
	assert_int_equal(fault_at(&l, 3)->error, -EBUSY);
	assert_int_equal(fault_at(&l, 4)->kind, FAULT_PANIC);
	assert_int_equal(fault_at(&l, 4)->ms, 1500);
	assert_null(fault_at(&l, 5));
	assert_int_equal(fault_parse(&l, "panic", &e), -EINVAL);
	assert_int_equal(fault_parse(&l, "nothing@1", &e), -EINVAL);
	assert_int_equal(fault_parse(&l, "panic@0", &e), -EINVAL);
	assert_int_equal(fault_parse(&l, "panic@1x", &e), -EINVAL);
	fault_list_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),	cmocka_unit_test(test_create_trap),
		cmocka_unit_test(test_memory),	cmocka_unit_test(test_late_cpu),
		cmocka_unit_test(test_poison),	cmocka_unit_test(test_undo),
		cmocka_unit_test(test_console), cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
