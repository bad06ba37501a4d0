// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * next_hop.c - puts a next hop together from what the kernel said about route, link and neighbour.
 *
 * Pure; neighbours.c calls it whenever one of the three may have changed and tells its owner only if the result differs. The order
 * of the questions is the order in which the kernel would fail: no route, local delivery, a device that is down, a device
 * that XDP cannot send by, and last a neighbour that has not answered.
 *
 * The source MAC is that of the route's own device, also when that is a macvlan or VLAN whose frames leave by the device
 * below: real servers see the same sender as from the kernel.
 */
#include <linux/rtnetlink.h>
#include <string.h>

#include "xlbd/model/addr.h"
#include "xlbd/next_hop.h"

const char *next_hop_state_name(enum next_hop_state state)
{
	static const char *const names[] = {
		[NEXT_HOP_RESOLVED] = "resolved",       [NEXT_HOP_RESOLVING] = "resolving",
		[NEXT_HOP_NO_ROUTE] = "no route",       [NEXT_HOP_LOCAL] = "local",
		[NEXT_HOP_UNSUPPORTED] = "unsupported",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "?";
}

static enum next_hop_state state_of(const struct route_info *route, const struct link_info *link)
{
	if (route->error)
		return NEXT_HOP_NO_ROUTE;
	if (route->type == RTN_LOCAL)
		return NEXT_HOP_LOCAL;
	if (route->type != RTN_UNICAST || !link || !link->up)
		return NEXT_HOP_NO_ROUTE;
	return NEXT_HOP_RESOLVING;
}

struct next_hop next_hop_make(const struct network *network, const struct xlb_addr *target,
                              const struct route_info *route, const uint8_t *mac)
{
	const struct link_info *link = network_link(network, route->ifindex);
	struct next_hop hop = {.state = state_of(route, link)};

	if (hop.state != NEXT_HOP_RESOLVING)
		return hop;
	hop.ifindex = route->ifindex;
	hop.gateway = addr_is_zero(&route->gateway) ? *target : route->gateway;
	hop.source = route->source;
	hop.mtu = route->mtu && route->mtu < link->mtu ? route->mtu : link->mtu;
	memcpy(hop.smac, link->mac, sizeof(hop.smac));
	if (network_path(network, route->ifindex, &hop.path) < 0) {
		hop.state = NEXT_HOP_UNSUPPORTED;
		return hop;
	}
	if (mac) {
		hop.state = NEXT_HOP_RESOLVED;
		memcpy(hop.dmac, mac, sizeof(hop.dmac));
	}
	return hop;
}

bool next_hop_equal(const struct next_hop *a, const struct next_hop *b)
{
	return a->state == b->state && a->ifindex == b->ifindex && a->mtu == b->mtu &&
	       a->path.ifindex == b->path.ifindex &&
	       memcmp(a->path.tpid, b->path.tpid, sizeof(a->path.tpid)) == 0 &&
	       memcmp(a->path.vid, b->path.vid, sizeof(a->path.vid)) == 0 &&
	       memcmp(a->dmac, b->dmac, sizeof(a->dmac)) == 0 &&
	       memcmp(a->smac, b->smac, sizeof(a->smac)) == 0 &&
	       addr_equal(&a->gateway, &b->gateway) && addr_equal(&a->source, &b->source);
}
