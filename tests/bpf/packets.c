// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * packets.c - builds frames for tests.
 *
 * Layer by layer into one buffer, lengths and checksums filled in behind. Everything that a test wants wrong is a field of
 * the description, so that a test reads as what is odd about its packet.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bpf/packets.h"

const uint8_t DIRECTOR_MAC[6] = {0x02, 0, 0, 0, 0, 0x01};
const uint8_t CLIENT_MAC[6] = {0x02, 0, 0, 0, 0, 0x0c};

uint16_t packet_checksum(const void *data, size_t length, uint32_t sum)
{
	const uint8_t *byte = data;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)byte[i] << 8 | byte[i + 1];
	if (length & 1)
		sum += (uint32_t)byte[length - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put(struct frame *frame, const void *data, size_t length)
{
	if (frame->length + length > FRAME_MAX)
		abort();
	memcpy(frame->data + frame->length, data, length);
	frame->length += length;
}

static void put8(struct frame *frame, uint8_t value)
{
	put(frame, &value, 1);
}

static void put16(struct frame *frame, uint16_t value)
{
	uint16_t wire = htons(value);

	put(frame, &wire, 2);
}

static void put32(struct frame *frame, uint32_t value)
{
	uint32_t wire = htonl(value);

	put(frame, &wire, 4);
}

static void set16(struct frame *frame, size_t at, uint16_t value)
{
	frame->data[at] = (uint8_t)(value >> 8);
	frame->data[at + 1] = (uint8_t)value;
}

static void put_address(struct frame *frame, bool ipv6, const char *text)
{
	uint8_t address[16];

	if (inet_pton(ipv6 ? AF_INET6 : AF_INET, text, address) != 1)
		abort();
	put(frame, address, ipv6 ? 16 : 4);
}

static uint8_t protocol_of(const struct packet_spec *spec)
{
	if (spec->inner)
		return spec->ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	return spec->protocol ? spec->protocol : IPPROTO_TCP;
}

static const char *source_of(const struct packet_spec *spec)
{
	return spec->source ? spec->source : spec->ipv6 ? CLIENT_IPV6 : CLIENT_IPV4;
}

static const char *dest_of(const struct packet_spec *spec)
{
	return spec->dest ? spec->dest : spec->ipv6 ? VIP_IPV6 : VIP_IPV4;
}

static void put_ipv4(struct frame *frame, const struct packet_spec *spec)
{
	uint8_t ihl = spec->ihl ? spec->ihl : (uint8_t)(5 + spec->options_length / 4);
	uint8_t version = spec->version ? spec->version : 4;

	put8(frame, (uint8_t)(version << 4 | ihl));
	put8(frame, spec->tos);
	put16(frame, 0); /* total length */
	put16(frame, spec->id ? spec->id : 0x1234);
	put16(frame, (uint16_t)(spec->fragment_offset | (spec->more_fragments ? 0x2000 : 0) |
	                        (spec->dont_fragment ? 0x4000 : 0)));
	put8(frame, spec->ttl_zero ? 0 : spec->ttl ? spec->ttl : 64);
	put8(frame, protocol_of(spec));
	put16(frame, 0); /* checksum */
	put_address(frame, false, source_of(spec));
	put_address(frame, false, dest_of(spec));
	put(frame, spec->options ? spec->options : (const uint8_t *)"", spec->options_length);
}

static void put_ipv6(struct frame *frame, const struct packet_spec *spec)
{
	uint8_t protocol = protocol_of(spec);

	put32(frame,
	      (uint32_t)(spec->version ? spec->version : 6) << 28 | (uint32_t)spec->tos << 20);
	put16(frame, 0); /* payload length */
	put8(frame, spec->extension_count ? spec->extensions[0] : protocol);
	put8(frame, spec->ttl_zero ? 0 : spec->ttl ? spec->ttl : 64);
	put_address(frame, true, source_of(spec));
	put_address(frame, true, dest_of(spec));
	for (size_t i = 0; i < spec->extension_count; i++) {
		put8(frame, i + 1 < spec->extension_count ? spec->extensions[i + 1] : protocol);
		put8(frame, 0);
		if (spec->extensions[i] == 44) {
			put16(frame, (uint16_t)(spec->fragment_offset << 3 | spec->more_fragments));
			put32(frame, spec->id ? spec->id : 0x12345678);
		} else {
			put8(frame, 1); /* PadN of four */
			put8(frame, 4);
			put32(frame, 0);
		}
	}
}

static void put_l3(struct frame *frame, const struct packet_spec *spec)
{
	if (spec->ipv6)
		put_ipv6(frame, spec);
	else
		put_ipv4(frame, spec);
}

static void finish_l3(struct frame *frame, const struct packet_spec *spec, size_t l3, size_t length)
{
	int total = (int)length + spec->total_length_error;

	if (spec->ipv6) {
		set16(frame, l3 + 4, (uint16_t)(total - 40));
		return;
	}
	set16(frame, l3 + 2, (uint16_t)total);
	set16(frame, l3 + 10, 0);
	set16(frame, l3 + 10, packet_checksum(frame->data + l3, 20 + spec->options_length, 0));
}

static void put_ports(struct frame *frame, const struct packet_spec *spec)
{
	put16(frame, spec->zero_source_port ? 0 : spec->source_port ? spec->source_port : 40000);
	put16(frame, spec->zero_dest_port ? 0 : spec->dest_port ? spec->dest_port : 80);
}

static void put_l4(struct frame *frame, const struct packet_spec *spec)
{
	if (protocol_of(spec) == IPPROTO_UDP) {
		put_ports(frame, spec);
		put16(frame, (uint16_t)(8 + spec->payload));
		put16(frame, 0);
	} else if (protocol_of(spec) == IPPROTO_TCP) {
		put_ports(frame, spec);
		put32(frame, 1000);
		put32(frame, 0);
		put8(frame, 5 << 4);
		put8(frame, spec->no_flags ? 0 : spec->flags ? spec->flags : SPEC_SYN);
		put16(frame, 65535);
		put32(frame, 0);
	}
	for (size_t i = 0; i < spec->payload; i++)
		put8(frame, (uint8_t)i);
}

static uint32_t pseudo_header(const struct frame *frame, bool ipv6, size_t l3, uint8_t protocol,
                              size_t length)
{
	uint32_t sum = protocol + (uint32_t)length;
	size_t at = l3 + (ipv6 ? 8 : 12), end = at + (ipv6 ? 32 : 8);

	for (; at < end; at += 2)
		sum += (uint32_t)frame->data[at] << 8 | frame->data[at + 1];
	return sum;
}

static void finish_l4(struct frame *frame, const struct packet_spec *spec, size_t l3)
{
	uint8_t protocol = protocol_of(spec);
	size_t at = frame->l4 + (protocol == IPPROTO_UDP ? 6 : protocol == IPPROTO_TCP ? 16 : 2);
	size_t length = frame->length - frame->l4;
	uint32_t sum = protocol == IPPROTO_ICMP
	                       ? 0
	                       : pseudo_header(frame, spec->ipv6, l3, protocol, length);

	if (at + 2 > frame->length)
		return;
	set16(frame, at, 0);
	set16(frame, at, packet_checksum(frame->data + frame->l4, length, sum));
}

static void put_icmp_error(struct frame *frame, const struct packet_spec *spec)
{
	struct frame inner = {0};
	size_t bytes = spec->inner_bytes ? spec->inner_bytes : 8;

	put8(frame, spec->icmp_type);
	put8(frame, spec->icmp_code);
	put16(frame, 0);
	put32(frame, 0);
	packet_build(spec->inner, &inner);
	put(frame, inner.data + inner.l3, inner.l4 - inner.l3 + bytes);
}

void packet_build(const struct packet_spec *spec, struct frame *ret)
{
	memset(ret, 0, sizeof(*ret));
	put(ret, spec->dmac ? spec->dmac : DIRECTOR_MAC, 6);
	put(ret, CLIENT_MAC, 6);
	for (size_t i = 0; i < spec->tags; i++) {
		put16(ret, spec->ad && i == 0 ? 0x88a8 : 0x8100);
		put16(ret, spec->vlan[i]);
	}
	put16(ret, spec->ipv6 ? 0x86dd : 0x0800);
	ret->l3 = ret->length;
	put_l3(ret, spec);
	ret->l4 = ret->length;
	if (spec->inner)
		put_icmp_error(ret, spec);
	else
		put_l4(ret, spec);
	finish_l3(ret, spec, ret->l3, ret->length - ret->l3);
	finish_l4(ret, spec, ret->l3);
	ret->length -= spec->cut;
}

bool packet_checksums_right(const struct frame *frame, size_t l3)
{
	const uint8_t *ip = frame->data + l3;
	bool ipv6 = ip[0] >> 4 == 6;
	size_t l4 = l3 + (ipv6 ? 40 : (ip[0] & 15) * 4u);
	uint8_t protocol = ipv6 ? ip[6] : ip[9];
	size_t length = frame->length - l4;

	if (!ipv6 && packet_checksum(ip, l4 - l3, 0) != 0)
		return false;
	if (protocol == IPPROTO_ICMP)
		return packet_checksum(frame->data + l4, length, 0) == 0;
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_ICMPV6)
		return true;
	return packet_checksum(frame->data + l4, length,
	                       pseudo_header(frame, ipv6, l3, protocol, length)) == 0;
}

uint32_t packet_pseudo_sum(const struct frame *frame)
{
	const uint8_t *ip = frame->data + frame->l3;

	return pseudo_header(frame, true, frame->l3, ip[6], frame->length - frame->l3 - 40);
}
