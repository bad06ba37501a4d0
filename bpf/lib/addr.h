/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * addr.h - IPv4 addresses as ::ffff:a.b.c.d, and which sources no honest packet has.
 */
#ifndef XLB_LIB_ADDR_H
#define XLB_LIB_ADDR_H

#include <stdbool.h>

#include "lib/cursor.h"
#include "lib/endian.h"
#include "xlb_shared.h"

static __always_inline void addr_map_ipv4(struct xlb_addr *addr, __be32 ipv4)
{
	addr->word[0] = 0;
	addr->word[1] = 0;
	addr->word[2] = xlb_htonl(0xffff);
	addr->word[3] = ipv4;
}

static __always_inline bool addr_is_mapped(const struct xlb_addr *addr)
{
	return !addr->word[0] && !addr->word[1] && addr->word[2] == xlb_htonl(0xffff);
}

static __always_inline bool addr_same(const struct xlb_addr *a, const struct xlb_addr *b)
{
	return !((a->word[0] ^ b->word[0]) | (a->word[1] ^ b->word[1]) | (a->word[2] ^ b->word[2]) |
	         (a->word[3] ^ b->word[3]));
}

/*
 * Sources that the kernel drops as martian whatever its configuration: IPv4 0/8, 127/8, multicast, limited
 * broadcast (net/ipv4/route.c, ip_route_input_slow); IPv6 unspecified, loopback, multicast
 * (net/ipv6/ip6_input.c). The host's own addresses are martian too: those are in a map.
 */
static __always_inline bool addr_is_martian_source(const struct xlb_addr *addr)
{
	__u8 first = addr->byte[12];

	if (addr_is_mapped(addr))
		return first == 0 || first == 127 || (first & 0xf0) == 0xe0 ||
		       addr->word[3] == 0xffffffff;
	if (addr->byte[0] == 0xff)
		return true;
	return !addr->word[0] && !addr->word[1] && !addr->word[2] &&
	       (addr->word[3] & ~xlb_htonl(1)) == 0;
}

#endif
