// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flows_wake.c - the connection table after a time in which nobody swept it.
 *
 * A word's time goes round in 2^20 ticks, three days. While a daemon sweeps every second no word gets near that age; when it was
 * dead, or stopped, for long, words that no packet has renewed since look newer than they are: from half a round on a sweep
 * takes their age for no age, and after a round they look young. So the daemon, at its start and before each beat of its heart,
 * tells how long it was away, by the tick of the last beat, which does not go round.
 *
 * Away for less than half a round (less the longest timeout): sweeps see everything right. Less than a whole round: what was not
 * renewed is older than any timeout, what was renewed is not older than it looks; the two are told apart by taking every
 * age at its word, up to the last 256, which are times ahead of our clock. More: nobody can tell a connection that was in use a
 * minute ago from one of three days ago, and all of them go. A packet that renews a word while we look at it has
 * proved it alive: its word stays.
 *
 * Free slots are looked after too: one that was freed almost a round ago seems to be freed in the future, and could
 * not be claimed for a minute. A suspended machine needs nothing: its clock of jiffies stands still with it, as IPVS's timers do.
 */
#include "xlbd/dataplane/flows_inside.h"

#define AHEAD 256 /* ages that are times ahead of our clock, bpf/table.h */
#define SOON  16  /* freed by somebody who read the clock after us */

struct waking {
	uint32_t now;
	bool all; /* no age can be believed */
	const uint32_t *timeout;
	uint64_t freed;
};

static inline bool is_over(const struct waking *waking, __u64 state)
{
	return waking->all || (TABLE_OLDER(state, waking->now) &&
	                       TABLE_AGE(state, waking->now) > waking->timeout[TABLE_PHASE(state)]);
}

static inline void wake_slot(struct waking *waking, volatile __u64 *word)
{
	__u64 state = *word;
	uint32_t age = TABLE_AGE(state, waking->now);

	if (TABLE_LIVE(state)) {
		if (is_over(waking, state) && table_free(word, &state, waking->now))
			waking->freed++;
	} else if (TABLE_PHASE(state) == XLB_PHASE_FREE && state && age >= TABLE_TICKS / 2 &&
	           age < TABLE_TICKS - SOON) {
		(void)table_swap(word, state, TABLE_FREED(waking->now - TABLE_TICKS / 4));
	}
}

static inline void wake_table(const int words, struct waking *waking, struct mapping *mapping)
{
	for (size_t i = 0; mapping->word && i < mapping->buckets * TABLE_WAYS; i++)
		wake_slot(waking, mapping->word + i * (words + 1) + words);
}

uint64_t flows_wake(struct flows *flows, uint64_t now, uint64_t last)
{
	struct waking waking = {.now = (uint32_t)now, .timeout = flows->control->timeout};
	uint64_t oldest = now > last ? now - last : 0;
	uint32_t longest = 0;

	for (int phase = XLB_PHASE_SYN; phase < XLB_PHASES; phase++)
		if (flows->control->timeout[phase] > longest)
			longest = flows->control->timeout[phase];
	oldest += longest + 2 * AHEAD; /* age of a word at most, if no packet has renewed it */
	if (!last || oldest < TABLE_TICKS / 2)
		return 0;
	waking.all = oldest >= TABLE_TICKS;
	wake_table(TABLE_NARROW, &waking, &flows->old[NARROW]);
	wake_table(TABLE_NARROW, &waking, &flows->table[NARROW]);
	wake_table(TABLE_WIDE, &waking, &flows->old[WIDE]);
	wake_table(TABLE_WIDE, &waking, &flows->table[WIDE]);
	return waking.freed;
}
