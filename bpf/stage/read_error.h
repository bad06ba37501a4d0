/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_error.h - ICMP errors about a packet that a connection sent, and the walk over IPv6 extension headers.
 *
 * Global functions, as in read_rare.h and for the same reason.
 */
#ifndef XLB_STAGE_READ_ERROR_H
#define XLB_STAGE_READ_ERROR_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "lib/addr.h"
#include "lib/icmp.h"
#include "lib/ipv4.h"
#include "lib/ipv6.h"
#include "packet.h"

/* Walks extension headers from chain->next at chain->offset. False: truncated, or too many. */
__noinline int packet_walk_ipv6(struct xdp_md *ctx, struct ipv6_chain *chain)
{
	if (!chain)
		return false;
	for (int i = 0; i < IPV6_EXTENSIONS; i++) {
		struct ipv6_extension extension;

		if (chain->later || !ipv6_is_extension(chain->next))
			return true;
		if (bpf_xdp_load_bytes(ctx, chain->offset & 0xffff, &extension, sizeof(extension)))
			return false;
		ipv6_step(&extension, chain);
	}
	return chain->later || !ipv6_is_extension(chain->next);
}

/* The packet inside an ICMP error, IPv4: whose answer was it? offset: of its header; *ret_l4: of its ports. */
static __always_inline bool packet_inner_ipv4(struct xdp_md *ctx, __u32 offset,
                                              struct packet *packet, __u32 *ret_l4)
{
	struct iphdr ip;

	if (bpf_xdp_load_bytes(ctx, offset, &ip, sizeof(ip)))
		return false;
	if (ip.version != 4 || ip.ihl < 5 || (ip.frag_off & xlb_htons(IPV4_OFFSET)))
		return false;
	packet->to.addr.word[3] = ip.saddr;
	packet->client.word[3] = ip.daddr;
	packet->to.protocol = ip.protocol;
	*ret_l4 = offset + ip.ihl * 4;
	return true;
}

static __always_inline bool packet_inner_ipv6(struct xdp_md *ctx, __u32 offset,
                                              struct packet *packet, __u32 *ret_l4)
{
	struct ipv6_chain chain = {.offset = offset + sizeof(struct ipv6hdr)};
	struct ipv6hdr ip;

	if (bpf_xdp_load_bytes(ctx, offset, &ip, sizeof(ip)) || ip.version != 6)
		return false;
	__builtin_memcpy(&packet->to.addr, &ip.saddr, sizeof(packet->to.addr));
	__builtin_memcpy(&packet->client, &ip.daddr, sizeof(packet->client));
	chain.next = ip.nexthdr;
	if (!packet_walk_ipv6(ctx, &chain) || chain.later)
		return false;
	packet->to.protocol = chain.next;
	*ret_l4 = chain.offset;
	return true;
}

/*
 * An ICMP error that came for what a connection sent out: inside is a packet from the virtual server to the client, with at
 * least its first eight bytes of layer 4. Source and destination change places, and the look-ups go on as for a packet of
 * that client.
 */
__noinline int packet_read_error(struct xdp_md *ctx, struct packet *packet, __u32 offset)
{
	struct icmp_header icmp;
	struct l4_ports ports;
	struct xlb_addr dest;
	bool ipv4, inner;
	__u32 l4 = 0;

	if (!packet)
		return XLB_MALFORMED;
	ipv4 = !packet->ipv6;
	dest = packet->to.addr;
	if (bpf_xdp_load_bytes(ctx, offset & 0xffff, &icmp, sizeof(icmp)))
		return XLB_MALFORMED;
	if (!icmp_is_error(ipv4 ? L4_ICMP : L4_ICMPV6, icmp.type))
		return XLB_NOT_OURS;
	offset = (offset & 0xffff) + sizeof(icmp);
	inner = ipv4 ? packet_inner_ipv4(ctx, offset, packet, &l4)
	             : packet_inner_ipv6(ctx, offset, packet, &l4);
	if (!inner || !addr_same(&packet->to.addr, &dest))
		return XLB_NOT_OURS;
	if (packet->to.protocol != IPPROTO_TCP && packet->to.protocol != IPPROTO_UDP)
		return XLB_NOT_OURS;
	if (bpf_xdp_load_bytes(ctx, l4 & 0xffff, &ports, sizeof(ports)))
		return XLB_MALFORMED;
	packet->icmp = offset - sizeof(icmp);
	packet->l4 = l4;
	packet->to.port = ports.source;
	packet->client_port = ports.dest;
	packet->kind = PACKET_ERROR;
	return XLB_CONTINUE;
}

#endif
