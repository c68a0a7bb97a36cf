// SPDX-License-Identifier: GPL-2.0-or-later
/* Against published figures: the rules, and how often they are right when the truth is known. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "config.h"
#include "harness/analysis/agreement.h"
#include "tests/synth/synth.h"

static struct estimate between(double lo, double hi, size_t n)
{
	double half = (log(hi) - log(lo)) / 2;

	return (struct estimate){.n = n,
				 .mean = (log(lo) + log(hi)) / 2,
				 .sd = half * sqrt(n) / t_quantile(0.975, n - 1)};
}

static void expect(double lo, double hi, double published, enum agreement want)
{
	struct margin m = margin_of(0.03);
	struct estimate d = between(lo, hi, 10);
	enum agreement got = agreement_of(&d, published, 0.005, &m);

	if (got != want)
		fail_msg("%.3f to %.3f against %.2f: %s instead of %s", lo, hi, published,
			 agreement_name(got), agreement_name(want));
}

static void test_rules(void **state)
{
	struct margin m = margin_of(0.03);
	struct estimate few = between(2.5, 2.7, 5);

	expect(2.50, 2.70, 2.60, AGREE_REPRODUCED);
	/* Beyond the next block's interval, which is 3.3 times as wide. */
	expect(2.50, 2.70, 3.10, AGREE_OTHER_SIZE);
	expect(1.20, 1.22, 2.60, AGREE_OTHER_SIZE);
	expect(0.99, 1.01, 2.60, AGREE_NOT);
	expect(0.80, 0.90, 2.60, AGREE_NOT);
	expect(0.90, 3.00, 2.60, AGREE_UNDECIDED);
	/* Wider than the margin, but far from what was published. */
	expect(0.95, 1.05, 2.60, AGREE_NOT);
	expect(0.95, 1.05, 1.06, AGREE_UNDECIDED);
	/* Holds it, on its side, but not sharp: half of 12 % is more than a quarter of 15 %. */
	expect(1.08, 1.22, 1.16, AGREE_UNDECIDED);
	/* A loss is judged as a gain is. */
	expect(0.44, 0.46, 0.45, AGREE_REPRODUCED);
	expect(0.99, 1.01, 0.45, AGREE_NOT);
	/* Parity. */
	expect(0.99, 1.01, 1.00, AGREE_REPRODUCED);
	expect(1.10, 1.12, 1.00, AGREE_NOT);
	expect(0.95, 1.05, 1.00, AGREE_UNDECIDED);
	/* Called parity, but outside the margin: a small effect. */
	expect(1.07, 1.09, 1.08, AGREE_REPRODUCED);
	expect(0.995, 1.005, 1.08, AGREE_NOT);
	assert_int_equal(agreement_of(&few, 2.6, 0.005, &m), AGREE_UNDECIDED);
}

static struct published *load(void)
{
	struct published *p = NULL;
	struct err e = ERR_INIT;

	if (published_read(&p, MKSPLIT_SOURCE_DIR "/results/published/published.json", &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

static void test_published_set(void **state)
{
	cleanup_published struct published *p = load();
	const struct pub_row *r = published_row(p, "unlink1", 1);
	const struct pub_curve *c;

	assert_float_equal(r->ratio, 2.60, 1e-12);
	assert_string_equal(r->comparison, "one_socket_24");
	assert_string_equal(r->shared_state, "parent directory i_rwsem");
	assert_float_equal(published_row(p, "unlink1", 2)->ratio, 4.07, 1e-12);
	assert_false(published_comparison(p, "cross_socket_24")->simultaneous);
	assert_int_equal(published_comparison(p, "one_socket_24")->online, 48);
	/* The security module was off there: another experiment. */
	assert_float_equal(published_row(p, "open1", 1)->ratio, 2.02, 1e-12);
	assert_null(published_row(p, "nothing", 1));
	c = published_curve(p, "unlink1", "single", false, "xeon5418y");
	assert_int_equal(c->n, 10);
	assert_float_equal(c->points[0].rate, 466773, 1e-6);
}

enum {
	SEEDS = 60,
	ROWS_MAX = 40
};

static const int counts[] = {24};

/* Every row published for one socket, with the truth as it was published or 1 for all effects. */
static int published_tests(const struct published *p, struct synth_test *tests, bool truth)
{
	int n = 0;

	for (size_t i = 0; i < p->nrows && n < ROWS_MAX; i++) {
		const struct pub_row *r = &p->rows[i];
		bool control = strcmp(r->role, "control") == 0;

		if (published_row(p, r->test, 1) != r)
			continue;
		tests[n++] = (struct synth_test){.name = r->test,
						 .control = control,
						 .primary = !control,
						 .ratio = truth || control ? r->ratio : 1,
						 .anchor = 1,
						 .rate = 1e6};
	}
	return n;
}

/* Agreement of each row over all seeds, into tally[row][agreement]. */
static void judge_all(const struct published *p, bool truth, int tally[][AGREE_NO_EVIDENCE + 1],
		      double *published, size_t *nrows)
{
	struct synth_test tests[ROWS_MAX];
	struct synth s = synth_default;

	s.tests = tests;
	s.ntests = published_tests(p, tests, truth);
	s.tasks = counts;
	s.ntasks = 1;
	/* Loops that share nothing and allocate nothing are as quiet as the clock. */
	s.control_share = 0.1;
	for (int i = 0; i < SEEDS; i++) {
		cleanup_reproduction struct reproduction r = {0};
		cleanup_model struct model *m = NULL;
		cleanup_analysis struct analysis *a = NULL;
		struct err e = ERR_INIT;
		char *text = NULL;
		size_t size = 0;
		FILE *f = open_memstream(&text, &size);

		s.seed = 9000 + i;
		synth_write(f, &s);
		fclose(f);
		f = fmemopen(text, size, "r");
		if (model_read_stream(&m, f, "synthetic", &e) < 0 || analyse(&a, m, &e) < 0 ||
		    reproduce(&r, a, 0, p, 1, false, &e) < 0)
			fail_msg("%s", e.text);
		fclose(f);
		free(text);
		assert_int_equal(r.ndifferences, 0);
		*nrows = r.nrows;
		for (size_t k = 0; k < r.nrows; k++) {
			published[k] = r.rows[k].pub->ratio;
			tally[k][r.rows[k].agreement]++;
		}
	}
}

static void check_share(bool truth, enum agreement want, double least)
{
	cleanup_published struct published *p = load();
	int tally[ROWS_MAX][AGREE_NO_EVIDENCE + 1] = {0};
	double published[ROWS_MAX];
	size_t nrows = 0, judged = 0;
	int worst = SEEDS;

	judge_all(p, truth, tally, published, &nrows);
	for (size_t k = 0; k < nrows; k++) {
		if (published[k] > 0.91 && published[k] < 1.09)
			continue;
		judged++;
		worst = tally[k][want] < worst ? tally[k][want] : worst;
	}
	print_message(
		"%zu rows outside 0.91 to 1.09, %d seeds: \"%s\" in at least %.0f %% of each\n",
		judged, SEEDS, agreement_name(want), 100.0 * worst / SEEDS);
	assert_true(judged >= 10);
	assert_true(worst >= least * SEEDS);
}

static void test_truth_as_published(void **state)
{
	check_share(true, AGREE_REPRODUCED, 0.90);
}

static void test_truth_is_one(void **state)
{
	check_share(false, AGREE_NOT, 0.90);
}

static void test_other_machine(void **state)
{
	cleanup_published struct published *p = load();
	cleanup_reproduction struct reproduction r = {0};
	cleanup_model struct model *m = NULL;
	cleanup_analysis struct analysis *a = NULL;
	struct synth_test tests[ROWS_MAX];
	struct synth s = synth_default;
	struct err e = ERR_INIT;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	s.tests = tests;
	s.ntests = published_tests(p, tests, true);
	s.tasks = counts;
	s.ntasks = 1;
	s.cpus = 32;
	s.kernel = "6.12.1";
	synth_write(f, &s);
	fclose(f);
	f = fmemopen(text, size, "r");
	assert_int_equal(model_read_stream(&m, f, "synthetic", &e), 0);
	fclose(f);
	free(text);
	assert_int_equal(analyse(&a, m, &e), 0);
	assert_int_equal(reproduce(&r, a, 0, p, 1, false, &e), 0);
	assert_int_equal(r.ndifferences, 2);
	assert_string_equal(r.differences[0], "cores a package: 16 here, 24 there");
	for (size_t i = 0; i < r.nrows; i++)
		assert_int_equal(r.rows[i].agreement, AGREE_SHAPE_ONLY);
	assert_true(r.tau > 0.7);
	assert_true(r.same_direction + 2 >= r.effects && r.effects > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_published_set),
		cmocka_unit_test(test_truth_as_published),
		cmocka_unit_test(test_truth_is_one),
		cmocka_unit_test(test_other_machine),
	};

	return cmocka_run_group_tests_name("agreement", tests, NULL, NULL);
}
