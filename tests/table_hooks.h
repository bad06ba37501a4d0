/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table_hooks.h - what tests put into bpf/table.h: a function called inside every window of a race, a rule to break, and counts of
 * who comes and goes. Included in front of every source of such a test (-include), the daemon's own ones among them.
 */
#ifndef TESTS_TABLE_HOOKS_H
#define TESTS_TABLE_HOOKS_H

#include <linux/types.h>

#define TABLE_GROUPS 256 /* counts by real server, modulo this */

struct table_hooks {
	void (*stretch)(void);
	unsigned mutant;
	__s64 *live; /* TABLE_GROUPS of them; NULL: not counted */
};
extern struct table_hooks table_hooks;

static inline void table_hook_count(__u64 state, __s64 by)
{
	if (table_hooks.live)
		__sync_fetch_and_add(&table_hooks.live[state % TABLE_GROUPS], by);
}

#define TABLE_MUTANT      table_hooks.mutant
#define TABLE_STRETCH()   (table_hooks.stretch ? table_hooks.stretch() : (void)0)
#define TABLE_CAME(state) table_hook_count(state, 1)
#define TABLE_GONE(state) table_hook_count(state, -1)

#endif
