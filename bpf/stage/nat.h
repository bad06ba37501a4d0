/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nat.h - one end of a packet gets another address and port: the destination on the way to a real server, the source on the way
 * back. IP packet, TCP and UDP, and what lies inside ICMP errors.
 *
 * What virtual and real address differ by is the same for all packets of a real server, so the daemon has added it up (struct
 * xlb_real: sum_l3, sum_l4) and a checksum is one addition; on the way back it is the complement. Inside an ICMP error
 * the other end is meant, and the header's own checksum makes up for the address; as in ip_vs_nat_icmp(),
 * net/netfilter/ipvs/ip_vs_core.c, the checksum of the layer 4 inside stays what it was.
 */
#ifndef XLB_STAGE_NAT_H
#define XLB_STAGE_NAT_H

#include "lib/csum.h"
#include "lib/icmp.h"
#include "lib/l4.h"
#include "maps.h"
#include "packet.h"
#include "stage/link.h"

#define NAT_OFFSET_MOST 0x1fff /* of layer 4 in the frame: more extension headers than are walked */

struct nat_change {
	const struct xlb_addr *addr; /* the new one */
	__be16 port;
	__u16 sum_l3, sum_l4;
	__u32 source; /* the packet's source; else its destination */
};

static __always_inline void nat_put_addr(__be32 *to, const struct xlb_addr *addr)
{
	to[0] = addr->word[0];
	to[1] = addr->word[1];
	to[2] = addr->word[2];
	to[3] = addr->word[3];
}

/* An address of the IP header at `l3`, and its checksum. */
static __always_inline bool nat_write_l3(char *l3, void *end, bool ipv6, bool source,
                                         const struct nat_change *change)
{
	struct ipv6hdr *six = (void *)l3;
	struct iphdr *ip = (void *)l3;

	if (ipv6) {
		if ((void *)(six + 1) > end)
			return false;
		nat_put_addr((__be32 *)(l3 + (source ? 8 : 24)), change->addr);
		return true;
	}
	if ((void *)(ip + 1) > end)
		return false;
	if (source)
		ip->saddr = change->addr->word[3];
	else
		ip->daddr = change->addr->word[3];
	ip->check = csum_adjust(ip->check, change->sum_l3);
	return true;
}

static __always_inline bool nat_write_l4(char *l4, void *end, bool tcp,
                                         const struct nat_change *change)
{
	struct l4_tcp *segment = (void *)l4;
	struct l4_udp *datagram = (void *)l4;

	if ((void *)(datagram + 1) > end)
		return false;
	*(__be16 *)(l4 + (change->source ? 0 : 2)) = change->port;
	if (!tcp) {
		__be16 sum = csum_adjust(datagram->checksum, change->sum_l4);

		if (datagram->checksum) /* 0: it has none, and 0xffff means 0 */
			datagram->checksum = sum ? sum : 0xffff;
		return true;
	}
	if ((void *)(segment + 1) > end)
		return false;
	segment->checksum = csum_adjust(segment->checksum, change->sum_l4);
	return true;
}

/* The packet inside an ICMP error: its other end, and the checksum of the error. */
static __always_inline bool nat_write_error(char *frame, void *end, const struct packet *packet,
                                            const struct nat_change *change)
{
	struct icmp_header *icmp = (void *)(frame + (packet->icmp & NAT_OFFSET_MOST));
	__be16 *port = (void *)(frame + (packet->l4 & NAT_OFFSET_MOST) + (change->source ? 2 : 0));
	__u32 added;

	if ((void *)(port + 1) > end)
		return false;
	added = (__u16) ~*port + (__u32)change->port;
	*port = change->port;
	if (!nat_write_l3((char *)(icmp + 1), end, packet->ipv6, !change->source, change))
		return false;
	if (packet->ipv6) /* one address inside, one in the pseudo header */
		added += 2u * change->sum_l3;
	icmp->checksum = csum_adjust(icmp->checksum, (__u16)~csum_fold(added));
	return true;
}

/* The frame still has the link layer that it came with. False: headers that are not there. */
static __noinline bool nat_rewrite(struct xdp_md *ctx, const struct packet *packet,
                                   const struct nat_change *change)
{
	char *frame = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (packet->l3 > LINK_LONGEST ||
	    !nat_write_l3(frame + packet->l3, end, packet->ipv6, change->source, change))
		return false;
	if (packet->kind == PACKET_FOLLOWER)
		return true;
	if (packet->kind == PACKET_ERROR)
		return nat_write_error(frame, end, packet, change);
	return nat_write_l4(frame + (packet->l4 & NAT_OFFSET_MOST), end, PACKET_IS_TCP(packet),
	                    change);
}

static __always_inline bool nat_to_real(struct xdp_md *ctx, const struct packet *packet,
                                        const struct xlb_real *real)
{
	struct nat_change change = {.addr = &real->addr,
	                            .port = real->port,
	                            .sum_l3 = real->sum_l3,
	                            .sum_l4 = real->sum_l4};

	return nat_rewrite(ctx, packet, &change);
}

static __always_inline bool nat_from_real(struct xdp_md *ctx, const struct packet *packet,
                                          const struct xlb_real *real)
{
	__u32 id = real->service;
	const struct xlb_service_key *virtual = bpf_map_lookup_elem(&service_keys, &id);
	struct nat_change change = {
		.sum_l3 = (__u16)~real->sum_l3, .sum_l4 = (__u16)~real->sum_l4, .source = true};

	if (!virtual)
		return false;
	change.addr = &virtual->addr;
	change.port = virtual->port;
	return nat_rewrite(ctx, packet, &change);
}

#endif
