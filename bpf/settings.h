/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settings.h - what the loader decides before the program is loaded: constants for the verifier, which removes the code that they
 * switch off. Set through the skeleton's rodata; the values here only make an object load that nobody has set.
 */
#ifndef XLB_SETTINGS_H
#define XLB_SETTINGS_H

#include <linux/types.h>

/* A tick is jiffies64 >> tick_shift: 250 to 330 ms. HZ=250: 6, HZ=1000: 8, HZ=100: 5, HZ=300: 6. */
const volatile __u32 tick_shift = 6;

/*
 * The tables of connections: 2^bits buckets, and 2^stash_bits of the stash behind them. bits: 1 to 24; stash_bits: 0 to bits.
 * max_entries of the map is the sum.
 */
const volatile __u32 narrow_bits = 4, narrow_stash_bits = 0;
const volatile __u32 wide_bits = 4, wide_stash_bits = 0;
/* While a table grows: the one that it grows out of. 0: there is none. */
const volatile __u32 narrow_old_bits = 0, narrow_old_stash_bits = 0;
const volatile __u32 wide_old_bits = 0, wide_old_stash_bits = 0;
#define TABLE_GROWS (narrow_old_bits || wide_old_bits)

#endif
