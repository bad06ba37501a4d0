// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replica_apply.c - what a peer tells of a connection, into the mapped table.
 *
 * What is older never overwrites what is newer: the record's version {term, sequence} is compared with the shadow's, and with that of a
 * tombstone if the connection is not there. For a service that we are active for ourselves a peer's word counts only if we do not
 * know the connection, or if its last packet came to the peer later than ours to us (two directors were active at the same
 * time): never a connection lost because both were right.
 *
 * The table is changed by the rules of bpf/table.h, as user space: a packet that changes the word in between is seen, and the decision
 * is made again. A new entry is as of now, whatever the peer's clock says: no slot's time goes back. Called through replica.h by
 * the protocol (xlbd/sync/peer.c). Does not: know sequences beyond comparing them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "xlbd/dataplane/replica_inside.h"

struct application {
	struct replica *replica;
	const struct replica_flow *flow;
	struct replica_version version;
	uint8_t owner, authority;
	uint32_t now, idle, second; /* ticks */
	struct wide_key key;
	uint64_t hash;
};

/* May the peer change what this shadow stands for, whose word is `state`? */
static inline bool may_apply(const struct application *one, const struct shadow *shadow,
                             __u64 state)
{
	uint32_t ours = TABLE_OLDER(state, one->now) ? TABLE_AGE(state, one->now) : 0;

	/* both were active, and the client's last packet went there: by more than the second to which idle times are told */
	if (one->authority == REPLICA_SELF && one->flow->kind != REPLICA_GONE &&
	    one->idle + one->second < ours)
		return true;
	/* the last words of who was active before us, about what our own packets have not touched */
	if (one->authority == REPLICA_SELF)
		return one->flow->kind == REPLICA_IS && shadow && same(shadow, one->hash, state) &&
		       one->version.term == shadow->version.term &&
		       is_newer(one->version, shadow->version);
	if (one->flow->kind == REPLICA_OFFERED)
		return false;
	if (!shadow || shadow->key != one->hash)
		return true;
	return !is_newer(shadow->version, one->version);
}

static inline __u64 word_of(const struct application *one, uint32_t time)
{
	const struct flow *flow = &one->flow->flow;

	return TABLE_STATE(flow->phase, time, one->flow->local_port, flow->real);
}

static enum replica_result apply_new(const int words, const struct application *one)
{
	const int width = words == TABLE_WIDE;
	struct replica *replica = one->replica;
	const struct tombstone *tombstone = tombstone_of(replica, one->hash);
	struct table_try attempt = {
		.fresh = word_of(one, one->now), .who = TABLE_USER, .now = one->now};
	uint8_t owner = one->authority == REPLICA_SELF ? REPLICA_NOBODY : one->owner;
	struct shadow *shadow, fresh;
	volatile __u64 *slot;

	if (one->flow->kind == REPLICA_GONE) {
		bury(replica, one->hash, one->version);
		return REPLICA_APPLIED;
	}
	if (tombstone->key == one->hash && is_newer(tombstone->version, one->version))
		return REPLICA_SAME_OR_OLD;
	memcpy(attempt.key, one->key.word, sizeof(attempt.key));
	if (put(words, replica->flows, &attempt, &slot) != TABLE_INSERTED)
		return REPLICA_NO_ROOM;
	shadow = &replica->shadow[width][(size_t)(slot - replica->flows->table[width].word) /
	                                 (size_t)(words + 1)];
	fresh = shadow_of(one->hash, attempt.fresh, owner, one->version);
	if (one->authority == REPLICA_SELF)
		fresh.key = 0; /* news for the others: the scan tells them */
	set_shadow(replica, shadow, &fresh);
	return REPLICA_APPLIED;
}

static enum replica_result apply_known(const int words, const struct application *one,
                                       struct shadow *shadow, volatile __u64 *word, __u64 state)
{
	uint32_t time = one->now - one->idle;
	struct shadow fresh = {};
	__u64 wanted;

	for (int attempt = 0;; attempt++) {
		if (!TABLE_LIVE(state) || table_differs(words, word - words, one->key.word) ||
		    attempt == 4)
			return REPLICA_NO_ROOM;
		if (one->flow->kind == REPLICA_GONE) {
			if (table_free(word, &state, one->now))
				break;
			continue;
		}
		wanted = word_of(one, TABLE_OLDER(state, time) ? time : TABLE_TIME(state));
		if (wanted == state || table_update(word, &state, wanted))
			break;
	}
	if (one->flow->kind == REPLICA_GONE)
		bury(one->replica, one->hash, one->version);
	else if (one->authority != REPLICA_SELF)
		fresh = shadow_of(one->hash, state, one->owner, one->version);
	if (shadow)
		set_shadow(one->replica, shadow, &fresh);
	return REPLICA_APPLIED;
}

static enum replica_result apply(const int words, struct application *one)
{
	const int width = words == TABLE_WIDE;
	const struct mapping *table = &one->replica->flows->table[width];
	struct shadow *shadow = NULL;
	volatile __u64 *word;
	__u64 state;

	one->hash = hash_key(words, one->replica, one->key.word);
	if (!one->hash || !table->word)
		return REPLICA_UNKNOWN;
	if (!look(words, one->replica->flows, one->key.word, &word, &state)) {
		if (one->authority == REPLICA_SELF || one->flow->kind != REPLICA_OFFERED)
			return apply_new(words, one);
		return REPLICA_SAME_OR_OLD;
	}
	if (word >= table->word && word < table->word + table->bytes / sizeof(*word))
		shadow = &one->replica->shadow[width]
		                              [(size_t)(word - table->word) / (size_t)(words + 1)];
	if (!may_apply(one, shadow, state))
		return REPLICA_SAME_OR_OLD;
	return apply_known(words, one, shadow, word, state);
}

enum replica_result replica_apply(struct replica *replica, uint64_t now,
                                  const struct replica_flow *flow, uint8_t owner,
                                  struct replica_version version)
{
	struct application one = {
		.replica = replica,
		.flow = flow,
		.version = version,
		.owner = owner,
		.authority = replica->authority[flow->flow.service % XLB_IDS],
		.now = (uint32_t)now,
		.idle = flow->flow.idle,
		.second = 1000000 / replica->tick_us + 1,
		.key = key_of(&flow->flow, flow->wide),
	};

	if (replica->policy[flow->flow.service % XLB_IDS] & POLICY_OFF || owner >= REPLICA_OWNERS)
		return REPLICA_UNKNOWN;
	return flow->wide ? apply(TABLE_WIDE, &one) : apply(TABLE_NARROW, &one);
}

static inline void expect(const int words, const struct replica *replica, const __u64 *key)
{
	const int width = words == TABLE_WIDE;
	const struct mapping *table = &replica->flows->table[width];
	const size_t bucket_words = TABLE_WAYS * (size_t)(words + 1);
	struct table_place place;
	const char *shadow;

	if (!table->word)
		return;
	place = place_of(words, table, key, replica->flows->control->seed);
	shadow = (const char *)(replica->shadow[width] +
	                        (size_t)(place.first - table->word) / bucket_words * TABLE_WAYS);
	__builtin_prefetch((const void *)place.first, 1);
	__builtin_prefetch((const void *)place.second, 0);
	__builtin_prefetch((const void *)place.stash, 0);
	__builtin_prefetch(
		&replica->known[width][(size_t)(place.first - table->word) / bucket_words], 1);
	__builtin_prefetch(shadow, 1);
	__builtin_prefetch(shadow + 64, 1);
	if (!width)
		return;
	__builtin_prefetch((const void *)(place.first + bucket_words / 2), 1);
	__builtin_prefetch((const void *)(place.second + bucket_words / 2), 0);
	__builtin_prefetch((const void *)(place.stash + bucket_words / 2), 0);
}

void replica_expect(const struct replica *replica, const struct replica_flow *flow)
{
	const struct wide_key key = key_of(&flow->flow, flow->wide);

	if (flow->wide)
		expect(TABLE_WIDE, replica, key.word);
	else
		expect(TABLE_NARROW, replica, key.word);
}
