/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reals.h - the entries of real servers: written so that no packet ever uses half of one.
 */
#ifndef XLBD_DATAPLANE_REALS_H
#define XLBD_DATAPLANE_REALS_H

#include "xlbd/cleanup.h"
#include "xlbd/dataplane/entry.h"
#include "xlbd/dataplane/interfaces.h"
#include "xlbd/dataplane/loader.h"
#include "xlbd/neighbours.h"

struct reals; /* opaque: the mapped array */

/* Borrows both. */
int reals_open(struct dataplane *dataplane, struct interfaces *interfaces, struct reals **ret);
struct reals *reals_close(struct reals *reals); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct reals, reals_close)

struct real_entry reals_get(const struct reals *reals, uint16_t id);
/*
 * The link-layer part, a tunnel's source address, the MTU and XLB_REAL_RESOLVED of an entry from a next hop; NULL or not resolved:
 * not to be sent to.
 */
void reals_set_hop(struct reals *reals, struct real_entry *entry, const struct next_hop *hop);
/*
 * The entry becomes `wanted`. May wait for running packets, when more of a used entry changes than one store can;
 * reals_withdraw() before, for many of them, makes one wait of it.
 */
int reals_write(struct reals *reals, uint16_t id, const struct real_entry *wanted);
/* Takes the entry out of use if writing `wanted` would have to wait; true: it was, wait before writing. */
bool reals_withdraw(struct reals *reals, uint16_t id, const struct real_entry *wanted);
/* The one after it in the list of those of its address and port (NAT); 0: none. One store. */
void reals_set_next(struct reals *reals, uint16_t id, uint16_t next);
void reals_mark_gone(struct reals *reals, uint16_t id);
/* An entry that no packet can reach any more. */
void reals_clear(struct reals *reals, uint16_t id);

#endif
