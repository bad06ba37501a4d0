/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * neighbour_entry.h - one neighbour as the kernel's table has it, and for how long its MAC may be used. Pure.
 */
#ifndef XLBD_NEIGHBOUR_ENTRY_H
#define XLBD_NEIGHBOUR_ENTRY_H

#include "xlbd/netmessages.h"

/* ms that a MAC stays in use after its entry went though nobody failed to answer: as long as the kernel tries to resolve */
#define NEIGHBOUR_GRACE 3000

struct neighbour_entry { /* zeroed: the kernel has none */
	uint16_t state;  /* NUD_*; 0: no entry */
	bool has_mac;
	uint8_t mac[6];
	int64_t lost; /* ms: since when it is gone though nobody failed to answer; 0: it is not */
};

/* What a message says. info NULL: there is no entry (any more). now: ms of any clock, more than 0. */
void neighbour_entry_heard(struct neighbour_entry *entry, const struct neighbour_info *info,
                           int64_t now);
/* The MAC to send to; NULL: not known (any more). */
const uint8_t *neighbour_entry_mac(const struct neighbour_entry *entry, int64_t now);
/* Whether telling the kernel that it is in use would lead to a question on the wire. */
bool neighbour_entry_wants_use(const struct neighbour_entry *entry);

#endif
