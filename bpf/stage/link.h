/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.h - the link layer of a frame that leaves, and the hop that is counted on its IP packet.
 *
 * What the frame came with in front of its IP packet (packet->l3 bytes) is replaced as a whole by what the way to the real server
 * wants: MACs, VLAN tags, type.
 */
#ifndef XLB_STAGE_LINK_H
#define XLB_STAGE_LINK_H

#include <stddef.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "lib/eth.h"
#include "lib/ipv4.h"
#include "lib/ipv6.h"
#include "packet.h"

#define LINK_LONGEST (sizeof(struct ethhdr) + XLB_TAGS * sizeof(struct vlan_tag))

static __always_inline __u32 link_tags(const struct xlb_real *real)
{
	return !real->tpid[0] ? 0 : !real->tpid[1] ? 1 : 2;
}

/* Bytes in front of the IP packet. */
static __always_inline __u32 link_length(const struct xlb_real *real)
{
	return sizeof(struct ethhdr) + link_tags(real) * sizeof(struct vlan_tag);
}

/* LINK_LONGEST bytes at `frame` are there; link_length() of them count. */
static __always_inline void link_write(void *frame, const struct xlb_real *real, bool ipv6)
{
	__be16 *word = frame + offsetof(struct ethhdr, h_proto);
	__u32 tags = link_tags(real);

	eth_copy_macs(frame, real->dmac);
	if (tags > 0) {
		*word++ = real->tpid[0];
		*word++ = real->tci[0];
	}
	if (tags > 1) {
		*word++ = real->tpid[1];
		*word++ = real->tci[1];
	}
	*word = ipv6 ? xlb_htons(ETH_P_IPV6) : xlb_htons(ETH_P_IP);
}

/* One hop less: TTL or hop limit of the IP packet at `l3`; false: it is not all there. */
static __always_inline bool link_hop(void *l3, void *end, bool ipv6)
{
	if (ipv6) {
		struct ipv6hdr *ip = l3;

		if ((void *)(ip + 1) > end)
			return false;
		ip->hop_limit--;
	} else {
		struct iphdr *ip = l3;

		if ((void *)(ip + 1) > end)
			return false;
		ipv4_decrement_ttl(ip);
	}
	return true;
}

/* The frame's link layer anew, and one hop less. False: no room for tags. */
static __always_inline bool link_replace(struct xdp_md *ctx, const struct packet *packet,
                                         const struct xlb_real *real)
{
	__u32 length = link_length(real);
	char *frame, *end;

	if (length != packet->l3 && bpf_xdp_adjust_head(ctx, (int)packet->l3 - (int)length))
		return false;
	frame = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	/* one comparison for the longest layer 2 that there is; an IP header follows, so it never fails */
	if (frame + LINK_LONGEST > end)
		return false;
	link_write(frame, real, packet->ipv6);
	if (length == sizeof(struct ethhdr))
		return link_hop(frame + sizeof(struct ethhdr), end, packet->ipv6);
	if (length == sizeof(struct ethhdr) + sizeof(struct vlan_tag))
		return link_hop(frame + sizeof(struct ethhdr) + sizeof(struct vlan_tag), end,
		                packet->ipv6);
	return link_hop(frame + LINK_LONGEST, end, packet->ipv6);
}

#endif
