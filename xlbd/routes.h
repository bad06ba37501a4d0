/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * routes.h - where would the kernel send it? Asked per destination, never read as a table.
 */
#ifndef XLBD_ROUTES_H
#define XLBD_ROUTES_H

#include <stddef.h>

#include "xlbd/netmessages.h"
#include "xlbd/netsocket.h"

/*
 * The route to each address, into ret[0 .. count). Each element's `error` says whether there is one. `socket`: of
 * NETLINK_ROUTE, with no groups. 0, or -errno if the asking failed (elements without an answer carry -ETIMEDOUT).
 */
int routes_ask(struct netsocket *socket, const struct xlb_addr *addrs, size_t count,
               struct route_info *ret);

/*
 * The route that clients anywhere are answered by: the one with prefix length 0. -ENETUNREACH: there is none.
 */
int routes_default(struct netsocket *socket, int family, struct route_info *ret);

#endif
