/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eth.h - Ethernet with up to two VLAN tags (802.1Q, 802.1ad). A third tag is somebody else's business.
 */
#ifndef XLB_LIB_ETH_H
#define XLB_LIB_ETH_H

#include <linux/if_ether.h>

#include "lib/cursor.h"
#include "lib/endian.h"
#include "xlb_shared.h"

enum l3 { L3_TRUNCATED, L3_OTHER, L3_IPV4, L3_IPV6 };

struct vlan_tag {
	__be16 tci;
	__be16 next; /* EtherType of what follows */
};

/* Tags of a frame as it came: vid in host order, 0 for none; count of tags. */
struct frame_tags {
	__u16 vid[XLB_TAGS];
	__u8 count;
};

static __always_inline bool eth_is_tag(__be16 type)
{
	return type == xlb_htons(ETH_P_8021Q) || type == xlb_htons(ETH_P_8021AD);
}

static __always_inline enum l3 eth_read(struct cursor *cursor, struct frame_tags *tags)
{
	struct vlan_tag *tag;
	struct ethhdr *eth;
	__be16 type;

	if (!cursor_take(cursor, sizeof(*eth), (void **)&eth))
		return L3_TRUNCATED;
	type = eth->h_proto;
	for (int i = 0; i < XLB_TAGS && eth_is_tag(type); i++) {
		if (!cursor_take(cursor, sizeof(*tag), (void **)&tag))
			return L3_TRUNCATED;
		tags->vid[i] = xlb_ntohs(tag->tci) & 0xfff;
		tags->count++;
		type = tag->next;
	}
	if (type == xlb_htons(ETH_P_IP))
		return L3_IPV4;
	if (type == xlb_htons(ETH_P_IPV6))
		return L3_IPV6;
	return L3_OTHER;
}

/* A MAC as struct xlb_interface holds it: six bytes in frame order in the low bytes of a word (little-endian hosts). */
static __always_inline __u64 eth_mac_word(const __u8 *mac)
{
	return *(const __u32 *)mac | (__u64) * (const __u16 *)(mac + 4) << 32;
}

/* Destination and source in three stores; a byte-wise copy is what clang makes of memcpy() here. */
static __always_inline void eth_copy_macs(void *to, const void *from)
{
	__u32 *word = to;
	const __u32 *source = from;

	word[0] = source[0];
	word[1] = source[1];
	word[2] = source[2];
}

#endif
