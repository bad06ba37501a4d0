/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * next_hop.h - a route, a link and a neighbour's MAC -> next hop. Pure.
 */
#ifndef XLBD_NEXT_HOP_H
#define XLBD_NEXT_HOP_H

#include "xlbd/neighbours.h"
#include "xlbd/netmessages.h"

/* mac: of the neighbour; NULL: not known (yet). */
struct next_hop next_hop_make(const struct network *network, const struct xlb_addr *target,
                              const struct route_info *route, const uint8_t *mac);
bool next_hop_equal(const struct next_hop *a, const struct next_hop *b);

#endif
