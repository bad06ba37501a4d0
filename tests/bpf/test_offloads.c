// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_offloads.c - what is said of veth pairs whose settings stand in the way of XDP, and what `fix` sets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>
#include <libmnl/libmnl.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "tests/bpf/netlab.h"
#include "xlbd/offloads.h"

struct lab {
	struct event_base *base;
	struct network *network;
	struct offload_finding findings[OFFLOADS_MAX];
	size_t count;
};

static void changed(void *context)
{
	(void)context;
}

static int set_up(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	netlab_again();
	netlab_run("ip link add name one type veth peer name two && ip link set one up && ip link "
	           "set two up && ip link add name three type veth peer name four && ip link set "
	           "three up && ip link set four up");
	lab->base = event_base_new();
	assert_int_equal(network_start(lab->base, changed, NULL, &lab->network), 0);
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

static uint32_t number(const struct lab *lab, const char *name)
{
	return network_link_named(lab->network, name)->ifindex;
}

static void check(struct lab *lab, const struct offloads_wanted *wanted)
{
	lab->count = offloads_check(lab->network, number(lab, "one"), wanted, lab->findings,
	                            OFFLOADS_MAX);
}

/* The finding with these words in it; NULL: there is none. */
static const struct offload_finding *finding(const struct lab *lab, const char *words)
{
	for (size_t i = 0; i < lab->count; i++)
		if (strstr(lab->findings[i].text, words))
			return &lab->findings[i];
	return NULL;
}

static void checksums_of_the_other_end_are_found_and_fixed(void **state)
{
	struct lab *lab = *state;

	check(lab, &(struct offloads_wanted){});
	assert_int_equal(lab->count, 1);
	assert_string_equal(
		lab->findings[0].text,
		"tx-checksumming is on at two: what it sends lacks its checksum when XDP "
		"forwards it");
	assert_false(lab->findings[0].fixed);
	check(lab, &(struct offloads_wanted){.fix = true});
	assert_true(finding(lab, "tx-checksumming")->fixed);
	check(lab, &(struct offloads_wanted){});
	assert_int_equal(lab->count, 0);
	netlab_run("ethtool -k two | grep -q 'tx-checksum-ip-generic: off'");
}

static void a_veth_that_takes_no_redirected_frames_is_named(void **state)
{
	struct lab *lab = *state;
	static const struct offloads_wanted wanted = {.redirected_to = true, .fix = true};

	check(lab, &wanted);
	if (!finding(lab, "takes no redirected frames")) {
		print_message("this kernel does not tell what drivers can\n");
		skip();
	}
	netlab_run("ethtool -K two gro on");
	check(lab, &wanted);
	assert_null(finding(lab, "takes no redirected frames"));
}

static void another_namespace_is_a_hint(void **state)
{
	struct lab *lab = *state;
	pid_t peer = netlab_peer();

	netlab_run("ip link set two netns %d", (int)peer);
	netlab_for(lab->base, 200);
	check(lab, &(struct offloads_wanted){});
	assert_int_equal(lab->count, 1);
	assert_true(lab->findings[0].hint);
	assert_non_null(finding(lab, "the other end of one is in another namespace"));
	netlab_peer_end(peer);
}

/* A VLAN device on `lower`, as the kernel would tell it: the kernel at hand may have no VLANs. */
static void add_vlan(struct lab *lab, uint32_t lower, uint32_t ifindex)
{
	char buffer[1024] __attribute__((aligned(8))) = "";
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));
	struct nlattr *info, *data;

	message->nlmsg_type = RTM_NEWLINK;
	header->ifi_index = (int)ifindex;
	header->ifi_type = ARPHRD_ETHER;
	mnl_attr_put_strz(message, IFLA_IFNAME, "one.5");
	mnl_attr_put_u32(message, IFLA_LINK, lower);
	mnl_attr_put(message, IFLA_ADDRESS, 6, "\2\0\0\0\0\1");
	info = mnl_attr_nest_start(message, IFLA_LINKINFO);
	mnl_attr_put_strz(message, IFLA_INFO_KIND, "vlan");
	data = mnl_attr_nest_start(message, IFLA_INFO_DATA);
	mnl_attr_put_u16(message, IFLA_VLAN_ID, 5);
	mnl_attr_put_u16(message, IFLA_VLAN_PROTOCOL, __builtin_bswap16(ETH_P_8021Q));
	mnl_attr_nest_end(message, data);
	mnl_attr_nest_end(message, info);
	assert_true(network_take(lab->network, message));
}

static void hidden_tags_matter_only_below_a_vlan(void **state)
{
	struct lab *lab = *state;

	check(lab, &(struct offloads_wanted){});
	assert_null(finding(lab, "VLAN"));
	add_vlan(lab, number(lab, "one"), 900);
	check(lab, &(struct offloads_wanted){});
	assert_non_null(finding(lab, "rx-vlan-offload is on at one: XDP does not see VLAN tags"));
	check(lab, &(struct offloads_wanted){.fix = true});
	assert_true(finding(lab, "rx-vlan-offload")->fixed);
	check(lab, &(struct offloads_wanted){});
	assert_null(finding(lab, "VLAN"));
}

static void strict_rp_filter_matters_if_clients_are_answered_elsewhere(void **state)
{
	struct lab *lab = *state;
	struct offloads_wanted wanted = {.clients = number(lab, "three")};

	netlab_run("sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.one.rp_filter=0");
	check(lab, &wanted);
	assert_null(finding(lab, "rp_filter"));
	netlab_run("sysctl -qw net.ipv4.conf.one.rp_filter=1");
	check(lab, &wanted);
	assert_non_null(
		finding(lab, "rp_filter is strict on one, but clients are answered by three"));
	wanted.clients = number(lab, "one");
	check(lab, &wanted);
	assert_null(finding(lab, "rp_filter"));
	/* the larger of the two counts, and 2 is loose */
	netlab_run("sysctl -qw net.ipv4.conf.all.rp_filter=2");
	wanted.clients = number(lab, "three");
	check(lab, &wanted);
	assert_null(finding(lab, "rp_filter"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(checksums_of_the_other_end_are_found_and_fixed),
		TEST(a_veth_that_takes_no_redirected_frames_is_named),
		TEST(another_namespace_is_a_hint),
		TEST(hidden_tags_matter_only_below_a_vlan),
		TEST(strict_rp_filter_matters_if_clients_are_answered_elsewhere),
	};

	netlab_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
