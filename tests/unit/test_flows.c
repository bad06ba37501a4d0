// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_flows.c - the connection table from the daemon's side, on plain memory: what is inserted, found, counted, expired,
 * evicted. Each test runs for both widths of a key. The smallest table has one place for all keys: twelve slots.
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

/* Member by member: the padding may be anything. */
static void assert_same(const struct flow *one, const struct flow *other)
{
	assert_memory_equal(&one->client, &other->client, sizeof(one->client));
	assert_int_equal(one->client_port, other->client_port);
	assert_int_equal(one->virtual_port, other->virtual_port);
	assert_int_equal(one->service, other->service);
	assert_int_equal(one->real, other->real);
	assert_int_equal(one->phase, other->phase);
	assert_int_equal(one->idle, other->idle);
}

/* ---- insertion and look-up ---- */

static void what_is_inserted_is_found_under_its_name(bool wide)
{
	struct flow wanted, got = {};
	struct lab lab;

	lab_open(&lab, wide, 8, 4);
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(lab_insert(&lab, i, XLB_PHASE_ESTABLISHED, 7), 0);
	for (unsigned i = 0; i < 500; i++) {
		wanted = lab_flow(&lab, i);
		wanted.idle = 93;
		assert_true(lab_finds(&lab, i, &got));
		assert_same(&got, &wanted);
	}
	assert_false(lab_finds(&lab, 501, NULL));
	assert_int_equal(lab_insert(&lab, 3, XLB_PHASE_SYN, 8), -EEXIST);
	assert_true(lab_finds(&lab, 3, &got));
	assert_int_equal(got.phase, XLB_PHASE_ESTABLISHED);
	lab_close(&lab);
}

static void every_part_of_a_name_counts(bool wide)
{
	struct flow flow, other;
	struct lab lab;

	lab_open(&lab, wide, 4, 0);
	assert_int_equal(lab_insert(&lab, 9, XLB_PHASE_DATAGRAM, 1), 0);
	flow = lab_flow(&lab, 9);
	assert_int_equal(flows_find(lab.flows, 1, &flow.client, flow.client_port, flow.service,
	                            wide, &other),
	                 !wide); /* in the wide table it has a virtual port */
	for (int part = 0; part < (wide ? 6 : 3); part++) {
		other = flow;
		other.client_port ^= part == 0;
		other.service ^= part == 1 ? 4 : 0;
		other.client.word[3] ^= part == 2 ? htonl(1u << 31) : 0;
		other.client.word[0] ^= part == 3;
		other.client.word[1] ^= part == 4;
		other.virtual_port ^= part == 5;
		assert_false(flows_look(lab.flows, 1, &other, wide, &other));
	}
	lab_close(&lab);
}

/* ---- who gives way ---- */

static void established_closing_and_datagram_flows_never_give_way(bool wide)
{
	static const uint8_t phases[] = {XLB_PHASE_ESTABLISHED, XLB_PHASE_FIN_WAIT,
	                                 XLB_PHASE_DATAGRAM};
	struct lab lab;

	lab_open(&lab, wide, 1, 0);
	for (unsigned i = 0; i < TINY; i++)
		assert_int_equal(lab_insert(&lab, i, phases[i % 3], 10), 0);
	assert_int_equal(lab_insert(&lab, 50, XLB_PHASE_ESTABLISHED, 500), -ENOSPC);
	assert_int_equal(lab_insert(&lab, 51, XLB_PHASE_SYN, 1000), -ENOSPC);
	for (unsigned i = 0; i < TINY; i++)
		assert_true(lab_finds(&lab, i, NULL));
	assert_int_equal(lab_insert(&lab, 52, XLB_PHASE_SYN, 1011), 0); /* over the timeout */
	lab_close(&lab);
}

static void expired_goes_before_closed_before_half_open_and_the_oldest_first(bool wide)
{
	static const uint8_t phases[TINY] = {
		XLB_PHASE_ESTABLISHED, XLB_PHASE_SYN,       XLB_PHASE_CLOSE,
		XLB_PHASE_SYN,         XLB_PHASE_TIME_WAIT, XLB_PHASE_FIN_WAIT,
	};
	static const uint64_t born[TINY] = {20, 21, 25, 22, 24, 2};
	static const unsigned order[] = {5, 4, 2, 1, 3}; /* FIN_WAIT has run out */
	struct lab lab;

	lab_open(&lab, wide, 1, 0);
	lab.control.timeout[XLB_PHASE_FIN_WAIT] = 30;
	for (unsigned i = 0; i < TINY; i++)
		assert_int_equal(lab_insert(&lab, i, i < 6 ? phases[i] : XLB_PHASE_DATAGRAM,
		                            i < 6 ? born[i] : 20),
		                 0);
	for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++) {
		assert_true(lab_finds(&lab, order[i], NULL));
		assert_int_equal(lab_insert(&lab, 100 + i, XLB_PHASE_ESTABLISHED, 40), 0);
		assert_false(lab_finds(&lab, order[i], NULL));
	}
	assert_int_equal(lab_insert(&lab, 200, XLB_PHASE_SYN, 41), -ENOSPC);
	assert_int_equal(lab_count(&lab), TINY);
	lab_close(&lab);
}

static void a_slot_changes_hands_once_a_tick(bool wide)
{
	struct lab lab;

	lab_open(&lab, wide, 1, 0);
	for (unsigned i = 0; i < TINY; i++)
		assert_int_equal(lab_insert(&lab, i, XLB_PHASE_SYN, 10), 0);
	assert_int_equal(lab_insert(&lab, 20, XLB_PHASE_SYN, 10), -ENOSPC);
	assert_int_equal(lab_insert(&lab, 20, XLB_PHASE_SYN, 9), -ENOSPC); /* an earlier clock */
	assert_int_equal(lab_insert(&lab, 20, XLB_PHASE_SYN, 11), 0);
	lab_close(&lab);
}

static void a_slot_free_for_a_round_of_the_clock_can_be_taken(bool wide)
{
	struct lab lab;

	lab_open(&lab, wide, 1, 0);
	for (unsigned slot = 0; slot < TINY; slot++)
		*lab_state(&lab, slot) = TABLE_FREED(0);
	for (uint64_t now = 0; now < 3 * (uint64_t)TABLE_TICKS; now += TABLE_TICKS / 64) {
		for (unsigned bucket = 0; bucket < 3; bucket++) /* beside a busy neighbour */
			*lab_state(&lab, bucket * 4) = TABLE_STATE(XLB_PHASE_SYN, now, 0, 1);
		free(lab_census(&lab, now, NULL, NULL));
	}
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(lab_insert(&lab, i, XLB_PHASE_SYN, 3 * (uint64_t)TABLE_TICKS - 12),
		                 0);
	lab_close(&lab);
}

static void the_clock_may_go_round(bool wide)
{
	const uint64_t end = 5 * (uint64_t)TABLE_TICKS;
	_cleanup_free_ struct flows_census *seen = NULL;
	struct lab lab;

	lab_open(&lab, wide, 1, 0);
	for (unsigned i = 0; i < TINY; i++)
		assert_int_equal(lab_insert(&lab, i, XLB_PHASE_SYN, end - 12 + i), 0);
	assert_int_equal(lab_insert(&lab, 20, XLB_PHASE_SYN, end + 3), 0);
	assert_false(lab_finds(&lab, 0, NULL));
	assert_true(lab_finds(&lab, 1, NULL));
	lab.control.timeout[XLB_PHASE_SYN] = 10;
	seen = lab_census(&lab, end + 3, NULL, NULL); /* ages 14 .. 4, and 0 */
	assert_int_equal(seen->expired, 4);
	assert_int_equal(seen->live, 8);
	lab_close(&lab);
}

/* ---- the sweep ---- */

static void a_sweep_frees_what_is_over_its_timeout_and_counts_the_rest(bool wide)
{
	static const uint8_t phases[] = {XLB_PHASE_SYN,      XLB_PHASE_ESTABLISHED,
	                                 XLB_PHASE_FIN_WAIT, XLB_PHASE_CLOSE,
	                                 XLB_PHASE_DATAGRAM, XLB_PHASE_TIME_WAIT};
	_cleanup_free_ struct flows_census *seen = NULL;
	uint64_t by_real = 0, by_service = 0;
	struct lab lab;

	lab_open(&lab, wide, 8, 4);
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(lab_insert(&lab, i, phases[i % 6], 50), 0);
	lab.control.timeout[XLB_PHASE_CLOSE] = 49;
	lab.control.timeout[XLB_PHASE_SYN] = 50;
	seen = lab_census(&lab, 100, NULL, NULL);
	assert_int_equal(seen->slots, 4 * (256 + 16));
	assert_int_equal(seen->expired, 50); /* 49 < age 50 <= 50 */
	assert_int_equal(seen->live, 250);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(seen->by_phase[phases[i]], phases[i] == XLB_PHASE_CLOSE ? 0 : 50);
	for (unsigned id = 0; id < XLB_IDS; id++) {
		by_real += seen->active[id] + seen->inactive[id];
		by_service += seen->service[id];
	}
	assert_int_equal(by_real, 250);
	assert_int_equal(by_service, 250);
	assert_int_equal(seen->active[1], 20); /* i % 5 == 0, of which a third SYN or ESTABLISHED */
	assert_int_equal(seen->inactive[1], 30);
	assert_int_equal(seen->service[1], 50); /* i % 3 == 0: SYN and CLOSE; these are gone */
	lab_close(&lab);
}

static void what_is_newer_than_our_clock_is_not_old(bool wide)
{
	_cleanup_free_ struct flows_census *seen = NULL;
	struct lab lab;

	lab_open(&lab, wide, 4, 0);
	assert_int_equal(lab_insert(&lab, 0, XLB_PHASE_SYN, 101), 0);
	assert_int_equal(lab_insert(&lab, 1, XLB_PHASE_SYN, 355), 0);
	assert_int_equal(lab_insert(&lab, 2, XLB_PHASE_ESTABLISHED, 50000),
	                 0); /* we were stopped */
	seen = lab_census(&lab, 100, NULL, NULL);
	assert_int_equal(seen->live, 3);
	assert_int_equal(lab_insert(&lab, 2, XLB_PHASE_SYN, 100), -EEXIST);
	lab_close(&lab);
}

static void entries_of_dropped_owners_go_at_once(bool wide)
{
	uint64_t service[XLB_IDS / 64] = {1u << 2}, real[XLB_IDS / 64] = {1u << 4};
	_cleanup_free_ struct flows_census *seen = NULL;
	struct lab lab;

	lab_open(&lab, wide, 8, 4);
	for (unsigned i = 0; i < 150; i++)
		assert_int_equal(lab_insert(&lab, i, XLB_PHASE_ESTABLISHED, 100), 0);
	seen = lab_census(&lab, 100, service, real);
	assert_int_equal(seen->service[2], 0);
	assert_int_equal(seen->active[4], 0);
	assert_int_equal(seen->live, 150 - 50 - 30 + 10);
	assert_int_equal(seen->expired, 70);
	lab_close(&lab);
}

struct seen {
	struct lab *lab;
	unsigned calls, limit;
	bool seen[400];
};

static bool see(void *context, const struct flow *flow)
{
	struct seen *seen = context;
	unsigned i = ntohl(flow->client.word[3]) - 0x0a000000;
	struct flow wanted = lab_flow(seen->lab, i);

	wanted.idle = 1;
	assert_same(flow, &wanted);
	assert_false(seen->seen[i]);
	seen->seen[i] = true;
	return ++seen->calls < seen->limit;
}

static void a_walk_sees_every_connection_once_until_told_to_stop(bool wide)
{
	struct seen all = {.limit = 1000}, some = {.limit = 7};
	struct lab lab;

	lab_open(&lab, wide, 8, 4);
	all.lab = some.lab = &lab;
	for (unsigned i = 0; i < 400; i++)
		assert_int_equal(lab_insert(&lab, i, XLB_PHASE_ESTABLISHED, 99), 0);
	flows_walk(lab.flows, 100, see, &all);
	assert_int_equal(all.calls, 400);
	flows_walk(lab.flows, 100, see, &some);
	assert_int_equal(some.calls, 7);
	lab_close(&lab);
}

/* ---- opening ---- */

static void opening_frees_claims_of_a_dead_daemon_and_only_these(bool wide)
{
	struct flows *again = NULL;
	struct lab lab;

	lab_open(&lab, wide, 4, 0);
	*lab_state(&lab, 5) = TABLE_STATE(XLB_PHASE_CLAIM, 33, 0, 0) | TABLE_BY_USER;
	*lab_state(&lab, 6) = TABLE_STATE(XLB_PHASE_REVOKED, 34, 0, 0) | TABLE_BY_USER;
	*lab_state(&lab, 7) = TABLE_STATE(XLB_PHASE_CLAIM, 35, 0, 1);
	*lab_state(&lab, 8) = TABLE_STATE(XLB_PHASE_SYN, 36, 0, 1) | TABLE_BY_USER;
	assert_int_equal(flows_open(wide ? NULL : &lab.table, wide ? &lab.table : NULL,
	                            &lab.control, &again),
	                 0);
	assert_true(*lab_state(&lab, 5) == TABLE_FREED(33));
	assert_true(*lab_state(&lab, 6) == TABLE_FREED(34));
	assert_true(*lab_state(&lab, 7) == TABLE_STATE(XLB_PHASE_CLAIM, 35, 0, 1));
	assert_true(TABLE_LIVE(*lab_state(&lab, 8)));
	flows_close(again);
	lab_close(&lab);
}

static void sizes_that_no_table_has_are_refused(bool wide)
{
	static const struct {
		uint32_t bits, stash_bits;
		int result;
	} sizes[] = {{0, 0, -EINVAL}, {25, 2, -EINVAL}, {4, 5, -EINVAL}, {4, 2, 0}};
	struct flows *flows = NULL;
	struct lab lab;

	lab_open(&lab, wide, 4, 2);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct flows_table table = {lab.table.fd, sizes[i].bits, sizes[i].stash_bits};

		assert_int_equal(flows_open(wide ? NULL : &table, wide ? &table : NULL,
		                            &lab.control, &flows),
		                 sizes[i].result);
	}
	flows_close(flows);
	lab_close(&lab);
}

/* ---- the hash ---- */

static void keys_of_one_client_spread_over_the_buckets(bool wide)
{
	unsigned filled[3][1 << 10] = {}, most = 0;
	struct lab lab;

	lab_open(&lab, wide, 10, 6);
	for (unsigned i = 0; i < 10 << 10; i++) {
		struct xlb_addr client = {.word = {wide, 0, 0, htonl(0x0a000001 + i / 50000)}};
		struct wide_key key = table_wide_key(&client, htons(i % 50000), 1, 0);
		__u64 narrow = table_narrow_key(client.word[3], htons(i % 50000), 1), hash;

		hash = wide ? table_hash(TABLE_WIDE, key.word, lab.control.seed)
		            : table_hash(TABLE_NARROW, &narrow, lab.control.seed);
		filled[0][table_first(hash, 10)]++;
		filled[1][table_second(hash, 10)]++;
		filled[2][table_stash(hash, 10, 6) - 1024]++;
		assert_true(table_first(hash, 10) != table_second(hash, 10));
	}
	for (unsigned i = 0; i < 2 << 10; i++)
		most = filled[i >> 10][i & 1023] > most ? filled[i >> 10][i & 1023] : most;
	assert_in_range(most, 11, 32); /* 10 on average: Poisson, 32 has a chance of 1e-8 */
	for (unsigned i = 0; i < 64; i++)
		assert_in_range(filled[2][i], 90, 240); /* 160 */
	lab_close(&lab);
}

#define TESTS(T)                                                            \
	T(what_is_inserted_is_found_under_its_name)                         \
	T(every_part_of_a_name_counts)                                      \
	T(established_closing_and_datagram_flows_never_give_way)            \
	T(expired_goes_before_closed_before_half_open_and_the_oldest_first) \
	T(a_slot_changes_hands_once_a_tick)                                 \
	T(a_slot_free_for_a_round_of_the_clock_can_be_taken)                \
	T(the_clock_may_go_round)                                           \
	T(a_sweep_frees_what_is_over_its_timeout_and_counts_the_rest)       \
	T(what_is_newer_than_our_clock_is_not_old)                          \
	T(entries_of_dropped_owners_go_at_once)                             \
	T(a_walk_sees_every_connection_once_until_told_to_stop)             \
	T(opening_frees_claims_of_a_dead_daemon_and_only_these)             \
	T(sizes_that_no_table_has_are_refused)                              \
	T(keys_of_one_client_spread_over_the_buckets)

TESTS(BOTH)

static void phases_have_ipvs_names(void **state)
{
	(void)state;
	assert_string_equal(phase_name(XLB_PHASE_SYN), "SYN_RECV");
	assert_string_equal(phase_name(XLB_PHASE_TIME_WAIT), "TIME_WAIT");
	assert_string_equal(phase_name(13), "ERR!");
	assert_string_equal(phase_name(200), "ERR!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {TESTS(ROWS) cmocka_unit_test(phases_have_ipvs_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
