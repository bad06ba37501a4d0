// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_role.c - who owns an address: on its device, on the wrong one, after a BACKUP, after it came back, after lines got lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/netmessage.h"
#include "xlbd/model/addr.h"
#include "xlbd/role.h"

struct world {
	struct network *network;
	struct role *role;
};

static struct declared_address declared(const char *text, const char *device, bool excluded)
{
	struct declared_address address = {.prefix = 32, .excluded = excluded};

	assert_true(addr_parse(text, &address.addr));
	strcpy(address.device, device);
	return address;
}

static void set_instances(struct role *role)
{
	struct declared_address web[] = {declared("10.0.0.1", "eth0", false),
	                                 declared("10.0.0.2", "eth1", true),
	                                 declared("2001:db8::1", "eth0", false)};
	struct declared_address mail[] = {declared("10.0.0.9", "vrrp.51", false)};
	struct vrrp_instance instances[] = {
		{.name = "web", .interface = "eth0", .addresses = web, .address_count = 3},
		{.name = "the mail",
	         .interface = "eth0",
	         .vmac = "vrrp.51",
	         .addresses = mail,
	         .address_count = 1},
	};

	assert_int_equal(
		role_set_instances(role, &(struct keepalived_config){.instances = instances,
	                                                             .instance_count = 2}),
		0);
}

static int set_up(void **state)
{
	static const struct test_link links[] = {
		{.ifindex = 1, .name = "lo", .loopback = true},
		{.ifindex = 2, .name = "eth0", .mac = 2},
		{.ifindex = 3, .name = "eth1", .mac = 3},
		{.ifindex = 4, .name = "vrrp.51", .kind = "macvlan", .lower = 2, .mac = 0x51},
	};
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->network = network_new();
	world->role = role_new();
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		assert_true(feed_link(world->network, &links[i]));
	set_instances(world->role);
	role_refresh(world->role, world->network);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	role_free(world->role);
	network_stop(world->network);
	free(world);
	return 0;
}

static bool owns(const struct world *world, const char *text)
{
	struct xlb_addr addr;

	assert_true(addr_parse(text, &addr));
	return role_owns(world->role, world->network, &addr, NULL);
}

static void add(struct world *world, uint32_t ifindex, const char *text)
{
	assert_true(feed_address(world->network, ifindex, text));
	assert_true(role_refresh(world->role, world->network));
}

static void take_away(struct world *world, uint32_t ifindex, const char *text)
{
	assert_true(feed_address_gone(world->network, ifindex, text));
	assert_true(role_refresh(world->role, world->network));
}

static void an_address_is_owned_on_its_own_device_only(void **state)
{
	struct world *world = *state;

	assert_false(owns(world, "10.0.0.1"));
	add(world, 1, "10.0.0.1"); /* lo: this director is a real server too */
	assert_false(owns(world, "10.0.0.1"));
	add(world, 3, "10.0.0.1");
	assert_false(owns(world, "10.0.0.1"));
	add(world, 2, "10.0.0.1");
	assert_true(owns(world, "10.0.0.1"));
	take_away(world, 2, "10.0.0.1");
	assert_false(owns(world, "10.0.0.1"));
}

static void excluded_and_ipv6_addresses_count_by_themselves(void **state)
{
	struct world *world = *state;

	add(world, 3, "10.0.0.2");
	add(world, 2, "2001:db8::1");
	assert_true(owns(world, "10.0.0.2"));
	assert_true(owns(world, "2001:db8::1"));
	assert_false(owns(world, "10.0.0.1"));
}

static void the_vmac_device_is_where_its_instance_puts_it(void **state)
{
	struct world *world = *state;

	add(world, 2, "10.0.0.9");
	assert_false(owns(world, "10.0.0.9"));
	add(world, 4, "10.0.0.9");
	assert_true(owns(world, "10.0.0.9"));
}

static void a_macvlan_of_the_named_device_is_as_good(void **state)
{
	struct world *world = *state;

	add(world, 4, "10.0.0.1");
	assert_true(owns(world, "10.0.0.1"));
}

static void backup_silences_until_master(void **state)
{
	static const enum vrrp_state silencing[] = {VRRP_BACKUP, VRRP_FAULT, VRRP_STOP,
	                                            VRRP_DELETED};
	struct world *world = *state;

	add(world, 2, "10.0.0.1");
	for (size_t i = 0; i < ARRAY_SIZE(silencing); i++) {
		role_event(world->role, "web", silencing[i]);
		assert_false(owns(world, "10.0.0.1"));
		assert_true(role_refresh(world->role, world->network));
		assert_false(owns(world, "10.0.0.1"));
		role_event(world->role, "web", VRRP_MASTER);
		assert_true(owns(world, "10.0.0.1"));
	}
	role_event(world->role, "web", VRRP_UNKNOWN);
	role_event(world->role, "nobody", VRRP_BACKUP);
	assert_true(owns(world, "10.0.0.1"));
}

static void master_without_the_address_owns_nothing(void **state)
{
	struct world *world = *state;

	role_event(world->role, "web", VRRP_MASTER);
	assert_false(owns(world, "10.0.0.1"));
}

static void an_address_that_comes_after_backup_wins(void **state)
{
	struct world *world = *state;

	add(world, 2, "10.0.0.1");
	role_event(world->role, "web", VRRP_BACKUP);
	take_away(world, 2, "10.0.0.1");
	add(world, 2, "10.0.0.1"); /* the line MASTER was lost */
	assert_true(owns(world, "10.0.0.1"));
}

static void going_and_coming_between_two_looks_is_seen(void **state)
{
	struct world *world = *state;

	add(world, 2, "10.0.0.1");
	role_event(world->role, "web", VRRP_BACKUP);
	assert_true(feed_address_gone(world->network, 2, "10.0.0.1"));
	assert_true(feed_address(world->network, 2, "10.0.0.1"));
	assert_true(owns(world, "10.0.0.1"));
	assert_true(role_refresh(world->role, world->network));
	assert_true(owns(world, "10.0.0.1"));
}

static void one_instance_says_nothing_about_another(void **state)
{
	struct world *world = *state;

	add(world, 2, "10.0.0.1");
	add(world, 4, "10.0.0.9");
	role_event(world->role, "the mail", VRRP_FAULT);
	assert_true(owns(world, "10.0.0.1"));
	assert_false(owns(world, "10.0.0.9"));
}

static void an_address_of_no_instance_is_owned_anywhere(void **state)
{
	struct world *world = *state;
	const char *instance = "unchanged";
	struct xlb_addr addr;

	assert_true(addr_parse("198.51.100.1", &addr));
	assert_false(role_owns(world->role, world->network, &addr, &instance));
	assert_null(instance);
	add(world, 1, "198.51.100.1");
	assert_true(role_owns(world->role, world->network, &addr, &instance));
	assert_null(instance);
	assert_true(addr_parse("10.0.0.9", &addr));
	assert_false(role_owns(world->role, world->network, &addr, &instance));
	assert_string_equal(instance, "the mail");
}

static void a_reload_keeps_what_is_known(void **state)
{
	struct world *world = *state;

	add(world, 2, "10.0.0.1");
	role_event(world->role, "web", VRRP_BACKUP);
	set_instances(world->role);
	assert_true(role_refresh(world->role, world->network));
	assert_false(owns(world, "10.0.0.1"));
	/* gone from the configuration: an address like any other */
	assert_int_equal(role_set_instances(world->role, &(struct keepalived_config){}), 0);
	assert_true(owns(world, "10.0.0.1"));
	assert_int_equal(role_count(world->role), 0);
}

static void nothing_changed_is_said(void **state)
{
	struct world *world = *state;

	add(world, 2, "10.0.0.1");
	assert_false(role_refresh(world->role, world->network));
	assert_false(feed_address(world->network, 2, "10.0.0.1"));
	assert_false(role_refresh(world->role, world->network));
}

static void an_instance_is_shown_with_its_addresses(void **state)
{
	struct world *world = *state;
	struct role_instance shown;

	add(world, 2, "10.0.0.1");
	role_event(world->role, "web", VRRP_MASTER);
	role_refresh(world->role, world->network);
	role_get(world->role, world->network, 0, &shown);
	assert_string_equal(shown.name, "web");
	assert_int_equal(shown.state, VRRP_MASTER);
	assert_string_equal(vrrp_state_name(shown.state), "MASTER");
	assert_int_equal(shown.addresses, 3);
	assert_int_equal(shown.present, 1);
	assert_true(shown.active && shown.since > 0);
	role_get(world->role, world->network, 1, &shown);
	assert_false(shown.active);
	assert_int_equal(shown.since, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_address_is_owned_on_its_own_device_only),
		TEST(excluded_and_ipv6_addresses_count_by_themselves),
		TEST(the_vmac_device_is_where_its_instance_puts_it),
		TEST(a_macvlan_of_the_named_device_is_as_good),
		TEST(backup_silences_until_master),
		TEST(master_without_the_address_owns_nothing),
		TEST(an_address_that_comes_after_backup_wins),
		TEST(going_and_coming_between_two_looks_is_seen),
		TEST(one_instance_says_nothing_about_another),
		TEST(an_address_of_no_instance_is_owned_anywhere),
		TEST(a_reload_keeps_what_is_known),
		TEST(nothing_changed_is_said),
		TEST(an_instance_is_shown_with_its_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
