/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * l4.h - the first bytes of TCP and UDP: ports and flags.
 */
#ifndef XLB_LIB_L4_H
#define XLB_LIB_L4_H

#include <linux/in.h>

#include "lib/cursor.h"

enum l4 { L4_TRUNCATED, L4_OTHER, L4_TCP, L4_UDP, L4_ICMP, L4_ICMPV6 };

enum tcp_flag {
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_ACK = 0x10,
};

struct l4_ports {
	__be16 source;
	__be16 dest;
};

/* The fixed 20 bytes of TCP, as far as we look at them. */
struct l4_tcp {
	struct l4_ports ports;
	__be32 sequence;
	__be32 acknowledgement;
	__u8 offset; /* upper four bits: header length in words */
	__u8 flags;
	__be16 window, checksum, urgent;
};
_Static_assert(sizeof(struct l4_tcp) == 20, "RFC 9293");

struct l4_udp {
	struct l4_ports ports;
	__be16 length, checksum;
};

static __always_inline enum l4 l4_of(__u8 protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return L4_TCP;
	case IPPROTO_UDP:
		return L4_UDP;
	case IPPROTO_ICMP:
		return L4_ICMP;
	case 58: /* IPPROTO_ICMPV6 */
		return L4_ICMPV6;
	default:
		return L4_OTHER;
	}
}

/* Ports, and for TCP its flags. False: the header is not all there. */
static __always_inline bool l4_read(struct cursor *cursor, enum l4 l4, struct l4_ports *ports,
                                    __u8 *tcp_flags)
{
	struct l4_tcp *tcp;
	struct l4_udp *udp;

	if (l4 == L4_TCP) {
		if (!cursor_take(cursor, sizeof(*tcp), (void **)&tcp) || tcp->offset >> 4 < 5)
			return false;
		*ports = tcp->ports;
		*tcp_flags = tcp->flags;
		return true;
	}
	if (!cursor_take(cursor, sizeof(*udp), (void **)&udp))
		return false;
	*ports = udp->ports;
	return true;
}

#endif
