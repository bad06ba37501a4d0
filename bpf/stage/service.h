/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service.h - which virtual server is the packet for, and is it ours to forward?
 *
 * What is not for a virtual server leaves after one cache line. Only then is the frame's MAC looked at: switches
 * flood, and two directors must not both forward one frame.
 */
#ifndef XLB_STAGE_SERVICE_H
#define XLB_STAGE_SERVICE_H

#include "lib/addr.h"
#include "lib/eth.h"
#include "maps.h"
#include "packet.h"

static __always_inline bool service_key_same(const struct xlb_service_key *a,
                                             const struct xlb_service_key *b)
{
	return a->tail == b->tail && addr_same(&a->addr, &b->addr);
}

/* The slot of a key; NULL: there is none. */
static __always_inline const struct xlb_service *service_slot(const struct xlb_control *state,
                                                              const struct xlb_service_key *key)
{
	__u32 line = xlb_service_line_of(key);
	struct xlb_service_line *slots;

	line += (state->half & 1) * XLB_SERVICE_LINES;
	slots = bpf_map_lookup_elem(&services, &line);
	if (!slots)
		return 0;
	if (service_key_same(&slots->slot[0].key, key))
		return &slots->slot[0];
	if (service_key_same(&slots->slot[1].key, key))
		return &slots->slot[1];
	return state->flags & XLB_CONTROL_OVERFLOW ? bpf_map_lookup_elem(&service_overflow, key)
	                                           : 0;
}

/* Was the frame sent to a MAC of this interface, in a VLAN that this host has? */
static __always_inline bool service_frame_is_ours(struct xdp_md *ctx, const struct packet *packet)
{
	__u32 slot =
		xlb_interface_slot(ctx->ingress_ifindex, packet->tags.vid[0], packet->tags.vid[1]);
	struct xlb_interface *interface = bpf_map_lookup_elem(&interfaces, &slot);
	struct ethhdr *eth = (void *)(long)ctx->data;
	__u64 mac;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end || !interface)
		return false;
	if (interface->ifindex != ctx->ingress_ifindex ||
	    interface->vid[0] != packet->tags.vid[0] || interface->vid[1] != packet->tags.vid[1])
		return false;
	mac = eth_mac_word(eth->h_dest);
	for (int i = 0; i < XLB_INTERFACE_MACS; i++)
		if (interface->mac[i] == mac)
			return true;
	return false;
}

static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict service_find(
	struct xdp_md *ctx, const struct xlb_control *state, struct packet *packet)
{
	const struct xlb_service *service = service_slot(state, &packet->to);

	if (!service)
		return XLB_NOT_OURS;
	packet->service = service->id;
	packet->service_flags = service->flags;
	packet->scheduler = service->scheduler;
	if (packet->service_flags & XLB_SERVICE_STANDBY)
		return XLB_STANDBY;
	if (!service_frame_is_ours(ctx, packet))
		return XLB_OTHER_MAC;
	if (packet->source_route)
		return XLB_DROP_SOURCE_ROUTE;
	return XLB_CONTINUE;
}

#endif
