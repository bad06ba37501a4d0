// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netmessage.c - rtnetlink messages for tests; see netmessage.h. They carry what the kernel's own carry, as far as anybody reads it.
 */
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/netmessage.h"
#include "xlbd/model/addr.h"

#define ROOM 1024

static void put_kind(struct nlmsghdr *message, const struct test_link *link)
{
	struct nlattr *info = mnl_attr_nest_start(message, IFLA_LINKINFO), *data;

	mnl_attr_put_strz(message, IFLA_INFO_KIND, link->kind);
	data = mnl_attr_nest_start(message, IFLA_INFO_DATA);
	if (strcmp(link->kind, "vlan") == 0)
		mnl_attr_put_u16(message, IFLA_VLAN_ID, link->vlan_id);
	if (link->vlan_protocol)
		mnl_attr_put_u16(message, IFLA_VLAN_PROTOCOL, htons(link->vlan_protocol));
	mnl_attr_nest_end(message, data);
	mnl_attr_nest_end(message, info);
}

bool feed_link(struct network *network, const struct test_link *link)
{
	char buffer[ROOM] __attribute__((aligned(8))) = "";
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));
	const uint8_t mac[6] = {2, 0, 0, 0, 0, link->mac};

	message->nlmsg_type = RTM_NEWLINK;
	header->ifi_index = (int)link->ifindex;
	header->ifi_type = link->loopback ? ARPHRD_LOOPBACK : ARPHRD_ETHER;
	header->ifi_flags = link->down ? 0 : IFF_UP | IFF_LOWER_UP;
	header->ifi_flags |= link->loopback ? IFF_LOOPBACK : 0;
	mnl_attr_put_strz(message, IFLA_IFNAME, link->name);
	mnl_attr_put_u32(message, IFLA_MTU, 1500);
	mnl_attr_put(message, IFLA_ADDRESS, sizeof(mac), mac);
	if (link->lower)
		mnl_attr_put_u32(message, IFLA_LINK, link->lower);
	if (link->elsewhere)
		mnl_attr_put_u32(message, IFLA_LINK_NETNSID, 0);
	if (link->kind)
		put_kind(message, link);
	return network_take(network, message);
}

bool feed_link_gone(struct network *network, uint32_t ifindex)
{
	char buffer[ROOM] __attribute__((aligned(8))) = "";
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));

	message->nlmsg_type = RTM_DELLINK;
	header->ifi_index = (int)ifindex;
	return network_take(network, message);
}

static bool feed(struct network *network, uint16_t type, uint32_t ifindex, const char *text)
{
	char buffer[ROOM] __attribute__((aligned(8))) = "";
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifaddrmsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));
	struct xlb_addr addr;

	if (!addr_parse(text, &addr))
		abort();
	message->nlmsg_type = type;
	header->ifa_family = (unsigned char)addr_family(&addr);
	header->ifa_index = ifindex;
	mnl_attr_put(message, IFA_ADDRESS, addr_is_ipv4(&addr) ? 4 : 16,
	             addr_is_ipv4(&addr) ? &addr.byte[12] : addr.byte);
	return network_take(network, message);
}

bool feed_address(struct network *network, uint32_t ifindex, const char *text)
{
	return feed(network, RTM_NEWADDR, ifindex, text);
}

bool feed_address_gone(struct network *network, uint32_t ifindex, const char *text)
{
	return feed(network, RTM_DELADDR, ifindex, text);
}
