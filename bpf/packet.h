/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packet.h - struct packet: what one stage hands to the next.
 *
 * read.h fills the first part, service.h the second, flow.h and choose.h the third. No pointer into the frame
 * survives a stage: adjust_head would make it stale.
 */
#ifndef XLB_PACKET_H
#define XLB_PACKET_H

#include "lib/eth.h"
#include "lib/l4.h"
#include "xlb_shared.h"

enum packet_kind {
	PACKET_WHOLE,    /* TCP or UDP with its ports */
	PACKET_FIRST,    /* a first fragment: ports there, others follow */
	PACKET_FOLLOWER, /* a later fragment: no ports */
	PACKET_ERROR,    /* ICMP error: `to` and client come from the packet inside, turned round */
};

struct packet { /* it lies on the stack, which is short: no holes */
	/* what the frame says */
	struct xlb_service_key to; /* where it is addressed to */
	__be16 client_port;
	__u8 kind; /* enum packet_kind */
	__u8 tcp_flags;
	struct xlb_addr client;
	struct frame_tags tags;
	__u8 ttl;
	__u8 source_route; /* an IP option asks for a way of its own */
	__u8 ipv6;
	__u8 side;      /* enum tcp_side: whose packet it is */
	__u16 l3;       /* offset of the IP header in the frame */
	__u16 l4;       /* offset of the ports; of PACKET_ERROR: of the ports inside */
	__u16 icmp;     /* of PACKET_ERROR: offset of the ICMP header */
	__u16 exit;     /* where to, when not back by the same interface */
	__u8 scheduler; /* of the virtual server */
	__u8 pad;
	__be32 fragment_id;
	__u32 length; /* of the IP packet */
	/* which virtual server: 0 is none */
	__u16 service;
	__u16 service_flags;
	/* which real server: 0 is none yet */
	__u32 real;
};
_Static_assert(sizeof(struct packet) == 76, "no holes");

/* The other end's view of it: source and destination change places. */
static __always_inline void packet_turn(struct packet *packet)
{
	struct xlb_addr from = packet->client;
	__be16 port = packet->client_port;

	packet->client = packet->to.addr;
	packet->client_port = packet->to.port;
	packet->to.addr = from;
	packet->to.port = port;
}

#define PACKET_IS_TCP(p) ((p)->to.protocol == IPPROTO_TCP)

#endif
