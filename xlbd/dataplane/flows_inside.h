/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flows_inside.h - what flows.c, flows_move.c, flows_wake.c and replica.c share: the mappings, and the protocol of bpf/table.h
 * applied to them. For nobody else.
 */
#ifndef XLBD_DATAPLANE_FLOWS_INSIDE_H
#define XLBD_DATAPLANE_FLOWS_INSIDE_H

#include <arpa/inet.h>

#include "table_insert.h"
#include "xlbd/dataplane/flows.h"

struct mapping {
	volatile __u64 *word; /* NULL: no such table */
	size_t buckets, bytes;
	size_t refreshed; /* slots that sweeps have looked after */
	uint32_t bits, stash_bits;
};

enum { NARROW, WIDE, WIDTHS };

struct flows {
	const struct xlb_control *control;
	struct mapping table[WIDTHS], old[WIDTHS];
};

int flows_check_size(uint32_t bits,
                     uint32_t stash_bits); /* -EINVAL: no table is so large or small */

static inline struct table_place place_of(const int words, const struct mapping *mapping,
                                          const __u64 *key, __u64 seed)
{
	const size_t bucket = TABLE_WAYS * (words + 1);
	__u64 hash = table_hash(words, key, seed);

	return (struct table_place){
		mapping->word + bucket * table_first(hash, mapping->bits),
		mapping->word + bucket * table_second(hash, mapping->bits),
		mapping->word + bucket * table_stash(hash, mapping->bits, mapping->stash_bits)};
}

/* The word of a key in one table. */
static inline bool look_in(const int words, const struct mapping *mapping, const __u64 *key,
                           __u64 seed, volatile __u64 **ret_word, __u64 *ret_state)
{
	struct table_place place;

	if (!mapping->word)
		return false;
	place = place_of(words, mapping, key, seed);
	return table_find(words, place.first, key, ret_word, ret_state) ||
	       table_find(words, place.second, key, ret_word, ret_state) ||
	       table_find(words, place.stash, key, ret_word, ret_state);
}

/* Key and word of a live slot, of one moment. False: nothing live, or changing too fast to be caught. */
static inline bool read_slot(const int words, const volatile __u64 *slot, __u64 *ret_key,
                             __u64 *ret_state)
{
	for (int attempt = 0; attempt < 4; attempt++) {
		__u64 state = slot[words], behind = table_behind(state);

		if (!TABLE_LIVE(state))
			return false;
		TABLE_STRETCH();
		for (int i = 0; i < words; i++)
			ret_key[i] = table_load(&slot[i], behind);
		TABLE_STRETCH();
		*ret_state = state;
		if (table_load(&slot[words], table_behind(ret_key[0])) == state)
			return true;
	}
	return false;
}

static inline bool has_live(const int words, const volatile __u64 *bucket)
{
	const int slot = words + 1;

	return TABLE_LIVE(bucket[words] | bucket[slot + words] | bucket[2 * slot + words] |
	                  bucket[3 * slot + words]);
}

/* ---- keys and places -------------------------------------------------------------------------- */

static inline struct wide_key key_of(const struct flow *flow, bool wide)
{
	if (wide)
		return table_wide_key(&flow->client, htons(flow->client_port), flow->service,
		                      htons(flow->virtual_port));
	return (struct wide_key){
		{table_narrow_key(flow->client.word[3], htons(flow->client_port), flow->service)}};
}

static inline void flow_from(const int words, const __u64 *key, __u64 state, uint32_t now,
                             struct flow *ret)
{
	__u64 ports = key[words - 1];
	struct flow flow = {
		.client_port = ntohs((uint16_t)(ports >> 16)),
		.service = (uint16_t)ports,
		.real = TABLE_REAL(state),
		.phase = TABLE_PHASE(state),
		.idle = TABLE_OLDER(state, now) ? TABLE_AGE(state, now) : 0,
	};

	if (words == TABLE_NARROW) {
		flow.client.word[2] = htonl(0xffff);
		flow.client.word[3] = (__be32)(key[0] >> 32);
	} else {
		flow.virtual_port = ntohs((uint16_t)(ports >> 48));
		for (int i = 0; i < 4; i++)
			flow.client.word[i] = (__be32)(key[i / 2] >> i % 2 * 32);
	}
	*ret = flow;
}

/* In the table, in the old one, and in the table again: it may have moved in between. */
static inline bool look(const int words, struct flows *flows, const __u64 *key,
                        volatile __u64 **ret_word, __u64 *ret_state)
{
	const int width = words == TABLE_WIDE;
	const struct mapping *old = &flows->old[width], *table = &flows->table[width];
	__u64 seed = flows->control->seed;

	if (look_in(words, table, key, seed, ret_word, ret_state))
		return true;
	if (!old->word)
		return false;
	TABLE_STRETCH();
	return look_in(words, old, key, seed, ret_word, ret_state) ||
	       (TABLE_MUTANT != 8 && look_in(words, table, key, seed, ret_word, ret_state));
}

/* *ret_slot: where it went, if it was inserted. */
static inline int put(const int words, struct flows *flows, struct table_try *attempt,
                      volatile __u64 **ret_slot)
{
	const struct mapping *mapping = &flows->table[words == TABLE_WIDE];
	struct table_place place = place_of(words, mapping, attempt->key, flows->control->seed);
	int result = table_insert(words, &place, attempt, flows->control);

	if (result == TABLE_INSERTED)
		*ret_slot = table_slot(words, &place, attempt->position);
	return result;
}

#endif
