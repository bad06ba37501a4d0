/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table_stress.h - what the stress programs and their harness share: the connections of the test, its clock, what was seen.
 *
 * A connection is a number; its name and its real server follow from it by hashing, so whoever reads a word can tell whether it
 * belongs to this key.
 */
#ifndef TESTS_TABLE_STRESS_H
#define TESTS_TABLE_STRESS_H

#include "table.h"

#ifndef TABLE_GROUPS
#define TABLE_GROUPS 256 /* counts by real server, modulo this */
#endif

#define STRESS_SERVICE 7
#define STRESS_BATCH   16         /* operations a run of the program */
#define STRESS_KEPT    (1u << 30) /* numbers from here on: established connections that must stay */
#define STRESS_ORDER   1024       /* 2^n */
#define STRESS_WORKERS 4          /* two CPUs, 2; user space is the last */

enum stress_mode {
	STRESS_MIXED, /* whatever connections do */
	STRESS_FILL,  /* everybody inserts the same few new keys at the same time */
	STRESS_FLOOD, /* SYNs of new clients, and looks at connections that must stay */
	STRESS_KEEP,  /* MIXED, and looks at connections that must stay and are about to move */
};

struct stress_worker {
	__u64 random;
	__u64 operations, hits, inserted, found, busy, refused, lost_updates;
	__u64 wrong;   /* another connection's real server */
	__u64 missing; /* a connection that must stay was not found */
	__u32 mode, pad;
} __attribute__((aligned(128)));

struct stress {
	struct xlb_control control; /* seed, timeouts */
	__u32 now;
	__u32 keys, hot; /* numbers drawn from, and those that are drawn half of the time */
	__u32 base;      /* FILL: the first of the keys that are being inserted */
	__u32 kept;
	__u32 next;                /* KEEP: place in `order` that moves next */
	__u32 order[STRESS_ORDER]; /* numbers of kept connections in the order of their buckets */
	__u32 few;                 /* two real servers only: equal words are common */
	__u32 step,
		slow; /* the clock jumps by `step`, once in `slow` operations of anybody (2^n) */
	struct stress_worker worker[STRESS_WORKERS];
	__s64 live[TABLE_GROUPS]; /* by real server */
};

TABLE_FUNCTION __u64 stress_mix(__u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

TABLE_FUNCTION __u64 stress_random(__u64 *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return stress_mix(*state);
}

TABLE_FUNCTION __be16 stress_name(const int words, __u32 number, struct xlb_addr *client)
{
	__u64 x = stress_mix(number + 1), y = words == TABLE_WIDE ? stress_mix(x) : 0;

	client->word[0] = (__be32)y;
	client->word[1] = (__be32)(y >> 32);
	client->word[2] = words == TABLE_WIDE ? (__be32)number : 0;
	client->word[3] = (__be32)x;
	return (__be16)(x >> 32);
}

TABLE_FUNCTION struct wide_key stress_key(const int words, __u32 number)
{
	struct xlb_addr client;
	__be16 port = stress_name(words, number, &client);
	struct wide_key key = {};

	if (words == TABLE_WIDE)
		return table_wide_key(&client, port, STRESS_SERVICE, 0);
	key.word[0] = table_narrow_key(client.word[3], port, STRESS_SERVICE);
	return key;
}

TABLE_FUNCTION __u16 stress_real(const int words, const __u64 *key, __u32 few)
{
	__u64 x = key[0];

	if (words == TABLE_WIDE)
		x ^= stress_mix(key[1]) ^ key[2];
	x = stress_mix(x ^ 0x5555);
	return few ? 1 + (x & 1) : 1 + x % (XLB_IDS - 1);
}

/* Everybody moves the clock. */
TABLE_FUNCTION __u32 stress_clock(struct stress *stress, const struct stress_worker *worker)
{
	if ((worker->random >> 40 & (stress->slow - 1)) == 0)
		__sync_fetch_and_add(&stress->now, stress->step);
	return *(volatile __u32 *)&stress->now;
}

/* The number of one operation, and the phase that it moves to (0: none). */
TABLE_FUNCTION __u32 stress_draw(const struct stress *stress, struct stress_worker *worker,
                                 __u32 *ret_phase)
{
	__u64 x = stress_random(&worker->random);
	__u32 keys = x & 1 ? stress->hot : stress->keys, kept = stress->kept;

	*ret_phase = 0;
	if (worker->mode == STRESS_FILL)
		return stress->base + (x >> 20 & 15);
	if (worker->mode == STRESS_FLOOD && kept && (x >> 1 & 3) == 0)
		return STRESS_KEPT + (__u32)((x >> 32) * kept >> 32);
	if (worker->mode == STRESS_KEEP && (x & 2))
		return stress->order[(stress->next + (x >> 20 & 3)) & (STRESS_ORDER - 1)];
	if (worker->mode != STRESS_FLOOD && (x >> 4 & 7) < 2)
		*ret_phase = XLB_PHASE_ESTABLISHED;
	else if (worker->mode != STRESS_FLOOD && (x >> 4 & 15) == 15)
		*ret_phase = x & 2 ? XLB_PHASE_CLOSE : XLB_PHASE_FIN_WAIT;
	return (__u32)((x >> 32) * keys >> 32);
}

#endif
