/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tunnel.h - what goes around a packet to a real server behind a tunnel: ipip, GUE, GRE, over IPv4 and IPv6.
 *
 * One way for all: the daemon has made a template (struct xlb_tunnel), packets put in what depends on them, as ip_vs_tunnel_xmit()
 * does (net/netfilter/ipvs/ip_vs_xmit.c): the traffic class with its ECN bits, the TTL that the inner packet has left, DF of an
 * inner IPv4 packet with an id of 0. The inner packet loses a hop first, as in every method.
 */
#ifndef XLB_STAGE_TUNNEL_H
#define XLB_STAGE_TUNNEL_H

#include "lib/csum.h"
#include "maps.h"
#include "packet.h"
#include "stage/link.h"

#define TUNNEL_PORT_FIRST 32768 /* source ports of GUE: the lower part of the kernel's own range */
#define TUNNEL_PORT_BITS  14
#define TUNNEL_IPV4_DF    0x4000

/* What the outer header takes from the inner one. */
struct tunnel_inner {
	__u32 length; /* of the packet */
	__u32 class;  /* DSCP and ECN */
	__u32 ttl;
	__u32 fragment; /* id and fragment bits of an outer IPv4 header: its second word, in host order */
	__u32 flow; /* the same for all packets of a connection */
};

static __always_inline __u32 tunnel_flow(const struct packet *packet)
{
	__u32 flow = packet->client.word[0] ^ packet->client.word[3];

	flow ^= (__u32)packet->client_port << 16 | packet->to.port;
	return flow * 0x9e3779b1u;
}

/* Takes a hop off the packet at `l3` and reads it. False: it is not all there. */
static __always_inline bool tunnel_read(void *l3, void *end, const struct packet *packet,
                                        struct tunnel_inner *ret)
{
	if (!link_hop(l3, end, packet->ipv6))
		return false;
	ret->length = packet->length;
	ret->ttl = packet->ttl - 1;
	ret->fragment = 0;
	if (packet->ipv6) {
		ret->class = xlb_ntohl(*(__be32 *)l3) >> 20 & 0xff;
	} else {
		struct iphdr *ip = l3;

		ret->class = ip->tos;
		if (ip->frag_off & xlb_htons(TUNNEL_IPV4_DF))
			ret->fragment = TUNNEL_IPV4_DF;
	}
	if (!ret->fragment) /* somebody on the way may cut it */
		ret->fragment = bpf_get_prandom_u32() << 16;
	ret->flow = tunnel_flow(packet);
	return true;
}

/* length: of all that follows, this header included. */
static __always_inline void tunnel_write_ipv4(__be32 *to, const struct xlb_tunnel *tunnel,
                                              const struct tunnel_inner *inner, __u32 length)
{
	__u32 sum = tunnel->sum + inner->class + length + (inner->fragment >> 16) +
	            (inner->fragment & 0xffff) + (inner->ttl << 8);

	to[0] = tunnel->ip[0] | xlb_htonl(inner->class << 16 | (length & 0xffff));
	to[1] = xlb_htonl(inner->fragment);
	to[2] = tunnel->ip[2] | xlb_htonl(inner->ttl << 24 | csum_fold(sum));
	to[3] = tunnel->ip[3];
	to[4] = tunnel->ip[4];
}

/* length: of all that follows behind this header. */
static __always_inline void tunnel_write_ipv6(__be32 *to, const struct xlb_tunnel *tunnel,
                                              const struct tunnel_inner *inner, __u32 length)
{
	to[0] = tunnel->ip[0] | xlb_htonl(inner->class << 20);
	to[1] = tunnel->ip[1] | xlb_htonl(length << 16 | inner->ttl);
	for (int i = 2; i < 10; i++)
		to[i] = tunnel->ip[i];
}

/* Between the outer header and the packet. False: no room, which cannot be. */
static __always_inline bool tunnel_write_shim(__be32 *to, void *end,
                                              const struct xlb_tunnel *tunnel,
                                              const struct tunnel_inner *inner)
{
	__u32 port = TUNNEL_PORT_FIRST + (inner->flow >> (32 - TUNNEL_PORT_BITS));

	if (tunnel->kind == XLB_TUNNEL_IPIP)
		return true;
	if ((void *)(to + 1) > end)
		return false;
	to[0] = tunnel->shim[0];
	if (tunnel->kind == XLB_TUNNEL_GRE)
		return true;
	if ((void *)(to + XLB_TUNNEL_SHIM_WORDS) > end)
		return false;
	to[0] = tunnel->shim[0] | xlb_htonl(port << 16);
	to[1] = xlb_htonl((inner->length + XLB_TUNNEL_SHIM_WORDS * 4) << 16); /* checksum 0: none */
	to[2] = tunnel->shim[2];
	return true;
}

/* The outer header at `l3`, where it begins. */
static __always_inline bool tunnel_write(char *l3, void *end, const struct xlb_tunnel *tunnel,
                                         const struct tunnel_inner *inner)
{
	__u32 length = inner->length + tunnel->length;

	if (tunnel->ipv6) {
		if ((void *)(l3 + 40) > end)
			return false;
		tunnel_write_ipv6((__be32 *)l3, tunnel, inner, length - 40);
		return tunnel_write_shim((__be32 *)(l3 + 40), end, tunnel, inner);
	}
	if ((void *)(l3 + 20) > end)
		return false;
	tunnel_write_ipv4((__be32 *)l3, tunnel, inner, length);
	return tunnel_write_shim((__be32 *)(l3 + 20), end, tunnel, inner);
}

/* The frame as it leaves. False: no room in front of it. A function of its own: most packets have no tunnel to go through. */
static __noinline bool tunnel_wrap(struct xdp_md *ctx, const struct packet *packet,
                                   const struct xlb_real *real)
{
	struct xlb_tunnel *tunnel = bpf_map_lookup_elem(&tunnels, &packet->real);
	__u32 link = link_length(real), l3 = packet->l3, length;
	struct tunnel_inner inner;
	char *frame = (void *)(long)ctx->data;

	if (!tunnel || l3 > LINK_LONGEST)
		return false;
	length = tunnel->length;
	if (!tunnel_read(frame + l3, (void *)(long)ctx->data_end, packet, &inner))
		return false;
	if (bpf_xdp_adjust_head(ctx, (int)l3 - (int)(link + length)))
		return false;
	frame = (void *)(long)ctx->data;
	if (frame + LINK_LONGEST > (char *)(long)ctx->data_end)
		return false;
	link_write(frame, real, tunnel->ipv6);
	return tunnel_write(frame + link, (void *)(long)ctx->data_end, tunnel, &inner);
}

#endif
