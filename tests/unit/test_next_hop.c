// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_next_hop.c - routes, links and MACs put together: tags in the order of the wire, the sender's MAC, the MTU, and what fails first.
 * Also the walk down from a link (network_path()), with VLANs that the kernel at hand need not have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/rtnetlink.h>

#include "tests/unit/netmessage.h"
#include "xlbd/model/addr.h"
#include "xlbd/next_hop.h"

static const struct test_link links[] = {
	{.ifindex = 1, .name = "lo", .loopback = true},
	{.ifindex = 2, .name = "eth0", .mac = 2},
	{.ifindex = 3, .name = "eth0.100", .kind = "vlan", .lower = 2, .vlan_id = 100, .mac = 2},
	{.ifindex = 4,
         .name = "svlan",
         .kind = "vlan",
         .lower = 2,
         .vlan_id = 7,
         .vlan_protocol = ETH_P_8021AD,
         .mac = 2},
	{.ifindex = 5, .name = "cvlan", .kind = "vlan", .lower = 4, .vlan_id = 9, .mac = 2},
	{.ifindex = 6, .name = "third", .kind = "vlan", .lower = 5, .vlan_id = 11, .mac = 2},
	{.ifindex = 7, .name = "vrrp.51", .kind = "macvlan", .lower = 3, .mac = 0x51},
	{.ifindex = 8, .name = "bond0", .kind = "bond", .mac = 8},
	{.ifindex = 9, .name = "bond0.5", .kind = "vlan", .lower = 8, .vlan_id = 5, .mac = 8},
	{.ifindex = 10, .name = "team0", .kind = "team", .mac = 10},
	{.ifindex = 11,
         .name = "inner",
         .kind = "macvlan",
         .lower = 2,
         .elsewhere = true,
         .mac = 11},
	{.ifindex = 12, .name = "eth1", .down = true, .mac = 12},
	{.ifindex = 13, .name = "loop1", .kind = "macvlan", .lower = 14, .mac = 13},
	{.ifindex = 14, .name = "loop2", .kind = "macvlan", .lower = 13, .mac = 14},
};

static int set_up(void **state)
{
	struct network *network = network_new();

	assert_non_null(network);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		assert_true(feed_link(network, &links[i]));
	*state = network;
	return 0;
}

static int tear_down(void **state)
{
	network_stop(*state);
	return 0;
}

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x99};

static struct next_hop hop_of(struct network *network, const struct route_info *route,
                              const uint8_t *known)
{
	struct xlb_addr target;

	assert_true(addr_parse("10.0.0.5", &target));
	return next_hop_make(network, &target, route, known);
}

static void tags_are_sent_outermost_first(void **state)
{
	struct next_hop hop =
		hop_of(*state, &(struct route_info){.type = RTN_UNICAST, .ifindex = 5}, mac);

	assert_int_equal(hop.state, NEXT_HOP_RESOLVED);
	assert_int_equal(hop.path.ifindex, 2);
	assert_int_equal(hop.path.tpid[0], __builtin_bswap16(ETH_P_8021AD));
	assert_int_equal(hop.path.vid[0], 7);
	assert_int_equal(hop.path.tpid[1], __builtin_bswap16(ETH_P_8021Q));
	assert_int_equal(hop.path.vid[1], 9);
	assert_memory_equal(hop.dmac, mac, 6);
}

static void one_tag_leaves_the_second_place_empty(void **state)
{
	struct link_path path;

	assert_int_equal(network_path(*state, 3, &path), 0);
	assert_int_equal(path.ifindex, 2);
	assert_int_equal(path.vid[0], 100);
	assert_int_equal(path.tpid[0], __builtin_bswap16(ETH_P_8021Q));
	assert_int_equal(path.tpid[1], 0);
}

static void a_macvlan_on_a_vlan_sends_tagged_with_its_own_mac(void **state)
{
	struct next_hop hop =
		hop_of(*state, &(struct route_info){.type = RTN_UNICAST, .ifindex = 7}, mac);

	assert_int_equal(hop.path.ifindex, 2);
	assert_int_equal(hop.path.vid[0], 100);
	assert_int_equal(hop.smac[5], 0x51);
	assert_int_equal(hop.ifindex, 7);
}

static void more_tags_than_two_are_refused(void **state)
{
	char text[NETWORK_PROBLEM_TEXT];
	struct link_path path = {.ifindex = 77};

	assert_int_equal(network_path(*state, 6, &path), -EOPNOTSUPP);
	assert_int_equal(path.ifindex, 77);
	assert_string_equal(network_path_problem(*state, 6, text),
	                    "more than 2 VLAN tags above svlan");
}

static void bonds_and_teams_are_refused_also_below_a_vlan(void **state)
{
	char text[NETWORK_PROBLEM_TEXT];
	struct link_path path;

	assert_int_equal(network_path(*state, 8, &path), -EOPNOTSUPP);
	assert_int_equal(network_path(*state, 9, &path), -EOPNOTSUPP);
	assert_int_equal(network_path(*state, 10, &path), -EOPNOTSUPP);
	assert_string_equal(network_path_problem(*state, 9, text),
	                    "bond0 is a bond: its driver decides where a frame goes, XDP cannot");
	assert_int_equal(
		hop_of(*state, &(struct route_info){.type = RTN_UNICAST, .ifindex = 9}, mac).state,
		NEXT_HOP_UNSUPPORTED);
}

static void devices_in_a_circle_end_the_walk(void **state)
{
	struct link_path path;

	assert_int_equal(network_path(*state, 13, &path), -EOPNOTSUPP);
}

static void a_macvlan_of_another_namespace_is_its_own_lowest_device(void **state)
{
	struct link_path path;

	assert_int_equal(network_path(*state, 11, &path), 0);
	assert_int_equal(path.ifindex, 11);
}

static void what_fails_first_is_said(void **state)
{
	static const struct {
		struct route_info route;
		enum next_hop_state state;
	} rows[] = {
		{{.error = -ENETUNREACH, .ifindex = 2}, NEXT_HOP_NO_ROUTE},
		{{.type = RTN_UNREACHABLE, .ifindex = 2}, NEXT_HOP_NO_ROUTE},
		{{.type = RTN_LOCAL, .ifindex = 1}, NEXT_HOP_LOCAL},
		{{.type = RTN_UNICAST, .ifindex = 12}, NEXT_HOP_NO_ROUTE},
		{{.type = RTN_UNICAST, .ifindex = 99}, NEXT_HOP_NO_ROUTE},
		{{.type = RTN_UNICAST, .ifindex = 2}, NEXT_HOP_RESOLVED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(hop_of(*state, &rows[i].route, mac).state, rows[i].state);
	assert_int_equal(hop_of(*state, &rows[5].route, NULL).state, NEXT_HOP_RESOLVING);
	assert_string_equal(next_hop_state_name(NEXT_HOP_NO_ROUTE), "no route");
	assert_string_equal(next_hop_state_name((enum next_hop_state)99), "?");
}

static void the_smaller_mtu_counts(void **state)
{
	struct route_info route = {.type = RTN_UNICAST, .ifindex = 2, .mtu = 1400};

	assert_int_equal(hop_of(*state, &route, mac).mtu, 1400);
	route.mtu = 9000;
	assert_int_equal(hop_of(*state, &route, mac).mtu, 1500);
	route.mtu = 0;
	assert_int_equal(hop_of(*state, &route, mac).mtu, 1500);
}

static void every_difference_counts_as_one(void **state)
{
	struct route_info route = {.type = RTN_UNICAST, .ifindex = 5};
	struct next_hop a = hop_of(*state, &route, mac), b = a;

	assert_true(next_hop_equal(&a, &b));
	for (size_t i = 0; i < 4; i++) {
		b = a;
		switch (i) {
		case 0:
			b.dmac[5]++;
			break;
		case 1:
			b.path.vid[1]++;
			break;
		case 2:
			b.gateway.byte[15]++;
			break;
		default:
			b.mtu++;
		}
		assert_false(next_hop_equal(&a, &b));
	}
}

static void macs_of_a_link_are_its_own_and_its_vmacs(void **state)
{
	uint8_t macs[4][6];

	assert_int_equal(network_macs(*state, 3, macs, 4), 2);
	assert_int_equal(macs[0][5], 2);
	assert_int_equal(macs[1][5], 0x51);
	assert_int_equal(network_macs(*state, 1, macs, 4), 0);
}

static void a_link_that_goes_takes_its_addresses_along(void **state)
{
	struct xlb_addr addr;

	assert_true(addr_parse("10.1.1.1", &addr));
	assert_true(feed_address(*state, 2, "10.1.1.1"));
	assert_false(feed_address(*state, 2, "10.1.1.1"));
	assert_true(feed_address(*state, 1, "10.1.1.1"));
	assert_int_equal(network_address(*state, &addr, NULL), 2); /* lo only if nobody else */
	assert_true(feed_link_gone(*state, 2));
	assert_int_equal(network_address(*state, &addr, NULL), 1);
	assert_false(feed_link_gone(*state, 2));
	assert_null(network_link(*state, 2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tags_are_sent_outermost_first),
		TEST(one_tag_leaves_the_second_place_empty),
		TEST(a_macvlan_on_a_vlan_sends_tagged_with_its_own_mac),
		TEST(more_tags_than_two_are_refused),
		TEST(bonds_and_teams_are_refused_also_below_a_vlan),
		TEST(devices_in_a_circle_end_the_walk),
		TEST(a_macvlan_of_another_namespace_is_its_own_lowest_device),
		TEST(what_fails_first_is_said),
		TEST(the_smaller_mtu_counts),
		TEST(every_difference_counts_as_one),
		TEST(macs_of_a_link_are_its_own_and_its_vmacs),
		TEST(a_link_that_goes_takes_its_addresses_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
