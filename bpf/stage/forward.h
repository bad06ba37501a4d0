/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forward.h - send the packet to its real server: rewrite, pick the exit.
 *
 * Direct routing: the IP packet stays but for its TTL; the frame gets the next hop's MAC and the VLAN tags of the way out. A
 * packet of a connection that only XDP knows never passes to the kernel, which would reset it: what cannot be
 * sent is dropped and counted.
 */
#ifndef XLB_STAGE_FORWARD_H
#define XLB_STAGE_FORWARD_H

#include "lib/addr.h"
#include "lib/ipv4.h"
#include "lib/ipv6.h"
#include "maps.h"
#include "packet.h"

static __always_inline __u32 forward_tags(const struct xlb_real *real)
{
	return !real->tpid[0] ? 0 : !real->tpid[1] ? 1 : 2;
}

/* Tags and type behind the MACs of a frame whose layer 2 now has the right length. */
static __always_inline void forward_write_tags(void *position, const struct xlb_real *real,
                                               __u32 tags, __be16 type)
{
	__be16 *word = position;

	if (tags > 0) {
		*word++ = real->tpid[0];
		*word++ = real->tci[0];
	}
	if (tags > 1) {
		*word++ = real->tpid[1];
		*word++ = real->tci[1];
	}
	*word = type;
}

/* Decrements TTL or hop limit; false: no IP header there. */
static __always_inline bool forward_decrement(void *l3, void *end, bool ipv4)
{
	if (ipv4) {
		struct iphdr *ip = l3;

		if ((void *)(ip + 1) > end)
			return false;
		ipv4_decrement_ttl(ip);
	} else {
		struct ipv6hdr *ip = l3;

		if ((void *)(ip + 1) > end)
			return false;
		ip->hop_limit--;
	}
	return true;
}

/* The frame's link layer anew: length, MACs, tags. */
static __always_inline bool forward_rewrite(struct xdp_md *ctx, const struct packet *packet,
                                            const struct xlb_real *real)
{
	bool ipv4 = !packet->ipv6;
	__u32 tags = forward_tags(real),
	      header = sizeof(struct ethhdr) + tags * sizeof(struct vlan_tag);
	struct ethhdr *eth;
	void *end;

	if (header != packet->l3 && bpf_xdp_adjust_head(ctx, (int)packet->l3 - (int)header))
		return false;
	eth = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	/* one comparison for the longest layer 2 that there is; an IP header follows, so it never fails */
	if ((char *)eth + sizeof(*eth) + XLB_TAGS * sizeof(struct vlan_tag) > (char *)end)
		return false;
	eth_copy_macs(eth, real->dmac);
	forward_write_tags(&eth->h_proto, real, tags, xlb_htons(ipv4 ? ETH_P_IP : ETH_P_IPV6));
	if (tags == 0)
		return forward_decrement((char *)eth + sizeof(*eth), end, ipv4);
	if (tags == 1)
		return forward_decrement((char *)eth + sizeof(*eth) + 4, end, ipv4);
	return forward_decrement((char *)eth + sizeof(*eth) + 8, end, ipv4);
}

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

static __always_inline enum xlb_verdict forward_send(struct xdp_md *ctx, struct packet *packet,
                                                     const struct xlb_real *real)
{
	if (!(real->flags & XLB_REAL_RESOLVED))
		return XLB_DROP_UNRESOLVED;
	if (packet->ttl <= 1)
		return XLB_DROP_TTL;
	if (packet->length > real->mtu)
		return XLB_DROP_TOO_BIG;
	if (!forward_rewrite(ctx, packet, real))
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
	real_count(packet->real, packet, verdict == XLB_SENT || verdict == XLB_REDIRECTED);
	return verdict;
}

#endif
