// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * neighbour_entry.c - what the states of a neighbour mean for one who sends past the kernel.
 *
 * The kernel uses an entry in all states in which it has a MAC: also while it asks whether it is still true (STALE, DELAY, PROBE). So
 * do we. An entry may vanish for two reasons. Nobody answered: then the MAC is dead. Or it was taken away (`ip neigh flush`,
 * collection, `ip neigh del`, which shows as FAILED out of nowhere): then the kernel would hold packets back until the answer to
 * the next question comes, and XDP, which cannot hold anything, goes on with the old MAC for NEIGHBOUR_GRACE.
 *
 * Used by neighbours.c for each message about a neighbour; asks nobody and knows no clock but the one it is handed.
 */
#include <linux/neighbour.h>
#include <string.h>

#include "xlbd/neighbour_entry.h"

#define USABLE (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)

void neighbour_entry_heard(struct neighbour_entry *entry, const struct neighbour_info *info,
                           int64_t now)
{
	bool was_usable = entry->state & USABLE, was_asked = entry->state & NUD_PROBE;

	entry->state = info ? info->state : NUD_NONE;
	if (entry->state & USABLE) {
		entry->lost = 0;
		entry->has_mac = info->has_mac;
		memcpy(entry->mac, info->mac, sizeof(entry->mac));
		return;
	}
	if (!was_usable)
		return; /* a grace that runs, runs on */
	if (was_asked && entry->state & NUD_FAILED)
		entry->has_mac = false;
	entry->lost = now;
}

const uint8_t *neighbour_entry_mac(const struct neighbour_entry *entry, int64_t now)
{
	bool usable = entry->state & USABLE || (entry->lost && now - entry->lost < NEIGHBOUR_GRACE);

	return entry->has_mac && usable ? entry->mac : NULL;
}

bool neighbour_entry_wants_use(const struct neighbour_entry *entry)
{
	return entry->state == NUD_NONE || entry->state & (NUD_STALE | NUD_FAILED);
}
