// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netmessages.c - what rtnetlink's messages mean, as plain structures, and the questions that we ask.
 *
 * Pure: bytes in, structure out, so that the tests can feed messages of devices that the kernel at hand does not have (VLANs) and
 * messages that are cut short. network.c, neighbours.c and routes.c call it for each message that their socket
 * brings; nobody else reads an attribute of rtnetlink.
 *
 * Two traps stand here once: IFLA_LINK of a veth is its peer and not a device below it, and IFLA_LINK_NETNSID says that the
 * number beside it belongs to another namespace and means nothing here. A route of IPv4 may have a gateway of
 * IPv6 (RTA_VIA).
 */
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "xlbd/model/addr.h"
#include "xlbd/netattributes.h"
#include "xlbd/netmessages.h"

static bool address_of(const struct attributes *attributes, int type, int family,
                       struct xlb_addr *ret)
{
	const void *bytes = attribute_bytes(attributes, type, family == AF_INET ? 4 : 16);

	if (!bytes)
		return false;
	*ret = addr_from_bytes(family, bytes);
	return true;
}

static bool is_ip(int family)
{
	return family == AF_INET || family == AF_INET6;
}

/* The fixed part of a message of one of two types, if it is all there. */
static const void *header_of(const struct nlmsghdr *message, uint16_t new_type, uint16_t del_type,
                             size_t size)
{
	if (message->nlmsg_type != new_type && message->nlmsg_type != del_type)
		return NULL;
	if (mnl_nlmsg_get_payload_len(message) < size)
		return NULL;
	return mnl_nlmsg_get_payload(message);
}

static void link_kind(const struct attributes *attributes, struct link_info *link)
{
	struct attributes info = attributes_nested(attributes->at[IFLA_LINKINFO]);
	struct attributes data = attributes_nested(info.at[IFLA_INFO_DATA]);
	bool here = !attributes->at[IFLA_LINK_NETNSID];

	attribute_string(&info, IFLA_INFO_KIND, link->kind, sizeof(link->kind));
	if (here && strcmp(link->kind, "veth") == 0)
		link->peer = attribute_u32(attributes, IFLA_LINK);
	else if (here)
		link->lower = attribute_u32(attributes, IFLA_LINK);
	if (link->lower == link->ifindex)
		link->lower = 0;
	if (strcmp(link->kind, "vlan") != 0)
		return;
	link->vlan_id = attribute_u16(&data, IFLA_VLAN_ID);
	link->vlan_protocol = attribute_u16(&data, IFLA_VLAN_PROTOCOL);
	if (!link->vlan_protocol)
		link->vlan_protocol = __builtin_bswap16(ETH_P_8021Q);
}

bool netmessage_link(const struct nlmsghdr *message, struct link_info *ret)
{
	const struct ifinfomsg *header =
		header_of(message, RTM_NEWLINK, RTM_DELLINK, sizeof(*header));
	struct link_info link = {};
	struct attributes attributes;
	const void *mac;

	/* other families' RTM_NEWLINK (a bridge telling about its ports) carry only a part */
	if (!header || header->ifi_family != AF_UNSPEC || header->ifi_index <= 0)
		return false;
	attributes = attributes_of(message, sizeof(*header));
	link.ifindex = (uint32_t)header->ifi_index;
	link.up = header->ifi_flags & IFF_UP && header->ifi_flags & IFF_LOWER_UP;
	link.loopback = header->ifi_flags & IFF_LOOPBACK;
	link.mtu = attribute_u32(&attributes, IFLA_MTU);
	link.master = attribute_u32(&attributes, IFLA_MASTER);
	attribute_string(&attributes, IFLA_IFNAME, link.name, sizeof(link.name));
	mac = attribute_bytes(&attributes, IFLA_ADDRESS, sizeof(link.mac));
	link.ethernet = header->ifi_type == ARPHRD_ETHER && mac;
	if (link.ethernet)
		memcpy(link.mac, mac, sizeof(link.mac));
	link_kind(&attributes, &link);
	*ret = link;
	return true;
}

bool netmessage_address(const struct nlmsghdr *message, struct address_info *ret)
{
	const struct ifaddrmsg *header =
		header_of(message, RTM_NEWADDR, RTM_DELADDR, sizeof(*header));
	struct address_info address = {};
	struct attributes attributes;
	uint32_t flags;

	if (!header || !is_ip(header->ifa_family))
		return false;
	attributes = attributes_of(message, sizeof(*header));
	/* on a point-to-point link IFA_ADDRESS is the other end */
	if (!address_of(&attributes, IFA_LOCAL, header->ifa_family, &address.addr) &&
	    !address_of(&attributes, IFA_ADDRESS, header->ifa_family, &address.addr))
		return false;
	flags = attributes.at[IFA_FLAGS] ? attribute_u32(&attributes, IFA_FLAGS)
	                                 : header->ifa_flags;
	address.ifindex = header->ifa_index;
	address.prefix = header->ifa_prefixlen;
	address.usable = !(flags & IFA_F_DADFAILED) &&
	                 (!(flags & IFA_F_TENTATIVE) || flags & IFA_F_OPTIMISTIC);
	*ret = address;
	return true;
}

/* RTA_VIA: a gateway whose family is not the route's. */
static void via_of(const struct attributes *attributes, struct route_info *route)
{
	const struct rtvia *via = attribute_bytes(attributes, RTA_VIA, sizeof(*via) + 4);

	if (!via || !is_ip(via->rtvia_family))
		return;
	if (!attribute_bytes(attributes, RTA_VIA,
	                     sizeof(*via) + (via->rtvia_family == AF_INET ? 4 : 16)))
		return;
	route->gateway = addr_from_bytes(via->rtvia_family, via->rtvia_addr);
}

bool netmessage_route(const struct nlmsghdr *message, struct route_info *ret)
{
	const struct rtmsg *header =
		header_of(message, RTM_NEWROUTE, RTM_DELROUTE, sizeof(*header));
	struct route_info route = {};
	struct attributes attributes, metrics;

	if (!header || !is_ip(header->rtm_family))
		return false;
	attributes = attributes_of(message, sizeof(*header));
	metrics = attributes_nested(attributes.at[RTA_METRICS]);
	route.type = header->rtm_type;
	route.prefix = header->rtm_dst_len;
	route.ifindex = attribute_u32(&attributes, RTA_OIF);
	route.mtu = attribute_u32(&metrics, RTAX_MTU);
	if (!address_of(&attributes, RTA_GATEWAY, header->rtm_family, &route.gateway))
		via_of(&attributes, &route);
	(void)address_of(&attributes, RTA_PREFSRC, header->rtm_family, &route.source); /* or none */
	*ret = route;
	return true;
}

bool netmessage_neighbour(const struct nlmsghdr *message, struct neighbour_info *ret)
{
	const struct ndmsg *header =
		header_of(message, RTM_NEWNEIGH, RTM_DELNEIGH, sizeof(*header));
	struct neighbour_info neighbour = {};
	struct attributes attributes;
	const void *mac;

	if (!header || !is_ip(header->ndm_family) || header->ndm_flags & NTF_PROXY)
		return false;
	attributes = attributes_of(message, sizeof(*header));
	if (!address_of(&attributes, NDA_DST, header->ndm_family, &neighbour.addr))
		return false;
	neighbour.ifindex = (uint32_t)header->ndm_ifindex;
	neighbour.state = header->ndm_state;
	mac = attribute_bytes(&attributes, NDA_LLADDR, sizeof(neighbour.mac));
	neighbour.has_mac = mac != NULL;
	if (mac)
		memcpy(neighbour.mac, mac, sizeof(neighbour.mac));
	*ret = neighbour;
	return true;
}

static void put_address(struct nlmsghdr *message, uint16_t type, const struct xlb_addr *addr)
{
	bool ipv4 = addr_is_ipv4(addr);

	mnl_attr_put(message, type, ipv4 ? 4 : 16, ipv4 ? &addr->byte[12] : &addr->byte[0]);
}

void netmessage_ask_links(char *buffer)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));

	message->nlmsg_type = RTM_GETLINK;
	header->ifi_family = AF_UNSPEC;
	/* virtual functions' statistics would make an answer of a big NIC longer than a datagram */
	mnl_attr_put_u32(message, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
}

void netmessage_ask_addresses(char *buffer)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifaddrmsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));

	message->nlmsg_type = RTM_GETADDR;
	header->ifa_family = AF_UNSPEC;
}

void netmessage_ask_route(char *buffer, const struct xlb_addr *addr, bool match)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct rtmsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));

	message->nlmsg_type = RTM_GETROUTE;
	header->rtm_family = (unsigned char)addr_family(addr);
	header->rtm_dst_len = addr_is_ipv4(addr) ? 32 : 128;
	header->rtm_flags = match ? RTM_F_FIB_MATCH : 0;
	put_address(message, RTA_DST, addr);
}

static struct nlmsghdr *put_neighbour(char *buffer, uint32_t ifindex, const struct xlb_addr *addr,
                                      uint16_t type, uint8_t flags)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ndmsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));

	message->nlmsg_type = type;
	header->ndm_family = (unsigned char)addr_family(addr);
	header->ndm_ifindex = (int)ifindex;
	header->ndm_flags = flags;
	put_address(message, NDA_DST, addr);
	return message;
}

void netmessage_ask_neighbour(char *buffer, uint32_t ifindex, const struct xlb_addr *addr)
{
	put_neighbour(buffer, ifindex, addr, RTM_GETNEIGH, 0);
}

void netmessage_use_neighbour(char *buffer, uint32_t ifindex, const struct xlb_addr *addr)
{
	put_neighbour(buffer, ifindex, addr, RTM_NEWNEIGH, NTF_USE)->nlmsg_flags |= NLM_F_CREATE;
}
