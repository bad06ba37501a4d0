// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_refuse.c - packets that may not go on: who is told so by ICMP, in which bytes, and who is not.
 *
 * Each row is a packet and what must become of it; rows that say `both` run for IPv4 and IPv6. An answer is compared with one
 * that is made here from the packet that came in, byte for byte but for the identification of IPv4, which anybody may choose; its
 * checksums are summed up by packets.c. Before each row the buckets that limit answers are full.
 */
#define _GNU_SOURCE /* sched_setaffinity() */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <netinet/in.h>

#include "tests/bpf/lab.h"
#include "xlbd/model/addr.h"

#define NOPS      ((const uint8_t[]){1, 1, 1, 0})
#define BURST     50
#define PER_MS    1
#define EXT(type) .extensions = (const uint8_t[]){type}, .extension_count = 1

static const struct lab_service services[] = {
	{"192.0.2.10:80/tcp", "rr", .real = {"10.0.0.1"}},
	{"192.0.2.10:53/udp", "rr", .real = {"10.0.0.1"}},
	{"[2001:db8::10]:80/tcp", "rr", .real = {"2001:db8:1::1"}},
	{"[2001:db8::10]:53/udp", "rr", .real = {"2001:db8:1::1"}},
	{"192.0.2.11:80/tcp", "rr", .real = {"10.0.0.2"}},
	{"[2001:db8::11]:80/tcp", "rr", .real = {"2001:db8:1::2"}},
	{.endpoint = NULL},
};

/* The second real server is behind another interface, with tags and a smaller MTU. */
static const struct lab_hop hops[] = {
	{"10.0.0.2", .ifindex = LAB_OTHER_IFINDEX, .vid = {100}, .mtu = 1400},
	{"2001:db8:1::2", .ifindex = LAB_OTHER_IFINDEX, .vid = {100}, .mtu = 1400},
};

struct refuse_case {
	const char *name;
	enum xlb_verdict verdict; /* of an answer: ANSWERED_* */
	unsigned mtu;             /* that the answer tells; 0: it is the TTL */
	struct packet_spec packet;
	const char *dest6; /* for IPv6 instead of packet.dest */
	bool both;
	const struct packet_spec *before;
	uint8_t source_mac; /* the first byte, if not as ever */
};

static const struct packet_spec open4 = {.flags = SPEC_SYN};
static const struct packet_spec open6 = {.ipv6 = true, .flags = SPEC_SYN};
static const struct packet_spec fragment4 = {
	.protocol = IPPROTO_UDP, .dest_port = 53, .more_fragments = true, .payload = 64, .id = 77};
static const struct packet_spec fragment6 = {.ipv6 = true,
                                             .protocol = IPPROTO_UDP,
                                             .dest_port = 53,
                                             EXT(44),
                                             .more_fragments = true,
                                             .payload = 64,
                                             .id = 77};
static const struct packet_spec syn_out4 = {.source = VIP_IPV4,
                                            .dest = CLIENT_IPV4,
                                            .source_port = 80,
                                            .dest_port = 40000,
                                            .flags = SPEC_ACK,
                                            .payload = 1480};
static const struct packet_spec syn_out6 = {.ipv6 = true,
                                            .source = VIP_IPV6,
                                            .dest = CLIENT_IPV6,
                                            .source_port = 80,
                                            .dest_port = 40000,
                                            .flags = SPEC_ACK,
                                            .payload = 1480};

static const struct refuse_case cases[] = {
	/* ---- TTL and hop limit ---- */
	{.name = "TTL 1: a SYN is answered",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1},
         .both = true},
	{.name = "TTL 0 is as good as 1",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl_zero = true},
         .both = true},
	{.name = "TTL 1: so is data of a known connection",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .flags = SPEC_ACK, .payload = 333},
         .both = true,
         .before = &open4},
	{.name = "TTL 1: so is a datagram, as traceroute sends them",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .protocol = IPPROTO_UDP, .dest_port = 53, .payload = 32},
         .both = true},
	{.name = "TTL 1: so is an empty one",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .protocol = IPPROTO_UDP, .dest_port = 53},
         .both = true},
	{.name = "TTL 1: an odd number of bytes",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .protocol = IPPROTO_UDP, .dest_port = 53, .payload = 63},
         .both = true},
	{.name = "TTL 1: a whole number of chunks",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .protocol = IPPROTO_UDP, .dest_port = 53, .payload = 100},
         .both = true},
	{.name = "TTL 1: the most that is quoted whole",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .protocol = IPPROTO_UDP, .dest_port = 53, .payload = 520}},
	{.name = "TTL 1: one byte more is cut",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .protocol = IPPROTO_UDP, .dest_port = 53, .payload = 521}},
	{.name = "IPv6: hop limit 1: the most that is quoted whole",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ipv6 = true,
                    .ttl = 1,
                    .protocol = IPPROTO_UDP,
                    .dest_port = 53,
                    .payload = 1184}},
	{.name = "IPv6: hop limit 1: one byte more is cut",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ipv6 = true,
                    .ttl = 1,
                    .protocol = IPPROTO_UDP,
                    .dest_port = 53,
                    .payload = 1185}},
	{.name = "TTL 1: it comes before the MTU",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .dont_fragment = true, .flags = SPEC_ACK, .payload = 1461},
         .both = true,
         .before = &open4},
	{.name = "TTL 1: back by where it came from, whoever the real server is",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .dest = "192.0.2.11"},
         .dest6 = "2001:db8::11",
         .both = true},
	{.name = "TTL 1: the tag stays",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .vlan = {7 | 5 << 13}, .tags = 1},
         .both = true},
	{.name = "TTL 1: both tags stay",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .vlan = {8, 9}, .tags = 2, .ad = true},
         .both = true},
	{.name = "TTL 1: class and ECN of the packet make the class of the answer",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .tos = 0x2f}},
	{.name = "TTL 1: all bits of it",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .tos = 0xff},
         .both = true},
	{.name = "TTL 1: options are quoted",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .options = NOPS, .options_length = 4}},
	{.name = "IPv6: hop limit 1: extension headers are quoted",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ipv6 = true, .ttl = 1, EXT(60)}},
	{.name = "TTL 1: padding behind the packet is not quoted",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1, .payload = 20, .total_length_error = -6},
         .both = true},
	{.name = "TTL 1: a first fragment is answered",
         .verdict = XLB_ANSWERED_TTL,
         .packet = {.ttl = 1,
                    .protocol = IPPROTO_UDP,
                    .dest_port = 53,
                    .more_fragments = true,
                    .payload = 64,
                    .id = 78}},
	{.name = "TTL 1: a later one is not",
         .verdict = XLB_DROP_TTL,
         .packet =
                 {.ttl = 1, .protocol = IPPROTO_UDP, .fragment_offset = 9, .payload = 64, .id = 77},
         .before = &fragment4},
	{.name = "IPv6: hop limit 1: a later fragment is not answered",
         .verdict = XLB_DROP_TTL,
         .packet = {.ipv6 = true,
                    .ttl = 1,
                    .protocol = IPPROTO_UDP,
                    EXT(44),
                    .fragment_offset = 9,
                    .payload = 64,
                    .id = 77},
         .before = &fragment6},
	{.name = "TTL 1: an ICMP error is not answered",
         .verdict = XLB_DROP_TTL,
         .packet = {.ttl = 1, .icmp_type = 3, .icmp_code = 4, .inner = &syn_out4},
         .before = &open4},
	{.name = "IPv6: hop limit 1: an ICMP error is not answered",
         .verdict = XLB_DROP_TTL,
         .packet = {.ipv6 = true, .ttl = 1, .icmp_type = 2, .inner = &syn_out6},
         .before = &open6},
	{.name = "TTL 1: a station that is a group gets no answer",
         .verdict = XLB_DROP_TTL,
         .packet = {.ttl = 1},
         .both = true,
         .source_mac = 3},
	/* ---- MTU ---- */
	{.name = "with DF one byte too long: the MTU is told",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.dont_fragment = true, .flags = SPEC_ACK, .payload = 1461},
         .before = &open4},
	{.name = "without DF it is dropped",
         .verdict = XLB_DROP_TOO_BIG,
         .packet = {.flags = SPEC_ACK, .payload = 1461},
         .before = &open4},
	{.name = "IPv6: one byte too long: the MTU is told",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.ipv6 = true, .flags = SPEC_ACK, .payload = 1441},
         .before = &open6},
	{.name = "the MTU of that real server's way is told",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1400,
         .packet = {.dest = "192.0.2.11", .dont_fragment = true, .payload = 1361}},
	{.name = "IPv6: the MTU of that real server's way is told",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1400,
         .packet = {.ipv6 = true, .dest = "2001:db8::11", .payload = 1341}},
	{.name = "a datagram too",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.protocol = IPPROTO_UDP,
                    .dest_port = 53,
                    .dont_fragment = true,
                    .payload = 1473}},
	{.name = "IPv6: a datagram too",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.ipv6 = true, .protocol = IPPROTO_UDP, .dest_port = 53, .payload = 1453}},
	{.name = "too long behind a tag",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.dont_fragment = true, .payload = 1600, .vlan = {7}, .tags = 1}},
	{.name = "IPv6: too long behind a tag",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.ipv6 = true, .payload = 1600, .vlan = {7}, .tags = 1}},
	{.name = "TTL 2 is quoted as 1",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.ttl = 2, .dont_fragment = true, .payload = 1461}},
	{.name = "IPv6: hop limit 2 is quoted as 1",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.ipv6 = true, .ttl = 2, .payload = 1441}},
	{.name = "a frame in several buffers is answered",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.dont_fragment = true, .payload = 3960}},
	{.name = "IPv6: a frame in several buffers is answered",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.ipv6 = true, .payload = 3960, .vlan = {8, 9}, .tags = 2}},
	{.name = "a first fragment with DF is answered",
         .verdict = XLB_ANSWERED_TOO_BIG,
         .mtu = 1500,
         .packet = {.protocol = IPPROTO_UDP,
                    .dest_port = 53,
                    .dont_fragment = true,
                    .more_fragments = true,
                    .payload = 1480,
                    .id = 79}},
	{.name = "a later fragment with DF is not",
         .verdict = XLB_DROP_TOO_BIG,
         .packet = {.protocol = IPPROTO_UDP,
                    .dont_fragment = true,
                    .fragment_offset = 9,
                    .payload = 1481,
                    .id = 77},
         .before = &fragment4},
	{.name = "IPv6: a later fragment is not",
         .verdict = XLB_DROP_TOO_BIG,
         .packet = {.ipv6 = true,
                    .protocol = IPPROTO_UDP,
                    EXT(44),
                    .fragment_offset = 9,
                    .payload = 1480,
                    .id = 77},
         .before = &fragment6},
	{.name = "an ICMP error of any length goes on",
         .verdict = XLB_SENT,
         .packet = {.dont_fragment = true,
                    .icmp_type = 3,
                    .icmp_code = 4,
                    .inner = &syn_out4,
                    .inner_bytes = 1500},
         .before = &open4},
	{.name = "IPv6: an ICMP error that is too long is dropped, not answered",
         .verdict = XLB_DROP_TOO_BIG,
         .packet = {.ipv6 = true, .icmp_type = 2, .inner = &syn_out6, .inner_bytes = 1500},
         .before = &open6},
};

/* ---- the answer that must come ---------------------------------------------------------------- */

static void put16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* The packet as it is quoted: as it came, or as it would have gone on. */
static size_t quote(const struct frame *in, unsigned mtu, uint8_t *ret)
{
	const uint8_t *ip = in->data + in->l3;
	bool ipv6 = ip[0] >> 4 == 6;
	size_t length = ipv6 ? 40 + (ip[4] << 8 | ip[5]) : ip[2] << 8 | ip[3];
	size_t most = ipv6 ? 1280 - 48 : 576 - 28, header = (ip[0] & 15) * 4u;

	memcpy(ret, ip, length);
	if (mtu)
		ret[ipv6 ? 7 : 8]--;
	if (mtu && !ipv6) {
		put16(ret + 10, 0);
		put16(ret + 10, packet_checksum(ret, header, 0));
	}
	return length < most ? length : most;
}

/* Everything but identification and checksums, which stay 0. */
static void expect(const struct frame *in, unsigned mtu, struct frame *ret)
{
	const uint8_t *ip = in->data + in->l3;
	bool ipv6 = ip[0] >> 4 == 6;
	size_t header = ipv6 ? 48 : 28;
	uint8_t *out = ret->data + in->l3, *icmp = out + header - 8;
	size_t quoted;

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->data, in->data + 6, 6);
	memcpy(ret->data + 6, in->data, 6);
	memcpy(ret->data + 12, in->data + 12, in->l3 - 12);
	quoted = quote(in, mtu, out + header);
	ret->l3 = in->l3;
	ret->length = in->l3 + header + quoted;
	if (ipv6) {
		out[0] = 0x60;
		put16(out + 4, 8 + quoted);
		out[6] = 58;
		out[7] = 64;
		memcpy(out + 8, ip + 24, 16);
		memcpy(out + 24, ip + 8, 16);
		icmp[0] = mtu ? 2 : 3;
	} else {
		out[0] = 0x45;
		out[1] = (uint8_t)((ip[1] & 0x1e) | 0xc0);
		put16(out + 2, 28 + quoted);
		out[8] = 64;
		out[9] = 1;
		memcpy(out + 12, ip + 16, 4);
		memcpy(out + 16, ip + 12, 4);
		icmp[0] = mtu ? 3 : 11;
		icmp[1] = mtu ? 4 : 0;
	}
	put16(icmp + 6, mtu);
}

static void check_answer(const char *name, const struct frame *in, unsigned mtu,
                         const struct frame *out)
{
	bool ipv6 = in->data[in->l3] >> 4 == 6;
	struct frame expected, seen = *out;
	uint8_t *ip = seen.data + in->l3;

	expect(in, mtu, &expected);
	if (out->length != expected.length)
		fail_msg("%s: %zu bytes, not %zu", name, out->length, expected.length);
	if (!packet_checksums_right(out, in->l3))
		fail_msg("%s: a checksum is wrong", name);
	if (ipv6) {
		put16(ip + 42, 0);
	} else {
		put16(ip + 4, 0);
		put16(ip + 10, 0);
		put16(ip + 22, 0);
	}
	for (size_t i = 0; i < expected.length; i++)
		if (seen.data[i] != expected.data[i])
			fail_msg("%s: byte %zu is %02x, not %02x", name, i, seen.data[i],
			         expected.data[i]);
}

static bool is_answer(enum xlb_verdict verdict)
{
	return verdict == XLB_ANSWERED_TTL || verdict == XLB_ANSWERED_TOO_BIG;
}

static void run_case(struct lab *lab, const struct refuse_case *row, struct packet_spec packet,
                     const struct packet_spec *before)
{
	uint32_t action = is_answer(row->verdict) || row->verdict == XLB_SENT ? XDP_TX : XDP_DROP;
	struct lab_result result;
	struct frame in;

	lab_refill(lab);
	if (before)
		assert_int_equal(lab_send(lab, before).verdict, XLB_SENT);
	packet_build(&packet, &in);
	if (row->source_mac)
		in.data[6] = row->source_mac;
	result = lab_send_frame(lab, &in);
	if (result.verdict != row->verdict || result.action != action)
		fail_msg("%s (%s): verdict %s, action %u", row->name, packet.ipv6 ? "IPv6" : "IPv4",
		         verdict_word(result.verdict), result.action);
	if (is_answer(row->verdict))
		check_answer(row->name, &in, row->mtu, &result.frame);
}

static void every_row_gets_its_answer(void **state)
{
	struct lab *lab = *state;
	size_t count = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct refuse_case *row = &cases[i];
		struct packet_spec packet = row->packet;

		run_case(lab, row, packet, row->before);
		count++;
		if (!row->both)
			continue;
		packet.ipv6 = true;
		if (packet.dest)
			packet.dest = row->dest6;
		run_case(lab, row, packet, row->before ? &open6 : NULL);
		count++;
	}
	print_message("%zu rows\n", count);
}

/* A connection whose client's address became ours since. */
static void our_own_addresses_get_no_answer(void **state)
{
	static const struct packet_spec last[] = {{.ttl = 1}, {.ipv6 = true, .ttl = 1}};
	struct lab *lab = *state;
	struct xlb_addr own[2];

	assert_true(addr_parse(CLIENT_IPV4, &own[0]) && addr_parse(CLIENT_IPV6, &own[1]));
	assert_int_equal(lab_send(lab, &open4).verdict, XLB_SENT);
	assert_int_equal(lab_send(lab, &open6).verdict, XLB_SENT);
	assert_int_equal(interfaces_set_locals(lab->interfaces, own, 2), 0);
	lab_refill(lab);
	for (int i = 0; i < 2; i++)
		assert_int_equal(lab_send(lab, &last[i]).verdict, XLB_DROP_TTL);
	assert_int_equal(interfaces_set_locals(lab->interfaces, own, 0), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(lab_send(lab, &last[i]).verdict, XLB_ANSWERED_TTL);
}

/* Each identification is new, or fragments of two answers could be put together. */
static void answers_are_told_apart(void **state)
{
	static const struct packet_spec last = {.ttl = 1};
	struct lab *lab = *state;
	unsigned seen[4], same = 0;

	lab_refill(lab);
	for (int i = 0; i < 4; i++) {
		struct lab_result result = lab_send(lab, &last);

		seen[i] = (unsigned)(result.frame.data[18] << 8 | result.frame.data[19]);
		same += i && seen[i] == seen[i - 1];
	}
	assert_true(same < 3);
}

/* ---- how often -------------------------------------------------------------------------------- */

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void stay_on_one_cpu(void)
{
	cpu_set_t all, one;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* So many of a packet as fast as it goes; how many were answered. */
static unsigned flood(struct lab *lab, const struct packet_spec *spec, unsigned count)
{
	unsigned answered = 0;
	struct frame frame;

	packet_build(spec, &frame);
	for (unsigned i = 0; i < count; i++) {
		uint8_t out[FRAME_MAX];
		LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data,
		            .data_size_in = (uint32_t)frame.length, .data_out = out,
		            .data_size_out = sizeof(out));

		assert_int_equal(
			bpf_prog_test_run_opts(dataplane_ingress_fd(lab->dataplane), &options), 0);
		assert_true(options.retval == XDP_TX || options.retval == XDP_DROP);
		answered += options.retval == XDP_TX;
	}
	return answered;
}

static uint64_t counted(const struct lab *lab, enum xlb_verdict verdict)
{
	struct xlb_verdict_counters counters = {0};

	assert_int_equal(counters_verdict(lab->counters, verdict, &counters), 0);
	return counters.packets;
}

static void a_burst_is_answered_and_then_so_many_a_second(void **state)
{
	static const struct packet_spec last = {.ttl = 1};
	static const struct packet_spec large = {.dont_fragment = true, .payload = 1461};
	struct lab *lab = *state;
	uint64_t before[2] = {counted(lab, XLB_ANSWERED_TTL), counted(lab, XLB_DROP_TTL)};
	double begin, most;
	unsigned answered;

	stay_on_one_cpu();
	lab_refill(lab);
	begin = seconds_now();
	answered = flood(lab, &last, 4000);
	most = BURST + (seconds_now() - begin) * 1000 * PER_MS + 1;
	print_message("%u of 4000 answered in %.0f ms\n", answered, most - BURST - 1);
	assert_true(answered >= BURST && answered <= most);
	assert_true(answered < 4000);
	assert_int_equal(counted(lab, XLB_ANSWERED_TTL) - before[0], answered);
	assert_int_equal(counted(lab, XLB_DROP_TTL) - before[1], 4000 - answered);
	/* path MTU discovery is not stopped by that */
	assert_int_equal(flood(lab, &large, BURST), BURST);
}

static int open_lab(void **state)
{
	struct lab *lab = lab_open();

	lab_serve(lab, services);
	for (size_t i = 0; i < sizeof(hops) / sizeof(hops[0]); i++)
		lab_hop(lab, &hops[i]);
	lab_vlan(lab, 7, 0);
	lab_vlan(lab, 8, 9);
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
		cmocka_unit_test(every_row_gets_its_answer),
		cmocka_unit_test(our_own_addresses_get_no_answer),
		cmocka_unit_test(answers_are_told_apart),
		cmocka_unit_test(a_burst_is_answered_and_then_so_many_a_second),
	};

	return cmocka_run_group_tests(tests, open_lab, close_lab);
}
