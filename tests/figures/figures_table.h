/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * figures_table.h - what figures_table.bpf.c and figures_table.c share: which connections to work on, and what came of it.
 */
#ifndef TESTS_BENCH_TABLE_H
#define TESTS_BENCH_TABLE_H

#include "table.h"

#define BENCH_BATCH     8  /* operations a run of a program */
#define BENCH_SYNS      10 /* flood: SYNs of new clients for each packet of an established one */
#define BENCH_LATER     32 /* flood: newcomers until a newcomer's ACK comes */
#define BENCH_SERVICE   7
#define BENCH_REAL      9
/* numbers of connections */
#define BENCH_ATTACKERS (1u << 28)
#define BENCH_NEWCOMERS (1u << 29)
#define BENCH_STRANGERS (1u << 30) /* looked for, never inserted */

struct bench {
	struct xlb_control control;
	__u64 random;
	__u64 next;        /* insertions: the next number */
	__u32 from, count; /* look-ups: numbers from `from`, `count` of them, at random */
	__u32 now, phase;  /* insertions: as of which tick, in which phase */
	__u64 hits, inserted, refused, other;
	/* flood */
	__u64 syns, syns_refused, packets, packets_lost;
	__u64 every; /* SYNs between two newcomers */
	__u64 newcomers, newcomers_refused, newcomers_complete;
	__u32 clients, pad; /* established ones: numbers 0 .. clients-1 */
};

TABLE_FUNCTION __be16 bench_name(__u32 number, struct xlb_addr *client)
{
	__u64 x = (number + 1) * 0x9e3779b97f4a7c15ull;

	x ^= x >> 29;
	client->word[0] = 0xb80d0120;
	client->word[1] = (__be32)number;
	client->word[2] = 0;
	client->word[3] = (__be32)x;
	return (__be16)(x >> 32);
}

TABLE_FUNCTION struct wide_key bench_key(const int words, __u32 number)
{
	struct xlb_addr client;
	__be16 port = bench_name(number, &client);
	struct wide_key key = {};

	if (words == TABLE_WIDE)
		return table_wide_key(&client, port, BENCH_SERVICE, 0);
	key.word[0] = table_narrow_key(client.word[3], port, BENCH_SERVICE);
	return key;
}

#endif
