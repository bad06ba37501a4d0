// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_table.bpf.c - the connection table alone: look-ups, insertions, a flood; and the same loops without them, to be subtracted.
 *
 * Each look-up depends on the one before, as a packet's work does on its own: no two cache misses overlap.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "connections.h"
#include "figures_table.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bench);
} bench SEC(".maps");

static __always_inline struct bench *get_bench(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bench, &zero);
}

static __always_inline __u64 turn(__u64 x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

static __always_inline bool find(const int words, const struct wide_key *key, __u64 seed,
                                 struct connection *hit)
{
	if (words == TABLE_WIDE)
		return connection_find_wide(key, seed, hit);
	return connection_find_narrow(key->word[0], seed, hit);
}

static __always_inline int insert(const int words, const struct wide_key *key,
                                  const struct xlb_control *control, __u64 fresh, __u32 now)
{
	__u64 state;

	if (words == TABLE_WIDE)
		return connection_insert_wide(*key, control, fresh, now, &state);
	return connection_insert_narrow(key->word[0], control, fresh, now, &state);
}

/* work: false: the loop alone */
static __always_inline int look_up(const int words, const bool work)
{
	struct bench *all = get_bench();
	__u64 x, hits = 0;

	if (!all)
		return XDP_DROP;
	x = all->random;
	for (__u64 i = 0; i < BENCH_BATCH; i++) {
		struct connection hit = {};
		struct wide_key key;

		x = turn(x);
		key = bench_key(words, all->from + (__u32)((x >> 32) * all->count >> 32));
		if (!work) {
			x += (key.word[0] ^ key.word[1] ^ key.word[2]) == 0;
		} else if (find(words, &key, all->control.seed, &hit)) {
			hits++;
			x += hit.state >>
			     63; /* 0, but clang does not know: the next look-up waits for this one */
		}
	}
	all->random = x;
	all->hits += hits;
	return XDP_DROP;
}

static __always_inline int insert_next(const int words, const bool work, const bool look_first)
{
	struct bench *all = get_bench();

	for (__u64 i = 0; all && i < BENCH_BATCH; i++) {
		struct wide_key key = bench_key(words, (__u32)all->next++);
		struct connection hit;
		int result = TABLE_INSERTED;

		if (!work)
			result += (key.word[0] ^ key.word[1] ^ key.word[2]) == 0;
		else if (look_first && find(words, &key, all->control.seed, &hit))
			result = TABLE_FOUND;
		else
			result = insert(words, &key, &all->control,
			                TABLE_STATE(all->phase, 0, 80, BENCH_REAL), all->now);
		if (result == TABLE_INSERTED)
			all->inserted++;
		else if (result == TABLE_REFUSED)
			all->refused++;
		else
			all->other++;
	}
	return XDP_DROP;
}

#define PROGRAM(name, call)              \
	SEC("xdp")                       \
	int name(struct xdp_md *context) \
	{                                \
		(void)context;           \
		return call;             \
	}
PROGRAM(loop_narrow, look_up(TABLE_NARROW, false))
PROGRAM(loop_wide, look_up(TABLE_WIDE, false))
PROGRAM(find_narrow, look_up(TABLE_NARROW, true))
PROGRAM(find_wide, look_up(TABLE_WIDE, true))
PROGRAM(next_narrow, insert_next(TABLE_NARROW, false, false))
PROGRAM(next_wide, insert_next(TABLE_WIDE, false, false))
PROGRAM(insert_narrow, insert_next(TABLE_NARROW, true, false))
PROGRAM(insert_wide, insert_next(TABLE_WIDE, true, false))
PROGRAM(open_narrow, insert_next(TABLE_NARROW, true, true)) /* as a packet: look, then insert */
PROGRAM(open_wide, insert_next(TABLE_WIDE, true, true))

SEC("xdp")
int read_tick(struct xdp_md *context)
{
	struct bench *all = get_bench();

	(void)context;
	if (all)
		all->now = bpf_jiffies64() >> tick_shift;
	return XDP_DROP;
}

/* ---- the flood -------------------------------------------------------------------------------- */

/* A packet of a connection that should be there. */
static __always_inline bool carry_on(struct bench *all, __u32 number, __u32 now)
{
	struct wide_key key = bench_key(TABLE_NARROW, number);
	struct connection hit;
	__u64 state;

	if (!connection_find_narrow(key.word[0], all->control.seed, &hit))
		return false;
	state = TABLE_WITH_PHASE(hit.state, XLB_PHASE_ESTABLISHED);
	if (TABLE_OLDER(state, now))
		state = TABLE_WITH_TIME(state, now);
	if (state != hit.state)
		connection_update(&hit, state);
	return true;
}

static __always_inline bool syn(struct bench *all, __u32 number, __u32 now)
{
	struct wide_key key = bench_key(TABLE_NARROW, number);
	struct connection hit;

	if (connection_find_narrow(key.word[0], all->control.seed, &hit))
		return true;
	return insert(TABLE_NARROW, &key, &all->control,
	              TABLE_STATE(XLB_PHASE_SYN, now, 80, BENCH_REAL), now) != TABLE_REFUSED;
}

__noinline int flood_newcomer(struct bench *all, __u32 now)
{
	__u32 number;

	if (!all)
		return 0;
	number = (__u32)all->newcomers++;
	all->newcomers_refused += !syn(all, BENCH_NEWCOMERS + number, now);
	if (number >= BENCH_LATER)
		all->newcomers_complete +=
			carry_on(all, BENCH_NEWCOMERS + number - BENCH_LATER, now);
	return 0;
}

__noinline int flood_syn(struct bench *all, __u32 now)
{
	if (!all)
		return 0;
	all->syns_refused += !syn(all, BENCH_ATTACKERS + (__u32)all->syns, now);
	all->syns++;
	return 0;
}

/* One packet of an established connection, and BENCH_SYNS of the flood. */
SEC("xdp")
int flood(struct xdp_md *context)
{
	struct bench *all = get_bench();
	__u32 now = bpf_jiffies64() >> tick_shift;

	(void)context;
	if (!all || !all->clients || !all->every)
		return XDP_DROP;
	all->packets_lost += !carry_on(all, (__u32)(all->packets % all->clients), now);
	all->packets++;
	for (__u64 i = 0; i < BENCH_SYNS; i++) {
		flood_syn(all, now);
		if (all->syns % all->every == 0)
			flood_newcomer(all, now);
	}
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
