// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_window.c - sequences that have been received: each once, gaps known, what is too old given up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "xlbd/sync/window.h"

static void a_sequence_is_new_once(void **state)
{
	struct window window;

	(void)state;
	window_start(&window, 10);
	assert_false(window_is_new(&window, 10));
	assert_true(window_is_new(&window, 11));
	assert_int_equal(window_take(&window, 13), 0);
	assert_false(window_is_new(&window, 13));
	assert_true(window_is_new(&window, 11) && window_is_new(&window, 12));
	assert_int_equal(window.received, 10);
	window_take(&window, 11);
	assert_int_equal(window.received, 11);
	window_take(&window, 12);
	assert_true(window_is_whole(&window) && window.received == 13);
}

static void gaps_are_named_in_order_as_many_as_there_is_room_for(void **state)
{
	struct wire_range range[4];
	struct window window;

	(void)state;
	window_start(&window, 0);
	window_take(&window, 3);
	window_take(&window, 5);
	window_know(&window, 9);
	assert_int_equal(window_missing(&window, range, 4), 3);
	assert_true(range[0].first == 1 && range[0].last == 2);
	assert_true(range[1].first == 4 && range[1].last == 4);
	assert_true(range[2].first == 6 && range[2].last == 9);
	assert_int_equal(window_missing(&window, range, 2), 2);
	window_know(&window, 7); /* older news */
	assert_int_equal(window.highest, 9);
}

static void what_falls_out_of_the_window_is_given_up(void **state)
{
	struct window window;

	(void)state;
	window_start(&window, 0);
	window_take(&window, 2);
	assert_int_equal(window_know(&window, WINDOW_BITS), 1);
	assert_false(window_is_new(&window, 1));
	assert_true(window_is_new(&window, 3));
	assert_int_equal(window.received, 2);
	assert_true(window_take(&window, 100000000) > 0);
	assert_false(window_is_new(&window, 3));
	assert_true(window_is_new(&window, 100000000 - WINDOW_BITS + 2));
}

static void a_full_circle_of_the_window_has_no_ghosts(void **state)
{
	struct wire_range range[1];
	struct window window;

	(void)state;
	window_start(&window, 0);
	for (uint64_t i = 1; i <= 3 * WINDOW_BITS; i++)
		if (i % 1000)
			window_take(&window, i);
	assert_int_equal(window_missing(&window, range, 1), 1);
	assert_int_equal(range[0].first % 1000, 0);
	for (uint64_t i = 3 * WINDOW_BITS - 5000; i <= 3 * WINDOW_BITS; i++)
		assert_int_equal(window_is_new(&window, i), i % 1000 == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sequence_is_new_once),
		cmocka_unit_test(gaps_are_named_in_order_as_many_as_there_is_room_for),
		cmocka_unit_test(what_falls_out_of_the_window_is_given_up),
		cmocka_unit_test(a_full_circle_of_the_window_has_no_ghosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
