/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reply.h - what a NAT real server sends to a client: its connection, the virtual server as its source, the client's next hop.
 *
 * A packet that is for no virtual server may come from a real server: one look at the service table, by source (XLB_KEY_SOURCE),
 * and only while there are NAT real servers at all. The same address and port may stand behind several services: the list
 * of them is walked until one knows the client. Nothing is written for the way back: {client, service} is the connection's key.
 * Who has no entry passes, so keepalived's own checks and everything else that this host sends to its real servers work.
 * The way to the client is the kernel's (route.h).
 */
#ifndef XLB_STAGE_REPLY_H
#define XLB_STAGE_REPLY_H

#include "connections.h"
#include "maps.h"
#include "packet.h"
#include "stage/flow.h"
#include "stage/link.h"
#include "stage/nat.h"
#include "stage/route.h"
#include "stage/service.h"

/* Is it a packet of a connection with this real server? Then its state moves on. `packet` is turned. Global: looked at once. */
__noinline int reply_is_of(const struct xlb_control *state, struct packet *packet, __u32 id,
                           __u32 now)
{
	struct connection hit = {};

	if (!state || !packet || !flow_lookup(packet, state->seed, &hit))
		return false;
	if (TABLE_REAL(hit.state) != (__u16)id || flow_expired(state, hit.state, now))
		return false;
	packet->side = TCP_SERVER;
	packet->real = id;
	flow_touch(packet, now, &hit);
	return true;
}

/* Whose answer is it? Fills packet->real. False: nobody's. `first`: of the list of those with this address and port. */
static __always_inline bool reply_find(const struct xlb_control *state, struct packet *packet,
                                       __u32 first, __u32 now)
{
	__u32 id = first;

	for (int i = 0; i < XLB_NAT_LIST; i++) {
		struct xlb_real *real = id ? bpf_map_lookup_elem(&reals, &id) : 0;

		if (!real)
			break;
		packet->service = real->service;
		if (reply_is_of(state, packet, id, now))
			return true;
		id = real->next;
	}
	return false;
}

static __always_inline void reply_count(const struct packet *packet, enum xlb_verdict verdict)
{
	__u32 id = packet->real;
	struct xlb_real_counters *counters = bpf_map_lookup_elem(&real_counters, &id);

	if (!counters)
		return;
	if (verdict == XLB_SENT || verdict == XLB_REDIRECTED) {
		counters->packets_out++;
		counters->bytes_out += packet->length;
	} else {
		counters->dropped++;
	}
}

/* `packet` is turned, and packet->real known. A function of its own, for its stack. */
static __noinline int reply_leave(struct xdp_md *ctx, struct packet *packet)
{
	struct xlb_real *real = bpf_map_lookup_elem(&reals, &packet->real);
	struct xlb_service_key *source;
	struct xlb_real way = {};
	enum xlb_verdict verdict;
	__u32 service;

	if (!real)
		return XLB_NOT_OURS;
	service = real->service;
	source = bpf_map_lookup_elem(&service_keys, &service);
	if (!source)
		return XLB_NOT_OURS;
	if (packet->ttl <= 1)
		return XLB_DROP_TTL;
	verdict = route_to_client(ctx, packet, source, &way);
	if (verdict != XLB_CONTINUE)
		return verdict;
	if (!nat_from_real(ctx, packet, real) || !link_replace(ctx, packet, &way))
		return XLB_DROP_HEADROOM;
	packet->exit = way.exit;
	return way.ifindex == ctx->ingress_ifindex ? XLB_SENT : XLB_REDIRECTED;
}

/* To the client. */
static __always_inline enum xlb_verdict reply_send(struct xdp_md *ctx, struct packet *packet)
{
	enum xlb_verdict verdict = reply_leave(ctx, packet);

	reply_count(packet, verdict);
	return verdict;
}

/* A packet that is for no virtual server: is it an answer of a NAT real server? XLB_NOT_OURS: it is not. */
static __noinline int reply_direct(struct xdp_md *ctx, const struct xlb_control *state,
                                   struct packet *packet, __u32 now)
{
	struct xlb_service_key key = {.addr = packet->client};
	const struct xlb_service *slot;

	key.tail = xlb_service_key_tail(packet->client_port, packet->to.protocol | XLB_KEY_SOURCE);
	slot = service_slot(state, &key);
	if (!slot || !service_frame_is_ours(ctx, packet))
		return XLB_NOT_OURS;
	packet_turn(packet);
	return reply_find(state, packet, slot->id, now) ? XLB_CONTINUE : XLB_NOT_OURS;
}

#endif
