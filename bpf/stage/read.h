/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read.h - layers -> struct packet, for the packets that most packets are.
 *
 * IPv4 without options and IPv6 without extension headers are read here, in line; everything else in read_rare.h. What is
 * neither TCP nor UDP, a fragment of these, or an ICMP error about one of these leaves. Headers that do not fit
 * together pass too: the kernel drops and counts them under its own names.
 */
#ifndef XLB_STAGE_READ_H
#define XLB_STAGE_READ_H

#include "lib/addr.h"
#include "lib/ipv4.h"
#include "lib/ipv6.h"
#include "packet.h"
#include "stage/read_rare.h"

static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict packet_read_ports(
	struct cursor *cursor, struct packet *packet, __u8 protocol)
{
	struct l4_ports ports = {};

	if (packet->kind != PACKET_FOLLOWER &&
	    !l4_read(cursor, l4_of(protocol), &ports, &packet->tcp_flags))
		return XLB_MALFORMED;
	packet->l4 = packet->l3 + (packet->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	packet->to.tail = xlb_service_key_tail(ports.dest, protocol);
	packet->client_port = ports.source;
	return XLB_CONTINUE;
}

static __always_inline bool packet_has_ports(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict packet_read_ipv4(
	struct xdp_md *ctx, struct cursor *cursor, struct packet *packet)
{
	struct iphdr *ip;

	if (!ipv4_read(cursor, &ip))
		return XLB_MALFORMED;
	addr_map_ipv4(&packet->to.addr, ip->daddr);
	addr_map_ipv4(&packet->client, ip->saddr);
	packet->ttl = ip->ttl;
	packet->length = xlb_ntohs(ip->tot_len);
	if (ip->frag_off & xlb_htons(IPV4_MORE_FRAGMENTS | IPV4_OFFSET)) {
		packet->kind =
			ip->frag_off & xlb_htons(IPV4_OFFSET) ? PACKET_FOLLOWER : PACKET_FIRST;
		packet->fragment_id = ip->id;
	}
	if (ip->ihl == 5 && packet_has_ports(ip->protocol))
		return packet_read_ports(cursor, packet, ip->protocol);
	packet->to.protocol = ip->protocol;
	return packet_read_rare_ipv4(ctx, packet);
}

static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict packet_read_ipv6(
	struct xdp_md *ctx, struct cursor *cursor, struct packet *packet)
{
	struct ipv6hdr *ip;

	if (!ipv6_read(cursor, &ip))
		return XLB_MALFORMED;
	__builtin_memcpy(&packet->to.addr, &ip->daddr, sizeof(packet->to.addr));
	__builtin_memcpy(&packet->client, &ip->saddr, sizeof(packet->client));
	packet->ipv6 = true;
	packet->ttl = ip->hop_limit;
	packet->length = sizeof(*ip) + xlb_ntohs(ip->payload_len);
	/* ::ffff:0:0/96 on the wire is nobody's address, but our name for IPv4 */
	if (addr_is_mapped(&packet->to.addr) || addr_is_mapped(&packet->client))
		return XLB_NOT_OURS;
	if (packet_has_ports(ip->nexthdr))
		return packet_read_ports(cursor, packet, ip->nexthdr);
	packet->to.protocol = ip->nexthdr;
	return packet_read_rare_ipv6(ctx, packet);
}

static __always_inline __attribute__((warn_unused_result)) enum xlb_verdict packet_read(
	struct xdp_md *ctx, struct packet *packet)
{
	struct cursor cursor = {.position = (void *)(long)ctx->data,
	                        .end = (void *)(long)ctx->data_end};
	__u32 linear = ctx->data_end - ctx->data;
	enum l3 l3 = eth_read(&cursor, &packet->tags);
	enum xlb_verdict verdict;

	if (l3 == L3_TRUNCATED)
		return XLB_MALFORMED;
	if (l3 == L3_OTHER)
		return XLB_NOT_OURS;
	packet->l3 = sizeof(struct ethhdr) + packet->tags.count * sizeof(struct vlan_tag);
	verdict = l3 == L3_IPV4 ? packet_read_ipv4(ctx, &cursor, packet)
	                        : packet_read_ipv6(ctx, &cursor, packet);
	/* the length that the header claims must be there; a jumbo frame may lie in several buffers */
	if (packet->l3 + packet->length > linear &&
	    packet->l3 + packet->length > (__u32)bpf_xdp_get_buff_len(ctx))
		return XLB_MALFORMED;
	return verdict;
}

#endif
