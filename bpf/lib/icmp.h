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

struct icmp_header {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 rest;
};

static __always_inline bool icmp_is_error(enum l4 l4, __u8 type)
{
	if (l4 == L4_ICMP)
		return type == 3 || type == 4 || type == 11;
	return type >= 1 && type <= 3;
}

#endif
