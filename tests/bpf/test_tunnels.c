// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_tunnels.c - packets to real servers behind tunnels: exact bytes out, for every kind, both outer and both inner families.
 *
 * What must come out is built here by hand, from the RFCs: link layer, outer header, what stands between, and the packet that came in
 * with one hop less. Only what nobody can foresee is taken from the packet itself: the id of an outer header without DF, and
 * GUE's source port, which must be the same for all packets of a connection. Three outer headers are the kernel's own,
 * as captured from IPVS.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <linux/bpf.h>
#include <netinet/in.h>

#include "tests/bpf/lab.h"
#include "xlbd/model/addr.h"

#define TUNNEL(kind, port) .tunnel = true, .tunnel_type = (kind), .tunnel_port = (port)

static const struct lab_service services[] = {
	{"192.0.2.10:80/tcp", "rr", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_IPIP, 0)},
	{"192.0.2.10:53/udp", "rr", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_IPIP, 0)},
	{"192.0.2.10:81/tcp", "rr", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_GUE, 6080)},
	{"192.0.2.10:54/udp", "rr", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_GUE, 6080)},
	{"192.0.2.10:82/tcp", "rr", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_GRE, 0)},
	{"192.0.2.10:55/udp", "rr", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_GRE, 0)},
	{"192.0.2.10:83/tcp", "rr", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_IPIP, 0)},
	{"192.0.2.10:84/tcp", "rr", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_GUE, 6080)},
	{"192.0.2.10:85/tcp", "rr", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_GRE, 0)},
	{"[2001:db8::10]:80/tcp", "rr", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_IPIP, 0)},
	{"[2001:db8::10]:53/udp", "rr", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_IPIP, 0)},
	{"[2001:db8::10]:81/tcp", "rr", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_GUE, 6080)},
	{"[2001:db8::10]:54/udp", "rr", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_GUE, 6080)},
	{"[2001:db8::10]:82/tcp", "rr", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_GRE, 0)},
	{"[2001:db8::10]:55/udp", "rr", .real = {"2001:db8:2::b"}, TUNNEL(XLB_TUNNEL_GRE, 0)},
	{"[2001:db8::10]:83/tcp", "rr", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_IPIP, 0)},
	{"[2001:db8::10]:84/tcp", "rr", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_GUE, 6080)},
	{"[2001:db8::10]:85/tcp", "rr", .real = {"10.2.0.11"}, TUNNEL(XLB_TUNNEL_GRE, 0)},
	{.endpoint = NULL},
};

/* By destination port: what the service's tunnel is. */
static const struct kind {
	uint16_t port;
	uint8_t protocol, kind;
	bool other_family; /* the outer header's is not the packet's */
} kinds[] = {
	{80, IPPROTO_TCP, XLB_TUNNEL_IPIP, false}, {53, IPPROTO_UDP, XLB_TUNNEL_IPIP, false},
	{81, IPPROTO_TCP, XLB_TUNNEL_GUE, false},  {54, IPPROTO_UDP, XLB_TUNNEL_GUE, false},
	{82, IPPROTO_TCP, XLB_TUNNEL_GRE, false},  {55, IPPROTO_UDP, XLB_TUNNEL_GRE, false},
	{83, IPPROTO_TCP, XLB_TUNNEL_IPIP, true},  {84, IPPROTO_TCP, XLB_TUNNEL_GUE, true},
	{85, IPPROTO_TCP, XLB_TUNNEL_GRE, true},
};

static const struct packet_spec odd = {.flags = SPEC_SYN};
static const struct shape {
	const char *name;
	struct packet_spec packet; /* port, protocol and family are the kind's */
} shapes[] = {
	{"the shortest", {.payload = 0}},
	{"an ordinary one", {.payload = 100}},
	{"one that must not be cut", {.payload = 9, .dont_fragment = true}},
	{"one with a traffic class", {.payload = 9, .tos = 0xb9, .dont_fragment = true}},
	{"one whose TTL is nearly used up", {.ttl = 2}},
	{"one with the highest TTL", {.ttl = 255, .tos = 3}},
	{"one in a VLAN", {.vlan = {7}, .tags = 1}},
	{"one in two VLANs", {.vlan = {7, 9}, .tags = 2, .dont_fragment = true}},
	{"the largest", {.payload = 1380, .dont_fragment = true}},
};

/* ---- what must come out ----------------------------------------------------------------------- */

struct writer {
	uint8_t data[FRAME_MAX];
	size_t length;
};

static void put(struct writer *writer, const void *bytes, size_t length)
{
	memcpy(writer->data + writer->length, bytes, length);
	writer->length += length;
}

static void put_number(struct writer *writer, size_t bytes, uint32_t number)
{
	while (bytes--)
		writer->data[writer->length++] = (uint8_t)(number >> 8 * bytes);
}

static void put_addr(struct writer *writer, const char *text)
{
	struct xlb_addr addr;

	assert_true(addr_parse(text, &addr));
	put(writer, addr.byte + (addr_is_ipv4(&addr) ? 12 : 0), addr_is_ipv4(&addr) ? 4 : 16);
}

static size_t shim_length(uint8_t kind)
{
	return kind == XLB_TUNNEL_GUE ? 12 : kind == XLB_TUNNEL_GRE ? 4 : 0;
}

static uint8_t outer_protocol(uint8_t kind, bool inner_ipv6)
{
	if (kind == XLB_TUNNEL_IPIP)
		return inner_ipv6 ? 41 : 4;
	return kind == XLB_TUNNEL_GUE ? 17 : 47;
}

/* `seen`: the packet that came out, for what cannot be foreseen. */
static void put_outer_ipv4(struct writer *writer, const struct frame *in, uint8_t protocol,
                           size_t length, const uint8_t *seen)
{
	const uint8_t *inner = in->data + in->l3;
	bool ipv6 = inner[0] >> 4 == 6, keep = !ipv6 && inner[6] & 0x40;
	uint8_t class = ipv6 ? (uint8_t)(inner[0] << 4 | inner[1] >> 4) : inner[1];
	size_t at = writer->length;
	uint16_t sum;

	put_number(writer, 1, 0x45);
	put_number(writer, 1, class);
	put_number(writer, 2, (uint32_t)(length + 20));
	put_number(writer, 2, keep ? 0 : (uint32_t)(seen[4] << 8 | seen[5]));
	put_number(writer, 2, keep ? 0x4000 : 0);
	put_number(writer, 1, inner[ipv6 ? 7 : 8] - 1u);
	put_number(writer, 1, protocol);
	put_number(writer, 2, 0);
	put_addr(writer, LAB_SOURCE_IPV4);
	put_addr(writer, "10.2.0.11");
	sum = packet_checksum(writer->data + at, 20, 0);
	writer->data[at + 10] = (uint8_t)(sum >> 8);
	writer->data[at + 11] = (uint8_t)sum;
}

static void put_outer_ipv6(struct writer *writer, const struct frame *in, uint8_t protocol,
                           size_t length)
{
	const uint8_t *inner = in->data + in->l3;
	bool ipv6 = inner[0] >> 4 == 6;
	uint8_t class = ipv6 ? (uint8_t)(inner[0] << 4 | inner[1] >> 4) : inner[1];

	put_number(writer, 4, 6u << 28 | (uint32_t) class << 20);
	put_number(writer, 2, (uint32_t)length);
	put_number(writer, 1, protocol);
	put_number(writer, 1, inner[ipv6 ? 7 : 8] - 1u);
	put_addr(writer, LAB_SOURCE_IPV6);
	put_addr(writer, "2001:db8:2::b");
}

static void put_shim(struct writer *writer, uint8_t kind, bool inner_ipv6, size_t length,
                     const uint8_t *seen)
{
	if (kind == XLB_TUNNEL_GRE)
		put_number(writer, 4, inner_ipv6 ? 0x86dd : 0x0800);
	if (kind != XLB_TUNNEL_GUE)
		return;
	put(writer, seen, 2);
	put_number(writer, 2, 6080);
	put_number(writer, 2, (uint32_t)length + 12);
	put_number(writer, 2, 0);
	put_number(writer, 4, inner_ipv6 ? 41u << 16 : 4u << 16);
}

/* The packet that came in, one hop on. */
static void put_inner(struct writer *writer, const struct frame *in)
{
	struct frame copy = *in;
	uint8_t *ip = copy.data + copy.l3;
	uint16_t sum;

	if (ip[0] >> 4 == 6) {
		ip[7]--;
	} else {
		ip[8]--;
		ip[10] = ip[11] = 0;
		sum = packet_checksum(ip, (ip[0] & 15) * 4u, 0);
		ip[10] = (uint8_t)(sum >> 8);
		ip[11] = (uint8_t)sum;
	}
	put(writer, ip, copy.length - copy.l3);
}

static void check_out(const char *name, const struct kind *kind, const struct frame *in,
                      const struct lab_result *result)
{
	const uint8_t *seen = result->frame.data + result->frame.l3;
	size_t length = in->length - in->l3, shim = shim_length(kind->kind);
	bool ipv6 = in->data[in->l3] >> 4 == 6, outer_ipv6 = ipv6 != kind->other_family;
	uint8_t protocol = outer_protocol(kind->kind, ipv6);
	struct writer wanted = {.length = 0};

	if (result->verdict != XLB_SENT)
		fail_msg("%s (IPv%d, port %u): verdict %u", name, ipv6 ? 6 : 4, kind->port,
		         result->verdict);
	put(&wanted, ((const uint8_t[]){2, 0, 0, 0, 1, 11}), 6);
	put(&wanted, DIRECTOR_MAC, 6);
	put_number(&wanted, 2, outer_ipv6 ? 0x86dd : 0x0800);
	if (outer_ipv6)
		put_outer_ipv6(&wanted, in, protocol, length + shim);
	else
		put_outer_ipv4(&wanted, in, protocol, length + shim, seen);
	put_shim(&wanted, kind->kind, ipv6, length, seen + (outer_ipv6 ? 40 : 20));
	put_inner(&wanted, in);
	if (result->frame.length != wanted.length ||
	    memcmp(result->frame.data, wanted.data, wanted.length) != 0)
		print_error("%s, port %u:\n", name, kind->port);
	assert_int_equal(result->frame.length, wanted.length);
	assert_memory_equal(result->frame.data, wanted.data, wanted.length);
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void run_shape(struct lab *lab, const struct shape *shape, const struct kind *kind,
                      bool ipv6)
{
	struct packet_spec spec = shape->packet;
	struct lab_result result;
	struct frame in;

	spec.ipv6 = ipv6;
	spec.protocol = kind->protocol;
	spec.dest_port = kind->port;
	lab_vlan(lab, spec.vlan[0], spec.vlan[1]);
	packet_build(&spec, &in);
	result = lab_send_frame(lab, &in); /* a new connection, or one more packet of it */
	check_out(shape->name, kind, &in, &result);
}

static void every_tunnel_wraps_every_packet_to_the_byte(void **state)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (size_t j = 0; j < sizeof(shapes) / sizeof(shapes[0]); j++) {
			run_shape(*state, &shapes[j], &kinds[i], false);
			run_shape(*state, &shapes[j], &kinds[i], true);
		}
}

static void a_tunnel_may_leave_by_a_vlan(void **state)
{
	struct lab *lab = *state;
	struct packet_spec spec = {.payload = 5, .dont_fragment = true};
	struct lab_result result;
	struct frame in;

	lab_hop(lab, &(struct lab_hop){.real = "10.2.0.11", .vid = {100}});
	packet_build(&spec, &in);
	result = lab_send_frame(lab, &in);
	assert_memory_equal(result.frame.data + 12, ((const uint8_t[]){0x81, 0, 0, 100, 8, 0}), 6);
	assert_int_equal(result.frame.length, in.length + 4 + 20);
	memmove(result.frame.data + 12, result.frame.data + 16, result.frame.length - 16);
	result.frame.length -= 4;
	result.frame.l3 -= 4;
	check_out("by a VLAN", &kinds[0], &in, &result);
	lab_hop(lab, &(struct lab_hop){.real = "10.2.0.11"});
}

/* Seen from the kernel's IPVS: TOS 0x2e, TTL 33, DF, 32 bytes to 10.2.0.11. */
static void outer_headers_are_the_kernels(void **state)
{
	static const struct {
		uint16_t port;
		size_t length;
		uint8_t outer[36];
	} rows[] = {
		{53, 20, {0x45, 0x2e, 0x00, 0x34, 0x00, 0x00, 0x40, 0x00, 0x20, 0x04,
	                  0x45, 0x8c, 0x0a, 0x02, 0x00, 0xfe, 0x0a, 0x02, 0x00, 0x0b}},
		{54, 32, {0x45, 0x2e, 0x00, 0x40, 0x00, 0x00, 0x40, 0x00, 0x20, 0x11, 0x45,
	                  0x73, 0x0a, 0x02, 0x00, 0xfe, 0x0a, 0x02, 0x00, 0x0b, 0x00, 0x00,
	                  0x17, 0xc0, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00}},
		{55, 24, {0x45, 0x2e, 0x00, 0x38, 0x00, 0x00, 0x40, 0x00, 0x20, 0x2f, 0x45, 0x5d,
	                  0x0a, 0x02, 0x00, 0xfe, 0x0a, 0x02, 0x00, 0x0b, 0x00, 0x00, 0x08, 0x00}},
	};
	struct packet_spec spec = {.protocol = IPPROTO_UDP,
	                           .tos = 0x2e,
	                           .ttl = 33,
	                           .dont_fragment = true,
	                           .payload = 4};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lab_result result;

		spec.dest_port = rows[i].port;
		result = lab_send(*state, &spec);
		assert_int_equal(result.verdict, XLB_SENT);
		if (rows[i].port == 54) /* the source port is the flow's */
			memset(result.frame.data + 14 + 20, 0, 2);
		assert_memory_equal(result.frame.data + 14, rows[i].outer, rows[i].length);
	}
}

static unsigned gue_port(struct lab *lab, uint16_t client_port, uint8_t flags)
{
	struct packet_spec spec = {.source_port = client_port, .dest_port = 81, .flags = flags};
	struct lab_result result = lab_send(lab, &spec);

	assert_int_equal(result.verdict, XLB_SENT);
	return (unsigned)(result.frame.data[34] << 8 | result.frame.data[35]);
}

static void a_flow_keeps_its_source_port_and_flows_differ(void **state)
{
	unsigned first = gue_port(*state, 41000, SPEC_SYN), differ = 0;

	assert_int_equal(gue_port(*state, 41000, SPEC_ACK), first);
	assert_in_range(first, 32768, 60999);
	for (uint16_t port = 41001; port < 41033; port++) {
		unsigned other = gue_port(*state, port, SPEC_SYN);

		assert_in_range(other, 32768, 60999);
		differ += other != first;
	}
	assert_true(differ >= 31);
}

static void what_does_not_fit_into_the_tunnel_is_not_sent(void **state)
{
	static const struct {
		uint16_t port;
		size_t around;
	} rows[] = {{80, 20}, {81, 32}, {82, 24}, {83, 40}, {84, 52}, {85, 44}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct packet_spec spec = {.dest_port = rows[i].port, .dont_fragment = true};

		spec.payload = 1500 - 40 - rows[i].around;
		assert_int_equal(lab_send(*state, &spec).verdict, XLB_SENT);
		spec.payload++;
		assert_int_not_equal(lab_send(*state, &spec).verdict, XLB_SENT);
	}
}

static void an_icmp_error_goes_through_the_tunnel_too(void **state)
{
	static const struct packet_spec opened = {.dest_port = 82, .flags = SPEC_SYN};
	static const struct packet_spec about = {.source = VIP_IPV4,
	                                         .dest = CLIENT_IPV4,
	                                         .source_port = 82,
	                                         .dest_port = 40000,
	                                         .flags = SPEC_ACK};
	const struct packet_spec error = {.protocol = IPPROTO_ICMP,
	                                  .source = "203.0.113.77",
	                                  .icmp_type = 3,
	                                  .icmp_code = 4,
	                                  .inner = &about};
	struct lab_result result;
	struct frame in;

	assert_int_equal(lab_send(*state, &opened).verdict, XLB_SENT);
	packet_build(&error, &in);
	result = lab_send_frame(*state, &in);
	check_out("ICMP error", &kinds[4], &in, &result);
}

static void fragments_go_through_the_tunnel_one_by_one(void **state)
{
	struct packet_spec spec = {.protocol = IPPROTO_UDP,
	                           .dest_port = 53,
	                           .more_fragments = true,
	                           .payload = 64,
	                           .id = 77};
	struct lab_result result;
	struct frame in;

	packet_build(&spec, &in);
	result = lab_send_frame(*state, &in);
	check_out("first fragment", &kinds[1], &in, &result);
	spec.more_fragments = false;
	spec.fragment_offset = 9;
	packet_build(&spec, &in);
	result = lab_send_frame(*state, &in);
	check_out("last fragment", &kinds[1], &in, &result);
}

static void without_a_source_address_nothing_is_sent(void **state)
{
	struct lab *lab = *state;

	lab_hop(lab, &(struct lab_hop){.real = "10.2.0.11", .source = LAB_SOURCE_IPV6});
	assert_int_equal(lab_send(lab, &odd).verdict, XLB_DROP_UNRESOLVED);
	lab_hop(lab, &(struct lab_hop){.real = "10.2.0.11", .mtu = 500});
	assert_int_equal(lab_send(lab, &odd).verdict, XLB_DROP_UNRESOLVED);
	lab_hop(lab, &(struct lab_hop){.real = "10.2.0.11"});
	assert_int_equal(lab_send(lab, &odd).verdict, XLB_SENT);
}

static int open_lab(void **state)
{
	struct lab *lab = lab_open();

	lab_serve(lab, services);
	*state = lab;
	return 0;
}

static int close_lab(void **state)
{
	lab_close(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_tunnel_wraps_every_packet_to_the_byte),
		cmocka_unit_test(a_tunnel_may_leave_by_a_vlan),
		cmocka_unit_test(outer_headers_are_the_kernels),
		cmocka_unit_test(a_flow_keeps_its_source_port_and_flows_differ),
		cmocka_unit_test(what_does_not_fit_into_the_tunnel_is_not_sent),
		cmocka_unit_test(an_icmp_error_goes_through_the_tunnel_too),
		cmocka_unit_test(fragments_go_through_the_tunnel_one_by_one),
		cmocka_unit_test(without_a_source_address_nothing_is_sent),
	};

	return cmocka_run_group_tests(tests, open_lab, close_lab);
}
