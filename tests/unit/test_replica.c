// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_replica.c - slots and their shadows: what is told, what is taken, and that older never overwrites newer. Covers replica_apply.c.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/flows_lab.h"
#include "xlbd/dataplane/replica.h"

#define NOW 100

struct table {
	struct lab lab;
	struct replica *replica;
	struct replica_flow told[64];
	size_t count, room;
};

static uint64_t name(void *context, bool real, uint16_t id)
{
	(void)context;
	return replica_mix(real ? 0x10000 : 0x20000, id);
}

static bool take(void *context, const struct replica_flow *flow, struct replica_version *ret)
{
	struct table *table = context;

	if (table->count == table->room)
		return false;
	table->told[table->count++] = *flow;
	*ret = (struct replica_version){1, (uint32_t)table->count};
	return true;
}

static struct table *make(bool wide, uint8_t authority)
{
	struct table *table = calloc(1, sizeof(*table));

	assert_non_null(table);
	lab_open(&table->lab, wide, 4, 1);
	assert_int_equal(replica_open(table->lab.flows, 250000, name, table, &table->replica), 0);
	for (uint16_t service = 1; service <= 3; service++)
		replica_set_authority(table->replica, service, authority);
	table->room = 64;
	return table;
}

static void end(struct table *table)
{
	replica_close(table->replica);
	lab_close(&table->lab);
	free(table);
}

static size_t scan(struct table *table)
{
	const struct replica_pass pass = {.now = NOW, .tell = take, .context = table};
	struct replica_cursor cursor = {};

	table->count = 0;
	(void)replica_scan(table->replica, &cursor, SIZE_MAX, 100, &pass);
	return table->count;
}

static enum replica_result apply(struct table *table, unsigned number, uint16_t real, uint8_t kind,
                                 uint32_t term, uint32_t sequence)
{
	struct replica_flow flow = {
		.flow = lab_flow(&table->lab, number), .wide = table->lab.wide, .kind = kind};

	flow.flow.real = real;
	return replica_apply(table->replica, NOW, &flow, 1,
	                     (struct replica_version){term, sequence});
}

static uint16_t real_of(struct table *table, unsigned number)
{
	struct flow found;

	return lab_finds(&table->lab, number, &found) ? found.real : 0;
}

static void what_is_new_is_told_once(bool wide)
{
	struct table *table = make(wide, REPLICA_SELF);
	struct flow flow;

	assert_int_equal(scan(table), 0);
	assert_int_equal(lab_insert(&table->lab, 1, XLB_PHASE_ESTABLISHED, NOW), 0);
	assert_int_equal(scan(table), 1);
	assert_true(table->told[0].kind == REPLICA_IS && table->told[0].wide == wide);
	flow = lab_flow(&table->lab, 1);
	assert_memory_equal(&table->told[0].flow.client, &flow.client, sizeof(flow.client));
	assert_int_equal(scan(table), 0);
	assert_true(replica_digest_sum(table->replica, REPLICA_SELF) != 0);
	end(table);
}
BOTH(what_is_new_is_told_once)

static void what_finds_no_room_is_told_later(bool wide)
{
	struct table *table = make(wide, REPLICA_SELF);

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(lab_insert(&table->lab, i, XLB_PHASE_ESTABLISHED, NOW), 0);
	table->room = 7;
	assert_int_equal(scan(table), 7);
	table->room = 64;
	assert_int_equal(scan(table), 3);
	end(table);
}
BOTH(what_finds_no_room_is_told_later)

static void what_we_do_not_answer_for_is_not_told(bool wide)
{
	struct table *table = make(wide, 1);

	assert_int_equal(lab_insert(&table->lab, 1, XLB_PHASE_ESTABLISHED, NOW), 0);
	assert_int_equal(scan(table), 0);
	assert_true(replica_digest_sum(table->replica, 1) != 0);
	/* taken over: ours without a word */
	for (uint16_t service = 1; service <= 3; service++)
		replica_set_authority(table->replica, service, REPLICA_SELF);
	assert_int_equal(scan(table), 0);
	assert_true(replica_digest_sum(table->replica, 1) == 0);
	assert_true(replica_digest_sum(table->replica, REPLICA_SELF) != 0);
	end(table);
}
BOTH(what_we_do_not_answer_for_is_not_told)

static void older_never_overwrites_newer(bool wide)
{
	struct table *table = make(wide, 1);

	assert_int_equal(apply(table, 1, 3, REPLICA_IS, 5, 10), REPLICA_APPLIED);
	assert_int_equal(apply(table, 1, 4, REPLICA_IS, 5, 9), REPLICA_SAME_OR_OLD);
	assert_int_equal(real_of(table, 1), 3);
	assert_int_equal(apply(table, 1, 4, REPLICA_IS, 4, 99), REPLICA_SAME_OR_OLD);
	assert_int_equal(apply(table, 1, 4, REPLICA_IS, 6, 1), REPLICA_APPLIED);
	assert_int_equal(real_of(table, 1), 4);
	/* across the end of the numbers */
	assert_int_equal(apply(table, 1, 5, REPLICA_IS, 6, 0x7fffffff), REPLICA_APPLIED);
	assert_int_equal(apply(table, 1, 2, REPLICA_IS, 6, 0xfffffff0), REPLICA_APPLIED);
	assert_int_equal(apply(table, 1, 3, REPLICA_IS, 6, 5), REPLICA_APPLIED);
	assert_int_equal(real_of(table, 1), 3);
	end(table);
}
BOTH(older_never_overwrites_newer)

static void what_is_gone_is_not_brought_back_by_a_late_repair(bool wide)
{
	struct table *table = make(wide, 1);

	assert_int_equal(apply(table, 1, 3, REPLICA_IS, 5, 10), REPLICA_APPLIED);
	assert_int_equal(apply(table, 1, 3, REPLICA_GONE, 5, 12), REPLICA_APPLIED);
	assert_int_equal(real_of(table, 1), 0);
	assert_int_equal(apply(table, 1, 3, REPLICA_IS, 5, 11), REPLICA_SAME_OR_OLD);
	assert_int_equal(real_of(table, 1), 0);
	assert_true(replica_digest_sum(table->replica, 1) == 0);
	end(table);
}
BOTH(what_is_gone_is_not_brought_back_by_a_late_repair)

static void a_peer_cannot_take_a_live_connection_from_the_active_one(bool wide)
{
	struct table *table = make(wide, REPLICA_SELF);

	assert_int_equal(lab_insert(&table->lab, 1, XLB_PHASE_ESTABLISHED, NOW), 0);
	(void)scan(table);
	assert_int_equal(apply(table, 1, 5, REPLICA_IS, 99, 1), REPLICA_SAME_OR_OLD);
	assert_int_equal(apply(table, 1, 5, REPLICA_GONE, 99, 1), REPLICA_SAME_OR_OLD);
	assert_int_equal(apply(table, 1, 5, REPLICA_OFFERED, 99, 1), REPLICA_SAME_OR_OLD);
	/* but what it offers and we do not know is welcome, and told to the others */
	assert_int_equal(apply(table, 2, 5, REPLICA_OFFERED, 1, 1), REPLICA_APPLIED);
	assert_int_equal(real_of(table, 2), 5);
	assert_int_equal(scan(table), 1);
	end(table);
}
BOTH(a_peer_cannot_take_a_live_connection_from_the_active_one)

static void what_was_not_told_again_is_purged(bool wide)
{
	struct table *table = make(wide, 1);
	struct replica_pass pass = {.now = NOW + 2, .tell = take, .context = table};
	struct replica_cursor cursor = {};
	uint8_t all[REPLICA_MAP];

	memset(all, 0xff, sizeof(all));
	assert_int_equal(apply(table, 1, 3, REPLICA_IS, 5, 10), REPLICA_APPLIED);
	assert_int_equal(apply(table, 2, 3, REPLICA_IS, 5, 20), REPLICA_APPLIED);
	assert_true(replica_purge(table->replica, &cursor, SIZE_MAX, all, 1,
	                          (struct replica_version){5, 20}, &pass));
	assert_int_equal(real_of(table, 1), 0);
	assert_int_equal(real_of(table, 2), 3);
	end(table);
}
BOTH(what_was_not_told_again_is_purged)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROWS(what_is_new_is_told_once) ROWS(what_finds_no_room_is_told_later) ROWS(
			what_we_do_not_answer_for_is_not_told) ROWS(older_never_overwrites_newer)
			ROWS(what_is_gone_is_not_brought_back_by_a_late_repair)
				ROWS(a_peer_cannot_take_a_live_connection_from_the_active_one)
					ROWS(what_was_not_told_again_is_purged)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
