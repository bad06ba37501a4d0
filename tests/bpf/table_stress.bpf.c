// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * table_stress.bpf.c - what packets do to the connection table, without packets: a run draws STRESS_BATCH connections, looks
 * each up, changes its word as packets would, and inserts what is not there. test_table_stress.c runs it on two CPUs at once.
 *
 * The code under test is bpf/connections.h itself. Rules to break and delays inside the windows of its races are constants of
 * the object, set before it is loaded; with both 0 the verifier removes them.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#define TABLE_GROUPS 256

const volatile __u32 mutant = 0;
const volatile __u32 stretch = 0; /* longest delay, in turns of a loop; 2^n - 1 */

static void came_or_gone(__u64 state, __s64 by);
int stretch_now(void);

#define TABLE_MUTANT      mutant
#define TABLE_CAME(state) came_or_gone(state, 1)
#define TABLE_GONE(state) came_or_gone(state, -1)
#define TABLE_STRETCH()                \
	do {                           \
		if (stretch)           \
			stretch_now(); \
	} while (0)

#include "connections.h"
#include "table_stress.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stress);
} stress SEC(".maps");

static __always_inline struct stress *get_stress(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&stress, &zero);
}

static __always_inline void came_or_gone(__u64 state, __s64 by)
{
	struct stress *all = get_stress();

	if (all)
		__sync_fetch_and_add(&all->live[state % TABLE_GROUPS], by);
}

static int turn(__u32 i, void *context)
{
	*(volatile __u64 *)context = i;
	return 0;
}

__noinline int stretch_now(void)
{
	__u64 place = 0;

	if ((bpf_get_prandom_u32() & 7) == 0)
		bpf_loop(bpf_get_prandom_u32() & stretch, turn, &place, 0);
	return 0;
}

static __always_inline bool find(const int words, const struct wide_key *key, __u64 seed,
                                 struct connection *hit)
{
	if (words == TABLE_WIDE)
		return connection_find_wide(key, seed, hit);
	return connection_find_narrow(key->word[0], seed, hit);
}

static __always_inline void touch(struct connection *hit, __u32 now, __u32 phase,
                                  struct stress_worker *worker)
{
	for (__u64 attempt = 0; attempt < 3; attempt++) {
		__u64 state = hit->state, wanted = state;

		if (!TABLE_LIVE(state))
			return;
		if (TABLE_OLDER(state, now))
			wanted = TABLE_WITH_TIME(state, now);
		if (phase && TABLE_PHASE(state) != XLB_PHASE_CLOSE)
			wanted = TABLE_WITH_PHASE(wanted, phase);
		if (wanted == state || connection_update(hit, wanted))
			return;
		worker->lost_updates++;
	}
}

static __always_inline void insert(const int words, const struct wide_key *key,
                                   const struct xlb_control *control, __u32 now, __u16 real,
                                   struct stress_worker *worker)
{
	__u64 fresh = TABLE_STATE(XLB_PHASE_SYN, now, 0, real), state = 0;
	int result = words == TABLE_WIDE
	                     ? connection_insert_wide(*key, control, fresh, now, &state)
	                     : connection_insert_narrow(key->word[0], control, fresh, now, &state);

	if (result == TABLE_INSERTED)
		worker->inserted++;
	else if (result == TABLE_FOUND)
		worker->found++;
	else if (result == TABLE_BUSY)
		worker->busy++;
	else
		worker->refused++;
	if (result == TABLE_FOUND && TABLE_REAL(state) != real)
		worker->wrong++;
}

static __always_inline int operate(const int words, struct stress *all,
                                   struct stress_worker *worker)
{
	struct connection hit;
	struct wide_key key;
	__u32 phase, number = stress_draw(all, worker, &phase);
	__u32 now = stress_clock(all, worker);
	__u16 real;

	key = stress_key(words, number);
	real = stress_real(words, key.word, all->few);
	worker->operations++;
	if (!find(words, &key, all->control.seed, &hit)) {
		if (number < STRESS_KEPT)
			insert(words, &key, &all->control, now, real, worker);
		else
			worker->missing++;
		return 0;
	}
	worker->hits++;
	if (TABLE_REAL(hit.state) != real)
		worker->wrong++;
	if (number < STRESS_KEPT && (worker->random & 127) == 0)
		connection_free(&hit, now);
	else
		touch(&hit, now, number < STRESS_KEPT ? phase : 0, worker);
	return 0;
}

__noinline int operate_narrow(struct stress *all, struct stress_worker *worker)
{
	return all && worker ? operate(TABLE_NARROW, all, worker) : 0;
}

__noinline int operate_wide(struct stress *all, struct stress_worker *worker)
{
	return all && worker ? operate(TABLE_WIDE, all, worker) : 0;
}

SEC("xdp")
int stress_narrow(struct xdp_md *context)
{
	struct stress *all = get_stress();

	(void)context;
	for (__u64 i = 0; all && i < STRESS_BATCH; i++)
		operate_narrow(all,
		               &all->worker[bpf_get_smp_processor_id() & (STRESS_WORKERS - 1)]);
	return XDP_DROP;
}

SEC("xdp")
int stress_wide(struct xdp_md *context)
{
	struct stress *all = get_stress();

	(void)context;
	for (__u64 i = 0; all && i < STRESS_BATCH; i++)
		operate_wide(all, &all->worker[bpf_get_smp_processor_id() & (STRESS_WORKERS - 1)]);
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
