/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forward.h - send the packet to its real server: rewrite, pick the exit.
 *
 * Direct routing: the IP packet stays but for its TTL; the frame gets the next hop's MAC and the VLAN tags of the way out. Tunnels:
 * the same, and an outer header in front (tunnel.h). NAT: another destination (nat.h). A packet of a connection that only XDP
 * knows never passes to the kernel, which would reset it: what cannot be sent is dropped and counted, and where a router
 * would say so its sender is told (refuse.h).
 */
#ifndef XLB_STAGE_FORWARD_H
#define XLB_STAGE_FORWARD_H

#include "maps.h"
#include "packet.h"
#include "stage/link.h"
#include "stage/nat.h"
#include "stage/refuse.h"
#include "stage/tunnel.h"

static __always_inline void real_count(__u32 id, const struct packet *packet, bool sent)
{
	struct xlb_real_counters *counters = bpf_map_lookup_elem(&real_counters, &id);

	if (!counters)
		return;
	if (sent) {
		counters->packets++;
		counters->bytes += packet->length;
	} else {
		counters->dropped++;
	}
}

/* As in IPVS, ICMP over IPv4 is not. Global: in line, clang makes two ways of everybody's, one for each family. */
__noinline int forward_is_measured(const struct packet *packet)
{
	return !packet || packet->kind != PACKET_ERROR || packet->ipv6;
}

static __always_inline enum xlb_verdict forward_send(struct xdp_md *ctx, struct packet *packet,
                                                     const struct xlb_real *real)
{
	bool written;

	if (!(real->flags & XLB_REAL_RESOLVED))
		return XLB_DROP_UNRESOLVED;
	if (packet->ttl <= 1)
		return XLB_DROP_TTL;
	if (packet->length > real->mtu && forward_is_measured(packet))
		return XLB_DROP_TOO_BIG;
	if (real->flags & XLB_REAL_NAT && !nat_to_real(ctx, packet, real))
		return XLB_DROP_HEADROOM;
	written = real->flags & XLB_REAL_TUNNEL ? tunnel_wrap(ctx, packet, real)
	                                        : link_replace(ctx, packet, real);
	if (!written)
		return XLB_DROP_HEADROOM;
	packet->exit = real->exit;
	return real->ifindex == ctx->ingress_ifindex ? XLB_SENT : XLB_REDIRECTED;
}

static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict packet_forward(
	struct xdp_md *ctx, struct packet *packet)
{
	struct xlb_real *real = bpf_map_lookup_elem(&reals, &packet->real);
	enum xlb_verdict verdict;

	if (!real)
		return XLB_DROP_UNRESOLVED;
	verdict = forward_send(ctx, packet, real);
	if (verdict == XLB_SENT || verdict == XLB_REDIRECTED) {
		real_count(packet->real, packet, true);
		return verdict;
	}
	real_count(packet->real, packet, false);
	if (verdict == XLB_DROP_TTL || verdict == XLB_DROP_TOO_BIG)
		verdict = packet_refuse(ctx, packet, verdict);
	return verdict;
}

#endif
