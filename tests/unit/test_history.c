// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_history.c - snmp/history.c: rates, peaks, and counters that lose continuity. The clock is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "snmp/history.h"
#include "tests/unit/snapshots.h"

#define START 1000000u

/* A snapshot goes in; the trend of its first virtual server comes out. */
static struct trend add(struct history *history, uint64_t at, unsigned long long packets)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot = snapshot_counts(&(struct counts){
		.packets = packets, .connections = packets / 4, .real_state = "up", .usable = 1});

	history_add(history, snapshot, at);
	return snapshot->vips[0].trend;
}

static void add_none(struct history *history, uint64_t at)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot = snapshot_of("{}");

	history_add(history, snapshot, at);
}

static void the_first_snapshot_has_no_rate_and_a_discontinuity(void **state)
{
	_cleanup_(history_freep) struct history *history = history_new();
	struct trend trend = add(history, START, 5000);

	(void)state;
	assert_int_equal(trend.packets_rate, 0);
	assert_int_equal(trend.discontinuity, START);
	assert_int_equal(trend.last_change, 0);
}

static void a_rate_is_the_average_of_ten_seconds(void **state)
{
	_cleanup_(history_freep) struct history *history = history_new();
	struct trend trend = {};

	(void)state;
	for (unsigned i = 0; i <= 20; i++)
		trend = add(history, START + i * 1000, i < 10 ? 0 : (i - 10) * 100);
	assert_int_equal(trend.packets_rate, 100);
	assert_int_equal(trend.connections_rate, 25);
	assert_int_equal(trend.bits_rate, 100 * 100 * 8);
	assert_int_equal(trend.discontinuity, START);
	trend = add(history, START + 21000, 1000);
	assert_int_equal(trend.packets_rate, 90);
}

static void a_peak_is_the_highest_second_of_five_minutes(void **state)
{
	_cleanup_(history_freep) struct history *history = history_new();
	uint64_t at = START;
	struct trend trend;

	(void)state;
	add(history, at, 0);
	trend = add(history, at += 1000, 7000);
	assert_int_equal(trend.packets_peak, 7000);
	for (unsigned i = 0; i < 280; i++)
		trend = add(history, at += 1000, 7000);
	assert_int_equal(trend.packets_peak, 7000);
	assert_int_equal(trend.packets_rate, 0);
	for (unsigned i = 0; i < 30; i++)
		trend = add(history, at += 1000, 7000);
	assert_int_equal(trend.packets_peak, 0);
}

static void a_counter_that_goes_back_is_a_discontinuity_and_no_rate(void **state)
{
	_cleanup_(history_freep) struct history *history = history_new();
	struct trend trend;

	(void)state;
	add(history, START, 1000);
	add(history, START + 1000, 2000);
	trend = add(history, START + 2000, 10);
	assert_int_equal(trend.discontinuity, START + 2000);
	assert_int_equal(trend.packets_rate, 0);
	trend = add(history, START + 3000, 110);
	assert_int_equal(trend.discontinuity, START + 2000);
	assert_int_equal(trend.packets_rate, 100);
}

static void a_row_that_returns_begins_anew(void **state)
{
	_cleanup_(history_freep) struct history *history = history_new();
	struct trend trend;

	(void)state;
	add(history, START, 1000);
	add_none(history, START + 1000);
	trend = add(history, START + 2000, 5000);
	assert_int_equal(trend.discontinuity, START + 2000);
	assert_int_equal(trend.packets_rate, 0);
}

static void a_silence_of_the_daemon_is_no_return(void **state)
{
	_cleanup_(history_freep) struct history *history = history_new();
	struct trend trend;

	(void)state;
	add(history, START, 1000);
	trend = add(history, START + 60000, 7000);
	assert_int_equal(trend.discontinuity, START);
	assert_int_equal(trend.packets_rate, 100);
}

static void what_is_gone_for_long_is_forgotten(void **state)
{
	_cleanup_(history_freep) struct history *history = history_new();
	_cleanup_(snapshot_freep) struct snapshot *snapshot = NULL;

	(void)state;
	add(history, START, 1000);
	add_none(history, START + HISTORY_KEEP_MS);
	add_none(history, START + HISTORY_KEEP_MS + 1000);
	snapshot = snapshot_of("{}");
	history_add(history, snapshot, START + HISTORY_KEEP_MS + 2000);
	assert_int_equal(snapshot->rows_changed, START + HISTORY_KEEP_MS);
}

static uint64_t state_change(struct history *history, uint64_t at, const char *state,
                             struct trend *ret)
{
	_cleanup_(snapshot_freep) struct snapshot *snapshot =
		snapshot_counts(&(struct counts){.real_state = state, .usable = 1});

	history_add(history, snapshot, at);
	*ret = snapshot->reals[0].trend;
	return snapshot->rows_changed;
}

static void a_change_of_state_is_timed_and_counted(void **state)
{
	_cleanup_(history_freep) struct history *history = history_new();
	struct trend trend;

	(void)state;
	state_change(history, START, "up", &trend);
	assert_int_equal(trend.transitions, 0);
	state_change(history, START + 1000, "down", &trend);
	assert_int_equal(trend.transitions, 1);
	assert_int_equal(trend.last_change, START + 1000);
	assert_int_equal(trend.before, OPER_UP);
	state_change(history, START + 2000, "drained", &trend);
	assert_int_equal(trend.transitions, 1);
	assert_int_equal(trend.last_change, START + 2000);
	assert_int_equal(state_change(history, START + 3000, "up", &trend), START);
	assert_int_equal(trend.transitions, 2);
}

static void takeovers_are_counted_but_not_how_it_began(void **state)
{
	static const char *const roles[] = {"true", "true", "false", "true", "true"};
	static const unsigned takeovers[] = {0, 0, 0, 1, 1};
	_cleanup_(history_freep) struct history *history = history_new();

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(roles); i++) {
		_cleanup_(snapshot_freep) struct snapshot *snapshot = NULL;
		char text[200];

		snprintf(text, sizeof(text),
		         "{'roles': [{'instance': 'one', 'state': 'BACKUP', 'active': %s}]}",
		         roles[i]);
		snapshot = snapshot_of(text);
		history_add(history, snapshot, START + i * 1000);
		assert_int_equal(snapshot->takeovers, takeovers[i]);
		assert_int_equal(snapshot->roles[0].number, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_snapshot_has_no_rate_and_a_discontinuity),
		cmocka_unit_test(a_rate_is_the_average_of_ten_seconds),
		cmocka_unit_test(a_peak_is_the_highest_second_of_five_minutes),
		cmocka_unit_test(a_counter_that_goes_back_is_a_discontinuity_and_no_rate),
		cmocka_unit_test(a_row_that_returns_begins_anew),
		cmocka_unit_test(a_silence_of_the_daemon_is_no_return),
		cmocka_unit_test(what_is_gone_for_long_is_forgotten),
		cmocka_unit_test(a_change_of_state_is_timed_and_counted),
		cmocka_unit_test(takeovers_are_counted_but_not_how_it_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
