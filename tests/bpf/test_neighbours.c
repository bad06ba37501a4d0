// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_neighbours.c - next hops beside the real kernel: ARP and NDP that are answered, that change, that stay unanswered; routes
 * that move; and what a thousand targets cost.
 *
 * This namespace is the director: `near` leads to the peer's `near0`, `far` to its `far0`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "tests/bpf/netlab.h"
#include "xlbd/model/addr.h"
#include "xlbd/neighbours.h"

enum { MANY = 1000 };

struct lab {
	struct event_base *base;
	struct network *network;
	struct neighbours *neighbours;
	pid_t peer;
	unsigned told;
	bool deaf; /* links and addresses do not lead to a look: what does is the test's subject */
	/* for conditions */
	struct xlb_addr target;
	enum next_hop_state state;
	const char *device;
	const uint8_t *dmac;
};

static void network_changed(void *context)
{
	struct lab *lab = context;

	if (lab->neighbours && !lab->deaf)
		neighbours_refresh(lab->neighbours);
}

static void hop_changed(void *context, const struct xlb_addr *addr, const struct next_hop *hop)
{
	struct lab *lab = context;

	(void)addr;
	(void)hop;
	lab->told++;
}

static int set_up(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	netlab_again();
	lab->peer = netlab_peer();
	/* addresses of IPv6 that become usable only after a second would lead to looks of their own */
	netlab_run("sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0");
	netlab_run("ip link add near type veth peer name near0 netns %d && "
	           "ip link add far type veth peer name far0 netns %d && "
	           "ip link set near up && ip link set far up && "
	           "ip addr add 10.3.0.1/16 dev near && ip addr add 10.4.0.1/16 dev far && "
	           "ip addr add 2001:db8:3::1/64 dev near nodad",
	           (int)lab->peer, (int)lab->peer);
	netlab_peer_run(lab->peer,
	                "sh -c 'ip link set near0 address 02:00:00:00:00:31 up; "
	                "ip link set far0 address 02:00:00:00:00:41 up; "
	                "ip addr add 10.3.0.2/16 dev near0; ip addr add 10.4.0.2/16 dev far0; "
	                "ip addr add 2001:db8:3::2/64 dev near0 nodad; "
	                "sysctl -qw net.ipv4.conf.all.arp_ignore=1'");
	lab->base = event_base_new();
	assert_int_equal(network_start(lab->base, network_changed, lab, &lab->network), 0);
	assert_int_equal(
		neighbours_start(lab->base, lab->network, hop_changed, lab, &lab->neighbours), 0);
	*state = lab;
	return 0;
}

static int tear_down(void **state)
{
	struct lab *lab = *state;

	neighbours_stop(lab->neighbours);
	network_stop(lab->network);
	event_base_free(lab->base);
	netlab_peer_end(lab->peer);
	free(lab);
	return 0;
}

static const uint8_t near_mac[6] = {2, 0, 0, 0, 0, 0x31}, far_mac[6] = {2, 0, 0, 0, 0, 0x41},
		     new_mac[6] = {2, 0, 0, 0, 0, 0x99};

static bool hop_is(void *context)
{
	const struct lab *lab = context;
	const struct next_hop *hop = neighbours_get(lab->neighbours, &lab->target);
	const struct link_info *link = hop ? network_link(lab->network, hop->ifindex) : NULL;

	if (!hop || hop->state != lab->state)
		return false;
	if (lab->device && (!link || strcmp(link->name, lab->device) != 0))
		return false;
	return !lab->dmac || memcmp(hop->dmac, lab->dmac, 6) == 0;
}

static void set_target(struct lab *lab, const char *text)
{
	assert_true(addr_parse(text, &lab->target));
	assert_int_equal(neighbours_set(lab->neighbours, &lab->target, 1), 0);
}

/* From now on only messages about routes and rules lead to looks; the one that is under way ends first. */
static void listen_to_routes_alone(struct lab *lab)
{
	lab->deaf = true;
	netlab_for(lab->base, 700);
}

/* Waits for the target's next hop to be like that. device, dmac: NULL: any. */
static void expect(struct lab *lab, enum next_hop_state state, const char *device,
                   const uint8_t *dmac, unsigned ms)
{
	lab->state = state;
	lab->device = device;
	lab->dmac = dmac;
	if (netlab_until(lab->base, hop_is, lab, ms))
		return;
	fail_msg("next hop is '%s' after %u ms",
	         next_hop_state_name(neighbours_get(lab->neighbours, &lab->target)->state), ms);
}

static void a_neighbour_that_answers_is_resolved(void **state)
{
	struct lab *lab = *state;
	const struct next_hop *hop;
	struct xlb_addr source;

	set_target(lab, "10.3.0.2");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2000);
	hop = neighbours_get(lab->neighbours, &lab->target);
	assert_memory_equal(hop->smac, network_link_named(lab->network, "near")->mac, 6);
	assert_true(addr_equal(&hop->gateway, &lab->target));
	assert_true(addr_parse("10.3.0.1", &source));
	assert_true(addr_equal(&hop->source, &source));
	assert_int_equal(hop->mtu, 1500);
	assert_int_equal(hop->path.ifindex, hop->ifindex);
	assert_true(lab->told > 0);
}

static void a_neighbour_of_ipv6_is_resolved(void **state)
{
	struct lab *lab = *state;

	set_target(lab, "2001:db8:3::2");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 3000);
}

static void nobody_there_stays_unresolved_and_is_asked_for_again(void **state)
{
	struct lab *lab = *state;

	set_target(lab, "10.3.0.77");
	netlab_for(lab->base, 4500);
	expect(lab, NEXT_HOP_RESOLVING, "near", NULL, 0);
	/* it comes, says nothing by itself, and is found */
	netlab_peer_run(lab->peer, "ip addr add 10.3.0.77/16 dev near0");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2500);
}

static void a_mac_that_changes_is_followed(void **state)
{
	struct lab *lab = *state;

	set_target(lab, "10.3.0.2");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2000);
	netlab_peer_run(lab->peer, "sh -c 'ip link set near0 address 02:00:00:00:00:99; ping -c 1 "
	                           "-W 1 -q 10.3.0.1 >/dev/null'");
	expect(lab, NEXT_HOP_RESOLVED, "near", new_mac, 5000);
}

static void a_permanent_entry_counts_and_stays_permanent(void **state)
{
	struct lab *lab = *state;

	netlab_run("ip neigh add 10.3.0.88 lladdr 02:00:00:00:00:99 nud permanent dev near");
	set_target(lab, "10.3.0.88");
	expect(lab, NEXT_HOP_RESOLVED, "near", new_mac, 0);
	netlab_for(lab->base, 2500);
	expect(lab, NEXT_HOP_RESOLVED, "near", new_mac, 0);
	netlab_run("ip neigh show 10.3.0.88 | grep -q PERMANENT");
}

static void a_flushed_entry_is_asked_for_and_no_packet_is_lost_meanwhile(void **state)
{
	struct lab *lab = *state;
	unsigned told;

	set_target(lab, "10.3.0.2");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2000);
	told = lab->told;
	netlab_run("ip neigh flush dev near");
	netlab_for(lab->base, 1500);
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 0);
	assert_int_equal(lab->told, told);
	netlab_run("ip neigh show 10.3.0.2 | grep -Eq 'REACHABLE|DELAY|PROBE'");
}

static void a_dead_neighbour_is_given_up(void **state)
{
	struct lab *lab = *state;

	netlab_run("sysctl -qw net.ipv4.neigh.near.base_reachable_time_ms=1000 "
	           "net.ipv4.neigh.near.delay_first_probe_time=1");
	set_target(lab, "10.3.0.2");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2000);
	netlab_peer_run(lab->peer, "ip addr del 10.3.0.2/16 dev near0");
	expect(lab, NEXT_HOP_RESOLVING, "near", NULL, 15000);
}

static void a_stale_entry_is_refreshed_though_the_kernel_sends_nothing(void **state)
{
	struct lab *lab = *state;

	netlab_run("sysctl -qw net.ipv4.neigh.near.base_reachable_time_ms=1000 "
	           "net.ipv4.neigh.near.delay_first_probe_time=1");
	set_target(lab, "10.3.0.2");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2000);
	netlab_run("ip neigh change 10.3.0.2 lladdr 02:00:00:00:00:31 nud stale dev near");
	netlab_for(lab->base, 3500);
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 0);
	/* confirmed by an answer in the last seconds: nobody but us has used it */
	netlab_run("ip -s neigh show 10.3.0.2 dev near | grep -Eq 'used [0-9]+/[0-3]/'");
}

static void a_route_that_moves_to_another_device_is_followed(void **state)
{
	struct lab *lab = *state;

	netlab_run("ip route add 10.9.0.0/24 via 10.3.0.2");
	set_target(lab, "10.9.0.5");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2000);
	listen_to_routes_alone(lab);
	netlab_run("ip route replace 10.9.0.0/24 via 10.4.0.2");
	expect(lab, NEXT_HOP_RESOLVED, "far", far_mac, 2500);
	netlab_run("ip route replace unreachable 10.9.0.0/24");
	expect(lab, NEXT_HOP_NO_ROUTE, NULL, NULL, 2500);
}

static void a_policy_rule_is_followed(void **state)
{
	struct lab *lab = *state;

	netlab_run("ip route add 10.9.0.0/24 via 10.3.0.2 && "
	           "ip route add 10.9.0.0/24 via 10.4.0.2 table 100");
	set_target(lab, "10.9.0.5");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2000);
	listen_to_routes_alone(lab);
	netlab_run("ip rule add to 10.9.0.0/24 lookup 100");
	expect(lab, NEXT_HOP_RESOLVED, "far", far_mac, 2500);
}

static void a_gateway_is_the_neighbour_and_the_route_has_its_mtu(void **state)
{
	struct lab *lab = *state;
	const struct next_hop *hop;
	struct xlb_addr gateway;

	netlab_run("ip route add 10.9.0.0/24 via 10.3.0.2 mtu 1400");
	netlab_run("ip route add 10.10.0.0/24 via inet6 2001:db8:3::2 dev near");
	set_target(lab, "10.9.0.5");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2000);
	hop = neighbours_get(lab->neighbours, &lab->target);
	assert_true(addr_parse("10.3.0.2", &gateway));
	assert_true(addr_equal(&hop->gateway, &gateway));
	assert_int_equal(hop->mtu, 1400);
	/* IPv4 behind a gateway of IPv6 */
	set_target(lab, "10.10.0.5");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 3000);
}

static void a_link_that_goes_down_takes_the_next_hop_away(void **state)
{
	struct lab *lab = *state;

	set_target(lab, "10.3.0.2");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 2000);
	netlab_run("ip link set near down");
	expect(lab, NEXT_HOP_NO_ROUTE, NULL, NULL, 2000);
	netlab_run("ip link set near up");
	expect(lab, NEXT_HOP_RESOLVED, "near", near_mac, 4000);
}

static void own_addresses_and_odd_devices_are_named(void **state)
{
	struct lab *lab = *state;

	set_target(lab, "10.3.0.1");
	expect(lab, NEXT_HOP_LOCAL, NULL, NULL, 0);
	set_target(lab, "2001:db8:3::1");
	expect(lab, NEXT_HOP_LOCAL, NULL, NULL, 0);
	set_target(lab, "192.0.2.9");
	expect(lab, NEXT_HOP_NO_ROUTE, NULL, NULL, 0);
	set_target(lab, "2001:db8:ffff::9");
	expect(lab, NEXT_HOP_NO_ROUTE, NULL, NULL, 0);
	netlab_run("ip route add blackhole 10.11.0.0/24 && ip route add prohibit 10.12.0.0/24");
	set_target(lab, "10.11.0.1");
	expect(lab, NEXT_HOP_NO_ROUTE, NULL, NULL, 0);
	set_target(lab, "10.12.0.1");
	expect(lab, NEXT_HOP_NO_ROUTE, NULL, NULL, 0);
	netlab_run("ip link add name bridge0 type bridge && ip link set bridge0 up && "
	           "ip addr add 10.13.0.1/24 dev bridge0 && ip link add name port type veth peer "
	           "name wire && "
	           "ip link set port up master bridge0 && ip link set wire up");
	netlab_for(lab->base, 200);
	set_target(lab, "10.13.0.5");
	expect(lab, NEXT_HOP_UNSUPPORTED, "bridge0", NULL, 2000);
}

static void a_way_over_a_vmac_sends_with_its_mac_by_the_device_below(void **state)
{
	static const uint8_t virtual_mac[6] = {0, 0, 0x5e, 0, 1, 51};
	struct lab *lab = *state;
	const struct next_hop *hop;

	netlab_run("ip link add link far name vrrp.51 address 00:00:5e:00:01:33 type macvlan mode "
	           "private && ip link set vrrp.51 up && ip addr add 10.5.0.1/24 dev vrrp.51");
	netlab_peer_run(lab->peer, "ip addr add 10.5.0.2/24 dev far0");
	set_target(lab, "10.5.0.2");
	expect(lab, NEXT_HOP_RESOLVED, "vrrp.51", far_mac, 4000);
	hop = neighbours_get(lab->neighbours, &lab->target);
	assert_int_equal(hop->path.ifindex, network_link_named(lab->network, "far")->ifindex);
	assert_memory_equal(hop->smac, virtual_mac, 6);
}

static void targets_that_are_not_wanted_any_more_are_forgotten(void **state)
{
	struct lab *lab = *state;
	struct xlb_addr first;

	set_target(lab, "10.3.0.2");
	first = lab->target;
	set_target(lab, "10.4.0.2");
	assert_null(neighbours_get(lab->neighbours, &first));
	expect(lab, NEXT_HOP_RESOLVED, "far", far_mac, 2000);
	assert_int_equal(neighbours_set(lab->neighbours, NULL, 0), 0);
	assert_null(neighbours_get(lab->neighbours, &lab->target));
}

struct crowd {
	struct lab *lab;
	struct xlb_addr targets[MANY];
	enum next_hop_state state;
};

static bool crowd_is(void *context)
{
	const struct crowd *crowd = context;

	for (size_t i = 0; i < MANY; i++)
		if (neighbours_get(crowd->lab->neighbours, &crowd->targets[i])->state !=
		    crowd->state)
			return false;
	return true;
}

/* The most CPU that one turn of the loop took, until all targets are in that state. */
static double longest_turn(struct crowd *crowd, enum next_hop_state state, const char *what)
{
	double begin = netlab_now_ms(), longest = 0;

	crowd->state = state;
	while (!crowd_is(crowd)) {
		double cpu = netlab_cpu_ms();

		assert_true(netlab_now_ms() - begin < 20000);
		event_base_loop(crowd->lab->base, EVLOOP_NONBLOCK);
		cpu = netlab_cpu_ms() - cpu;
		longest = cpu > longest ? cpu : longest;
	}
	printf("neighbours.%s.1000: all after %.1f ms, longest turn of the loop %.2f ms of CPU\n",
	       what, netlab_now_ms() - begin, longest);
	return longest;
}

static void a_thousand_targets_do_not_hold_the_loop_up(void **state)
{
	struct lab *lab = *state;
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	double begin, cpu, longest;

	assert_non_null(crowd);
	crowd->lab = lab;
	netlab_peer_run(lab->peer,
	                "sh -c 'for i in 0 1 2 3; do for j in $(seq 1 250); do echo addr "
	                "add 10.3.1$i.$j/16 dev near0; done; done | ip -batch -'");
	for (unsigned i = 0; i < MANY; i++) {
		char text[ADDR_TEXT];

		snprintf(text, sizeof(text), "10.3.1%u.%u", i / 250, i % 250 + 1);
		assert_true(addr_parse(text, &crowd->targets[i]));
	}
	netlab_run("sysctl -qw net.ipv4.neigh.default.gc_thresh3=8192 2>/dev/null; true");
	begin = netlab_now_ms();
	cpu = netlab_cpu_ms();
	assert_int_equal(neighbours_set(lab->neighbours, crowd->targets, MANY), 0);
	cpu = netlab_cpu_ms() - cpu;
	printf("neighbours.set.1000: %.2f ms, %.2f ms of CPU\n", netlab_now_ms() - begin, cpu);
	longest = longest_turn(crowd, NEXT_HOP_RESOLVED, "resolve");
	begin = netlab_now_ms();
	neighbours_refresh(lab->neighbours);
	printf("neighbours.refresh.1000: %.2f ms\n", netlab_now_ms() - begin);
	netlab_run("ip link set near down");
	longest += longest_turn(crowd, NEXT_HOP_NO_ROUTE, "down");
	netlab_run("ip link set near up");
	longest += longest_turn(crowd, NEXT_HOP_RESOLVED, "up");
	assert_true(cpu < 40); /* the aim is 20; sanitizers double it */
	assert_true(longest <
	            180); /* three turns of 20 ms; a loaded machine may not fail the test */
	free(crowd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_neighbour_that_answers_is_resolved),
		TEST(a_neighbour_of_ipv6_is_resolved),
		TEST(nobody_there_stays_unresolved_and_is_asked_for_again),
		TEST(a_mac_that_changes_is_followed),
		TEST(a_permanent_entry_counts_and_stays_permanent),
		TEST(a_flushed_entry_is_asked_for_and_no_packet_is_lost_meanwhile),
		TEST(a_dead_neighbour_is_given_up),
		TEST(a_stale_entry_is_refreshed_though_the_kernel_sends_nothing),
		TEST(a_route_that_moves_to_another_device_is_followed),
		TEST(a_policy_rule_is_followed),
		TEST(a_gateway_is_the_neighbour_and_the_route_has_its_mtu),
		TEST(a_link_that_goes_down_takes_the_next_hop_away),
		TEST(own_addresses_and_odd_devices_are_named),
		TEST(a_way_over_a_vmac_sends_with_its_mac_by_the_device_below),
		TEST(targets_that_are_not_wanted_any_more_are_forgotten),
		TEST(a_thousand_targets_do_not_hold_the_loop_up),
	};

	netlab_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
