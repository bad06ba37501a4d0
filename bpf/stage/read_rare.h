/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_rare.h - the packets that few packets are: IPv4 options, IPv6 extension headers.
 *
 * Global functions, so that the verifier looks at each once; bytes are copied from an offset, since pointers that move by
 * what a header says multiply its states. They cost a hundred nanoseconds more, seldom.
 */
#ifndef XLB_STAGE_READ_RARE_H
#define XLB_STAGE_READ_RARE_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "lib/ipv4.h"
#include "lib/ipv6.h"
#include "packet.h"
#include "stage/read_error.h"

/* Layer 4 at an offset: what the fast path does with a cursor. */
static __always_inline int packet_read_l4_at(struct xdp_md *ctx, struct packet *packet,
                                             __u32 offset)
{
	struct l4_tcp tcp = {};
	enum l4 l4 = l4_of(packet->to.protocol);

	if (packet->kind == PACKET_FOLLOWER)
		return l4 == L4_TCP || l4 == L4_UDP ? XLB_CONTINUE : XLB_NOT_OURS;
	if (l4 == L4_ICMP || l4 == L4_ICMPV6)
		return packet->kind == PACKET_WHOLE ? packet_read_error(ctx, packet, offset)
		                                    : XLB_NOT_OURS;
	if (l4 == L4_TCP) {
		if (bpf_xdp_load_bytes(ctx, offset & 0xffff, &tcp, sizeof(tcp)) ||
		    tcp.offset >> 4 < 5)
			return XLB_MALFORMED;
	} else if (l4 == L4_UDP) {
		if (bpf_xdp_load_bytes(ctx, offset & 0xffff, &tcp, sizeof(struct l4_udp)))
			return XLB_MALFORMED;
	} else {
		return XLB_NOT_OURS;
	}
	packet->l4 = offset;
	packet->to.port = tcp.ports.dest;
	packet->client_port = tcp.ports.source;
	packet->tcp_flags = l4 == L4_TCP ? tcp.flags : 0;
	return XLB_CONTINUE;
}

__noinline int packet_read_rare_ipv4(struct xdp_md *ctx, struct packet *packet)
{
	__u8 options[IPV4_OPTIONS_MOST] = {};
	enum ipv4_options look;
	struct iphdr ip;
	__u32 last, offset;

	if (!packet)
		return XLB_MALFORMED;
	offset = packet->l3 & 0xff;
	if (bpf_xdp_load_bytes(ctx, offset, &ip, sizeof(ip)))
		return XLB_MALFORMED;
	offset += sizeof(ip);
	/* kept in one register, or the verifier of Linux 6.1 forgets what was compared: it must see 1 to 40 bytes */
	last = (ip.ihl - 5u) * 4 - 1;
	asm volatile("" : "+r"(last));
	if (last < IPV4_OPTIONS_MOST) {
		if (bpf_xdp_load_bytes(ctx, offset, options, last + 1))
			return XLB_MALFORMED;
		look = ipv4_options_look(options);
		if (look == IPV4_OPTIONS_MALFORMED)
			return XLB_MALFORMED;
		packet->source_route = look == IPV4_OPTIONS_SOURCE_ROUTE;
		offset += last + 1;
	}
	return packet_read_l4_at(ctx, packet, offset);
}

__noinline int packet_read_rare_ipv6(struct xdp_md *ctx, struct packet *packet)
{
	struct ipv6_chain chain = {};

	if (!packet)
		return XLB_MALFORMED;
	chain.next = packet->to.protocol;
	chain.offset = (packet->l3 & 0xff) + sizeof(struct ipv6hdr);
	if (!packet_walk_ipv6(ctx, &chain))
		return XLB_NOT_OURS;
	packet->to.protocol = chain.next;
	if (chain.fragment) {
		packet->kind = chain.later ? PACKET_FOLLOWER : PACKET_FIRST;
		packet->fragment_id = chain.id;
	}
	return packet_read_l4_at(ctx, packet, chain.offset);
}

#endif
