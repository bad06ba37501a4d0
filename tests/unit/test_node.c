// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_node.c - two and three directors in a network that does what the test says: the rules one by one. Everything at once, by
 * chance, is test_sync_simulator.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/sync_world.h"

static struct world *make(unsigned count)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world_open(world, count, 1);
	for (unsigned i = 0; i < count; i++)
		world_start(world, i);
	for (unsigned s = 0; s < WORLD_SERVICES; s++)
		world_set_active(world, 0, s, true);
	world_run(world, world->now + 500);
	return world;
}

static void end(struct world *world)
{
	world_close(world);
	free(world);
}

static void put(struct world *world, unsigned number, unsigned service, unsigned client,
                uint16_t version)
{
	const struct world_connection connection = {.service = service,
	                                            .client = client,
	                                            .real = version % WORLD_REALS,
	                                            .phase = XLB_PHASE_ESTABLISHED,
	                                            .version = version};

	assert_true(world_put(world, number, &connection));
}

/* 0: it is not there. */
static uint16_t version_at(struct world *world, unsigned number, unsigned service, unsigned client)
{
	struct world_connection found;

	if (!world_get(world, number, service, client, &found))
		return 0;
	assert_int_equal(found.real, found.version % WORLD_REALS);
	return found.version;
}

static enum node_state state_of(struct world *world, unsigned number)
{
	struct node_status status;

	node_status(world->director[number].node, world->now + world->director[number].clock,
	            &status);
	return status.state;
}

static void a_connection_is_everywhere_within_ten_milliseconds(void **state)
{
	struct world *world = make(3);

	(void)state;
	for (unsigned s = 0; s < WORLD_SERVICES; s++)
		put(world, 0, s, 1, 5);
	world_run(world, world->now + 10);
	for (unsigned d = 1; d < 3; d++)
		for (unsigned s = 0; s < WORLD_SERVICES; s++)
			assert_int_equal(version_at(world, d, s, 1), 5);
	end(world);
}

static void who_comes_later_gets_everything_and_says_so(void **state)
{
	struct world *world = make(2);

	(void)state;
	world_stop(world, 1, true);
	for (unsigned c = 0; c < 20; c++)
		put(world, 0, c % WORLD_SERVICES, c, 3);
	world_run(world, world->now + 100);
	world_start(world, 1);
	world_run(world, world->now + 500);
	assert_int_equal(world_live(world, 1), 20);
	assert_int_equal(state_of(world, 1), NODE_EQUAL);
	end(world);
}

static void what_ends_while_a_standby_is_away_is_gone_when_it_is_back(void **state)
{
	const struct world_connection closed = {
		.service = 0, .client = 1, .real = 1, .phase = XLB_PHASE_CLOSE, .version = 1};
	struct world *world = make(2);
	struct world_connection found;

	(void)state;
	put(world, 0, 0, 1, 1);
	put(world, 0, 0, 2, 1);
	world_run(world, world->now + 100);
	world_stop(world, 1, false);
	assert_true(world_put(world, 0, &closed));
	world_run(world, world->now + 100);
	world_start(world, 1);
	world_run(world, world->now + 1000);
	assert_true(!world_get(world, 1, 0, 1, &found) || found.phase == XLB_PHASE_CLOSE);
	assert_int_equal(version_at(world, 1, 0, 2), 1);
	assert_int_equal(state_of(world, 1), NODE_EQUAL);
	end(world);
}

static void a_lost_message_is_asked_for_and_repeated(void **state)
{
	struct world *world = make(2);

	(void)state;
	world->faults.cut[0][1] = true;
	put(world, 0, 0, 1, 1);
	world_run(world, world->now + 20);
	world->faults.cut[0][1] = false;
	world_run(world, world->now + 100);
	assert_int_equal(version_at(world, 1, 0, 1), 1);
	assert_true(node_peer(world->director[1].node, 0)->count.repaired > 0);
	end(world);
}

static void the_last_words_count_after_a_hand_over(void **state)
{
	struct world *world = make(2);

	(void)state;
	put(world, 0, 0, 1, 1);
	world_run(world, world->now + 50);
	put(world, 0, 0, 1, 2); /* and at once, before the next comparison */
	world_set_active(world, 0, 0, false);
	world_set_active(world, 1, 0, true);
	world_run(world, world->now + 50);
	assert_int_equal(version_at(world, 1, 0, 1), 2);
	assert_int_equal(version_at(world, 0, 0, 1), 2);
	end(world);
}

static void both_of_two_masters_are_counted_and_their_connections_merged(void **state)
{
	struct world *world = make(2);
	struct node_status status;

	(void)state;
	world->faults.cut[0][1] = world->faults.cut[1][0] = true;
	world_set_active(world, 1, 0, true);
	put(world, 0, 0, 1, 1);
	put(world, 1, 0, 2, 1);
	world_run(world, world->now + 300);
	world->faults.cut[0][1] = world->faults.cut[1][0] = false;
	world_run(world, world->now + 200);
	node_status(world->director[0].node, world->now + world->director[0].clock, &status);
	assert_int_equal(status.split, 1);
	world_set_active(world, 1, 0, false);
	world_run(world, world->now + 1500);
	for (unsigned d = 0; d < 2; d++)
		assert_true(version_at(world, d, 0, 1) == 1 && version_at(world, d, 0, 2) == 1);
	end(world);
}

static void two_keys_live_and_nothing_is_lost_on_the_way(void **state)
{
	char both[] = "3 0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0\n"
		      "4 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
	struct world *world = make(2);
	char sentence[SEAL_SENTENCE];
	struct node_status status;
	struct keyring keys;

	(void)state;
	assert_int_equal(keyring_parse(both, 7, &keys, sentence), 0);
	node_set_keys(world->director[0].node, &keys);
	put(world, 0, 0, 1, 1);
	world_run(world, world->now + 200);
	node_status(world->director[0].node, 0, &status);
	assert_int_equal(status.key, 3); /* the other one does not have it yet */
	node_set_keys(world->director[1].node, &keys);
	put(world, 0, 0, 2, 1);
	world_run(world, world->now + 200);
	node_status(world->director[0].node, 0, &status);
	assert_int_equal(status.key, 4);
	put(world, 0, 0, 3, 1);
	world_run(world, world->now + 50);
	for (unsigned c = 1; c <= 3; c++)
		assert_int_equal(version_at(world, 1, 0, c), 1);
	assert_int_equal(node_peer(world->director[1].node, 0)->count.forged, 0);
	end(world);
}

static uint8_t recorded[200][1500];
static size_t lengths[200], count;

static void record(void *context, const uint8_t *bytes, size_t length, unsigned from)
{
	(void)context;
	if (from != 0 || count == 200)
		return;
	memcpy(recorded[count], bytes, length);
	lengths[count++] = length;
}

static void a_recorded_epoch_is_worth_nothing(void **state)
{
	struct world *world = make(2);
	const struct peer *peer = node_peer(world->director[1].node, 0);
	uint64_t before;

	(void)state;
	count = 0;
	world->tap = record;
	put(world, 0, 0, 1, 1);
	world_run(world, world->now + 300);
	world->tap = NULL;
	assert_true(count > 5);
	/* again, while the epoch lives: duplicates */
	before = peer->count.messages;
	for (size_t i = 0; i < count; i++)
		world_deliver(world, 1, recorded[i], lengths[i]);
	assert_int_equal(peer->count.messages, before);
	/* and after the sender was restarted: nobody answers the new challenge in them */
	world_stop(world, 0, false);
	world_start(world, 0);
	world_run(world, world->now + 300);
	before = peer->count.messages;
	for (size_t i = 0; i < count; i++)
		world_deliver(world, 1, recorded[i], lengths[i]);
	assert_int_equal(peer->count.messages, before);
	/* and for a receiver that was restarted */
	world_stop(world, 0, false);
	world_stop(world, 1, false);
	world_start(world, 1);
	for (size_t i = 0; i < count; i++)
		world_deliver(world, 1, recorded[i], lengths[i]);
	peer = node_peer(world->director[1].node, 0);
	assert_true(!peer || (!peer->epoch && !peer->count.messages));
	end(world);
}

static void a_node_with_our_number_is_an_alarm(void **state)
{
	struct world *world = make(2);
	struct node_status status;

	(void)state;
	count = 0;
	world->tap = record;
	world_run(world, world->now + 100);
	world->tap = NULL;
	world_stop(world, 0, true);
	world_start(world, 0);
	world_run(world, world->now + 10);
	/* another epoch: what it said before is another node's now */
	for (size_t i = 0; i < count && i < 5; i++)
		world_deliver(world, 0, recorded[i], lengths[i]);
	node_status(world->director[0].node, 0, &status);
	assert_true(status.same_id > 0);
	end(world);
}

static void who_asks_in_a_loop_gets_names_and_digests_ten_times_a_second(void **state)
{
	struct world *world = make(2);
	struct node_status before, after;

	(void)state;
	node_status(world->director[0].node, 0, &before);
	for (int i = 0; i < 100; i++) {
		node_resync(world->director[1].node);
		world_run(world, world->now + 10);
	}
	node_status(world->director[0].node, 0, &after);
	assert_true(after.messages - before.messages < 12 * 25 + 60);
	end(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_everywhere_within_ten_milliseconds),
		cmocka_unit_test(who_comes_later_gets_everything_and_says_so),
		cmocka_unit_test(what_ends_while_a_standby_is_away_is_gone_when_it_is_back),
		cmocka_unit_test(a_lost_message_is_asked_for_and_repeated),
		cmocka_unit_test(the_last_words_count_after_a_hand_over),
		cmocka_unit_test(both_of_two_masters_are_counted_and_their_connections_merged),
		cmocka_unit_test(two_keys_live_and_nothing_is_lost_on_the_way),
		cmocka_unit_test(a_recorded_epoch_is_worth_nothing),
		cmocka_unit_test(a_node_with_our_number_is_an_alarm),
		cmocka_unit_test(who_asks_in_a_loop_gets_names_and_digests_ten_times_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
