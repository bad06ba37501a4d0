// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_ingress.c - one packet through the loaded program: verdict, action, packet out.
 *
 * Each row is a packet and what must become of it, in a data plane with the services below; rows that say `both` run for
 * IPv4 and for IPv6. What a row leaves out is the ordinary (packets.h). A forwarded packet must be the one that came in but for
 * its link layer, its TTL and the IPv4 checksum; a passed one must be untouched. What is answered is test_refuse.c's subject.
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

#define SOURCE_ROUTE     ((const uint8_t[]){131, 7, 4, 10, 0, 0, 9, 0})
#define STRICT_ROUTE     ((const uint8_t[]){137, 7, 4, 10, 0, 0, 9, 0})
#define RECORD_ROUTE     ((const uint8_t[]){7, 7, 4, 0, 0, 0, 0, 0})
#define NOPS             ((const uint8_t[]){1, 1, 1, 0})
#define OPTION_TOO_LONG  ((const uint8_t[]){7, 44, 4, 0})
#define OPTION_TOO_SHORT ((const uint8_t[]){7, 1, 4, 0})
#define OTHER_MAC        ((const uint8_t[]){2, 0, 0, 0, 0, 0x99})
#define MULTICAST_MAC    ((const uint8_t[]){1, 0, 0x5e, 0, 0, 0x12})
#define BROADCAST_MAC    ((const uint8_t[]){255, 255, 255, 255, 255, 255})
#define EXT(...)                                      \
	.extensions = (const uint8_t[]){__VA_ARGS__}, \
	.extension_count = sizeof((const uint8_t[]){__VA_ARGS__})

static const struct lab_service services[] = {
	{"192.0.2.10:80/tcp", "rr", .real = {"10.0.0.1"}},
	{"192.0.2.10:53/udp", "rr", .real = {"10.0.0.1"}},
	{"[2001:db8::10]:80/tcp", "rr", .real = {"2001:db8:1::1"}},
	{"[2001:db8::10]:53/udp", "rr", .real = {"2001:db8:1::1"}},
	{"192.0.2.11:80/tcp", "rr", .real = {"10.0.0.2"}},
	{"[2001:db8::11]:80/tcp", "rr", .real = {"2001:db8:1::2"}},
	{"192.0.2.12:80/tcp", "rr", .real = {"10.0.0.3"}, .side = SIDE_STANDBY},
	{"[2001:db8::12]:80/tcp", "rr", .real = {"2001:db8:1::3"}, .side = SIDE_STANDBY},
	{"192.0.2.13:80/tcp", "mh", .real = {"10.0.0.4*0"}},
	{"[2001:db8::13]:80/tcp", "mh", .real = {"2001:db8:1::4*0"}},
	{"192.0.2.14:80/tcp", "rr", .real = {NULL}},
	{"[2001:db8::14]:80/tcp", "rr", .real = {NULL}},
	{"192.0.2.15:80/tcp", "rr", .real = {"10.0.0.5"}},
	{"[2001:db8::15]:80/tcp", "rr", .real = {"2001:db8:1::5"}},
	{"192.0.2.16:80/tcp", "rr", .real = {"10.0.0.6"}},
	{"[2001:db8::16]:80/tcp", "rr", .real = {"2001:db8:1::6"}},
	{"192.0.2.17:80/tcp", "rr", .real = {"10.0.0.7"}},
	{"[2001:db8::17]:80/tcp", "rr", .real = {"2001:db8:1::7"}},
	{.endpoint = NULL},
};

static const struct lab_hop hops[] = {
	{"10.0.0.2", .ifindex = LAB_OTHER_IFINDEX},
	{"2001:db8:1::2", .ifindex = LAB_OTHER_IFINDEX},
	{"10.0.0.5", .unresolved = true},
	{"2001:db8:1::5", .unresolved = true},
	{"10.0.0.6", .vid = {100}},
	{"2001:db8:1::6", .vid = {100}},
	{"10.0.0.7", .vid = {200, 300}, .tpid = {0x88a8, 0x8100}},
	{"2001:db8:1::7", .vid = {200, 300}, .tpid = {0x88a8, 0x8100}},
};

static const struct packet_spec syn_out4 = {.source = VIP_IPV4,
                                            .dest = CLIENT_IPV4,
                                            .source_port = 80,
                                            .dest_port = 40000,
                                            .flags = SPEC_ACK};
static const struct packet_spec syn_out6 = {.ipv6 = true,
                                            .source = VIP_IPV6,
                                            .dest = CLIENT_IPV6,
                                            .source_port = 80,
                                            .dest_port = 40000,
                                            .flags = SPEC_ACK};
static const struct packet_spec odd_out4 = {
	.source = VIP_IPV4, .dest = CLIENT_IPV4, .source_port = 80, .dest_port = 40001};
static const struct packet_spec odd_out6 = {.ipv6 = true,
                                            .source = VIP_IPV6,
                                            .dest = CLIENT_IPV6,
                                            .source_port = 80,
                                            .dest_port = 40001};
static const struct packet_spec other_out4 = {
	.source = "192.0.2.99", .dest = CLIENT_IPV4, .source_port = 80, .dest_port = 40000};
static const struct packet_spec udp_out4 = {.protocol = IPPROTO_UDP,
                                            .source = VIP_IPV4,
                                            .dest = CLIENT_IPV4,
                                            .source_port = 53,
                                            .dest_port = 40000};
static const struct packet_spec udp_out6 = {.ipv6 = true,
                                            .protocol = IPPROTO_UDP,
                                            .source = VIP_IPV6,
                                            .dest = CLIENT_IPV6,
                                            .source_port = 53,
                                            .dest_port = 40000};

struct packet_case {
	const char *name;
	enum xlb_verdict verdict;
	struct packet_spec packet;
	/* for IPv6 where `packet` is IPv4 and the same is meant: addresses instead */
	const char *dest6, *source6;
	bool both;                        /* run for IPv6 as well */
	const struct packet_spec *before; /* sent first: opens the connection */
	size_t l2;                        /* bytes of link layer on the way out; 0: 14 */
};

static const struct packet_spec open4 = {.flags = SPEC_SYN};
static const struct packet_spec open6 = {.ipv6 = true, .flags = SPEC_SYN};
static const struct packet_spec open4_udp = {
	.protocol = IPPROTO_UDP, .dest_port = 53, .payload = 9};
static const struct packet_spec open6_udp = {
	.ipv6 = true, .protocol = IPPROTO_UDP, .dest_port = 53, .payload = 9};
static const struct packet_spec fragment4 = {
	.protocol = IPPROTO_UDP, .dest_port = 53, .more_fragments = true, .payload = 64, .id = 77};

static const struct packet_case cases[] = {
	{.name = "a SYN is sent to the real server",
         .verdict = XLB_SENT,
         .packet = {0},
         .both = true},
	{.name = "a SYN with data too",
         .verdict = XLB_SENT,
         .packet = {.payload = 100},
         .both = true},
	{.name = "a UDP packet is sent",
         .verdict = XLB_SENT,
         .packet = {.protocol = IPPROTO_UDP, .dest_port = 53, .payload = 30},
         .both = true},
	{.name = "an empty UDP packet too",
         .verdict = XLB_SENT,
         .packet = {.protocol = IPPROTO_UDP, .dest_port = 53},
         .both = true},
	{.name = "another interface takes it",
         .verdict = XLB_REDIRECTED,
         .packet = {.dest = "192.0.2.11"},
         .dest6 = "2001:db8::11",
         .both = true},
	{.name = "an ACK of a known connection is sent",
         .verdict = XLB_SENT,
         .packet = {.flags = SPEC_ACK},
         .both = true,
         .before = &open4},
	{.name = "so is data",
         .verdict = XLB_SENT,
         .packet = {.flags = SPEC_ACK | SPEC_PSH, .payload = 512},
         .both = true,
         .before = &open4},
	{.name = "so is a FIN",
         .verdict = XLB_SENT,
         .packet = {.flags = SPEC_FIN | SPEC_ACK},
         .both = true,
         .before = &open4},
	{.name = "so is a RST",
         .verdict = XLB_SENT,
         .packet = {.flags = SPEC_RST},
         .both = true,
         .before = &open4},
	{.name = "a segment without flags of a known connection is sent",
         .verdict = XLB_SENT,
         .packet = {.no_flags = true},
         .both = true,
         .before = &open4},
	{.name = "an ACK that nothing explains passes",
         .verdict = XLB_NO_ENTRY,
         .packet = {.source_port = 41000, .flags = SPEC_ACK},
         .both = true},
	{.name = "a RST that nothing explains passes",
         .verdict = XLB_NO_ENTRY,
         .packet = {.source_port = 41001, .flags = SPEC_RST},
         .both = true},
	{.name = "a FIN that nothing explains passes",
         .verdict = XLB_NO_ENTRY,
         .packet = {.source_port = 41002, .flags = SPEC_FIN},
         .both = true},
	{.name = "SYN with RST opens nothing",
         .verdict = XLB_NO_ENTRY,
         .packet = {.source_port = 41003, .flags = SPEC_SYN | SPEC_RST},
         .both = true},
	{.name = "SYN with ACK opens a connection, as in IPVS",
         .verdict = XLB_SENT,
         .packet = {.source_port = 41004, .flags = SPEC_SYN | SPEC_ACK},
         .both = true},
	{.name = "no flags and no entry passes",
         .verdict = XLB_NO_ENTRY,
         .packet = {.source_port = 41005, .no_flags = true},
         .both = true},
	{.name = "another port is not ours",
         .verdict = XLB_NOT_OURS,
         .packet = {.dest_port = 81},
         .both = true},
	{.name = "another address is not ours",
         .verdict = XLB_NOT_OURS,
         .packet = {.dest = "192.0.2.99"},
         .dest6 = "2001:db8::99",
         .both = true},
	{.name = "UDP to a TCP service is not ours",
         .verdict = XLB_NOT_OURS,
         .packet = {.protocol = IPPROTO_UDP, .payload = 4},
         .both = true},
	{.name = "SCTP is not ours",
         .verdict = XLB_NOT_OURS,
         .packet = {.protocol = 132, .payload = 20},
         .both = true},
	{.name = "GRE is not ours",
         .verdict = XLB_NOT_OURS,
         .packet = {.protocol = 47, .payload = 20},
         .both = true},
	{.name = "a port of 0 is not ours",
         .verdict = XLB_NOT_OURS,
         .packet = {.zero_dest_port = true},
         .both = true},
	{.name = "a client port of 0 is a port",
         .verdict = XLB_SENT,
         .packet = {.zero_source_port = true},
         .both = true},
	{.name = "a standby touches nothing",
         .verdict = XLB_STANDBY,
         .packet = {.dest = "192.0.2.12"},
         .dest6 = "2001:db8::12",
         .both = true},
	{.name = "a weight of 0 takes nobody",
         .verdict = XLB_NO_REAL,
         .packet = {.dest = "192.0.2.13"},
         .dest6 = "2001:db8::13",
         .both = true},
	{.name = "a service without real servers passes",
         .verdict = XLB_NO_REAL,
         .packet = {.dest = "192.0.2.14"},
         .dest6 = "2001:db8::14",
         .both = true},
	{.name = "an unresolved next hop drops",
         .verdict = XLB_DROP_UNRESOLVED,
         .packet = {.dest = "192.0.2.15"},
         .dest6 = "2001:db8::15",
         .both = true},
	{.name = "a tag is put on",
         .verdict = XLB_SENT,
         .packet = {.dest = "192.0.2.16"},
         .dest6 = "2001:db8::16",
         .both = true,
         .l2 = 18},
	{.name = "two tags are put on",
         .verdict = XLB_SENT,
         .packet = {.dest = "192.0.2.17"},
         .dest6 = "2001:db8::17",
         .both = true,
         .l2 = 22},
	{.name = "a tag is taken off",
         .verdict = XLB_SENT,
         .packet = {.vlan = {7}, .tags = 1},
         .both = true},
	{.name = "two tags are taken off",
         .verdict = XLB_SENT,
         .packet = {.vlan = {8, 9}, .tags = 2, .ad = true},
         .both = true},
	{.name = "a tag is changed",
         .verdict = XLB_SENT,
         .packet = {.dest = "192.0.2.16", .vlan = {7}, .tags = 1},
         .dest6 = "2001:db8::16",
         .both = true,
         .l2 = 18},
	{.name = "a tag that we do not have is not ours",
         .verdict = XLB_OTHER_MAC,
         .packet = {.vlan = {77}, .tags = 1},
         .both = true},
	{.name = "a third tag is not ours",
         .verdict = XLB_NOT_OURS,
         .packet = {.vlan = {7, 8, 9}, .tags = 3},
         .both = true},
	{.name = "priority bits of a tag do not matter",
         .verdict = XLB_SENT,
         .packet = {.vlan = {7 | 5 << 13}, .tags = 1},
         .both = true},
	{.name = "a frame to another station passes",
         .verdict = XLB_OTHER_MAC,
         .packet = {.dmac = OTHER_MAC},
         .both = true},
	{.name = "a broadcast frame passes",
         .verdict = XLB_OTHER_MAC,
         .packet = {.dmac = BROADCAST_MAC},
         .both = true},
	{.name = "a multicast frame passes",
         .verdict = XLB_OTHER_MAC,
         .packet = {.dmac = MULTICAST_MAC},
         .both = true},
	{.name = "a TTL of 2 is enough", .verdict = XLB_SENT, .packet = {.ttl = 2}, .both = true},
	{.name = "just the MTU is sent",
         .verdict = XLB_SENT,
         .packet = {.flags = SPEC_ACK, .payload = 1460},
         .before = &open4},
	{.name = "one byte more drops",
         .verdict = XLB_DROP_TOO_BIG,
         .packet = {.flags = SPEC_ACK, .payload = 1461},
         .before = &open4},
	{.name = "IPv6: just the MTU is sent",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, .flags = SPEC_ACK, .payload = 1440},
         .before = &open6},
	{.name = "options that ask for nothing are kept",
         .verdict = XLB_SENT,
         .packet = {.options = NOPS, .options_length = 4}},
	{.name = "record route is kept",
         .verdict = XLB_SENT,
         .packet = {.options = RECORD_ROUTE, .options_length = 8}},
	{.name = "a loose source route drops",
         .verdict = XLB_DROP_SOURCE_ROUTE,
         .packet = {.options = SOURCE_ROUTE, .options_length = 8}},
	{.name = "a strict source route drops",
         .verdict = XLB_DROP_SOURCE_ROUTE,
         .packet = {.options = STRICT_ROUTE, .options_length = 8}},
	{.name = "a source route to somebody else passes",
         .verdict = XLB_NOT_OURS,
         .packet = {.dest = "192.0.2.99", .options = SOURCE_ROUTE, .options_length = 8}},
	{.name = "an option longer than the header is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.options = OPTION_TOO_LONG, .options_length = 4}},
	{.name = "an option shorter than itself is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.options = OPTION_TOO_SHORT, .options_length = 4}},
	{.name = "a header length below 5 is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.ihl = 4}},
	{.name = "a version of 5 is malformed", .verdict = XLB_MALFORMED, .packet = {.version = 5}},
	{.name = "IPv6: a version of 4 is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.ipv6 = true, .version = 4}},
	{.name = "a total length beyond the frame is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.total_length_error = 10},
         .both = true},
	{.name = "a total length below the header is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.total_length_error = -30}},
	{.name = "bytes behind the total length are padding",
         .verdict = XLB_SENT,
         .packet = {.payload = 20, .total_length_error = -6}},
	{.name = "a truncated TCP header is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.cut = 3},
         .both = true},
	{.name = "a truncated UDP header is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.protocol = IPPROTO_UDP, .dest_port = 53, .cut = 3},
         .both = true},
	{.name = "a truncated IP header is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.cut = 26}},
	{.name = "IPv6: a truncated header is malformed",
         .verdict = XLB_MALFORMED,
         .packet = {.ipv6 = true, .cut = 30}},
	{.name = "IPv6: hop-by-hop options are walked",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, EXT(0)}},
	{.name = "IPv6: destination options are walked",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, EXT(60)}},
	{.name = "IPv6: a routing header is walked",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, EXT(43)}},
	{.name = "IPv6: six extension headers are walked",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, EXT(0, 60, 43, 60, 60, 60)}},
	{.name = "IPv6: seven are not ours",
         .verdict = XLB_NOT_OURS,
         .packet = {.ipv6 = true, EXT(0, 60, 43, 60, 60, 60, 60)}},
	{.name = "IPv6: an atomic fragment is a whole packet",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, EXT(44)}},
	{.name = "IPv6: ESP is not ours",
         .verdict = XLB_NOT_OURS,
         .packet = {.ipv6 = true, .protocol = 50, .payload = 20}},
	{.name = "IPv6: a mapped destination is nobody's",
         .verdict = XLB_NOT_OURS,
         .packet = {.ipv6 = true, .dest = "::ffff:192.0.2.10"}},
	{.name = "IPv6: a mapped source is nobody's",
         .verdict = XLB_NOT_OURS,
         .packet = {.ipv6 = true, .source = "::ffff:198.51.100.7"}},
	{.name = "a source of 0.0.0.1 is martian",
         .verdict = XLB_MARTIAN,
         .packet = {.source = "0.0.0.1"}},
	{.name = "a source of 127.0.0.1 is martian",
         .verdict = XLB_MARTIAN,
         .packet = {.source = "127.0.0.1"}},
	{.name = "a multicast source is martian",
         .verdict = XLB_MARTIAN,
         .packet = {.source = "224.0.0.1"}},
	{.name = "a broadcast source is martian",
         .verdict = XLB_MARTIAN,
         .packet = {.source = "255.255.255.255"}},
	{.name = "IPv6: loopback as source is martian",
         .verdict = XLB_MARTIAN,
         .packet = {.ipv6 = true, .source = "::1"}},
	{.name = "IPv6: no source is martian",
         .verdict = XLB_MARTIAN,
         .packet = {.ipv6 = true, .source = "::"}},
	{.name = "IPv6: a multicast source is martian",
         .verdict = XLB_MARTIAN,
         .packet = {.ipv6 = true, .source = "ff02::1"}},
	{.name = "our own address as source is martian",
         .verdict = XLB_MARTIAN,
         .packet = {.source = "203.0.113.1"},
         .source6 = "2001:db8:aaaa::1",
         .both = true},
	{.name = "a first fragment is sent",
         .verdict = XLB_SENT,
         .packet = {.protocol = IPPROTO_UDP,
                    .dest_port = 53,
                    .more_fragments = true,
                    .payload = 64,
                    .id = 76}},
	{.name = "a later fragment follows it",
         .verdict = XLB_SENT,
         .packet = {.protocol = IPPROTO_UDP, .fragment_offset = 9, .payload = 64, .id = 77},
         .before = &fragment4},
	{.name = "a fragment whose first went elsewhere passes",
         .verdict = XLB_FRAGMENT,
         .packet = {.protocol = IPPROTO_UDP, .fragment_offset = 9, .payload = 64, .id = 99}},
	{.name = "IPv6: a fragment whose first went elsewhere passes",
         .verdict = XLB_FRAGMENT,
         .packet = {.ipv6 = true,
                    .protocol = IPPROTO_UDP,
                    EXT(44),
                    .fragment_offset = 9,
                    .payload = 64,
                    .id = 99}},
	{.name = "an error about a known connection is sent",
         .verdict = XLB_SENT,
         .packet = {.icmp_type = 3, .icmp_code = 4, .inner = &syn_out4},
         .before = &open4},
	{.name = "time exceeded too",
         .verdict = XLB_SENT,
         .packet = {.icmp_type = 11, .inner = &syn_out4},
         .before = &open4},
	{.name = "source quench too",
         .verdict = XLB_SENT,
         .packet = {.icmp_type = 4, .inner = &syn_out4},
         .before = &open4},
	{.name = "an error about a known UDP flow is sent",
         .verdict = XLB_SENT,
         .packet = {.icmp_type = 3, .icmp_code = 3, .inner = &udp_out4},
         .before = &open4_udp},
	{.name = "an error about nothing known passes",
         .verdict = XLB_ICMP_UNKNOWN,
         .packet = {.icmp_type = 3, .icmp_code = 1, .inner = &odd_out4}},
	{.name = "an error about another address passes",
         .verdict = XLB_NOT_OURS,
         .packet = {.icmp_type = 3, .icmp_code = 1, .inner = &other_out4}},
	{.name = "an error with half the ports passes",
         .verdict = XLB_MALFORMED,
         .packet = {.icmp_type = 3, .inner = &syn_out4, .inner_bytes = 2}},
	{.name = "an echo request passes",
         .verdict = XLB_NOT_OURS,
         .packet = {.icmp_type = 8, .inner = &syn_out4}},
	{.name = "a redirect passes",
         .verdict = XLB_NOT_OURS,
         .packet = {.icmp_type = 5, .inner = &syn_out4}},
	{.name = "ICMPv6: packet too big is sent",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, .icmp_type = 2, .inner = &syn_out6},
         .before = &open6},
	{.name = "ICMPv6: unreachable is sent",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, .icmp_type = 1, .inner = &syn_out6},
         .before = &open6},
	{.name = "ICMPv6: time exceeded is sent",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, .icmp_type = 3, .inner = &syn_out6},
         .before = &open6},
	{.name = "ICMPv6: about a UDP flow",
         .verdict = XLB_SENT,
         .packet = {.ipv6 = true, .icmp_type = 1, .icmp_code = 4, .inner = &udp_out6},
         .before = &open6_udp},
	{.name = "ICMPv6: about nothing known passes",
         .verdict = XLB_ICMP_UNKNOWN,
         .packet = {.ipv6 = true, .icmp_type = 1, .inner = &odd_out6}},
	{.name = "ICMPv6: neighbour solicitation passes",
         .verdict = XLB_NOT_OURS,
         .packet = {.ipv6 = true, .icmp_type = 135, .inner = &syn_out6}},
};

static const uint32_t actions[XLB_VERDICT_COUNT] = {
#define XLB_TX                                  XDP_TX
#define XLB_REDIRECT                            XDP_REDIRECT
#define XLB_PASS                                XDP_PASS
#define XLB_DROP                                XDP_DROP
#define XLB_ANSWER                              XDP_TX
#define V(number, name, action, word, sentence) [number] = XLB_##action,
	XLB_VERDICTS(V)
#undef V
};

/* What leaves is what came, but for link layer, TTL and IPv4 checksum. */
static void check_sent(const struct packet_case *row, const struct frame *in,
                       const struct lab_result *result)
{
	const struct frame *out = &result->frame;
	size_t l2 = row->l2 ? row->l2 : 14, length = in->length - in->l3;
	bool ipv6 = in->data[in->l3] >> 4 == 6;
	struct frame expected = *in;

	assert_int_equal(out->l3, l2);
	assert_int_equal(out->length - out->l3, length);
	assert_memory_equal(out->data, ((const uint8_t[]){2, 0, 0, 0, 1}), 5);
	assert_memory_equal(out->data + 6, DIRECTOR_MAC, 6);
	assert_int_equal(out->data[l2 - 2] << 8 | out->data[l2 - 1], ipv6 ? 0x86dd : 0x0800);
	expected.data[in->l3 + (ipv6 ? 7 : 8)]--;
	if (!ipv6) {
		size_t header = (in->data[in->l3] & 15) * 4u;

		assert_int_equal(packet_checksum(out->data + out->l3, header, 0), 0);
		memcpy(expected.data + in->l3 + 10, out->data + out->l3 + 10, 2);
	}
	assert_memory_equal(out->data + out->l3, expected.data + in->l3, length);
}

static void run_case(struct lab *lab, const struct packet_case *row, struct packet_spec packet,
                     const struct packet_spec *before)
{
	struct lab_result result;
	struct frame in;

	if (before) {
		result = lab_send(lab, before);
		assert_true(result.verdict == XLB_SENT);
	}
	packet_build(&packet, &in);
	result = lab_send_frame(lab, &in);
	if (result.verdict != row->verdict || result.action != actions[row->verdict])
		fail_msg("%s (%s): verdict %s, action %u", row->name, packet.ipv6 ? "IPv6" : "IPv4",
		         verdict_word(result.verdict), result.action);
	if (result.action == XDP_TX || result.action == XDP_REDIRECT) {
		check_sent(row, &in, &result);
	} else if (result.action == XDP_PASS) {
		assert_int_equal(result.frame.length, in.length);
		assert_memory_equal(result.frame.data, in.data, in.length);
	}
}

static void every_row_gets_its_verdict(void **state)
{
	struct lab *lab = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct packet_case *row = &cases[i];
		struct packet_spec packet = row->packet;

		run_case(lab, row, packet, row->before);
		if (!row->both)
			continue;
		packet.ipv6 = true;
		if (packet.dest)
			packet.dest = row->dest6;
		if (packet.source)
			packet.source = row->source6;
		run_case(lab, row, packet, row->before ? &open6 : NULL);
	}
	print_message("%zu rows\n", sizeof(cases) / sizeof(cases[0]));
}

static int open_lab(void **state)
{
	struct xlb_addr own[2];
	struct lab *lab = lab_open();

	lab_serve(lab, services);
	for (size_t i = 0; i < sizeof(hops) / sizeof(hops[0]); i++)
		lab_hop(lab, &hops[i]);
	lab_vlan(lab, 7, 0);
	lab_vlan(lab, 8, 9);
	assert_true(addr_parse("203.0.113.1", &own[0]) && addr_parse("2001:db8:aaaa::1", &own[1]));
	assert_int_equal(interfaces_set_locals(lab->interfaces, own, 2), 0);
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
		cmocka_unit_test(every_row_gets_its_verdict),
	};

	return cmocka_run_group_tests(tests, open_lab, close_lab);
}
