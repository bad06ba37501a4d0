// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_netmessages.c - rtnetlink's messages byte by byte: what is read of them, and that none is read behind its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "xlbd/model/addr.h"
#include "xlbd/netmessages.h"
#include "xlbd/netsocket.h"

/* RTM_NEWLINK of eth0.100, 802.1ad, on ifindex 2, as a little-endian kernel sends it. */
static const uint8_t vlan_link[] __attribute__((aligned(8))) = {
	0x84, 0, 0,    0, 0x10, 0,    0,   0,    0,    0,    0,    0,
	0,    0, 0,    0, /* nlmsghdr: 132 bytes */
	0,    0, 1,    0, 5,    0,    0,   0,    0x43, 0x10, 1,    0,
	0,    0, 0,    0, /* ifinfomsg: 5, up, carrier */
	0x0d, 0, 3,    0, 'e',  't',  'h', '0',  '.',  '1',  '0',  '0',
	0,    0, 0,    0,                                                /* IFLA_IFNAME */
	8,    0, 4,    0, 0xdc, 5,    0,   0,                            /* IFLA_MTU 1500 */
	8,    0, 5,    0, 2,    0,    0,   0,                            /* IFLA_LINK 2 */
	0x0a, 0, 1,    0, 0x52, 0x54, 0,   0x12, 0x34, 0x56, 0,    0,    /* IFLA_ADDRESS */
	0x38, 0, 0x12, 0,                                                /* IFLA_LINKINFO */
	9,    0, 1,    0, 'v',  'l',  'a', 'n',  0,    0,    0,    0,    /* kind */
	0x28, 0, 2,    0,                                                /* data */
	6,    0, 5,    0, 0x88, 0xa8, 0,   0,                            /* protocol */
	6,    0, 1,    0, 100,  0,    0,   0,                            /* id */
	0x0c, 0, 2,    0, 1,    0,    0,   0,    0xff, 0xff, 0xff, 0xff, /* flags */
	8,    0, 3,    0, 0,    0,    0,   0, /* egress priorities: none */
};
_Static_assert(sizeof(vlan_link) == 132, "as its header says");

static const struct nlmsghdr *as_message(const void *bytes)
{
	return bytes;
}

static void a_vlan_device_is_read_with_its_tag(void **state)
{
	static const uint8_t mac[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
	struct link_info link = {};

	(void)state;
	assert_true(netmessage_link(as_message(vlan_link), &link));
	assert_int_equal(link.ifindex, 5);
	assert_string_equal(link.name, "eth0.100");
	assert_string_equal(link.kind, "vlan");
	assert_memory_equal(link.mac, mac, 6);
	assert_int_equal(link.mtu, 1500);
	assert_int_equal(link.lower, 2);
	assert_int_equal(link.vlan_id, 100);
	assert_int_equal(link.vlan_protocol, __builtin_bswap16(ETH_P_8021AD));
	assert_true(link.up && link.ethernet && !link.loopback);
}

/* Every length that the message could be cut to; under ASan a byte too many is a failure. */
static void a_message_that_is_cut_short_is_never_read_behind_its_end(void **state)
{
	(void)state;
	for (size_t length = NLMSG_HDRLEN; length < sizeof(vlan_link); length++) {
		struct nlmsghdr *cut = malloc(length);
		struct address_info address;
		struct neighbour_info neighbour;
		struct route_info route;
		struct link_info link;

		assert_non_null(cut);
		memcpy(cut, vlan_link, length);
		cut->nlmsg_len = (uint32_t)length;
		if (netmessage_link(cut, &link))
			assert_true(length >= NLMSG_HDRLEN + sizeof(struct ifinfomsg));
		cut->nlmsg_type = RTM_NEWADDR;
		(void)netmessage_address(cut, &address); /* only that it comes back */
		cut->nlmsg_type = RTM_NEWROUTE;
		(void)netmessage_route(cut, &route);
		cut->nlmsg_type = RTM_NEWNEIGH;
		(void)netmessage_neighbour(cut, &neighbour);
		free(cut);
	}
}

static void what_is_of_another_kind_is_refused_and_touches_nothing(void **state)
{
	struct link_info link = {.ifindex = 77};
	struct route_info route = {.ifindex = 77};
	char buffer[NETSOCKET_QUESTION] __attribute__((aligned(8))) = "";

	(void)state;
	netmessage_ask_links(buffer);
	assert_false(netmessage_link(as_message(buffer), &link));
	assert_false(netmessage_route(as_message(vlan_link), &route));
	assert_int_equal(link.ifindex, 77);
	assert_int_equal(route.ifindex, 77);
}

static void a_bridge_telling_about_its_port_is_no_link(void **state)
{
	uint8_t bridge[sizeof(vlan_link)] __attribute__((aligned(8)));
	struct link_info link;

	(void)state;
	memcpy(bridge, vlan_link, sizeof(bridge));
	bridge[NLMSG_HDRLEN] = 7; /* AF_BRIDGE */
	assert_false(netmessage_link(as_message(bridge), &link));
}

/* RTM_NEWROUTE of 10.9.0.0/24: gateway fe80::1 by RTA_VIA, device 3, MTU 1400, source 10.3.0.1. */
static const uint8_t via_route[] __attribute__((aligned(8))) = {
	0x50, 0,  0,  0, 0x18, 0, 0,    0,    0,    0, 0, 0, 0, 0, 0, 0,
	2,    24, 0,  0, 254,  3, 0,    1,    0,    0, 0, 0, /* rtmsg: AF_INET /24 unicast */
	8,    0,  4,  0, 3,    0, 0,    0,                   /* RTA_OIF 3 */
	8,    0,  7,  0, 10,   3, 0,    1,                   /* RTA_PREFSRC */
	12,   0,  8,  0, 8,    0, 2,    0,    0x78, 5, 0, 0, /* RTA_METRICS: RTAX_MTU 1400 */
	22,   0,  18, 0, 10,   0, 0xfe, 0x80, 0,    0, 0, 0, 0, 0, 0, 0, /* RTA_VIA: AF_INET6 */
	0,    0,  0,  0, 0,    1, 0,    0,
};
_Static_assert(sizeof(via_route) == 80, "as its header says");

static void a_gateway_may_be_of_the_other_family(void **state)
{
	struct xlb_addr gateway, source;
	struct route_info route;

	(void)state;
	assert_true(addr_parse("fe80::1", &gateway) && addr_parse("10.3.0.1", &source));
	assert_true(netmessage_route(as_message(via_route), &route));
	assert_int_equal(route.type, RTN_UNICAST);
	assert_int_equal(route.prefix, 24);
	assert_int_equal(route.ifindex, 3);
	assert_int_equal(route.mtu, 1400);
	assert_true(addr_equal(&route.gateway, &gateway));
	assert_true(addr_equal(&route.source, &source));
}

static struct nlmsghdr *put_address(char *buffer, uint32_t flags, bool local)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifaddrmsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));

	message->nlmsg_type = RTM_NEWADDR;
	header->ifa_family = AF_INET;
	header->ifa_prefixlen = 32;
	header->ifa_index = 4;
	mnl_attr_put(message, IFA_ADDRESS, 4, "\12\0\0\2");
	if (local)
		mnl_attr_put(message, IFA_LOCAL, 4, "\12\0\0\1");
	mnl_attr_put_u32(message, IFA_FLAGS, flags);
	return message;
}

static void of_two_ends_the_local_one_is_ours(void **state)
{
	char buffer[256] __attribute__((aligned(8))) = "";
	struct address_info address;
	struct xlb_addr ours;

	(void)state;
	assert_true(addr_parse("10.0.0.1", &ours));
	assert_true(netmessage_address(put_address(buffer, 0, true), &address));
	assert_true(addr_equal(&address.addr, &ours));
	assert_int_equal(address.ifindex, 4);
	assert_int_equal(address.prefix, 32);
}

static void a_tentative_address_is_not_usable_yet(void **state)
{
	static const struct {
		uint32_t flags;
		bool usable;
	} rows[] = {
		{0, true},
		{IFA_F_PERMANENT, true},
		{IFA_F_TENTATIVE, false},
		{IFA_F_TENTATIVE | IFA_F_OPTIMISTIC, true},
		{IFA_F_DADFAILED | IFA_F_TENTATIVE | IFA_F_OPTIMISTIC, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char buffer[256] __attribute__((aligned(8))) = "";
		struct address_info address;

		assert_true(
			netmessage_address(put_address(buffer, rows[i].flags, false), &address));
		assert_int_equal(address.usable, rows[i].usable);
	}
}

/* What we send is what `ip neigh` would: RTM_NEWNEIGH, NTF_USE, no MAC. */
static void using_a_neighbour_is_these_bytes(void **state)
{
	static const uint8_t expected[] = {
		0x24, 0, 0, 0, 0x1c, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, /* NLM_F_CREATE */
		2,    0, 0, 0, 3,    0, 0, 0, 0, 0, 1, 0,             /* ndmsg: device 3, NTF_USE */
		8,    0, 1, 0, 10,   0, 0, 9,                         /* NDA_DST */
	};
	char buffer[NETSOCKET_QUESTION] __attribute__((aligned(8))) = "";
	struct xlb_addr addr;

	(void)state;
	assert_true(addr_parse("10.0.0.9", &addr));
	netmessage_use_neighbour(buffer, 3, &addr);
	assert_memory_equal(buffer, expected, sizeof(expected));
}

static void a_proxy_entry_is_no_neighbour(void **state)
{
	char buffer[NETSOCKET_QUESTION] __attribute__((aligned(8))) = "";
	struct neighbour_info neighbour;
	struct xlb_addr addr;
	struct ndmsg *header;

	(void)state;
	assert_true(addr_parse("2001:db8::9", &addr));
	netmessage_use_neighbour(buffer, 3, &addr);
	header = mnl_nlmsg_get_payload((struct nlmsghdr *)buffer);
	header->ndm_state = NUD_STALE;
	mnl_attr_put((struct nlmsghdr *)buffer, NDA_LLADDR, 6, "\2\0\0\0\0\7");
	assert_true(netmessage_neighbour(as_message(buffer), &neighbour));
	assert_true(addr_equal(&neighbour.addr, &addr));
	assert_int_equal(neighbour.state, NUD_STALE);
	assert_true(neighbour.has_mac && neighbour.mac[5] == 7);
	header->ndm_flags = NTF_PROXY;
	assert_false(netmessage_neighbour(as_message(buffer), &neighbour));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vlan_device_is_read_with_its_tag),
		cmocka_unit_test(a_message_that_is_cut_short_is_never_read_behind_its_end),
		cmocka_unit_test(what_is_of_another_kind_is_refused_and_touches_nothing),
		cmocka_unit_test(a_bridge_telling_about_its_port_is_no_link),
		cmocka_unit_test(a_gateway_may_be_of_the_other_family),
		cmocka_unit_test(of_two_ends_the_local_one_is_ours),
		cmocka_unit_test(a_tentative_address_is_not_usable_yet),
		cmocka_unit_test(using_a_neighbour_is_these_bytes),
		cmocka_unit_test(a_proxy_entry_is_no_neighbour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
