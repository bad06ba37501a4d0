// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_flows_wake.c - the connection table after a daemon was dead for so long that its clock may have gone round. On
 * plain memory, for both widths of a key. The timeout is 1000 ticks, the clock goes round in 2^20.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/flows_lab.h"

#define LAST 5000ull /* the last beat of the dead daemon's heart */

static uint64_t live_after_sweep(struct lab *lab, uint64_t now)
{
	_cleanup_free_ struct flows_census *seen = lab_census(lab, now, NULL, NULL);

	return seen->live;
}

static void a_short_absence_is_left_to_the_sweep(bool wide)
{
	uint64_t now = LAST + TABLE_TICKS / 2 - 2000;
	struct lab lab;

	lab_open(&lab, wide, 4, 0);
	assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_ESTABLISHED, LAST - 900), 0);
	assert_int_equal(lab_insert(&lab, 2, XLB_PHASE_ESTABLISHED, now - 900), 0);
	assert_int_equal(flows_wake(lab.flows, now, LAST), 0);
	assert_int_equal(live_after_sweep(&lab, now), 1);
	assert_true(lab_finds(&lab, 2, NULL));
	lab_close(&lab);
}

static void within_a_round_what_packets_renewed_is_told_from_what_they_did_not(bool wide)
{
	uint64_t now = LAST + TABLE_TICKS / 4 * 3;
	struct lab lab;

	lab_open(&lab, wide, 4, 0);
	assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_ESTABLISHED, LAST - 900), 0);
	assert_int_equal(lab_insert(&lab, 2, XLB_PHASE_ESTABLISHED, LAST), 0);
	assert_int_equal(lab_insert(&lab, 3, XLB_PHASE_ESTABLISHED, now - 900), 0);
	assert_int_equal(lab_insert(&lab, 4, XLB_PHASE_ESTABLISHED, now + 1), 0);
	/* the sweep alone would keep them, for three days more */
	assert_int_equal(live_after_sweep(&lab, now), 4);
	assert_int_equal(flows_wake(lab.flows, now, LAST), 2);
	assert_false(lab_finds(&lab, 1, NULL));
	assert_false(lab_finds(&lab, 2, NULL));
	assert_int_equal(live_after_sweep(&lab, now), 2);
	lab_close(&lab);
}

static void after_a_round_nothing_that_looks_young_is_believed(bool wide)
{
	static const uint64_t absences[] = {TABLE_TICKS - 1000, TABLE_TICKS + 7,
	                                    5ull * TABLE_TICKS + TABLE_TICKS / 2};

	for (size_t i = 0; i < sizeof(absences) / sizeof(*absences); i++) {
		uint64_t now = LAST + absences[i];
		struct lab lab;

		lab_open(&lab, wide, 4, 0);
		assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_ESTABLISHED, LAST - 900), 0);
		assert_int_equal(lab_insert(&lab, 2, XLB_PHASE_SYN, LAST), 0);
		assert_int_equal(lab_insert(&lab, 3, XLB_PHASE_DATAGRAM, now), 0);
		assert_int_equal(flows_wake(lab.flows, now, LAST), 3);
		assert_int_equal(live_after_sweep(&lab, now), 0);
		lab_close(&lab);
	}
}

static void new_maps_have_nothing_to_wake(bool wide)
{
	struct lab lab;

	lab_open(&lab, wide, 4, 0);
	assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_ESTABLISHED, 7), 0);
	assert_int_equal(flows_wake(lab.flows, 9ull * TABLE_TICKS, 0), 0);
	lab_close(&lab);
}

static void a_slot_freed_almost_a_round_ago_can_be_taken_at_once(bool wide)
{
	uint64_t now = LAST + TABLE_TICKS - 100;
	struct lab lab;

	lab_open(&lab, wide, 1, 0);
	for (unsigned i = 0; i < TINY; i++)
		assert_int_equal(lab_insert(&lab, i, XLB_PHASE_ESTABLISHED, LAST - 2000), 0);
	assert_int_equal(live_after_sweep(&lab, LAST), 0);
	assert_int_equal(lab_insert(&lab, 50, XLB_PHASE_ESTABLISHED, now), -ENOSPC);
	assert_int_equal(flows_wake(lab.flows, now, LAST), 0);
	assert_int_equal(lab_insert(&lab, 50, XLB_PHASE_ESTABLISHED, now), 0);
	lab_close(&lab);
}

static struct lab *renewed; /* whose connection the packet below belongs to */
static uint64_t renewed_at;

/* A packet renews its connection between our look and our removal. */
static void renew(void)
{
	for (size_t i = 0;
	     i < lab_bytes(&renewed->table, renewed->wide) / (renewed->wide ? 32 : 16); i++) {
		uint64_t *word = lab_state(renewed, i);

		if (TABLE_LIVE(*word))
			*word = TABLE_WITH_TIME(*word, renewed_at);
	}
}

static void what_a_packet_renews_meanwhile_stays(bool wide)
{
	uint64_t now = LAST + 2ull * TABLE_TICKS;
	struct lab lab;

	lab_open(&lab, wide, 4, 0);
	assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_ESTABLISHED, LAST - 900), 0);
	renewed = &lab;
	renewed_at = now;
	table_hooks.stretch = renew;
	assert_int_equal(flows_wake(lab.flows, now, LAST), 0);
	table_hooks.stretch = NULL;
	assert_int_equal(live_after_sweep(&lab, now), 1);
	lab_close(&lab);
}

#define TESTS(T)                                                              \
	T(a_short_absence_is_left_to_the_sweep)                               \
	T(within_a_round_what_packets_renewed_is_told_from_what_they_did_not) \
	T(after_a_round_nothing_that_looks_young_is_believed)                 \
	T(new_maps_have_nothing_to_wake)                                      \
	T(a_slot_freed_almost_a_round_ago_can_be_taken_at_once)               \
	T(what_a_packet_renews_meanwhile_stays)

TESTS(BOTH)

int main(void)
{
	const struct CMUnitTest tests[] = {TESTS(ROWS)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
