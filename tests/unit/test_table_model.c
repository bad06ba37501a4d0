// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_table_model.c - the protocol of bpf/table.h step by step, without threads: whoever works on the table is stopped inside each of
 * its windows, and everything that others can do in the meantime is tried there, exhaustively.
 *
 * A reader is interrupted by every sequence of up to two changes of owner among three keys, two of which have the same real
 * server, also where the clock goes round: it may miss, but never get another connection's real server. Without R3 (a slot
 * changes hands once a tick) or without the second look it must, or this model is blind.
 *
 * An inserter, of a packet's or of user space's, is interrupted by other inserters of its key, by its removal, by slots that become
 * free: no key is live twice at any moment, and what an inserter is told is what the next look-up finds. Without the look for
 * rivals, or with a plain store as publication, it must fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "table_insert.h"

struct table_hooks table_hooks;

static struct model {
	int words;
	__u64 memory[TABLE_SLOTS * (TABLE_WIDE + 1)];
	struct table_place place;
	struct xlb_control control;
	__u32 now;
	unsigned plan; /* digits: what happens at the next windows */
	bool live;     /* somebody is to be interrupted; who interrupts is not */
	__u16 next_real;
	uint64_t wrong;
} model;

/* ---- the table of one place ------------------------------------------------------------------- */

static void key_number(unsigned number, __u64 *key)
{
	/* of a wide key each word alone tells too little */
	key[0] = model.words == TABLE_NARROW ? (__u64)number << 16 | 7 : number & 1;
	key[1] = number >> 1 & 1;
	key[2] = (__u64)(number >> 2) << 16 | 7;
}

static volatile __u64 *state_at(unsigned position)
{
	return table_slot(model.words, &model.place, position) + model.words;
}

/* Full of established connections of this tick, except for the slots whose bit is set. */
static void fill(int words, unsigned free_slots, __u32 now)
{
	const unsigned bucket = TABLE_WAYS * (words + 1);

	model = (struct model){.words = words, .now = now, .next_real = 100};
	model.place = (struct table_place){model.memory, model.memory + bucket,
	                                   model.memory + 2 * bucket};
	for (int phase = 0; phase < XLB_PHASES; phase++)
		model.control.timeout[phase] = 1000;
	for (unsigned i = 0; i < TABLE_SLOTS; i++) {
		__u64 key[TABLE_WIDE];

		key_number(1000 + i, key);
		memcpy((void *)table_slot(words, &model.place, i), key, words * sizeof(*key));
		*state_at(i) =
			free_slots >> i & 1 ? 0 : TABLE_STATE(XLB_PHASE_ESTABLISHED, now, 0, 9);
	}
}

static int insert(unsigned number, __u16 real, __u32 who, __u64 *ret_state)
{
	struct table_try try = {.fresh = TABLE_STATE(XLB_PHASE_SYN, model.now, 0, real),
	                        .who = who,
	                        .now = model.now};
	int result;

	key_number(number, try.key);
	result = table_insert(model.words, &model.place, &try, &model.control);
	*ret_state = try.state;
	return result;
}

static bool find(unsigned number, volatile __u64 **ret_word, __u64 *ret_state)
{
	__u64 key[TABLE_WIDE];

	key_number(number, key);
	return table_find(model.words, model.place.first, key, ret_word, ret_state) ||
	       table_find(model.words, model.place.second, key, ret_word, ret_state) ||
	       table_find(model.words, model.place.stash, key, ret_word, ret_state);
}

static void tick(void)
{
	model.now = (model.now + 1) % TABLE_TICKS;
}

/* ---- a reader --------------------------------------------------------------------------------- */

#define OWNERS       3
#define CHANGES      (1 + OWNERS + OWNERS * OWNERS) /* none, one, two */
#define READER_STEPS 5

static __u16 real_of(unsigned owner)
{
	return owner == 0 ? 1 : 2;
}

/* The slot changes hands; refused in this tick: in the next. */
static void take(unsigned owner)
{
	__u64 state;

	for (int i = 0; i < 3 && insert(owner + 1, real_of(owner), 1, &state) == TABLE_REFUSED; i++)
		tick();
}

static void change_owners(void)
{
	unsigned changes = model.plan % CHANGES;

	if (!model.live)
		return;
	model.live = false;
	model.plan /= CHANGES;
	if (changes > OWNERS)
		take((changes - OWNERS - 1) / OWNERS);
	if (changes > 0)
		take((changes - 1) % OWNERS);
	model.live = true;
}

static uint64_t read_with_every_change(int words, unsigned mutant, uint64_t *ret_hits)
{
	unsigned plans = 1;
	uint64_t wrong = 0;

	for (int i = 0; i < READER_STEPS; i++)
		plans *= CHANGES;
	table_hooks = (struct table_hooks){.mutant = mutant, .stretch = change_owners};
	for (unsigned plan = 0; plan < plans; plan++) {
		volatile __u64 *word;
		__u64 state;

		fill(words, 1u << 2, plan % 3 ? 5 : TABLE_TICKS - 2);
		take(0);
		model.plan = plan;
		model.live = true;
		if (find(1, &word, &state)) {
			++*ret_hits;
			wrong += TABLE_REAL(state) != real_of(0);
		}
		model.live = false;
	}
	table_hooks = (struct table_hooks){};
	print_message(
		"IPv%c, mutant %u: %u interleavings, %llu hits, %llu with another connection's "
		"real server\n",
		words == TABLE_WIDE ? '6' : '4', mutant, plans, (unsigned long long)*ret_hits,
		(unsigned long long)wrong);
	return wrong;
}

static void a_reader_never_gets_another_connections_real_server(void **state)
{
	(void)state;
	for (int words = TABLE_NARROW; words <= TABLE_WIDE; words += 2) {
		uint64_t hits = 0;

		assert_int_equal(read_with_every_change(words, 0, &hits), 0);
		assert_true(hits > 1000);
	}
}

static void without_the_rule_of_one_owner_a_tick_it_does(void **state)
{
	(void)state;
	for (int words = TABLE_NARROW; words <= TABLE_WIDE; words += 2) {
		uint64_t hits = 0;

		assert_true(read_with_every_change(words, 3, &hits) > 0);
	}
}

static void without_the_second_look_it_does(void **state)
{
	(void)state;
	for (int words = TABLE_NARROW; words <= TABLE_WIDE; words += 2) {
		uint64_t hits = 0;

		assert_true(read_with_every_change(words, 1, &hits) > 0);
	}
}

/* ---- inserters -------------------------------------------------------------------------------- */

#define KEY            1
#define INSERTER_STEPS 7

static void check_single(void)
{
	unsigned live = 0;
	__u64 key[TABLE_WIDE];

	key_number(KEY, key);
	for (unsigned i = 0; i < TABLE_SLOTS; i++)
		live += TABLE_LIVE(*state_at(i)) &&
		        !table_differs(model.words, table_slot(model.words, &model.place, i), key);
	model.wrong += live > 1;
}

/* What an inserter was told is what is found. */
static void check_answer(int result, __u64 told)
{
	volatile __u64 *word;
	__u64 state;

	if (result != TABLE_INSERTED && result != TABLE_FOUND)
		return;
	model.wrong += !find(KEY, &word, &state) || TABLE_REAL(state) != TABLE_REAL(told);
}

static void insert_same(__u32 who)
{
	volatile __u64 *word;
	__u64 state;

	if (!find(KEY, &word, &state)) {
		int result = insert(KEY, model.next_real++, who, &state);

		check_answer(result, state);
	}
}

static void nothing(void)
{
}

static void a_packet_inserts_the_same(void)
{
	insert_same(2);
}

static void user_space_inserts_the_same(void)
{
	insert_same(TABLE_USER);
}

static void it_is_removed(void)
{
	volatile __u64 *word;
	__u64 state;

	if (find(KEY, &word, &state))
		(void)table_free(word, &state, model.now);
}

static void a_better_slot_becomes_free(void)
{
	*state_at(1) = TABLE_FREED(model.now - 1);
}

static void (*const events[])(void) = {nothing, a_packet_inserts_the_same,
                                       user_space_inserts_the_same, it_is_removed,
                                       a_better_slot_becomes_free};
#define EVENTS (sizeof(events) / sizeof(*events))

static void play_event(void)
{
	void (*event)(void) = events[model.plan % EVENTS];

	if (!model.live)
		return;
	model.live = false;
	model.plan /= EVENTS;
	check_single();
	event();
	check_single();
	model.live = true;
}

static uint64_t insert_with_every_event(int words, unsigned mutant, __u32 who)
{
	unsigned plans = 1;
	uint64_t wrong = 0, results[4] = {};

	for (int i = 0; i < INSERTER_STEPS; i++)
		plans *= EVENTS;
	table_hooks = (struct table_hooks){.mutant = mutant, .stretch = play_event};
	for (unsigned plan = 0; plan < plans; plan++) {
		__u64 state;
		int result;

		/* free: one of each bucket; or of the stash and the second only */
		fill(words, plan & 1 ? 0x124 : 0x220, 5);
		tick();
		model.plan = plan;
		model.live = true;
		result = insert(KEY, 50, who, &state);
		model.live = false;
		results[result]++;
		check_single();
		check_answer(result, state);
		for (unsigned i = 0; i < TABLE_SLOTS; i++)
			model.wrong += TABLE_PHASE(*state_at(i)) == XLB_PHASE_CLAIM ||
			               TABLE_PHASE(*state_at(i)) == XLB_PHASE_REVOKED;
		wrong += model.wrong;
	}
	table_hooks = (struct table_hooks){};
	print_message(
		"IPv%c, mutant %u, %s: %u interleavings, %llu inserted, %llu found, %llu busy, "
		"%llu refused, %llu wrong\n",
		words == TABLE_WIDE ? '6' : '4', mutant, who ? "user space" : "a packet", plans,
		(unsigned long long)results[TABLE_INSERTED],
		(unsigned long long)results[TABLE_FOUND], (unsigned long long)results[TABLE_BUSY],
		(unsigned long long)results[TABLE_REFUSED], (unsigned long long)wrong);
	return wrong;
}

static void a_key_is_never_live_twice_and_answers_are_true(void **state)
{
	(void)state;
	for (int words = TABLE_NARROW; words <= TABLE_WIDE; words += 2) {
		assert_int_equal(insert_with_every_event(words, 0, 0), 0);
		assert_int_equal(insert_with_every_event(words, 0, TABLE_USER), 0);
	}
}

static void without_the_look_for_rivals_it_is(void **state)
{
	(void)state;
	for (int words = TABLE_NARROW; words <= TABLE_WIDE; words += 2)
		assert_true(insert_with_every_event(words, 4, 0) > 0);
}

static void with_a_plain_store_as_publication_it_is(void **state)
{
	(void)state;
	for (int words = TABLE_NARROW; words <= TABLE_WIDE; words += 2)
		assert_true(insert_with_every_event(words, 7, TABLE_USER) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_never_gets_another_connections_real_server),
		cmocka_unit_test(without_the_rule_of_one_owner_a_tick_it_does),
		cmocka_unit_test(without_the_second_look_it_does),
		cmocka_unit_test(a_key_is_never_live_twice_and_answers_are_true),
		cmocka_unit_test(without_the_look_for_rivals_it_is),
		cmocka_unit_test(with_a_plain_store_as_publication_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
