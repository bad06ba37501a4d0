// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_network.c - the mirror of links and addresses beside the real kernel: what `ip` does is seen, and told once a batch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <event2/event.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "tests/bpf/netlab.h"
#include "xlbd/model/addr.h"
#include "xlbd/network.h"
#include "xlbd/routes.h"

struct lab {
	struct event_base *base;
	struct network *network;
	unsigned changes;
};

static void changed(void *context)
{
	struct lab *lab = context;

	lab->changes++;
}

static int set_up(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	netlab_again();
	netlab_run("ip link add name one type veth peer name two && ip link set two up");
	lab->base = event_base_new();
	assert_int_equal(network_start(lab->base, changed, lab, &lab->network), 0);
	*state = lab;
	return 0;
}

static int tear_down(void **state)
{
	struct lab *lab = *state;

	network_stop(lab->network);
	event_base_free(lab->base);
	free(lab);
	return 0;
}

static struct xlb_addr addr(const char *text)
{
	struct xlb_addr parsed = {};

	assert_true(addr_parse(text, &parsed));
	return parsed;
}

static bool a_is_up(void *context)
{
	const struct lab *lab = context;
	const struct link_info *link = network_link_named(lab->network, "one");

	return link && link->up;
}

static bool a_is_down(void *context)
{
	return !a_is_up(context);
}

static bool a_is_gone(void *context)
{
	const struct lab *lab = context;

	return !network_link_named(lab->network, "one");
}

static bool has_vip(void *context)
{
	const struct lab *lab = context;
	struct xlb_addr vip = addr("10.1.0.1"), vip6 = addr("2001:db8:1::1");

	return network_address(lab->network, &vip, "one") &&
	       network_address(lab->network, &vip6, "one");
}

static bool has_no_vip(void *context)
{
	const struct lab *lab = context;
	struct xlb_addr vip = addr("10.1.0.1"), vip6 = addr("2001:db8:1::1");

	return !network_address(lab->network, &vip, NULL) &&
	       !network_address(lab->network, &vip6, NULL);
}

static void links_of_the_start_are_there(void **state)
{
	struct lab *lab = *state;
	const struct link_info *a = network_link_named(lab->network, "one");
	const struct link_info *b = network_link_named(lab->network, "two");
	const struct link_info *lo = network_link_named(lab->network, "lo");

	assert_non_null(a);
	assert_non_null(b);
	assert_string_equal(a->kind, "veth");
	assert_int_equal(a->peer, b->ifindex);
	assert_int_equal(a->lower, 0);
	assert_true(a->ethernet);
	assert_int_equal(a->mtu, 1500);
	assert_true(lo->loopback);
	assert_false(lo->ethernet);
	assert_null(network_link(lab->network, 9999));
	assert_null(network_link_at(lab->network, 1000));
}

static void a_link_goes_up_and_down_and_away(void **state)
{
	struct lab *lab = *state;

	assert_true(a_is_down(lab));
	netlab_run("ip link set one up");
	assert_true(netlab_until(lab->base, a_is_up, lab, 2000));
	assert_true(lab->changes > 0);
	/* carrier goes with the other end */
	netlab_run("ip link set two down");
	assert_true(netlab_until(lab->base, a_is_down, lab, 2000));
	netlab_run("ip link del one");
	assert_true(netlab_until(lab->base, a_is_gone, lab, 2000));
}

static void an_address_comes_and_goes_and_its_serial_grows(void **state)
{
	struct lab *lab = *state;
	struct xlb_addr vip = addr("10.1.0.1");
	uint64_t first;

	netlab_run("ip link set one up");
	assert_true(has_no_vip(lab));
	netlab_run(
		"ip addr add 10.1.0.1/32 dev one && ip addr add 2001:db8:1::1/128 dev one nodad");
	assert_true(netlab_until(lab->base, has_vip, lab, 2000));
	assert_int_equal(network_address(lab->network, &vip, "two"), 0);
	first = network_address_serial(lab->network, &vip, "one");
	assert_true(first > 0);
	netlab_run("ip addr del 10.1.0.1/32 dev one && ip addr del 2001:db8:1::1/128 dev one");
	assert_true(netlab_until(lab->base, has_no_vip, lab, 2000));
	netlab_run(
		"ip addr add 10.1.0.1/32 dev one && ip addr add 2001:db8:1::1/128 dev one nodad");
	assert_true(netlab_until(lab->base, has_vip, lab, 2000));
	assert_true(network_address_serial(lab->network, &vip, "one") > first);
}

static bool has_vmac(void *context)
{
	const struct lab *lab = context;
	const struct link_info *vmac = network_link_named(lab->network, "vrrp.51");

	return vmac && vmac->up;
}

static void a_vmac_leads_to_the_device_below_and_lends_it_its_mac(void **state)
{
	static const uint8_t virtual_mac[6] = {0, 0, 0x5e, 0, 1, 51};
	struct lab *lab = *state;
	uint8_t macs[4][6];
	struct link_path path;
	uint32_t a = network_link_named(lab->network, "one")->ifindex;

	netlab_run(
		"ip link set one up && ip link add link one name vrrp.51 address 00:00:5e:00:01:33 "
		"type macvlan mode private && ip link set vrrp.51 up");
	assert_true(netlab_until(lab->base, has_vmac, lab, 2000));
	assert_int_equal(network_path(lab->network,
	                              network_link_named(lab->network, "vrrp.51")->ifindex, &path),
	                 0);
	assert_int_equal(path.ifindex, a);
	assert_int_equal(path.tpid[0], 0);
	assert_int_equal(network_macs(lab->network, a, macs, 4), 2);
	assert_memory_equal(macs[0], network_link_named(lab->network, "one")->mac, 6);
	assert_memory_equal(macs[1], virtual_mac, 6);
	assert_int_equal(network_macs(lab->network, a, macs, 1), 1);
}

static bool has_bridge(void *context)
{
	const struct lab *lab = context;
	const struct link_info *a = network_link_named(lab->network, "one");

	return network_link_named(lab->network, "bridge0") && a->master;
}

static void a_bridge_is_refused_with_a_sentence(void **state)
{
	struct lab *lab = *state;
	char text[NETWORK_PROBLEM_TEXT];
	struct link_path path;
	uint32_t bridge;

	netlab_run("ip link add name bridge0 type bridge && ip link set one master bridge0");
	assert_true(netlab_until(lab->base, has_bridge, lab, 2000));
	bridge = network_link_named(lab->network, "bridge0")->ifindex;
	assert_int_equal(network_path(lab->network, bridge, &path), -EOPNOTSUPP);
	assert_string_equal(
		network_path_problem(lab->network, bridge, text),
		"bridge0 is a bridge: its driver decides where a frame goes, XDP cannot");
	assert_int_equal(network_path(lab->network, 1, &path), -EOPNOTSUPP);
	assert_string_equal(network_path_problem(lab->network, 1, text),
	                    "lo is the loopback interface");
	assert_int_equal(network_path(lab->network, 9999, &path), -ENODEV);
	assert_null(network_path_problem(lab->network,
	                                 network_link_named(lab->network, "two")->ifindex, text));
}

static void the_default_route_is_found_also_behind_others(void **state)
{
	_cleanup_(netsocket_closep) struct netsocket *socket = NULL;
	struct lab *lab = *state;
	struct route_info route = {.ifindex = 77};

	assert_int_equal(netsocket_open(NETLINK_ROUTE, NULL, 0, &socket), 0);
	assert_int_equal(routes_default(socket, AF_INET, &route), -ENETUNREACH);
	assert_int_equal(route.ifindex, 77);
	/* one of the addresses that are asked for is routed in particular */
	netlab_run(
		"ip link set one up && ip addr add 10.1.0.1/24 dev one && ip route add "
		"198.51.100.0/24 dev two && ip route add default via 10.1.0.2 && ip -6 route add "
		"default dev one");
	assert_int_equal(routes_default(socket, AF_INET, &route), 0);
	assert_int_equal(route.ifindex, network_link_named(lab->network, "one")->ifindex);
	assert_int_equal(routes_default(socket, AF_INET6, &route), 0);
	netlab_run("ip route del default && ip route add 0.0.0.0/1 via 10.1.0.2");
	assert_int_equal(routes_default(socket, AF_INET, &route), -ENETUNREACH);
}

static bool has_thousand(void *context)
{
	const struct lab *lab = context;
	struct xlb_addr last = addr("10.2.19.250"), gone = addr("10.2.0.1");

	return network_address(lab->network, &last, "one") &&
	       !network_address(lab->network, &gone, "one");
}

/* The socket's buffer holds some thousand messages; 80 rounds of 250 addresses added and removed overflow it. */
static void lost_messages_are_repaired_by_reading_all_again(void **state)
{
	struct lab *lab = *state;

	netlab_run("ip link set one up && for i in $(seq 0 19); do for j in $(seq 1 250); do echo "
	           "addr add 10.2.$i.$j/32 dev one; done; done | ip -batch -");
	netlab_run("for k in 1 2 3; do for i in $(seq 0 18); do for j in $(seq 1 250); do echo "
	           "addr del 10.2.$i.$j/32 dev one; done; done | ip -batch -;"
	           "[ $k = 3 ] || for i in $(seq 0 18); do for j in $(seq 1 250); do echo "
	           "addr add 10.2.$i.$j/32 dev one; done; done | ip -batch -; done");
	assert_true(netlab_until(lab->base, has_thousand, lab, 5000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(links_of_the_start_are_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_link_goes_up_and_down_and_away, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(an_address_comes_and_goes_and_its_serial_grows,
	                                        set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_vmac_leads_to_the_device_below_and_lends_it_its_mac, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_bridge_is_refused_with_a_sentence, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(the_default_route_is_found_also_behind_others,
	                                        set_up, tear_down),
		cmocka_unit_test_setup_teardown(lost_messages_are_repaired_by_reading_all_again,
	                                        set_up, tear_down),
	};

	netlab_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
