/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table_insert.h - how a connection gets into the table: the second half of the protocol of table.h.
 *
 * Inserting: choose a slot, claim it, write the key (last word by an exchange: announced), look for rivals in the other eleven
 * slots, publish. Of two inserters of one key the later one's look comes behind its own announcement, so it sees the
 * earlier one: live, and it withdraws; or as a claim, and it withdraws or revokes it, and what is revoked cannot
 * publish. So a key is never live twice. The lower position is the stronger, and a packet is stronger than user space: no
 * circle of waiting, and no packet waits for the daemon.
 *
 * What the includer may define before: TABLE_CHOOSE, TABLE_ALONE, TABLE_RIVALS: who carries these steps out (the BPF verifier wants
 * functions of their own).
 */
#ifndef XLB_TABLE_INSERT_H
#define XLB_TABLE_INSERT_H

#include "table.h"

#ifndef TABLE_CHOOSE
#define TABLE_CHOOSE table_choose
#define TABLE_RIVALS table_rivals
#define TABLE_ALONE  table_is_alone
#endif

#define TABLE_ROUNDS  4
#define TABLE_LOOKS   512u /* at a rival that is ahead of us: half a microsecond and more */
#define TABLE_NOWHERE 0xffffffffu

#define TABLE_USER 0xffffu /* as the claimer: user space */

/* One insertion. The caller looked and missed; it fills in the first four. Small: it lies on the stack of BPF programs. */
struct table_try {
	__u64 key[TABLE_WIDE];
	__u64 fresh; /* the live word to publish */
	__u32 now;
	__u16 who;     /* the CPU's number, or TABLE_USER */
	__u8 position; /* the slot chosen */
	__u8 rival_position;
	__u64 victim; /* what stood in the slot chosen */
	__u64 rival;  /* the claim that is ahead of us, 0: none */
	__u64 state;  /* the word in the table: ours, or on TABLE_FOUND that of the one that won */
};

/* What we put into a slot to claim it. */
TABLE_FUNCTION __u64 table_claim_of(const struct table_try *try)
{
	return TABLE_STATE(XLB_PHASE_CLAIM, try->now, 0, 0) | try->who |
	       (try->who == TABLE_USER ? TABLE_BY_USER : 0);
}

#define TABLE_MAY_GIVE_WAY (1u << XLB_PHASE_CLOSE | 1u << XLB_PHASE_TIME_WAIT | 1u << XLB_PHASE_SYN)
#define TABLE_NOT_TO_TAKE  (1u << XLB_PHASE_CLAIM | 1u << XLB_PHASE_REVOKED)

/*
 * The lower the better a slot to take: free, else expired; else, in any bucket, closed before half-open, the oldest first. What is
 * established, closing or a datagram flow never gives way.
 */
TABLE_FUNCTION __u32 table_rank(__u64 state, __u32 now, const struct xlb_control *control)
{
	__u32 phase = TABLE_PHASE(state), age = TABLE_AGE(state, now);

	if (1u << phase & TABLE_NOT_TO_TAKE)
		return TABLE_NOWHERE;
	if (!state)
		return 0; /* never used: its time means nothing */
	if (TABLE_MUTANT != 3 && !TABLE_OLDER(state, now))
		return TABLE_NOWHERE;
	if (phase == XLB_PHASE_FREE)
		return 0;
	if (TABLE_EXPIRED(state, now, control->timeout[phase & (XLB_PHASES - 1)]))
		return 1;
	if (TABLE_MUTANT == 6 && phase == XLB_PHASE_ESTABLISHED)
		return TABLE_TICKS - age;
	if (!(1u << phase & TABLE_MAY_GIVE_WAY))
		return TABLE_NOWHERE;
	return (phase == XLB_PHASE_SYN ? 2 : 1) * TABLE_TICKS + (TABLE_TICKS - age);
}

/* Step 1: the best slot to take, into position and victim; TABLE_INSERTED: go on. */
TABLE_FUNCTION int table_choose(const int words, const struct table_place *place,
                                struct table_try *try, const struct xlb_control *control)
{
	__u32 best = TABLE_NOWHERE, now = try->now;

	for (__u64 position = 0; position < TABLE_SLOTS; position += TABLE_WAYS) {
		const volatile __u64 *bucket = table_slot(words, place, position);

		TABLE_UNROLL
		for (int way = 0; way < TABLE_WAYS; way++) {
			__u64 state = bucket[way * (words + 1) + words];
			__u32 rank = table_rank(state, now, control);

			if (rank >= best)
				continue;
			best = rank;
			try->position = position + way;
			try->victim = state;
			if (!rank)
				return TABLE_INSERTED;
		}
		/* expired in this bucket: no need to look at the next */
		if (best <= 1)
			break;
	}
	return best == TABLE_NOWHERE ? TABLE_REFUSED : TABLE_INSERTED;
}

TABLE_FUNCTION void table_announce(const int words, volatile __u64 *slot, const __u64 *key)
{
	if (words == TABLE_WIDE) {
		slot[0] = key[0];
		slot[1] = key[1];
	}
	TABLE_STRETCH();
	table_store_fenced(&slot[words - 1], key[words - 1]);
}

/* Step 2: takes the chosen slot and shows the key in it. False: somebody else took it first. */
TABLE_FUNCTION bool table_claim(const int words, volatile __u64 *slot, struct table_try *try)
{
	TABLE_STRETCH();
	if (TABLE_MUTANT == 5)
		table_announce(words, slot, try->key);
	if (table_swap(&slot[words], try->victim, table_claim_of(try)) != try->victim)
		return false;
	if (TABLE_LIVE(try->victim))
		TABLE_GONE(try->victim);
	TABLE_STRETCH();
	table_announce(words, slot, try->key);
	TABLE_STRETCH();
	return true;
}

/* Does the claim at `position` give way to ours? */
TABLE_FUNCTION bool table_weaker(__u64 claim, __u32 position, const struct table_try *try)
{
	if ((claim ^ table_claim_of(try)) & TABLE_BY_USER)
		return claim & TABLE_BY_USER;
	return position > try->position;
}

/* Step 3 at one of the other slots, whose key is ours. TABLE_INSERTED: nothing there (any more). */
TABLE_FUNCTION int table_rival(const int words, volatile __u64 *slot, __u32 position,
                               struct table_try *try)
{
	__u64 state = 0;
	int reading = table_read(words, slot, try->key, &state);

	if (reading == TABLE_SAME && TABLE_PHASE(state) == XLB_PHASE_CLAIM) {
		if (!table_weaker(state, position, try)) {
			try->rival = state;
			try->rival_position = position;
			return TABLE_BUSY;
		}
		TABLE_STRETCH();
		if (table_swap(&slot[words], state, TABLE_WITH_PHASE(state, XLB_PHASE_REVOKED)) ==
		    state)
			return TABLE_INSERTED;
		reading = table_read(words, slot, try->key, &state);
	}
	if (reading == TABLE_CHANGING)
		return TABLE_BUSY;
	if (reading == TABLE_SAME && TABLE_LIVE(state)) {
		try->state = state;
		return TABLE_FOUND;
	}
	return TABLE_INSERTED;
}

/*
 * How many of a bucket's slots have another key. Without branches, for nobody could foresee the one that is ours; the barrier
 * keeps clang from making some of it.
 */
TABLE_FUNCTION __u64 table_others(const int words, const volatile __u64 *bucket, const __u64 *key)
{
	__u64 others = 0;

	TABLE_UNROLL
	for (int way = 0; way < TABLE_WAYS; way++) {
		__u64 difference = table_differs(words, bucket + way * (words + 1), key);

		asm volatile("" : "+r"(difference));
		others += (difference | (0 - difference)) >> 63;
	}
	return others;
}

/* Step 3, almost always: no other of the twelve slots has our key. */
TABLE_FUNCTION bool table_is_alone(const int words, const struct table_place *place,
                                   const struct table_try *try)
{
	if (TABLE_MUTANT == 4)
		return true;
	return table_others(words, place->first, try->key) +
	               table_others(words, place->second, try->key) +
	               table_others(words, place->stash, try->key) ==
	       TABLE_SLOTS - 1;
}

/* Step 3, otherwise: nobody else may hold or be making this key. TABLE_INSERTED: publish. */
TABLE_FUNCTION int table_rivals(const int words, const struct table_place *place,
                                struct table_try *try)
{
	for (__u64 position = 0; position < TABLE_SLOTS; position++) {
		volatile __u64 *slot = table_slot(words, place, position);
		int result;

		if (table_differs(words, slot, try->key) || position == try->position)
			continue;
		TABLE_STRETCH();
		result = table_rival(words, slot, position, try);
		if (result != TABLE_INSERTED)
			return result;
	}
	return TABLE_INSERTED;
}

/* Step 4: publishes unless revoked meanwhile. */
TABLE_FUNCTION bool table_publish(volatile __u64 *word, struct table_try *try)
{
	__u64 claim = table_claim_of(try);

	TABLE_STRETCH();
	if (TABLE_MUTANT == 7)
		*word = try->fresh;
	else if (table_swap(word, claim, try->fresh) != claim)
		return false;
	TABLE_CAME(try->fresh);
	try->state = try->fresh;
	return true;
}

/*
 * Puts try->key into the table, once. Ours is the slot until it is published or released, also when it was revoked, so
 * the release is a plain store.
 */
TABLE_FUNCTION int table_insert(const int words, const struct table_place *place,
                                struct table_try *try, const struct xlb_control *control)
{
	try->fresh = TABLE_WITH_TIME(try->fresh, try->now);
	for (__u64 round = 0; round < TABLE_ROUNDS; round++) {
		int result = TABLE_CHOOSE(words, place, try, control);
		volatile __u64 *slot;

		if (result != TABLE_INSERTED)
			return result;
		slot = table_slot(words, place, try->position);
		if (!table_claim(words, slot, try))
			continue;
		try->rival = 0;
		result = TABLE_INSERTED;
		if (!TABLE_ALONE(words, place, try))
			result = TABLE_RIVALS(words, place, try);
		if (result == TABLE_INSERTED && table_publish(&slot[words], try))
			return TABLE_INSERTED;
		slot[words] = TABLE_FREED(try->now);
		if (result == TABLE_FOUND)
			return TABLE_FOUND;
		if (!try->rival)
			continue;
		slot = table_slot(words, place, try->rival_position);
		for (__u64 look = 0; look < TABLE_LOOKS && slot[words] == try->rival; look++)
			;
	}
	return TABLE_BUSY;
}

#endif
