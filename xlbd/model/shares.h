/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares.h - how many services share a real server behind NAT. Pure.
 */
#ifndef XLBD_MODEL_SHARES_H
#define XLBD_MODEL_SHARES_H

#include "xlbd/cleanup.h"
#include "xlbd/model/service.h"

struct shares; /* opaque */

/* Of a set whose services keep their real servers meanwhile. NULL in *ret: nothing is behind NAT. -ENOMEM. */
int shares_count(const struct service_set *set, struct shares **ret);
struct shares *shares_free(struct shares *shares); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct shares, shares_free)
/* Services of this protocol that reach the real server's address and port by NAT. */
size_t shares_of(const struct shares *shares, const struct real_server *real, uint8_t protocol);

#endif
