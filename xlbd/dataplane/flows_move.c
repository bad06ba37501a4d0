// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flows_move.c - another size of the connection table: its connections move from the old mapping to the new one under traffic.
 *
 * Called by the daemon a bounded number of buckets at a time, between its other work, once the program that knows both tables has
 * replaced the one that knew the old one only (flows.h has the order). Moves go from old to new only, and a connection is
 * published in new before it is taken out of old. So it is, at every moment, in one of them or in both; who looks in new, in old
 * and in new again meets it: if it is not in old at the second look, it was in new before the third.
 *
 * A packet may change the word in old just behind our copy: then taking it out fails, and the change is carried over. A packet
 * whose own change fails because the connection has moved looks again (bpf/connections.h). If a key is live in both tables and the
 * one in new is not our copy, new is right: a program of before may have inserted into old while the link was replaced.
 *
 * What finds no slot in new stays in old, counted, and is served from there until it ends. A daemon that dies in the middle of
 * a move leaves a claim, which the next one frees, or a connection in both, which the next walk takes out of old.
 */
#include <errno.h>
#include <string.h>

#include "xlbd/dataplane/flows_inside.h"

static bool is_empty(const int words, const struct mapping *mapping)
{
	const size_t bucket_words = TABLE_WAYS * (words + 1);

	for (size_t i = 0; i < mapping->buckets; i++)
		if (has_live(words, mapping->word + i * bucket_words))
			return false;
	return true;
}

int flows_may_resize(struct flows *flows, bool ipv6_table, uint32_t bits, uint32_t stash_bits)
{
	const struct mapping *now = &flows->table[ipv6_table];
	size_t buckets = ((size_t)1 << (bits & 31)) + ((size_t)1 << (stash_bits & 31));
	int r = flows_check_size(bits, stash_bits);

	if (r < 0)
		return r;
	if (flows->old[ipv6_table].word)
		return -EBUSY;
	if (buckets >= now->buckets || is_empty(ipv6_table ? TABLE_WIDE : TABLE_NARROW, now))
		return 0;
	return -ENOSPC;
}

/*
 * A connection on its way. `slot` holds it in the old table, as it was when we copied `copied` into `copy` (NULL: not ours,
 * somebody else has put this key into the table).
 */
struct move {
	__u64 key[TABLE_WIDE];
	volatile __u64 *slot, *copy;
	__u64 copied;
	uint32_t now;
};

/* The connection has been removed from old: so must the copy be, if nobody has used it. */
static inline void drop_copy(const int words, const struct move *move)
{
	__u64 state;

	if (table_read(words, move->copy, move->key, &state) == TABLE_SAME && state == move->copied)
		(void)table_free(&move->copy[words], &state, move->now);
}

/* The copy takes phase and real server of the old word over, unless packets have moved it on already. */
static inline void carry_over(const int words, const struct move *move, __u64 old)
{
	for (int attempt = 0; attempt < 4; attempt++) {
		__u64 state, wanted;

		if (table_read(words, move->copy, move->key, &state) != TABLE_SAME ||
		    TABLE_PHASE(state) != TABLE_PHASE(move->copied) ||
		    TABLE_REAL(state) != TABLE_REAL(move->copied))
			return;
		wanted =
			TABLE_WITH_REAL(TABLE_WITH_PHASE(state, TABLE_PHASE(old)), TABLE_REAL(old));
		if (table_update(&move->copy[words], &state, wanted))
			return;
	}
}

/* Takes the old word away; what packets changed in it meanwhile goes into the copy first. */
static inline void take_out(const int words, struct move *move, __u64 state)
{
	while (!table_free(&move->slot[words], &state, move->now)) {
		const bool gone = !TABLE_LIVE(state) || table_differs(words, move->slot, move->key);

		if (move->copy && gone)
			drop_copy(words, move);
		if (gone)
			return;
		if (move->copy)
			carry_over(words, move, state);
		move->copied = TABLE_WITH_REAL(TABLE_WITH_PHASE(move->copied, TABLE_PHASE(state)),
		                               TABLE_REAL(state));
	}
}

/* False: there is no slot for it (now). */
static inline bool move_slot(const int words, struct flows *flows, struct move *move)
{
	struct table_try attempt = {.who = TABLE_USER, .now = move->now};
	__u64 state;
	int result;

	if (!read_slot(words, move->slot, move->key, &state))
		return !TABLE_LIVE(move->slot[words]);
	memcpy(attempt.key, move->key, sizeof(attempt.key));
	attempt.fresh = state;
	move->copy = NULL;
	if (TABLE_MUTANT == 10)
		take_out(words, move, state);
	result = put(words, flows, &attempt, &move->copy);
	if (result == TABLE_REFUSED || result == TABLE_BUSY)
		return false;
	move->copied = attempt.state;
	if (TABLE_MUTANT != 10)
		take_out(words, move, state);
	return true;
}

static inline void move_bucket(const int words, struct flows *flows, volatile __u64 *bucket,
                               uint32_t now, struct flows_progress *progress)
{
	if (!has_live(words, bucket))
		return;
	for (int way = 0; way < TABLE_WAYS; way++) {
		struct move move = {.slot = bucket + way * (words + 1), .now = now};

		if (!TABLE_LIVE(move.slot[words]))
			continue;
		if (move_slot(words, flows, &move))
			progress->moved++;
		else
			progress->left++;
	}
}

bool flows_move(struct flows *flows, uint64_t now, size_t buckets, struct flows_progress *progress)
{
	const struct mapping *narrow = &flows->old[NARROW], *wide = &flows->old[WIDE];
	const size_t all = narrow->buckets + wide->buckets;

	if (progress->bucket >= all)
		*progress = (struct flows_progress){};
	for (; buckets > 0 && progress->bucket < all; buckets--, progress->bucket++) {
		size_t i = progress->bucket;

		if (i < narrow->buckets)
			move_bucket(TABLE_NARROW, flows,
			            narrow->word + i * TABLE_WAYS * (TABLE_NARROW + 1),
			            (uint32_t)now, progress);
		else
			move_bucket(TABLE_WIDE, flows,
			            wide->word +
			                    (i - narrow->buckets) * TABLE_WAYS * (TABLE_WIDE + 1),
			            (uint32_t)now, progress);
	}
	return progress->bucket >= all;
}
