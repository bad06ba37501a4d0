/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packets.h - the only builder of packets for tests: a frame from a description, checksums right, odd things on request.
 */
#ifndef XLB_TESTS_PACKETS_H
#define XLB_TESTS_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 4096

struct frame {
	uint8_t data[FRAME_MAX];
	size_t length;
	size_t l3, l4; /* offsets */
};

/* What a frame should be; zero means the ordinary. */
struct packet_spec {
	bool ipv6;
	uint8_t protocol;                /* 0: TCP */
	const char *source, *dest;       /* addresses; NULL: CLIENT and VIP of the family */
	uint16_t source_port, dest_port; /* 0: 40000 and 80; see zero_* */
	bool zero_source_port, zero_dest_port;
	uint8_t flags; /* TCP; 0: SYN, see no_flags */
	bool no_flags;
	uint8_t ttl; /* 0: 64; see ttl_zero */
	uint8_t tos; /* or traffic class */
	bool ttl_zero;
	size_t payload;   /* bytes behind layer 4 */
	uint16_t vlan[3]; /* tags, outermost first */
	size_t tags;
	bool ad;             /* the outermost tag is 802.1ad */
	const uint8_t *dmac; /* NULL: DIRECTOR_MAC */
	/* IPv4 */
	uint16_t fragment_offset; /* in 8 bytes */
	bool more_fragments, dont_fragment;
	uint16_t id;
	const uint8_t *options; /* multiple of 4 */
	size_t options_length;
	uint8_t ihl;            /* 0: right */
	uint8_t version;        /* 0: right */
	int total_length_error; /* added to the true one */
	/* IPv6: extension headers, next-header numbers, each 8 bytes */
	const uint8_t *extensions;
	size_t extension_count;
	/* ICMP error: type and code, and inside the packet that this describes */
	uint8_t icmp_type, icmp_code;
	const struct packet_spec *inner;
	size_t inner_bytes; /* of layer 4 of the inner packet; 0: 8 */
	size_t cut;         /* bytes missing at the end of the frame */
};

#define CLIENT_IPV4 "198.51.100.7"
#define CLIENT_IPV6 "2001:db8:c::7"
#define VIP_IPV4    "192.0.2.10"
#define VIP_IPV6    "2001:db8::10"

extern const uint8_t DIRECTOR_MAC[6], CLIENT_MAC[6];

enum { SPEC_FIN = 1, SPEC_SYN = 2, SPEC_RST = 4, SPEC_PSH = 8, SPEC_ACK = 16 };

void packet_build(const struct packet_spec *spec, struct frame *ret);
uint16_t packet_checksum(const void *data, size_t length, uint32_t sum); /* RFC 1071 */
uint32_t packet_pseudo_sum(
	const struct frame *frame); /* of an IPv6 frame without extensions; l3 set */
/* Whether IPv4 header and layer 4 checksums of the frame are right. */
bool packet_checksums_right(const struct frame *frame, size_t l3);

#endif
