/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * neighbours.h - next hops of real servers, resolved through rtnetlink and kept fresh.
 *
 * A target is a real server's address. For each: the route (RTM_GETROUTE, as the kernel would choose), the neighbour's MAC, the
 * path below VLAN devices. Unresolved neighbours are asked for (NTF_USE) until they answer.
 */
#ifndef XLBD_NEIGHBOURS_H
#define XLBD_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"
#include "xlbd/network.h"

struct neighbours; /* opaque */

enum next_hop_state {
	NEXT_HOP_RESOLVED,
	NEXT_HOP_RESOLVING,   /* route known, the neighbour has not answered yet */
	NEXT_HOP_NO_ROUTE,    /* none, unreachable, prohibit, blackhole; the link is down */
	NEXT_HOP_LOCAL,       /* an address of this host */
	NEXT_HOP_UNSUPPORTED, /* the way leads over a device that is not Ethernet, or too many tags */
};

struct next_hop {
	enum next_hop_state state;
	struct link_path path; /* device that sends, tags */
	uint32_t ifindex;      /* of the route, above VLANs */
	uint8_t dmac[6], smac[6];
	uint32_t mtu;            /* of the route or its device */
	struct xlb_addr gateway; /* the neighbour: the gateway, or the target itself */
	struct xlb_addr source;  /* preferred source address of the route */
};

/* changed(context, addr, hop): a target's next hop is different from the last one told. Logs. */
int neighbours_start(struct event_base *base, struct network *network,
                     void (*changed)(void *context, const struct xlb_addr *addr,
                                     const struct next_hop *hop),
                     void *context, struct neighbours **ret);
struct neighbours *neighbours_stop(struct neighbours *neighbours); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct neighbours, neighbours_stop)

/* Replaces the set of targets; known ones keep their state. Resolves new ones at once as far as the kernel knows. */
int neighbours_set(struct neighbours *neighbours, const struct xlb_addr *targets, size_t count);
const struct next_hop *neighbours_get(const struct neighbours *neighbours,
                                      const struct xlb_addr *addr); /* NULL: no target */
/* Whether is_fine() says so of every target's next hop. For who would otherwise look up thousands, one by one. */
typedef bool neighbours_fine(const void *who, const struct next_hop *hop);
bool neighbours_all(const struct neighbours *neighbours, neighbours_fine *is_fine, const void *who);
/* Looks at all targets again: call it when links or addresses changed. */
void neighbours_refresh(struct neighbours *neighbours);
const char *next_hop_state_name(enum next_hop_state state);

#endif
