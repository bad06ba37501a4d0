/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipv4.h - the IPv4 header: what ip_rcv() of the kernel would accept, and what its options ask for.
 */
#ifndef XLB_LIB_IPV4_H
#define XLB_LIB_IPV4_H

#include <linux/ip.h>

#include "lib/csum.h"
#include "lib/cursor.h"
#include "lib/endian.h"
#include "lib/l4.h"

#define IPV4_DONT_FRAGMENT  0x4000
#define IPV4_MORE_FRAGMENTS 0x2000
#define IPV4_OFFSET         0x1fff
#define IPV4_OPTIONS_MOST   40

enum ipv4_options { IPV4_OPTIONS_HARMLESS, IPV4_OPTIONS_SOURCE_ROUTE, IPV4_OPTIONS_MALFORMED };

/*
 * Takes the fixed header. False: the kernel would drop it (version, ihl, total length shorter than the header).
 * The header checksum is left to the receiver: forwarding keeps a wrong one wrong.
 */
static __always_inline bool ipv4_read(struct cursor *cursor, struct iphdr **ret)
{
	struct iphdr *ip;

	if (!cursor_take(cursor, sizeof(*ip), (void **)&ip))
		return false;
	if (ip->version != 4 || ip->ihl < 5 || xlb_ntohs(ip->tot_len) < ip->ihl * 4)
		return false;
	*ret = ip;
	return true;
}

/*
 * All options, padded with zeros (end of list). Byte by byte, skipping, so that the verifier meets few states. One way through
 * the body: with `continue` clang 14 falls through into the head of the loop, which Linux 6.1 takes for an endless one.
 */
static __always_inline enum ipv4_options ipv4_options_look(const __u8 options[IPV4_OPTIONS_MOST])
{
	__u32 skip = 0;

	for (int i = 0; i < IPV4_OPTIONS_MOST; i++) {
		__u8 type = options[i], length = i + 1 < IPV4_OPTIONS_MOST ? options[i + 1] : 0;

		if (!skip) {
			if (type == 0) /* end of list */
				return IPV4_OPTIONS_HARMLESS;
			if (type == 131 || type == 137) /* loose and strict source route */
				return IPV4_OPTIONS_SOURCE_ROUTE;
			if (type != 1 && length < 2)
				return IPV4_OPTIONS_MALFORMED;
			skip = type == 1 ? 1 : length; /* 1: no operation */
		}
		skip--;
	}
	return skip ? IPV4_OPTIONS_MALFORMED : IPV4_OPTIONS_HARMLESS;
}

static __always_inline void ipv4_decrement_ttl(struct iphdr *ip)
{
	__be16 one = xlb_htons(0x0100); /* TTL and protocol share a word */

	ip->ttl--;
	ip->check = csum_replace(ip->check, one, 0);
}

#endif
