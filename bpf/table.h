/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.h - the protocol of the connection table: one source for packets (bpf/connections.h) and for the daemon
 * (xlbd/dataplane/flows.c), and for both widths of a key.
 *
 * A table is an array of buckets of four slots: 2^bits buckets, and 2^stash_bits more behind them. A connection lives in one
 * of twelve slots: its first bucket, its second, its stash bucket. A slot is one key word (IPv4: narrow) or three (IPv6, and
 * services of many ports: wide), then the state word, which is lock, version and publication in one:
 *
 *	phase 63-60 | flags 59-52 | time 51-32 | local port 31-16 | real server's id 15-0
 *
 * Phase (enum xlb_phase): FREE: the key is a left-over and means nothing; a word of zeros has never had an owner. CLAIM: somebody
 * writes the key; bits 31-0 say which CPU, flag bit 52 that it is user space. REVOKED: a claim that lost against another
 * claim of the same key. 4 and more: live.
 *
 * The rules:
 * R1  The key is written only while the state is CLAIM or REVOKED, and only by the claimer.
 * R2  The state changes by compare-and-swap only, but for the claimer's release of its own claim.
 * R3  A slot changes hands at most once a tick: it may be claimed only if its time is older than the claimer's `now`; claim,
 *     published word and FREE carry a time that is not older than that `now`; nobody sets a time back. So the time is the
 *     version: equal words, read at two moments, had one owner all the time between (for 2^20 ticks, three days).
 * R4  Who takes a live word away accounts for it, once (TABLE_GONE); who publishes one counts it, once (TABLE_CAME).
 *
 * Reading: key equal, then state, key, state. Equal words at both ends mean one owner (R3), hence one key (R1), and the key
 * in the middle was ours. However long the reader stood still in between, it never takes another connection's word.
 *
 * What the includer may define before: TABLE_CAME(state), TABLE_GONE(state): accounting. TABLE_STRETCH(): a delay inside the
 * windows of a race, for tests. TABLE_MUTANT: a number; breaks one rule, to see that the tests notice.
 */
#ifndef XLB_TABLE_H
#define XLB_TABLE_H

#include <stdbool.h>

#include "xlb_shared.h"

#ifndef TABLE_CAME
#define TABLE_CAME(state) ((void)(state))
#define TABLE_GONE(state) ((void)(state))
#endif
#ifndef TABLE_STRETCH
#define TABLE_STRETCH() ((void)0)
#endif

/*
 * 1 look-up without the second look     2 update by plain store          3 R3 dropped
 * 4 no look for rivals                  5 key written before the claim   6 established entries give way
 * 7 publication by plain store          8 no last look while growing     9 removal by plain store
 * 10 moved out of the old table before into the new one
 */
#ifndef TABLE_MUTANT
#define TABLE_MUTANT 0
#endif

#ifdef __clang__
#define TABLE_UNROLL    _Pragma("clang loop unroll(full)")
#define TABLE_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TABLE_UNROLL
#define TABLE_NO_UNROLL
#endif
#define TABLE_FUNCTION static inline __attribute__((always_inline))

/* ---- layout ----------------------------------------------------------------------------------- */

#define TABLE_NARROW 1 /* words of a key */
#define TABLE_WIDE   3
#define TABLE_WAYS   4
#define TABLE_SLOTS  (3 * TABLE_WAYS) /* where one connection can be */

struct narrow_bucket {
	__u64 word[TABLE_WAYS * (TABLE_NARROW + 1)];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct narrow_bucket) == 64, "a line");

struct wide_bucket {
	__u64 word[TABLE_WAYS * (TABLE_WIDE + 1)];
} __attribute__((aligned(128)));
_Static_assert(sizeof(struct wide_bucket) == 128, "two lines");

/* Two words of address, then {virtual port or 0, 63-48; 0, 47-32; client port 31-16; service id 15-0}. */
struct wide_key {
	__u64 word[TABLE_WIDE];
};

/* Addresses and ports go in as they came off the wire, ids as numbers; a service's id is never 0, so no key is. */
TABLE_FUNCTION __u64 table_narrow_key(__be32 client, __be16 client_port, __u16 service)
{
	return (__u64)(__u32)client << 32 | (__u32)client_port << 16 | service;
}

TABLE_FUNCTION struct wide_key table_wide_key(const struct xlb_addr *client, __be16 client_port,
                                              __u16 service, __be16 virtual_port)
{
	struct wide_key key;

	key.word[0] = (__u64)(__u32)client->word[1] << 32 | (__u32)client->word[0];
	key.word[1] = (__u64)(__u32)client->word[3] << 32 | (__u32)client->word[2];
	key.word[2] = (__u64)(__u16)virtual_port << 48 | (__u32)client_port << 16 | service;
	return key;
}

/* ---- the state word --------------------------------------------------------------------------- */

#define TABLE_TICKS   0x100000u        /* the clock's time goes round in so many */
#define TABLE_BY_USER ((__u64)1 << 52) /* in a claim */
#define TABLE_USED    ((__u64)1)       /* in a free word: the slot has had an owner */

#define TABLE_PHASE(state)    ((__u32)((state) >> 60))
#define TABLE_FLAGS(state)    ((__u32)((state) >> 52) & 0xff)
#define TABLE_TIME(state)     ((__u32)((state) >> 32) & (TABLE_TICKS - 1))
#define TABLE_PORT(state)     ((__u16)((state) >> 16))
#define TABLE_REAL(state)     ((__u16)(state))
#define TABLE_LIVE(state)     ((state) >> 62 != 0)
#define TABLE_AGE(state, now) (((__u32)(now)-TABLE_TIME(state)) & (TABLE_TICKS - 1))

#define TABLE_TIME_BITS(now) ((__u64)((__u32)(now) & (TABLE_TICKS - 1)) << 32)
#define TABLE_STATE(phase, now, port, real) \
	((__u64)(phase) << 60 | TABLE_TIME_BITS(now) | (__u64)(__u16)(port) << 16 | (__u16)(real))
#define TABLE_WITH_TIME(state, now) \
	(((state) & ~TABLE_TIME_BITS(TABLE_TICKS - 1)) | TABLE_TIME_BITS(now))
#define TABLE_WITH_PHASE(state, phase) (((state) & ~((__u64)15 << 60)) | (__u64)(phase) << 60)
#define TABLE_WITH_REAL(state, real)   (((state) & ~(__u64)0xffff) | (__u16)(real))

/*
 * Last written before this tick. The last 256 ages are times ahead of our clock (who wrote them read it later): newer. A
 * time stamp may be renewed, and a slot may change hands, only when this holds.
 */
#define TABLE_OLDER(state, now) (TABLE_AGE(state, now) - 1 < TABLE_TICKS - 257)

/*
 * Over its timeout. An age of more than half a round is no age: whoever read `now` stood still for a while (a stopped daemon in
 * the middle of its sweep), and the word is newer. So no timeout may be longer than half a round, 36 hours.
 */
#define TABLE_TIMEOUT_MAX (TABLE_TICKS / 2 - 1)
#define TABLE_EXPIRED(state, now, timeout) \
	(TABLE_AGE(state, now) > (timeout) && TABLE_AGE(state, now) < TABLE_TICKS / 2)

/* What an insertion (table_insert.h) came to. */
enum table_result {
	TABLE_REFUSED,  /* no slot that may give way */
	TABLE_FOUND,    /* somebody else's insertion of the same key won: use its word */
	TABLE_INSERTED, /* ours */
	TABLE_BUSY,     /* another CPU stands still in the middle of inserting this key */
};

/* ---- access to memory ------------------------------------------------------------------------- */

/* What was there. Fully ordered: the kernel's BPF_CMPXCHG is, and so is this builtin outside. */
TABLE_FUNCTION __u64 table_swap(volatile __u64 *word, __u64 was, __u64 is)
{
	return __sync_val_compare_and_swap((__u64 *)word, was, is);
}

/* Stores, and no later load comes before it. Arm64's exchange alone does not promise that outside the kernel. */
TABLE_FUNCTION void table_store_fenced(volatile __u64 *word, __u64 value)
{
	(void)__atomic_exchange_n((__u64 *)word, value, __ATOMIC_SEQ_CST);
#ifndef __bpf__
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * For a load that must stay behind the one that gave `value`: zero, to be added to its address. x86 keeps loads in order by itself;
 * elsewhere BPF has no acquire load before Linux 6.15, but an address that depends on a value waits for it. To be taken
 * before the value is compared: behind the comparison the compiler knows it, and the dependency is gone.
 */
TABLE_FUNCTION __u64 table_behind(__u64 value)
{
#ifdef __bpf__
	asm volatile("%0 &= 0" : "+r"(value));
	return value;
#else
	(void)value;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return 0;
#endif
}

TABLE_FUNCTION __u64 table_load(const volatile __u64 *word, __u64 behind)
{
	return *(const volatile __u64 *)((const volatile char *)word + behind);
}

/* ---- where a key lives ------------------------------------------------------------------------ */

/*
 * Keyed in both multipliers: behind an exclusive-or alone a known multiplier would let a client compute keys that meet in one
 * bucket.
 */
TABLE_FUNCTION __u64 table_hash(const int words, const __u64 *key, __u64 seed)
{
	__u64 one = seed | 1, two = (seed >> 32 | seed << 32) | 1, hash = key[0], half;

	if (words == TABLE_WIDE) {
		hash *= one;
		hash ^= hash >> 32;
		half = key[1] * two;
		half ^= half >> 32;
		hash = (hash * two + half * one) ^ key[2];
	}
	hash = (hash ^ seed) * one;
	hash ^= hash >> 32;
	hash *= two;
	hash ^= hash >> 29;
	return hash * 0xd1342543de82ef95ull;
}

/* Of 2^bits buckets: from the top bits, from the low bits, from the bits in the middle. */
TABLE_FUNCTION __u32 table_first(__u64 hash, __u32 bits)
{
	return (__u32)(hash >> (64 - bits));
}

TABLE_FUNCTION __u32 table_second(__u64 hash, __u32 bits)
{
	__u32 bucket = (__u32)hash & ((1u << bits) - 1);

	return bucket == table_first(hash, bits) ? bucket ^ 1 : bucket;
}

TABLE_FUNCTION __u32 table_stash(__u64 hash, __u32 bits, __u32 stash_bits)
{
	return (1u << bits) + ((__u32)(hash >> 20) & ((1u << stash_bits) - 1));
}

/* The three buckets of one key. */
struct table_place {
	volatile __u64 *first, *second, *stash;
};

/* Slot 0-11 of the twelve: where its key begins. */
TABLE_FUNCTION volatile __u64 *table_slot(const int words, const struct table_place *place,
                                          __u32 position)
{
	volatile __u64 *bucket = place->first;

	if (position >= 2 * TABLE_WAYS)
		bucket = place->stash;
	else if (position >= TABLE_WAYS)
		bucket = place->second;
	return bucket + (position & (TABLE_WAYS - 1)) * (words + 1);
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* 0: the slot's key is this one. */
TABLE_FUNCTION __u64 table_differs(const int words, const volatile __u64 *slot, const __u64 *key)
{
	__u64 difference = slot[0] ^ key[0];

	if (words == TABLE_WIDE)
		difference |= (slot[1] ^ key[1]) | (slot[2] ^ key[2]);
	return difference;
}

enum table_reading {
	TABLE_OTHER,    /* another key */
	TABLE_SAME,     /* this key's word */
	TABLE_CHANGING, /* changes under our eyes */
};

/* The key again, behind another load; *ret_behind: for the next. */
TABLE_FUNCTION __u64 table_differs_still(const int words, const volatile __u64 *slot,
                                         const __u64 *key, __u64 behind, __u64 *ret_behind)
{
	__u64 one = table_load(slot, behind), two, three;

	if (words == TABLE_NARROW) {
		*ret_behind = table_behind(one);
		return one ^ key[0];
	}
	two = table_load(slot + 1, behind);
	three = table_load(slot + 2, behind);
	*ret_behind = table_behind(one | two | three);
	return (one ^ key[0]) | (two ^ key[1]) | (three ^ key[2]);
}

/* The word of a slot whose key was `key` a moment ago. */
TABLE_FUNCTION int table_read(const int words, const volatile __u64 *slot, const __u64 *key,
                              __u64 *ret_state)
{
	TABLE_NO_UNROLL
	for (__u64 look = 0; look < 4; look++) {
		__u64 state = slot[words], behind = table_behind(state), difference;

		TABLE_STRETCH();
		difference = table_differs_still(words, slot, key, behind, &behind);
		TABLE_STRETCH();
		*ret_state = state;
		if (TABLE_MUTANT == 1)
			return TABLE_SAME;
		if (difference)
			return TABLE_OTHER;
		if (table_load(slot + words, behind) == state)
			return TABLE_SAME;
	}
	return TABLE_CHANGING;
}

/* The live slot of a key in one bucket. */
TABLE_FUNCTION bool table_find(const int words, volatile __u64 *bucket, const __u64 *key,
                               volatile __u64 **ret_word, __u64 *ret_state)
{
	TABLE_NO_UNROLL
	for (__u64 way = 0; way < TABLE_WAYS; way++) {
		volatile __u64 *slot = bucket + way * (words + 1);
		__u64 state = 0;

		if (table_differs(words, slot, key))
			continue;
		TABLE_STRETCH();
		if (table_read(words, slot, key, &state) == TABLE_SAME && TABLE_LIVE(state)) {
			*ret_word = slot + words;
			*ret_state = state;
			return true;
		}
	}
	return false;
}

/* ---- changing a live word --------------------------------------------------------------------- */

/* True: `is` stands there now. False: the word was not `*was` any more; it is now. */
TABLE_FUNCTION bool table_update(volatile __u64 *word, __u64 *was, __u64 is)
{
	__u64 seen;

	TABLE_STRETCH();
	if (TABLE_MUTANT == 2) {
		*word = is;
		*was = is;
		return true;
	}
	seen = table_swap(word, *was, is);
	if (seen != *was) {
		*was = seen;
		return false;
	}
	*was = is;
	return true;
}

/* The word of a slot that became free at `now`. */
#define TABLE_FREED(now) (TABLE_STATE(XLB_PHASE_FREE, now, 0, 0) | TABLE_USED)

/* The word that a slot gets when its owner `state` goes. */
TABLE_FUNCTION __u64 table_freed(__u64 state, __u32 now)
{
	return TABLE_FREED(TABLE_OLDER(state, now) ? now : TABLE_TIME(state));
}

/* True: the connection is gone from the table. False: `*was` is what is there now. */
TABLE_FUNCTION bool table_free(volatile __u64 *word, __u64 *was, __u32 now)
{
	__u64 live = *was, seen = live;

	TABLE_STRETCH();
	if (TABLE_MUTANT == 9)
		*word = table_freed(live, now);
	else
		seen = table_swap(word, live, table_freed(live, now));
	*was = seen;
	if (seen != live)
		return false;
	TABLE_GONE(live);
	*was = table_freed(live, now);
	return true;
}

#endif
