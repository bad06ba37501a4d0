/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * icmp.h - which ICMP messages are errors about a packet that a connection sent, and the packet inside.
 *
 * The types are those that IPVS follows (net/netfilter/ipvs/ip_vs_core.c, ip_vs_in_icmp): destination
 * unreachable, source quench, time exceeded; for IPv6 unreachable, packet too big, time exceeded.
 */
#ifndef XLB_LIB_ICMP_H
#define XLB_LIB_ICMP_H

#include "lib/cursor.h"
#include "lib/l4.h"

/* Messages that we send; <linux/icmp.h> does not have them all, and <linux/icmpv6.h> has much else. */
enum icmp_message {
	ICMP_UNREACHABLE = 3,
	ICMP_FRAGMENTATION_NEEDED = 4, /* its code */
	ICMP_TIME_EXCEEDED = 11,
	ICMPV6_TOO_BIG = 2,
	ICMPV6_TIME_EXCEEDED = 3,
};

struct icmp_header {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 rest; /* of fragmentation needed and packet too big: the MTU */
};

static __always_inline bool icmp_is_error(enum l4 l4, __u8 type)
{
	if (l4 == L4_ICMP)
		return type == 3 || type == 4 || type == 11;
	return type >= 1 && type <= 3;
}

#endif
