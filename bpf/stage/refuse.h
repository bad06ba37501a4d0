/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refuse.h - ICMP errors of our own: time exceeded, fragmentation needed, packet too big. Who gets one, and how often.
 *
 * A packet that may not go on to its real server is answered as IPVS has the kernel answer it: from the virtual address, with the
 * head of the packet inside, back by the way that it came. Not answered, as there: later fragments, ICMP errors, sources that
 * cannot be a client's, IPv4 that may be fragmented, and more than the buckets below allow. Those are dropped under the name that
 * they came with.
 *
 * A global function, called on a way that ends in a drop.
 */
#ifndef XLB_STAGE_REFUSE_H
#define XLB_STAGE_REFUSE_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "lib/icmp_answer.h"
#include "maps.h"
#include "packet.h"
#include "stage/refuse_frame.h"
#include "stage/source.h"

/* How many a second and at once, on each CPU and of each kind: net.ipv4.icmp_msgs_per_sec, net.ipv4.icmp_msgs_burst. */
#define REFUSE_PER_SECOND 1000
#define REFUSE_BURST      50

static __always_inline bool refuse_may_answer(const struct packet *packet, const __u8 *l2)
{
	if (packet->kind != PACKET_WHOLE && packet->kind != PACKET_FIRST)
		return false;
	if (l2[ETH_ALEN] & 1) /* no station has such an address */
		return false;
	return !source_is_martian(packet);
}

/* Path MTU discovery has a bucket of its own: traceroutes must not stop it. */
static __always_inline bool refuse_take_token(__u32 kind)
{
	const __u64 interval = 1000000000ull / REFUSE_PER_SECOND;
	struct refuse_bucket *bucket = bpf_map_lookup_elem(&refusals, &kind);
	__u64 now = bpf_ktime_get_ns(), passed, tokens;

	if (!bucket)
		return false;
	passed = now - bucket->since;
	tokens = bucket->tokens + passed / interval;
	bucket->since = now - passed % interval;
	if (tokens > REFUSE_BURST)
		tokens = REFUSE_BURST;
	bucket->tokens = tokens ? tokens - 1 : 0;
	return tokens > 0;
}

/* IPVS looks at the MTU after the TTL, and quotes the TTL that it has then. */
static __always_inline bool refuse_begin_ipv4(struct xdp_md *ctx, __u32 l3, __u32 mtu,
                                              union icmp_answer *answer)
{
	struct iphdr ip;

	if (bpf_xdp_load_bytes(ctx, l3, &ip, sizeof(ip)))
		return false;
	if (mtu) {
		if (!(ip.frag_off & xlb_htons(IPV4_DONT_FRAGMENT)))
			return false;
		ipv4_decrement_ttl(&ip);
		if (bpf_xdp_store_bytes(ctx, l3, &ip, sizeof(ip)))
			return false;
	}
	icmp_answer_ipv4(answer, &ip, mtu, (__be16)bpf_get_prandom_u32());
	return true;
}

static __always_inline bool refuse_begin_ipv6(struct xdp_md *ctx, __u32 l3, __u32 mtu,
                                              union icmp_answer *answer)
{
	struct ipv6hdr ip;

	if (bpf_xdp_load_bytes(ctx, l3, &ip, sizeof(ip)))
		return false;
	if (mtu) {
		ip.hop_limit--;
		if (bpf_xdp_store_bytes(ctx, l3, &ip, sizeof(ip)))
			return false;
	}
	icmp_answer_ipv6(answer, &ip, mtu);
	return true;
}

/* The longest packet that the real server's way takes. */
static __always_inline __u32 refuse_mtu(const struct packet *packet)
{
	__u32 id = packet->real;
	const struct xlb_real *real = bpf_map_lookup_elem(&reals, &id);

	return real ? real->mtu : 0;
}

/* Makes the frame an answer: DROP_TTL or DROP_TOO_BIG becomes ANSWERED_*, or stays. */
__noinline int packet_refuse(struct xdp_md *ctx, const struct packet *packet, int verdict)
{
	bool too_big = verdict == XLB_DROP_TOO_BIG, answerable;
	union icmp_answer answer = {};
	__u8 l2[REFUSE_L2] = {};
	__u32 mtu, l3;

	if (!packet || bpf_xdp_load_bytes(ctx, 0, l2, sizeof(l2)) || !refuse_may_answer(packet, l2))
		return verdict;
	mtu = too_big ? refuse_mtu(packet) : 0;
	if (too_big && !mtu)
		return verdict;
	l3 = packet->l3 & 0xff;
	answerable = packet->ipv6 ? refuse_begin_ipv6(ctx, l3, mtu, &answer)
	                          : refuse_begin_ipv4(ctx, l3, mtu, &answer);
	if (!answerable || !refuse_take_token(too_big) || !refuse_write(ctx, packet, &answer, l2))
		return verdict;
	return too_big ? XLB_ANSWERED_TOO_BIG : XLB_ANSWERED_TTL;
}

#endif
