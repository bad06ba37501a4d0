/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipv6.h - the IPv6 header, and one step over an extension header.
 */
#ifndef XLB_LIB_IPV6_H
#define XLB_LIB_IPV6_H

#include <linux/ipv6.h>

#include "lib/cursor.h"
#include "lib/endian.h"
#include "lib/l4.h"

#define IPV6_EXTENSIONS 6 /* headers walked; a longer chain is not ours */

enum ipv6_next {
	IPV6_HOP_BY_HOP = 0,
	IPV6_ROUTING = 43,
	IPV6_FRAGMENT = 44,
	IPV6_DESTINATION = 60,
};

/* The first eight bytes of any extension header that we step over. */
struct ipv6_extension {
	__u8 next;
	__u8 length;   /* in 8 bytes, the first 8 not counted; of a fragment header: reserved */
	__be16 offset; /* of a fragment header: 13 bits offset, 2 reserved, 1 more */
	__be32 id;     /* of a fragment header */
};
_Static_assert(sizeof(struct ipv6_extension) == 8, "RFC 8200");

/* What the chain of headers said so far. */
struct ipv6_chain {
	__u32 fragment; /* a fragment of a larger packet */
	__u32 later;    /* and not its first: what follows is no header */
	__be32 id;
	__u32 next;   /* the header that comes now */
	__u32 offset; /* where it begins, from the start of the frame */
};

static __always_inline bool ipv6_read(struct cursor *cursor, struct ipv6hdr **ret)
{
	struct ipv6hdr *ip;

	if (!cursor_take(cursor, sizeof(*ip), (void **)&ip))
		return false;
	if (ip->version != 6)
		return false;
	*ret = ip;
	return true;
}

static __always_inline bool ipv6_is_extension(__u32 next)
{
	return next == IPV6_HOP_BY_HOP || next == IPV6_ROUTING || next == IPV6_FRAGMENT ||
	       next == IPV6_DESTINATION;
}

/* Steps over the extension header that chain->next and chain->offset speak of. */
static __always_inline void ipv6_step(const struct ipv6_extension *extension,
                                      struct ipv6_chain *chain)
{
	__u32 length = 8;

	if (chain->next == IPV6_FRAGMENT) {
		/* an atomic fragment (RFC 6946) is a whole packet */
		chain->fragment = (extension->offset & xlb_htons(0xfff9)) != 0;
		chain->later = (extension->offset & xlb_htons(0xfff8)) != 0;
		chain->id = extension->id;
	} else {
		length += extension->length * 8u;
	}
	chain->next = extension->next;
	chain->offset += length;
}

#endif
