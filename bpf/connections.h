/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connections.h - the table of connections as packets use it: its maps, find, update, free, insert. The protocol is table.h's.
 *
 * Written by packets and, through the mapping, by the daemon (xlbd/dataplane/flows.c); each slot by the rules of table.h. A miss
 * means that no connection of this key is in the table.
 *
 * While a table grows there are two maps of a kind. Only the daemon moves connections, and only from old to new: into new
 * first, then out of old. Packets look in new, in old and in new again, so they meet a connection wherever it is;
 * what they find in old they use and change in old; what is new to them goes into new. An update that fails because
 * its connection has just moved shows a word that is not live: find again. Without an old map the verifier removes all of it.
 *
 * One map look-up a call site: the JIT inlines it only where it knows the map.
 */
#ifndef XLB_CONNECTIONS_H
#define XLB_CONNECTIONS_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "settings.h"

#define TABLE_CHOOSE connection_choose
#define TABLE_ALONE  connection_is_alone
#define TABLE_RIVALS connection_rivals
struct table_place;
struct table_try;
struct xlb_control;
static __always_inline int connection_choose(int words, const struct table_place *place,
                                             struct table_try *try,
                                             const struct xlb_control *control);
static __always_inline bool connection_is_alone(int words, const struct table_place *place,
                                                struct table_try *try);
static __always_inline int connection_rivals(int words, const struct table_place *place,
                                             struct table_try *try);

#include "table_insert.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 17);
	__type(key, __u32);
	__type(value, struct narrow_bucket);
} connections_narrow SEC(".maps"), connections_narrow_old SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 17);
	__type(key, __u32);
	__type(value, struct wide_bucket);
} connections_wide SEC(".maps"), connections_wide_old SEC(".maps");

/* A hit: where its state word is, and the word that was read. */
struct connection {
	volatile __u64 *word;
	__u64 state;
};

/* ---- finding ---------------------------------------------------------------------------------- */

/* `map` is a constant where this is inlined; the second bucket and the stash are touched on a miss only. */
static __always_inline bool connection_look(int words, void *map, __u32 bits, __u32 stash_bits,
                                            const __u64 *key, __u64 hash, struct connection *hit)
{
	__u32 index = table_first(hash, bits);
	volatile __u64 *bucket = bpf_map_lookup_elem(map, &index);

	if (bucket && table_find(words, bucket, key, &hit->word, &hit->state))
		return true;
	index = table_second(hash, bits);
	bucket = bpf_map_lookup_elem(map, &index);
	if (bucket && table_find(words, bucket, key, &hit->word, &hit->state))
		return true;
	index = table_stash(hash, bits, stash_bits);
	bucket = bpf_map_lookup_elem(map, &index);
	return bucket && table_find(words, bucket, key, &hit->word, &hit->state);
}

static __always_inline bool connection_find_narrow(__u64 key, __u64 seed, struct connection *hit)
{
	__u64 hash = table_hash(TABLE_NARROW, &key, seed);

	if (connection_look(TABLE_NARROW, &connections_narrow, narrow_bits, narrow_stash_bits, &key,
	                    hash, hit))
		return true;
	if (!narrow_old_bits)
		return false;
	TABLE_STRETCH();
	if (connection_look(TABLE_NARROW, &connections_narrow_old, narrow_old_bits,
	                    narrow_old_stash_bits, &key, hash, hit))
		return true;
	return TABLE_MUTANT != 8 && connection_look(TABLE_NARROW, &connections_narrow, narrow_bits,
	                                            narrow_stash_bits, &key, hash, hit);
}

static __always_inline bool connection_find_wide(const struct wide_key *key, __u64 seed,
                                                 struct connection *hit)
{
	__u64 hash = table_hash(TABLE_WIDE, key->word, seed);

	if (connection_look(TABLE_WIDE, &connections_wide, wide_bits, wide_stash_bits, key->word,
	                    hash, hit))
		return true;
	if (!wide_old_bits)
		return false;
	TABLE_STRETCH();
	if (connection_look(TABLE_WIDE, &connections_wide_old, wide_old_bits, wide_old_stash_bits,
	                    key->word, hash, hit))
		return true;
	return TABLE_MUTANT != 8 && connection_look(TABLE_WIDE, &connections_wide, wide_bits,
	                                            wide_stash_bits, key->word, hash, hit);
}

/* ---- changing --------------------------------------------------------------------------------- */

/*
 * hit->state becomes what is there now. False: not `state`, somebody else changed the word: decide again on hit->state if it is
 * live, else find again (the connection has gone, or moved).
 */
static __always_inline bool connection_update(struct connection *hit, __u64 state)
{
	return table_update(hit->word, &hit->state, state);
}

/* Takes the connection out of the table. False: as above. */
static __always_inline bool connection_free(struct connection *hit, __u32 now)
{
	return table_free(hit->word, &hit->state, now);
}

/* ---- inserting -------------------------------------------------------------------------------- */

/*
 * The long steps are functions of their own: inlined in one body the verifier gives up on their branches. Global ones,
 * so that it looks at each once, whoever calls.
 */
__noinline int connection_choose_narrow(struct narrow_bucket *first, struct narrow_bucket *second,
                                        struct narrow_bucket *stash, struct table_try *try,
                                        const struct xlb_control *control)
{
	if (!first || !second || !stash || !try || !control)
		return TABLE_REFUSED;
	return table_choose(TABLE_NARROW,
	                    &(struct table_place){first->word, second->word, stash->word}, try,
	                    control);
}

__noinline int connection_choose_wide(struct wide_bucket *first, struct wide_bucket *second,
                                      struct wide_bucket *stash, struct table_try *try,
                                      const struct xlb_control *control)
{
	if (!first || !second || !stash || !try || !control)
		return TABLE_REFUSED;
	return table_choose(TABLE_WIDE,
	                    &(struct table_place){first->word, second->word, stash->word}, try,
	                    control);
}

__noinline int connection_is_alone_narrow(struct narrow_bucket *first, struct narrow_bucket *second,
                                          struct narrow_bucket *stash, struct table_try *try)
{
	if (!first || !second || !stash || !try)
		return false;
	return table_is_alone(TABLE_NARROW,
	                      &(struct table_place){first->word, second->word, stash->word}, try);
}

__noinline int connection_is_alone_wide(struct wide_bucket *first, struct wide_bucket *second,
                                        struct wide_bucket *stash, struct table_try *try)
{
	if (!first || !second || !stash || !try)
		return false;
	return table_is_alone(TABLE_WIDE,
	                      &(struct table_place){first->word, second->word, stash->word}, try);
}

__noinline int connection_rivals_narrow(struct narrow_bucket *first, struct narrow_bucket *second,
                                        struct narrow_bucket *stash, struct table_try *try)
{
	if (!first || !second || !stash || !try)
		return TABLE_BUSY;
	return table_rivals(TABLE_NARROW,
	                    &(struct table_place){first->word, second->word, stash->word}, try);
}

__noinline int connection_rivals_wide(struct wide_bucket *first, struct wide_bucket *second,
                                      struct wide_bucket *stash, struct table_try *try)
{
	if (!first || !second || !stash || !try)
		return TABLE_BUSY;
	return table_rivals(TABLE_WIDE,
	                    &(struct table_place){first->word, second->word, stash->word}, try);
}

static __always_inline int connection_choose(int words, const struct table_place *place,
                                             struct table_try *try,
                                             const struct xlb_control *control)
{
	if (words == TABLE_NARROW)
		return connection_choose_narrow((void *)place->first, (void *)place->second,
		                                (void *)place->stash, try, control);
	return connection_choose_wide((void *)place->first, (void *)place->second,
	                              (void *)place->stash, try, control);
}

static __always_inline bool connection_is_alone(int words, const struct table_place *place,
                                                struct table_try *try)
{
	if (words == TABLE_NARROW)
		return connection_is_alone_narrow((void *)place->first, (void *)place->second,
		                                  (void *)place->stash, try);
	return connection_is_alone_wide((void *)place->first, (void *)place->second,
	                                (void *)place->stash, try);
}

static __always_inline int connection_rivals(int words, const struct table_place *place,
                                             struct table_try *try)
{
	if (words == TABLE_NARROW)
		return connection_rivals_narrow((void *)place->first, (void *)place->second,
		                                (void *)place->stash, try);
	return connection_rivals_wide((void *)place->first, (void *)place->second,
	                              (void *)place->stash, try);
}

__noinline int connection_put_narrow(struct narrow_bucket *first, struct narrow_bucket *second,
                                     struct narrow_bucket *stash, struct table_try *try,
                                     const struct xlb_control *control)
{
	if (!first || !second || !stash || !try || !control)
		return TABLE_REFUSED;
	return table_insert(TABLE_NARROW,
	                    &(struct table_place){first->word, second->word, stash->word}, try,
	                    control);
}

__noinline int connection_put_wide(struct wide_bucket *first, struct wide_bucket *second,
                                   struct wide_bucket *stash, struct table_try *try,
                                   const struct xlb_control *control)
{
	if (!first || !second || !stash || !try || !control)
		return TABLE_REFUSED;
	return table_insert(TABLE_WIDE,
	                    &(struct table_place){first->word, second->word, stash->word}, try,
	                    control);
}

/*
 * After a find that missed. `fresh`: phase, port and real server of the connection; its time becomes `now`. On TABLE_FOUND and
 * TABLE_INSERTED *ret_state is the word in the table; on TABLE_FOUND another CPU's, to be followed as it is.
 */
static __always_inline int connection_insert_narrow(__u64 key, const struct xlb_control *control,
                                                    __u64 fresh, __u32 now, __u64 *ret_state)
{
	struct table_try try = {
		.key = {key}, .fresh = fresh, .who = bpf_get_smp_processor_id(), .now = now};
	__u64 hash = table_hash(TABLE_NARROW, &key, control->seed);
	__u32 index = table_first(hash, narrow_bits); /* one for all three: the stack is short */
	struct narrow_bucket *first = bpf_map_lookup_elem(&connections_narrow, &index), *second,
			     *stash;
	int result;

	index = table_second(hash, narrow_bits);
	second = bpf_map_lookup_elem(&connections_narrow, &index);
	index = table_stash(hash, narrow_bits, narrow_stash_bits);
	stash = bpf_map_lookup_elem(&connections_narrow, &index);
	result = connection_put_narrow(first, second, stash, &try, control);
	*ret_state = try.state;
	return result;
}

static __always_inline int connection_insert_wide(struct wide_key key,
                                                  const struct xlb_control *control, __u64 fresh,
                                                  __u32 now, __u64 *ret_state)
{
	struct table_try try = {.key = {key.word[0], key.word[1], key.word[2]},
	                        .fresh = fresh,
	                        .who = bpf_get_smp_processor_id(),
	                        .now = now};
	__u64 hash = table_hash(TABLE_WIDE, try.key, control->seed);
	__u32 index = table_first(hash, wide_bits); /* one for all three: the stack is short */
	struct wide_bucket *first = bpf_map_lookup_elem(&connections_wide, &index), *second, *stash;
	int result;

	index = table_second(hash, wide_bits);
	second = bpf_map_lookup_elem(&connections_wide, &index);
	index = table_stash(hash, wide_bits, wide_stash_bits);
	stash = bpf_map_lookup_elem(&connections_wide, &index);
	result = connection_put_wide(first, second, stash, &try, control);
	*ret_state = try.state;
	return result;
}

#endif
