/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refuse_frame.h - the frame that may not go on becomes the ICMP error about itself.
 *
 * It is cut behind what is quoted, gets new headers in front, and goes back to the station that sent it, tags and all. Bytes are
 * copied in and out from offsets, as in read_rare.h and for the same reason; in a frame of several buffers too.
 */
#ifndef XLB_STAGE_REFUSE_FRAME_H
#define XLB_STAGE_REFUSE_FRAME_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "lib/eth.h"
#include "lib/icmp_answer.h"
#include "packet.h"

#define REFUSE_CHUNK 64 /* bytes summed up at a time */
#define REFUSE_L2    (sizeof(struct ethhdr) + XLB_TAGS * sizeof(struct vlan_tag))

/* The frame ends at `end`, begins `header` bytes earlier, and is addressed to its sender. l2: its first bytes. */
static __always_inline bool refuse_turn(struct xdp_md *ctx, __u8 *l2, __u32 end, __u32 header)
{
	int surplus = (int)bpf_xdp_get_buff_len(ctx) - (int)end;
	__u8 mac[ETH_ALEN];

	if (surplus > 0 && bpf_xdp_adjust_tail(ctx, -surplus))
		return false;
	if (bpf_xdp_adjust_head(ctx, -(int)header))
		return false;
	__builtin_memcpy(mac, l2, ETH_ALEN);
	__builtin_memcpy(l2, l2 + ETH_ALEN, ETH_ALEN);
	__builtin_memcpy(l2 + ETH_ALEN, mac, ETH_ALEN);
	/* more than there is without tags: the IP header is written behind */
	return !bpf_xdp_store_bytes(ctx, 0, l2, REFUSE_L2);
}

/* The sum of bytes of the frame in 16 bits, for csum_add(); negative: they are not there. */
__noinline int refuse_sum(struct xdp_md *ctx, __u32 offset, __u32 length)
{
	__u32 word[REFUSE_CHUNK / 4], last;
	__u64 sum = 0;

	for (__u32 i = 0; i < ICMP_ANSWER_MOST_IPV6 / REFUSE_CHUNK; i++) {
		if (length < REFUSE_CHUNK)
			break;
		if (bpf_xdp_load_bytes(ctx, offset & 0xffff, word, sizeof(word)))
			return -1;
		sum = csum_add(sum, word, REFUSE_CHUNK / 4);
		offset += REFUSE_CHUNK;
		length -= REFUSE_CHUNK;
	}
	/* as for the options in read_rare.h: the verifier must see 1 to 64 bytes */
	last = length - 1;
	asm volatile("" : "+r"(last));
	if (last < REFUSE_CHUNK) {
		__builtin_memset(word, 0, sizeof(word));
		if (bpf_xdp_load_bytes(ctx, offset & 0xffff, word, last + 1))
			return -1;
		sum = csum_add(sum, word, REFUSE_CHUNK / 4);
	}
	return (__u16)~csum_finish(sum);
}

static __always_inline bool refuse_write(struct xdp_md *ctx, const struct packet *packet,
                                         union icmp_answer *answer, __u8 *l2)
{
	__u32 size = packet->ipv6 ? ICMP_ANSWER_IPV6 : ICMP_ANSWER_IPV4;
	__u32 most = (packet->ipv6 ? ICMP_ANSWER_MOST_IPV6 : ICMP_ANSWER_MOST_IPV4) - size;
	__u32 quoted = packet->length < most ? packet->length : most, l3 = packet->l3 & 0xff;
	int sum;

	if (!refuse_turn(ctx, l2, l3 + quoted, size))
		return false;
	sum = refuse_sum(ctx, l3 + size, quoted);
	if (sum < 0)
		return false;
	if (packet->ipv6) {
		icmp_answer_finish_ipv6(answer, quoted, sum);
		return !bpf_xdp_store_bytes(ctx, l3, answer, ICMP_ANSWER_IPV6);
	}
	icmp_answer_finish_ipv4(answer, quoted, sum);
	return !bpf_xdp_store_bytes(ctx, l3, answer, ICMP_ANSWER_IPV4);
}

#endif
