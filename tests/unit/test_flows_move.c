// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_flows_move.c - another size of the connection table: what is refused, what moves, what packets change in between. Each test
 * runs for both widths of a key.
 *
 * Sources under test are compiled with tests/table_hooks.h, so that a test can step in where a packet would.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/flows_lab.h"

/* ---- another size ---- */

static void a_smaller_table_is_refused_unless_this_one_is_empty(bool wide)
{
	struct lab lab;

	lab_open(&lab, wide, 6, 2);
	assert_int_equal(flows_may_resize(lab.flows, wide, 5, 1), 0);
	assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_SYN, 1), 0);
	assert_int_equal(flows_may_resize(lab.flows, wide, 5, 1), -ENOSPC);
	assert_int_equal(flows_may_resize(lab.flows, wide, 6, 1), -ENOSPC);
	assert_int_equal(flows_may_resize(lab.flows, wide, 7, 3), 0);
	assert_int_equal(flows_may_resize(lab.flows, wide, 25, 3), -EINVAL);
	assert_int_equal(flows_may_resize(lab.flows, wide, 3, 4), -EINVAL);
	lab_grow(&lab, 7, 3);
	assert_int_equal(flows_may_resize(lab.flows, wide, 8, 4), -EBUSY);
	lab_close(&lab);
}

static void everything_moves_in_bounded_steps_and_is_found_all_the_time(bool wide)
{
	struct flows_progress progress = {};
	struct flow got;
	struct lab lab;
	unsigned steps = 0;

	lab_open(&lab, wide, 6, 2);
	for (unsigned i = 0; i < 150; i++)
		assert_int_equal(
			lab_insert(&lab, i, i & 1 ? XLB_PHASE_FIN_WAIT : XLB_PHASE_SYN, 50), 0);
	lab_grow(&lab, 8, 4);
	for (bool ended = false; !ended; steps++) {
		ended = flows_move(lab.flows, 60, 10, &progress);
		for (unsigned i = 0; i < 150; i++)
			assert_true(lab_finds(&lab, i, NULL));
		assert_int_equal(lab_count(&lab), 150);
		assert_int_equal(lab_insert(&lab, 77, XLB_PHASE_SYN, 60), -EEXIST);
	}
	assert_int_equal(steps, 7); /* 68 buckets */
	assert_int_equal(progress.moved, 150);
	assert_int_equal(progress.left, 0);
	flows_detach(lab.flows);
	assert_int_equal(lab_count(&lab), 150);
	for (unsigned i = 0; i < 150; i++) {
		assert_true(lab_finds(&lab, i, &got));
		assert_int_equal(got.phase, i & 1 ? XLB_PHASE_FIN_WAIT : XLB_PHASE_SYN);
		assert_int_equal(got.real, 1 + i % 5);
	}
	lab_close(&lab);
}

static void what_finds_no_slot_stays_in_the_old_table(bool wide)
{
	struct flows_progress progress = {};
	struct lab lab;

	lab_open(&lab, wide, 6, 2);
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(lab_insert(&lab, i, XLB_PHASE_ESTABLISHED, 50), 0);
	lab_grow(&lab, 1, 0); /* not allowed, but it fills up */
	assert_true(flows_move(lab.flows, 60, 1000, &progress));
	assert_int_equal(progress.moved, TINY);
	assert_int_equal(progress.left, 40 - TINY);
	for (unsigned i = 0; i < 40; i++)
		assert_true(lab_finds(&lab, i, NULL));
	assert_true(flows_move(lab.flows, 61, 1000, &progress)); /* another walk, counted afresh */
	assert_int_equal(progress.moved, 0);
	assert_int_equal(progress.left, 40 - TINY);
	lab_close(&lab);
}

/* Plays the packet that steps in between the copy in the new table and the removal from the old one. */
static struct {
	struct lab *lab;
	unsigned phase; /* 0: removes the connection */
	bool done;
} packet;

static void packet_steps_in(void)
{
	const int words = packet.lab->wide ? TABLE_WIDE : TABLE_NARROW;
	size_t slots = lab_bytes(&packet.lab->table, packet.lab->wide) / 8 / (words + 1), live = 0;

	for (size_t i = 0; i < slots; i++)
		live += TABLE_LIVE(*lab_state(packet.lab, i));
	if (!live || packet.done)
		return;
	packet.done = true;
	for (size_t i = 0; i < TINY; i++) {
		uint64_t *state = &packet.lab->old_word[i * (words + 1) + words];

		if (TABLE_LIVE(*state))
			*state = packet.phase ? TABLE_WITH_PHASE(*state, packet.phase)
			                      : TABLE_FREED(60);
	}
}

static void move_with_a_packet(struct lab *lab, bool wide, unsigned phase)
{
	struct flows_progress progress = {};

	lab_open(lab, wide, 1, 0);
	assert_int_equal(lab_insert(lab, 1, XLB_PHASE_ESTABLISHED, 50), 0);
	lab_grow(lab, 4, 0);
	packet.lab = lab;
	packet.phase = phase;
	packet.done = false;
	table_hooks.stretch = packet_steps_in;
	assert_true(flows_move(lab->flows, 60, 1000, &progress));
	table_hooks.stretch = NULL;
	assert_true(packet.done);
	flows_detach(lab->flows);
}

static void a_change_behind_the_copy_is_carried_over(bool wide)
{
	struct flow got;
	struct lab lab;

	move_with_a_packet(&lab, wide, XLB_PHASE_FIN_WAIT);
	assert_true(lab_finds(&lab, 1, &got));
	assert_int_equal(got.phase, XLB_PHASE_FIN_WAIT);
	assert_int_equal(got.real, 2);
	lab_close(&lab);
}

static void a_removal_behind_the_copy_removes_the_copy(bool wide)
{
	struct lab lab;

	move_with_a_packet(&lab, wide, 0);
	assert_false(lab_finds(&lab, 1, NULL));
	assert_int_equal(lab_count(&lab), 0);
	lab_close(&lab);
}

/* Plays another thread, that moves everything between a look into the new table and one into the old. */
static void all_moves_now(void)
{
	struct flows_progress progress = {};

	if (packet.done)
		return;
	packet.done = true;
	(void)flows_move(packet.lab->flows, 60, SIZE_MAX, &progress);
}

static void what_moves_between_two_looks_is_found_by_the_third(bool wide)
{
	for (unsigned mutant = 0; mutant <= 8; mutant += 8) {
		struct lab lab;

		lab_open(&lab, wide, 4, 0);
		assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_ESTABLISHED, 50), 0);
		lab_grow(&lab, 5, 0);
		packet.lab = &lab;
		packet.done = false;
		table_hooks = (struct table_hooks){.stretch = all_moves_now, .mutant = mutant};
		assert_int_equal(lab_finds(&lab, 1, NULL), mutant == 0);
		assert_true(packet.done);
		lab_close(&lab);
	}
}

static void of_a_key_in_both_tables_the_new_one_is_right(bool wide)
{
	struct flows_progress progress = {};
	struct flow got;
	struct lab lab;

	lab_open(&lab, wide, 4, 0);
	assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_ESTABLISHED, 50), 0);
	lab_grow(&lab, 5, 0);
	flows_detach(lab.flows);
	assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_SYN, 51), 0);
	assert_int_equal(flows_attach(lab.flows, wide ? NULL : &lab.old, wide ? &lab.old : NULL),
	                 0);
	assert_true(lab_finds(&lab, 1, &got));
	assert_int_equal(got.phase, XLB_PHASE_SYN);
	assert_true(flows_move(lab.flows, 60, 1000, &progress));
	assert_int_equal(lab_count(&lab), 1);
	assert_true(lab_finds(&lab, 1, &got));
	assert_int_equal(got.phase, XLB_PHASE_SYN);
	lab_close(&lab);
}

#define TESTS(T)                                                       \
	T(a_smaller_table_is_refused_unless_this_one_is_empty)         \
	T(everything_moves_in_bounded_steps_and_is_found_all_the_time) \
	T(what_finds_no_slot_stays_in_the_old_table)                   \
	T(a_change_behind_the_copy_is_carried_over)                    \
	T(a_removal_behind_the_copy_removes_the_copy)                  \
	T(what_moves_between_two_looks_is_found_by_the_third)          \
	T(of_a_key_in_both_tables_the_new_one_is_right)

TESTS(BOTH)

int main(void)
{
	const struct CMUnitTest tests[] = {TESTS(ROWS)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
