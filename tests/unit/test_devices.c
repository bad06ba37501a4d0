// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_devices.c - which devices get the program: by name, by virtual address, by default route, by real server; and which cannot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/netmessage.h"
#include "xlbd/devices.h"
#include "xlbd/model/addr.h"

static const struct test_link links[] = {
	{.ifindex = 1, .name = "lo", .loopback = true},
	{.ifindex = 2, .name = "eth0", .mac = 2},
	{.ifindex = 3, .name = "eth0.5", .kind = "vlan", .lower = 2, .vlan_id = 5, .mac = 2},
	{.ifindex = 4, .name = "eth1", .mac = 4},
	{.ifindex = 5, .name = "vrrp.51", .kind = "macvlan", .lower = 4, .mac = 0x51},
	{.ifindex = 6, .name = "br0", .kind = "bridge", .mac = 6},
	{.ifindex = 7, .name = "eth2", .mac = 7},
};

static struct device_choice choices[DEVICES_MAX];

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

static struct xlb_addr addr(const char *text)
{
	struct xlb_addr parsed = {};

	assert_true(addr_parse(text, &parsed));
	return parsed;
}

static void expect(size_t index, const char *name, const char *why, const char *problem)
{
	assert_string_equal(choices[index].name, name);
	assert_string_equal(choices[index].why, why);
	assert_string_equal(choices[index].problem, problem);
}

static void named_interfaces_alone_count(void **state)
{
	char written[][8] = {"eth0.5", "eth9", "lo", "br0", "eth0"};
	char *names[] = {written[0], written[1], written[2], written[3], written[4]};
	struct xlb_addr vip = addr("10.0.0.1");

	assert_true(feed_address(*state, 4, "10.0.0.1"));
	assert_int_equal(devices_choose(*state,
	                                &(struct devices_wanted){.names = names,
	                                                         .name_count = 5,
	                                                         .vips = &vip,
	                                                         .vip_count = 1},
	                                choices, DEVICES_MAX),
	                 4);
	expect(0, "eth0", "named in xlbd.yaml (eth0.5)", "");
	expect(1, "eth9", "named in xlbd.yaml", "there is no interface eth9");
	expect(2, "lo", "named in xlbd.yaml", "lo is the loopback interface");
	expect(3, "br0", "named in xlbd.yaml",
	       "br0 is a bridge: its driver decides where a frame goes, XDP cannot");
	assert_int_equal(choices[0].ifindex, 2);
	assert_int_equal(choices[1].ifindex, 0);
}

static void the_device_below_carries_the_program(void **state)
{
	struct xlb_addr vips[] = {addr("10.0.0.1"), addr("2001:db8::1"), addr("10.0.0.3")};

	assert_true(feed_address(*state, 5, "10.0.0.1"));
	assert_true(feed_address(*state, 3, "2001:db8::1"));
	assert_int_equal(devices_choose(*state,
	                                &(struct devices_wanted){.vips = vips, .vip_count = 3},
	                                choices, DEVICES_MAX),
	                 2);
	expect(0, "eth1", "carries 10.0.0.1 (vrrp.51)", "");
	expect(1, "eth0", "carries 2001:db8::1 (eth0.5)", "");
}

static void an_address_on_lo_speaks_for_no_device_but_the_default_route_does(void **state)
{
	struct xlb_addr vip = addr("198.51.100.1");
	uint32_t defaults[] = {0, 7};

	assert_true(feed_address(*state, 1, "198.51.100.1"));
	assert_int_equal(devices_choose(*state,
	                                &(struct devices_wanted){.vips = &vip,
	                                                         .vip_count = 1,
	                                                         .defaults = defaults,
	                                                         .default_count = 2},
	                                choices, DEVICES_MAX),
	                 1);
	expect(0, "eth2", "default route", "");
}

static void a_standby_is_ready_on_the_devices_of_keepalived(void **state)
{
	const char *devices[] = {"eth0", "eth0.5", "eth7"};

	assert_int_equal(devices_choose(*state,
	                                &(struct devices_wanted){.vip_devices = devices,
	                                                         .vip_device_count = 3},
	                                choices, DEVICES_MAX),
	                 1);
	expect(0, "eth0", "keepalived puts virtual addresses on it", "");
}

static void ways_to_real_servers_come_last_and_odd_ones_are_named(void **state)
{
	struct device_real reals[] = {{addr("10.3.0.1"), 6},
	                              {addr("10.4.0.1"), 3},
	                              {addr("10.5.0.1"), 0},
	                              {addr("10.6.0.1"), 1}};
	uint32_t defaults[] = {2};

	assert_int_equal(devices_choose(*state,
	                                &(struct devices_wanted){.reals = reals,
	                                                         .real_count = 4,
	                                                         .defaults = defaults,
	                                                         .default_count = 1},
	                                choices, DEVICES_MAX),
	                 2);
	expect(0, "eth0", "default route", "");
	expect(1, "br0", "leads to real server 10.3.0.1",
	       "br0 is a bridge: its driver decides where a frame goes, XDP cannot");
}

static void no_more_are_written_than_there_is_room_for(void **state)
{
	uint32_t defaults[] = {2, 4, 7};

	memset(choices, 0, sizeof(choices));
	assert_int_equal(
		devices_choose(*state,
	                       &(struct devices_wanted){.defaults = defaults, .default_count = 3},
	                       choices, 2),
		2);
	assert_int_equal(choices[2].ifindex, 0);
	assert_int_equal(devices_choose(*state, &(struct devices_wanted){}, choices, 2), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(named_interfaces_alone_count),
		TEST(the_device_below_carries_the_program),
		TEST(an_address_on_lo_speaks_for_no_device_but_the_default_route_does),
		TEST(a_standby_is_ready_on_the_devices_of_keepalived),
		TEST(ways_to_real_servers_come_last_and_odd_ones_are_named),
		TEST(no_more_are_written_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
