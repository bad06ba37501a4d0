// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_estimator.c - rates as IPVS would show them. Expected values: ip_vs_est.c's arithmetic done by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "xlbd/ipvs/estimator.h"

static void feed(struct estimator *estimator, uint64_t connections, uint64_t packets,
                 uint64_t bytes, int64_t now)
{
	const uint64_t counter[ESTIMATOR_COUNTERS] = {connections, packets, bytes};

	estimator_update(estimator, counter, now);
}

static void nothing_is_estimated_before_two_seconds(void **state)
{
	struct estimator estimator = {0};

	(void)state;
	feed(&estimator, 100, 100, 100, 1999);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_CONNECTIONS), 0);
	feed(&estimator, 100, 100, 100, 2000);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_CONNECTIONS),
	                 12); /* 50 / 4, + 511/1024 */
}

static void a_step_moves_a_quarter_of_the_way(void **state)
{
	struct estimator estimator = {0};

	(void)state;
	feed(&estimator, 8, 800, 80000, 2000);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_CONNECTIONS), 1);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_PACKETS), 100);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_BYTES), 10000);
	feed(&estimator, 16, 1600, 160000, 4000);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_PACKETS), 175);
	feed(&estimator, 16, 1600, 160000, 6000);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_PACKETS), 131); /* 131.25 */
}

static void a_late_look_takes_the_steps_it_missed(void **state)
{
	struct estimator late = {0}, steady = {0};

	(void)state;
	for (int i = 1; i <= 5; i++)
		feed(&steady, 0, 1000ul * (uint64_t)i, 0, 2000 * i);
	feed(&late, 0, 5000, 0, 10000);
	assert_int_equal(estimator_rate(&late, ESTIMATOR_PACKETS),
	                 estimator_rate(&steady, ESTIMATOR_PACKETS));
	feed(&late, 0, 5000 + 500 * 3600, 0, 10000 + 3600 * 1000);
	assert_int_equal(estimator_rate(&late, ESTIMATOR_PACKETS), 500);
}

static void a_counter_that_goes_back_stands_still(void **state)
{
	struct estimator estimator = {0};

	(void)state;
	feed(&estimator, 0, 400, 0, 2000);
	feed(&estimator, 0, 4, 0, 4000);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_PACKETS),
	                 37); /* 50 * 3/4 = 37.5, below */
	feed(&estimator, 0, 404, 0, 6000);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_PACKETS),
	                 78); /* 37.5 + (200 - 37.5) / 4 */
}

static void a_reset_starts_at_rate_0_from_the_counters_given(void **state)
{
	const uint64_t counter[ESTIMATOR_COUNTERS] = {1000, 1000, 1000};
	struct estimator estimator = {0};

	(void)state;
	feed(&estimator, 900, 900, 900, 2000);
	estimator_reset(&estimator, counter, 2500);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_BYTES), 0);
	feed(&estimator, 1000, 1000, 1000, 4500);
	assert_int_equal(estimator_rate(&estimator, ESTIMATOR_CONNECTIONS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_estimated_before_two_seconds),
		cmocka_unit_test(a_step_moves_a_quarter_of_the_way),
		cmocka_unit_test(a_late_look_takes_the_steps_it_missed),
		cmocka_unit_test(a_counter_that_goes_back_stands_still),
		cmocka_unit_test(a_reset_starts_at_rate_0_from_the_counters_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
