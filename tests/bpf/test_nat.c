// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_nat.c - NAT in both directions: exact packets, checksums, states, who is whose.
 *
 * A rewritten packet must be the one that the builder makes with the new addresses and ports from the start, so its checksums are made
 * by another implementation than the data plane's. On the way to the real server it leaves by the incoming device; answers leave
 * by the kernel's route to the client.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/bpf.h>
#include <netinet/in.h>

#include "tests/bpf/lab.h"
#include "xlbd/model/addr.h"

#define REAL4 "10.0.0.1"
#define REAL6 "2001:db8:1::1"
#define NAT   .nat = true, .real_port = 8080

static const struct lab_service services[] = {
	{"192.0.2.10:80/tcp", "rr", .real = {REAL4}, NAT},
	{"192.0.2.10:53/udp", "rr", .real = {REAL4}, NAT},
	{"[2001:db8::10]:80/tcp", "rr", .real = {REAL6}, NAT},
	{"[2001:db8::10]:53/udp", "rr", .real = {REAL6}, NAT},
	{"192.0.2.11:80/tcp", "rr", .real = {REAL4}, NAT}, /* shares the real server */
	{.endpoint = NULL},
};

/* What the client sends and what the real server must get; and the other way round. `shape` says the rest. */
struct ends {
	struct packet_spec to_virtual, to_real, from_real, from_virtual;
};

static struct ends make_ends(const struct packet_spec *shape, const char *virtual)
{
	struct ends ends = {*shape, *shape, *shape, *shape};
	const char *client = shape->ipv6 ? CLIENT_IPV6 : CLIENT_IPV4;
	const char *real = shape->ipv6 ? REAL6 : REAL4;
	uint16_t client_port = shape->source_port ? shape->source_port : 40000;
	uint16_t port = shape->protocol == IPPROTO_UDP ? 53 : 80;
	uint8_t ttl = shape->ttl ? shape->ttl : 64;

	ends.to_virtual.dest = ends.from_virtual.source = virtual;
	ends.to_virtual.dest_port = ends.from_virtual.source_port = port;
	ends.to_real.dest = ends.from_real.source = real;
	ends.to_real.dest_port = ends.from_real.source_port = 8080;
	ends.from_real.dest = ends.from_virtual.dest = client;
	ends.from_real.dest_port = ends.from_virtual.dest_port = client_port;
	ends.to_real.ttl = ends.from_virtual.ttl = (uint8_t)(ttl - 1);
	return ends;
}

static void expect_packet(const char *name, const struct lab_result *result,
                          const struct packet_spec *wanted, const uint8_t *dmac)
{
	struct frame frame;
	size_t length;

	packet_build(wanted, &frame);
	length = frame.length - frame.l3;
	if (result->action != XDP_TX && result->action != XDP_REDIRECT)
		fail_msg("%s (%s): verdict %u, action %u", name, wanted->ipv6 ? "IPv6" : "IPv4",
		         result->verdict, result->action);
	assert_memory_equal(result->frame.data, dmac, 6);
	if (result->frame.length - result->frame.l3 != length ||
	    memcmp(result->frame.data + result->frame.l3, frame.data + frame.l3, length) != 0)
		print_error("%s (%s):\n", name, wanted->ipv6 ? "IPv6" : "IPv4");
	assert_int_equal(result->frame.length - result->frame.l3, length);
	assert_memory_equal(result->frame.data + result->frame.l3, frame.data + frame.l3, length);
}

static const uint8_t real_mac[6] = {2, 0, 0, 0, 1, 1};

static void go_and_come_back(struct lab *lab, const char *name, const struct packet_spec *shape)
{
	struct ends ends = make_ends(shape, shape->ipv6 ? VIP_IPV6 : VIP_IPV4);
	struct lab_result result;

	result = lab_send(lab, &ends.to_virtual);
	expect_packet(name, &result, &ends.to_real, real_mac);
	assert_int_equal(result.verdict, XLB_SENT);
	result = lab_send(lab, &ends.from_real);
	expect_packet(name, &result, &ends.from_virtual, LAB_CLIENT_HOP);
	assert_int_equal(result.verdict, XLB_REDIRECTED);
}

static const struct {
	const char *name;
	struct packet_spec shape;
} shapes[] = {
	{"SYN", {.flags = SPEC_SYN}},
	{"ACK", {.flags = SPEC_ACK}},
	{"odd payload", {.flags = SPEC_ACK, .payload = 333}},
	{"full", {.flags = SPEC_ACK, .payload = 1440}},
	{"traffic class", {.flags = SPEC_ACK, .tos = 0xb9, .payload = 1}},
	{"last but one hop", {.flags = SPEC_ACK, .ttl = 2, .payload = 2}},
	{"DF", {.flags = SPEC_ACK, .dont_fragment = true, .payload = 8}},
	{"UDP", {.protocol = IPPROTO_UDP, .payload = 40}},
	{"UDP, odd", {.protocol = IPPROTO_UDP, .payload = 41}},
	{"UDP, empty", {.protocol = IPPROTO_UDP}},
};

static void every_packet_is_rewritten_both_ways(void **state)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct packet_spec shape = shapes[i].shape;

		go_and_come_back(*state, shapes[i].name, &shape);
		shape.ipv6 = true;
		go_and_come_back(*state, shapes[i].name, &shape);
	}
}

/* Checksums meet every value: many ports, both families and protocols. */
static void checksums_are_right_for_every_port(void **state)
{
	for (unsigned port = 1024; port < 65000; port += 61) {
		struct packet_spec shape = {.source_port = (uint16_t)port,
		                            .flags = SPEC_SYN,
		                            .payload = port % 7,
		                            .ipv6 = port & 1};

		go_and_come_back(*state, "many ports, TCP", &shape);
		shape.protocol = IPPROTO_UDP;
		go_and_come_back(*state, "many ports, UDP", &shape);
	}
}

static void send_without_checksum(struct lab *lab, const struct packet_spec *spec)
{
	struct lab_result result;
	struct frame frame;

	packet_build(spec, &frame);
	frame.data[frame.l4 + 6] = frame.data[frame.l4 + 7] = 0;
	result = lab_send_frame(lab, &frame);
	assert_true(result.action == XDP_TX || result.action == XDP_REDIRECT);
	assert_int_equal(result.frame.data[14 + 20 + 6] | result.frame.data[14 + 20 + 7], 0);
}

static void a_datagram_without_checksum_stays_without(void **state)
{
	const struct packet_spec shape = {.protocol = IPPROTO_UDP, .payload = 12};
	struct ends ends = make_ends(&shape, VIP_IPV4);

	send_without_checksum(*state, &ends.to_virtual);
	send_without_checksum(*state, &ends.from_real);
}

static void what_no_connection_explains_passes(void **state)
{
	static const struct packet_spec rows[] = {
		{.source = REAL4, .source_port = 8080, .dest = CLIENT_IPV4, .dest_port = 39999},
		{.source = REAL4, .source_port = 8081, .dest = CLIENT_IPV4, .dest_port = 40000},
		{.source = "10.0.0.77",
	         .source_port = 8080,
	         .dest = CLIENT_IPV4,
	         .dest_port = 40000},
		{.source = REAL4, .source_port = 8080, .dest = "198.51.100.8", .dest_port = 40000},
		{.ipv6 = true,
	         .source = REAL6,
	         .source_port = 8080,
	         .dest = CLIENT_IPV6,
	         .dest_port = 39999},
	};
	const struct packet_spec shape = {.flags = SPEC_SYN};
	struct ends ends = make_ends(&shape, VIP_IPV4);

	assert_int_equal(lab_send(*state, &ends.to_virtual).verdict, XLB_SENT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lab_result result = lab_send(*state, &rows[i]);
		struct frame frame;

		packet_build(&rows[i], &frame);
		assert_int_equal(result.verdict, XLB_NOT_OURS);
		assert_memory_equal(result.frame.data, frame.data, frame.length);
	}
}

static void an_answer_goes_out_by_the_service_that_was_asked(void **state)
{
	const struct packet_spec shape = {.flags = SPEC_SYN, .source_port = 50001},
				 other = {.flags = SPEC_SYN, .source_port = 50002};
	struct ends first = make_ends(&shape, VIP_IPV4), second = make_ends(&other, "192.0.2.11");
	struct lab_result result;

	assert_int_equal(lab_send(*state, &first.to_virtual).verdict, XLB_SENT);
	assert_int_equal(lab_send(*state, &second.to_virtual).verdict, XLB_SENT);
	result = lab_send(*state, &second.from_real);
	expect_packet("second service", &result, &second.from_virtual, LAB_CLIENT_HOP);
	result = lab_send(*state, &first.from_real);
	expect_packet("first service", &result, &first.from_virtual, LAB_CLIENT_HOP);
}

static void expect_phase(struct lab *lab, uint16_t port, uint8_t phase)
{
	struct flow flow;

	assert_true(lab_flow(lab, "192.0.2.10:80/tcp", CLIENT_IPV4, port, &flow));
	assert_string_equal(phase_name(flow.phase), phase_name(phase));
}

/* One life and its end, as IPVS's tables INPUT and OUTPUT have it. */
static void states_follow_both_sides(void **state)
{
	static const struct {
		bool server;
		uint8_t flags, phase;
	} steps[] = {
		{false, SPEC_SYN, XLB_PHASE_SYN},
		{true, SPEC_SYN | SPEC_ACK, XLB_PHASE_SYN},
		{false, SPEC_ACK, XLB_PHASE_ESTABLISHED},
		{true, SPEC_ACK, XLB_PHASE_ESTABLISHED},
		{false, SPEC_FIN | SPEC_ACK, XLB_PHASE_CLOSE_WAIT},
		{true, SPEC_ACK, XLB_PHASE_CLOSE_WAIT},
		{true, SPEC_FIN | SPEC_ACK, XLB_PHASE_TIME_WAIT},
		{false, SPEC_ACK, XLB_PHASE_TIME_WAIT},
		{false, SPEC_SYN, XLB_PHASE_SYN},
		{true, SPEC_ACK, XLB_PHASE_ESTABLISHED},
		{true, SPEC_FIN | SPEC_ACK, XLB_PHASE_FIN_WAIT},
		{true, SPEC_RST, XLB_PHASE_CLOSE},
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct packet_spec shape = {.flags = steps[i].flags, .source_port = 51000};
		struct ends ends = make_ends(&shape, VIP_IPV4);
		struct lab_result result =
			lab_send(*state, steps[i].server ? &ends.from_real : &ends.to_virtual);

		assert_int_equal(result.verdict, steps[i].server ? XLB_REDIRECTED : XLB_SENT);
		expect_phase(*state, 51000, steps[i].phase);
	}
}

/* ---- ICMP errors ------------------------------------------------------------------------------ */

static void check_error(struct lab *lab, const char *name, const struct packet_spec *in,
                        const struct packet_spec *out, const uint8_t *dmac)
{
	struct lab_result result = lab_send(lab, in);
	struct frame wanted;
	size_t l4;

	packet_build(out, &wanted);
	if (result.action != XDP_TX && result.action != XDP_REDIRECT)
		fail_msg("%s: verdict %u", name, result.verdict);
	assert_memory_equal(result.frame.data, dmac, 6);
	assert_int_equal(result.frame.length, wanted.length);
	l4 = wanted.l4;
	assert_memory_equal(result.frame.data + 14, wanted.data + 14, l4 + 2 - 14);
	/* the packet inside as far as its ports; what of its checksum is there stays what it was */
	assert_memory_equal(result.frame.data + l4 + 4, wanted.data + l4 + 4,
	                    4 + (in->ipv6 ? 40 : 20) + 4);
	assert_int_equal(packet_checksum(result.frame.data + l4, result.frame.length - l4,
	                                 in->ipv6 ? packet_pseudo_sum(&result.frame) : 0),
	                 0);
}

static void errors_about_answers_reach_the_real_server(void **state)
{
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		const struct packet_spec shape = {
			.ipv6 = ipv6, .flags = SPEC_SYN, .source_port = 52000};
		struct ends ends = make_ends(&shape, ipv6 ? VIP_IPV6 : VIP_IPV4);
		struct packet_spec inside = ends.from_virtual, rewritten = ends.from_real, in, out;

		assert_int_equal(lab_send(*state, &ends.to_virtual).verdict, XLB_SENT);
		rewritten.ttl = inside.ttl;
		in = (struct packet_spec){.ipv6 = ipv6,
		                          .protocol = ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
		                          .source = ipv6 ? "2001:db8:9::9" : "203.0.113.9",
		                          .dest = ipv6 ? VIP_IPV6 : VIP_IPV4,
		                          .icmp_type = ipv6 ? 2 : 3,
		                          .icmp_code = ipv6 ? 0 : 4,
		                          .inner = &inside};
		out = in;
		out.dest = ipv6 ? REAL6 : REAL4;
		out.inner = &rewritten;
		out.ttl = 63;
		check_error(*state, "error about an answer", &in, &out, real_mac);
	}
}

static void errors_of_real_servers_reach_the_client(void **state)
{
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		const struct packet_spec shape = {
			.ipv6 = ipv6, .protocol = IPPROTO_UDP, .source_port = 52001, .payload = 9};
		struct ends ends = make_ends(&shape, ipv6 ? VIP_IPV6 : VIP_IPV4);
		struct packet_spec inside = ends.to_real, rewritten = ends.to_virtual, in, out;

		assert_int_equal(lab_send(*state, &ends.to_virtual).verdict, XLB_SENT);
		rewritten.ttl = inside.ttl;
		in = (struct packet_spec){.ipv6 = ipv6,
		                          .protocol = ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
		                          .source = ipv6 ? REAL6 : REAL4,
		                          .dest = ipv6 ? CLIENT_IPV6 : CLIENT_IPV4,
		                          .icmp_type = ipv6 ? 1 : 3,
		                          .icmp_code = ipv6 ? 4 : 3,
		                          .inner = &inside};
		out = in;
		out.source = ipv6 ? VIP_IPV6 : VIP_IPV4;
		out.inner = &rewritten;
		out.ttl = 63;
		check_error(*state, "error of a real server", &in, &out, LAB_CLIENT_HOP);
	}
}

/* ---- fragments -------------------------------------------------------------------------------- */

/* Addresses, and in the first fragment ports; the datagram's checksum is over all of them and not looked at here. */
static void check_fragment(struct lab *lab, const struct packet_spec *in,
                           const struct packet_spec *ends)
{
	struct packet_spec out = *in;
	struct lab_result result = lab_send(lab, in);
	struct frame wanted;

	out.source = ends->source;
	out.dest = ends->dest;
	out.source_port = ends->source_port;
	out.dest_port = ends->dest_port;
	out.ttl = 63;
	packet_build(&out, &wanted);
	assert_true(result.action == XDP_TX || result.action == XDP_REDIRECT);
	assert_memory_equal(result.frame.data + 14, wanted.data + 14, 20);
	if (!in->fragment_offset)
		assert_memory_equal(result.frame.data + 34, wanted.data + 34, 4);
}

static void fragments_follow_their_first_one_both_ways(void **state)
{
	const struct packet_spec shape = {
		.protocol = IPPROTO_UDP, .payload = 64, .source_port = 53001};
	struct ends ends = make_ends(&shape, VIP_IPV4);
	struct packet_spec there = ends.to_virtual, back = ends.from_real;

	there.id = 4711;
	back.id = 4712;
	there.more_fragments = back.more_fragments = true;
	check_fragment(*state, &there, &ends.to_real);
	check_fragment(*state, &back, &ends.from_virtual);
	there.more_fragments = back.more_fragments = false;
	there.fragment_offset = back.fragment_offset = 9;
	check_fragment(*state, &there, &ends.to_real);
	check_fragment(*state, &back, &ends.from_virtual);
}

/* ---- ways and ends ---------------------------------------------------------------------------- */

static void must_run(const char *command)
{
	assert_int_equal(system(command), 0);
}

static void an_answer_without_a_way_is_dropped_and_counted(void **state)
{
	const struct packet_spec shape = {.flags = SPEC_SYN, .source_port = 54000};
	struct ends ends = make_ends(&shape, VIP_IPV4);

	assert_int_equal(lab_send(*state, &ends.to_virtual).verdict, XLB_SENT);
	must_run("ip neigh flush to 10.9.0.7 nud all");
	assert_int_equal(lab_send(*state, &ends.from_real).verdict, XLB_DROP_NO_WAY);
	must_run("ip neigh replace 10.9.0.7 lladdr 02:00:00:00:02:07 dev \"$(ip -o route get "
	         "10.9.0.7 | sed 's/.*dev \\([^ ]*\\).*/\\1/')\"");
	assert_int_equal(lab_send(*state, &ends.from_real).verdict, XLB_REDIRECTED);
	ends.from_real.ttl = 1;
	assert_int_equal(lab_send(*state, &ends.from_real).verdict, XLB_DROP_TTL);
}

static void without_forwarding_answers_are_left_alone(void **state)
{
	const struct packet_spec shape = {.flags = SPEC_SYN, .source_port = 54001};
	struct ends ends = make_ends(&shape, VIP_IPV4);

	assert_int_equal(lab_send(*state, &ends.to_virtual).verdict, XLB_SENT);
	must_run("sysctl -qw net.ipv4.ip_forward=0");
	assert_int_equal(lab_send(*state, &ends.from_real).verdict, XLB_NOT_OURS);
	must_run("sysctl -qw net.ipv4.ip_forward=1");
	assert_int_equal(lab_send(*state, &ends.from_real).verdict, XLB_REDIRECTED);
}

static uint16_t real_id(struct lab *lab, const char *virtual)
{
	struct xlb_addr vip, real;
	struct xlb_service_key key;

	assert_true(addr_parse(virtual, &vip) && addr_parse(REAL4, &real));
	key = service_key(&vip, 80, IPPROTO_TCP);
	return apply_real_id(lab->apply, &key, &real, 8080);
}

static void answers_are_counted_apart(void **state)
{
	const struct packet_spec shape = {.flags = SPEC_SYN, .source_port = 54002};
	struct ends ends = make_ends(&shape, VIP_IPV4);
	struct lab *lab = *state;
	struct xlb_real_counters before, after;
	uint16_t id = real_id(lab, VIP_IPV4);

	assert_int_equal(counters_real(lab->counters, id, &before), 0);
	lab_send(lab, &ends.to_virtual);
	lab_send(lab, &ends.from_real);
	lab_send(lab, &ends.from_real);
	assert_int_equal(counters_real(lab->counters, id, &after), 0);
	assert_int_equal(after.packets - before.packets, 1);
	assert_int_equal(after.packets_out - before.packets_out, 2);
	assert_int_equal(after.bytes_out - before.bytes_out, 80);
}

static void forget_connections(struct lab *lab, const char *virtual)
{
	for (size_t i = 0; i < XLB_PHASES; i++)
		dataplane_control(lab->dataplane)->timeout[i] = 0;
	for (int i = 0; i < 100 && real_id(lab, virtual); i++) {
		lab_sweep(lab);
		usleep(20000);
	}
	assert_int_equal(real_id(lab, virtual), 0);
	for (size_t i = 0; i < XLB_PHASES; i++)
		dataplane_control(lab->dataplane)->timeout[i] = 400;
}

static void a_removed_real_server_answers_until_its_connections_end(void **state)
{
	static const struct lab_service fewer[] = {
		{"192.0.2.10:80/tcp", "rr", .real = {NULL}},
		{"192.0.2.11:80/tcp", "rr", .real = {REAL4}, NAT},
		{.endpoint = NULL},
	};
	const struct packet_spec shape = {.flags = SPEC_SYN, .source_port = 55000};
	struct ends ends = make_ends(&shape, VIP_IPV4), other = make_ends(&shape, "192.0.2.11");
	struct lab_result result;
	struct lab *lab = *state;

	assert_int_equal(lab_send(lab, &ends.to_virtual).verdict, XLB_SENT);
	lab_serve(lab, fewer);
	assert_int_equal(lab_send(lab, &ends.from_real).verdict, XLB_REDIRECTED);
	assert_int_equal(lab_send(lab, &ends.to_virtual).verdict, XLB_DROP_REAL_GONE);
	forget_connections(lab, VIP_IPV4);
	assert_int_equal(lab_send(lab, &ends.from_real).verdict, XLB_NOT_OURS);
	/* who shared it goes on */
	assert_int_equal(lab_send(lab, &other.to_virtual).verdict, XLB_SENT);
	result = lab_send(lab, &other.from_real);
	expect_packet("the other service", &result, &other.from_virtual, LAB_CLIENT_HOP);
}

static int open_lab(void **state)
{
	struct lab *lab = lab_open();

	lab_serve(lab, services);
	lab_clients(lab);
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
		cmocka_unit_test(every_packet_is_rewritten_both_ways),
		cmocka_unit_test(checksums_are_right_for_every_port),
		cmocka_unit_test(a_datagram_without_checksum_stays_without),
		cmocka_unit_test(what_no_connection_explains_passes),
		cmocka_unit_test(an_answer_goes_out_by_the_service_that_was_asked),
		cmocka_unit_test(states_follow_both_sides),
		cmocka_unit_test(errors_about_answers_reach_the_real_server),
		cmocka_unit_test(errors_of_real_servers_reach_the_client),
		cmocka_unit_test(fragments_follow_their_first_one_both_ways),
		cmocka_unit_test(an_answer_without_a_way_is_dropped_and_counted),
		cmocka_unit_test(without_forwarding_answers_are_left_alone),
		cmocka_unit_test(answers_are_counted_apart),
		cmocka_unit_test(a_removed_real_server_answers_until_its_connections_end),
	};

	return cmocka_run_group_tests(tests, open_lab, close_lab);
}
