// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_neighbour_entry.c - for how long a MAC may be used: states that have one, and the grace after an entry went without a failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/neighbour.h>

#include "xlbd/neighbour_entry.h"

static const struct neighbour_info reachable = {
	.state = NUD_REACHABLE, .has_mac = true, .mac = {2, 0, 0, 0, 0, 1}};

static struct neighbour_info in_state(uint16_t state)
{
	return (struct neighbour_info){.state = state};
}

static struct neighbour_entry known(uint16_t state)
{
	struct neighbour_entry entry = {};
	struct neighbour_info info = reachable;

	info.state = state;
	neighbour_entry_heard(&entry, &info, 1000);
	return entry;
}

static void a_mac_is_used_also_while_the_kernel_asks_for_it(void **state)
{
	static const uint16_t usable[] = {NUD_PERMANENT, NUD_NOARP, NUD_REACHABLE,
	                                  NUD_STALE,     NUD_DELAY, NUD_PROBE};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(usable); i++) {
		struct neighbour_entry entry = known(usable[i]);

		assert_non_null(neighbour_entry_mac(&entry, 1000000));
	}
	assert_null(neighbour_entry_mac(&(struct neighbour_entry){}, 1000));
}

static void who_was_asked_and_did_not_answer_is_dead_at_once(void **state)
{
	struct neighbour_entry entry = known(NUD_PROBE);
	struct neighbour_info failed = in_state(NUD_FAILED);

	(void)state;
	neighbour_entry_heard(&entry, &failed, 2000);
	assert_null(neighbour_entry_mac(&entry, 2000));
}

static void an_entry_that_is_taken_away_keeps_its_mac_for_the_grace(void **state)
{
	struct neighbour_entry entry = known(NUD_STALE);
	struct neighbour_info incomplete = in_state(NUD_INCOMPLETE);

	(void)state;
	neighbour_entry_heard(&entry, NULL, 2000);
	assert_non_null(neighbour_entry_mac(&entry, 2000));
	/* being asked for does not prolong it */
	neighbour_entry_heard(&entry, &incomplete, 4000);
	assert_non_null(neighbour_entry_mac(&entry, 2000 + NEIGHBOUR_GRACE - 1));
	assert_null(neighbour_entry_mac(&entry, 2000 + NEIGHBOUR_GRACE));
	neighbour_entry_heard(&entry, &reachable, 9000);
	assert_non_null(neighbour_entry_mac(&entry, 1000000));
}

static void deleted_by_hand_shows_as_failed_out_of_nowhere(void **state)
{
	struct neighbour_entry entry = known(NUD_REACHABLE);
	struct neighbour_info failed = in_state(NUD_FAILED);

	(void)state;
	neighbour_entry_heard(&entry, &failed, 2000);
	neighbour_entry_heard(&entry, NULL, 2000);
	assert_non_null(neighbour_entry_mac(&entry, 2500));
	assert_null(neighbour_entry_mac(&entry, 2000 + NEIGHBOUR_GRACE));
}

static void an_entry_without_a_mac_has_none_to_keep(void **state)
{
	struct neighbour_entry entry = {};
	struct neighbour_info noarp = in_state(NUD_NOARP);

	(void)state;
	neighbour_entry_heard(&entry, &noarp, 1000);
	assert_null(neighbour_entry_mac(&entry, 1000));
}

static void only_what_nobody_asks_for_wants_to_be_used(void **state)
{
	static const struct {
		uint16_t state;
		bool wants;
	} rows[] = {
		{NUD_NONE, true},        {NUD_STALE, true},  {NUD_FAILED, true},
		{NUD_INCOMPLETE, false}, {NUD_DELAY, false}, {NUD_PROBE, false},
		{NUD_REACHABLE, false},  {NUD_NOARP, false}, {NUD_PERMANENT, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct neighbour_entry entry = known(rows[i].state);

		assert_int_equal(neighbour_entry_wants_use(&entry), rows[i].wants);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mac_is_used_also_while_the_kernel_asks_for_it),
		cmocka_unit_test(who_was_asked_and_did_not_answer_is_dead_at_once),
		cmocka_unit_test(an_entry_that_is_taken_away_keeps_its_mac_for_the_grace),
		cmocka_unit_test(deleted_by_hand_shows_as_failed_out_of_nowhere),
		cmocka_unit_test(an_entry_without_a_mac_has_none_to_keep),
		cmocka_unit_test(only_what_nobody_asks_for_wants_to_be_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
