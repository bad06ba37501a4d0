// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_gate.c - when the gate opens, and what stands in its file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "xlbd/sync/gate.h"

static char path[64];

static char written(void)
{
	_cleanup_fclose_ FILE *in = fopen(path, "r");

	return in ? (char)fgetc(in) : '-';
}

static struct gate *make(bool active)
{
	struct gate *gate = NULL;

	snprintf(path, sizeof(path), "/tmp/xlbd-gate-%d", (int)getpid());
	assert_int_equal(gate_new(path, 30, active, 1000, &gate), 0);
	return gate;
}

static void it_opens_when_the_tables_are_equal(void **state)
{
	_cleanup_(gate_freep) struct gate *gate = make(false);

	(void)state;
	assert_int_equal(written(), '1');
	gate_tick(gate, NODE_JOINING, 1500);
	assert_int_equal(written(), '1');
	gate_tick(gate, NODE_EQUAL, 1600);
	assert_true(gate_is_open(gate) && written() == '0');
	/* and stays so */
	gate_tick(gate, NODE_JOINING, 1700);
	assert_true(gate_is_open(gate) && gate_reason(gate) == GATE_EQUAL);
}

static void it_opens_when_nobody_is_heard_for_two_seconds(void **state)
{
	_cleanup_(gate_freep) struct gate *gate = make(false);

	(void)state;
	gate_tick(gate, NODE_ALONE, 2999);
	assert_int_equal(written(), '1');
	gate_tick(gate, NODE_ALONE, 3000);
	assert_true(gate_reason(gate) == GATE_ALONE && written() == '0');
}

static void it_opens_at_the_deadline_in_any_case(void **state)
{
	_cleanup_(gate_freep) struct gate *gate = make(false);

	(void)state;
	gate_tick(gate, NODE_JOINING, 30999);
	assert_int_equal(written(), '1');
	gate_tick(gate, NODE_JOINING, 31000);
	assert_true(gate_reason(gate) == GATE_DEADLINE && written() == '0');
}

static void it_is_never_closed_on_a_director_that_is_active(void **state)
{
	_cleanup_(gate_freep) struct gate *gate = make(true);

	(void)state;
	assert_true(gate_is_open(gate) && written() == '0');
}

static void it_is_held_and_released_by_hand_and_left_open_at_the_end(void **state)
{
	struct gate *gate = make(true);

	(void)state;
	gate_hold(gate, true);
	gate_tick(gate, NODE_EQUAL, 2000000);
	assert_true(!gate_is_open(gate) && written() == '1');
	gate_hold(gate, false);
	assert_true(gate_is_open(gate) && written() == '0');
	gate_hold(gate, true);
	gate_free(gate);
	assert_int_equal(written(), '0');
	unlink(path);
}

static void without_a_file_it_only_answers(void **state)
{
	struct gate *gate = NULL;

	(void)state;
	assert_int_equal(gate_new(NULL, 30, false, 0, &gate), 0);
	gate_tick(gate, NODE_EQUAL, 10);
	assert_true(gate_is_open(gate) && !gate_path(gate) && !gate_problem(gate));
	gate_free(gate);
	assert_int_equal(gate_new("/nowhere/at/all", 30, false, 0, &gate), 0);
	assert_true(gate_problem(gate) < 0);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_opens_when_the_tables_are_equal),
		cmocka_unit_test(it_opens_when_nobody_is_heard_for_two_seconds),
		cmocka_unit_test(it_opens_at_the_deadline_in_any_case),
		cmocka_unit_test(it_is_never_closed_on_a_director_that_is_active),
		cmocka_unit_test(it_is_held_and_released_by_hand_and_left_open_at_the_end),
		cmocka_unit_test(without_a_file_it_only_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
