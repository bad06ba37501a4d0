// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * network.c - the host's links and addresses, as rtnetlink tells them.
 *
 * Two sorted arrays, links by ifindex and addresses by {address, ifindex}, filled by a dump and kept fresh by
 * the messages of three groups. network_take() is the one way in, for dumps, events and tests alike. When the kernel had to
 * drop messages (ENOBUFS) both are dumped again and what no message of the dump confirmed is taken away: `round` numbers the
 * dumps.
 *
 * On top lie the questions that the data plane needs answered: which device really sends for a link (VLAN and macvlan devices
 * are walked down), which MACs frames to it may carry, where an address is. Kinds of devices that XDP cannot stand in
 * for are refused by name: a bridge decides itself by which port a frame leaves, a bond likewise.
 *
 * network_start() opens, dumps and logs; the daemon's callback runs once per batch of messages that changed something.
 */
#include <errno.h>
#include <event2/event.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "xlbd/log.h"
#include "xlbd/model/addr.h"
#include "xlbd/netmessages.h"
#include "xlbd/netsocket.h"
#include "xlbd/network.h"

#define TOPIC "network"

enum {
	DUMP_ATTEMPTS = 5, /* of one table that changes while it is dumped */
	DEPTH = 8,         /* devices on top of each other; the kernel's own limit (MAX_NEST_DEV) */
	RETRY = 5,         /* s, after messages were lost and reading all again failed */
};

struct link {
	struct link_info info;
	unsigned round;
};

struct address {
	struct xlb_addr addr;
	uint32_t ifindex;
	unsigned round;
	uint64_t serial;
};

struct network {
	struct link *links;
	size_t link_count, link_room;
	struct address *addresses;
	size_t address_count, address_room;
	unsigned round;
	uint64_t serial, generation;
	bool dirty; /* something changed since changed() ran */
	bool stale; /* messages were lost, and reading all again failed too */
	struct netsocket *socket;
	struct event *readable;
	void (*changed)(void *context);
	void *context;
};

/* Kinds that may be the lowest device. "" is a NIC. Everything else is refused: its driver decides where a frame goes. */
static const char *const lowest_kinds[] = {"",    "veth",    "tun",  "dummy",
                                           "ifb", "macvlan", "vlan", "netdevsim"};

/* ---- sorted arrays ----------------------------------------------------------------------------- */

/* Makes room for one more element at `index`. NULL: out of memory. */
static void *make_gap(void *array, size_t *count, size_t *room, size_t size, size_t index)
{
	if (*count == *room) {
		size_t wanted = *room ? *room * 2 : 16;

		array = reallocarray(array, wanted, size);
		if (!array)
			return NULL;
		*room = wanted;
	}
	memmove((char *)array + (index + 1) * size, (char *)array + index * size,
	        (*count - index) * size);
	memset((char *)array + index * size, 0, size);
	(*count)++;
	return array;
}

static void close_gap(void *array, size_t *count, size_t size, size_t index)
{
	(*count)--;
	memmove((char *)array + index * size, (char *)array + (index + 1) * size,
	        (*count - index) * size);
}

/* Where the link is or would be. */
static size_t link_place(const struct network *network, uint32_t ifindex)
{
	size_t low = 0, high = network->link_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (network->links[middle].info.ifindex < ifindex)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool link_is_at(const struct network *network, size_t place, uint32_t ifindex)
{
	return place < network->link_count && network->links[place].info.ifindex == ifindex;
}

static int address_order(const struct address *address, const struct xlb_addr *addr,
                         uint32_t ifindex)
{
	int order = addr_compare(&address->addr, addr);

	if (order)
		return order;
	return address->ifindex < ifindex ? -1 : address->ifindex > ifindex;
}

static size_t address_place(const struct network *network, const struct xlb_addr *addr,
                            uint32_t ifindex)
{
	size_t low = 0, high = network->address_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (address_order(&network->addresses[middle], addr, ifindex) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool address_is_at(const struct network *network, size_t place, const struct xlb_addr *addr,
                          uint32_t ifindex)
{
	return place < network->address_count &&
	       address_order(&network->addresses[place], addr, ifindex) == 0;
}

/* ---- one message ------------------------------------------------------------------------------- */

static bool link_equal(const struct link_info *a, const struct link_info *b)
{
	return a->ifindex == b->ifindex && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->kind, b->kind) == 0 && memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 &&
	       a->mtu == b->mtu && a->up == b->up && a->loopback == b->loopback &&
	       a->ethernet == b->ethernet && a->lower == b->lower && a->peer == b->peer &&
	       a->master == b->master && a->vlan_id == b->vlan_id &&
	       a->vlan_protocol == b->vlan_protocol;
}

static bool put_link(struct network *network, const struct link_info *info)
{
	size_t place = link_place(network, info->ifindex);
	struct link *link;
	bool changed;

	if (!link_is_at(network, place, info->ifindex)) {
		void *grown = make_gap(network->links, &network->link_count, &network->link_room,
		                       sizeof(*network->links), place);

		if (!grown)
			return false; /* the next message or dump tries again */
		network->links = grown;
	}
	link = &network->links[place];
	changed = !link_equal(&link->info, info);
	link->info = *info;
	link->round = network->round;
	return changed;
}

static bool remove_link(struct network *network, uint32_t ifindex)
{
	size_t place = link_place(network, ifindex);

	if (!link_is_at(network, place, ifindex))
		return false;
	close_gap(network->links, &network->link_count, sizeof(*network->links), place);
	for (size_t i = network->address_count; i-- > 0;)
		if (network->addresses[i].ifindex == ifindex)
			close_gap(network->addresses, &network->address_count,
			          sizeof(*network->addresses), i);
	return true;
}

static bool put_address(struct network *network, const struct address_info *info)
{
	size_t place = address_place(network, &info->addr, info->ifindex);
	void *grown;

	if (address_is_at(network, place, &info->addr, info->ifindex)) {
		network->addresses[place].round = network->round;
		return false;
	}
	grown = make_gap(network->addresses, &network->address_count, &network->address_room,
	                 sizeof(*network->addresses), place);
	if (!grown)
		return false;
	network->addresses = grown;
	network->addresses[place] = (struct address){.addr = info->addr,
	                                             .ifindex = info->ifindex,
	                                             .round = network->round,
	                                             .serial = ++network->serial};
	return true;
}

static bool remove_address(struct network *network, const struct address_info *info)
{
	size_t place = address_place(network, &info->addr, info->ifindex);

	if (!address_is_at(network, place, &info->addr, info->ifindex))
		return false;
	close_gap(network->addresses, &network->address_count, sizeof(*network->addresses), place);
	return true;
}

static bool take(struct network *network, const struct nlmsghdr *message)
{
	struct address_info address;
	struct link_info link;

	if (netmessage_link(message, &link))
		return message->nlmsg_type == RTM_NEWLINK ? put_link(network, &link)
		                                          : remove_link(network, link.ifindex);
	if (!netmessage_address(message, &address))
		return false;
	return message->nlmsg_type == RTM_NEWADDR && address.usable
	               ? put_address(network, &address)
	               : remove_address(network, &address);
}

bool network_take(struct network *network, const struct nlmsghdr *message)
{
	if (!take(network, message))
		return false;
	network->generation++;
	network->dirty = true;
	return true;
}

/* ---- questions --------------------------------------------------------------------------------- */

const struct link_info *network_link(const struct network *network, uint32_t ifindex)
{
	size_t place = link_place(network, ifindex);

	return link_is_at(network, place, ifindex) ? &network->links[place].info : NULL;
}

const struct link_info *network_link_named(const struct network *network, const char *name)
{
	for (size_t i = 0; i < network->link_count; i++)
		if (strcmp(network->links[i].info.name, name) == 0)
			return &network->links[i].info;
	return NULL;
}

const struct link_info *network_link_at(const struct network *network, size_t index)
{
	return index < network->link_count ? &network->links[index].info : NULL;
}

static bool may_be_lowest(const struct link_info *link)
{
	for (size_t i = 0; i < ARRAY_SIZE(lowest_kinds); i++)
		if (strcmp(link->kind, lowest_kinds[i]) == 0)
			return link->ethernet && !link->loopback;
	return false;
}

/* Walks down from `ifindex`. *ret_link: where the walk ended, also on failure (NULL: no such link). */
static int walk_down(const struct network *network, uint32_t ifindex, struct link_path *path,
                     const struct link_info **ret_link)
{
	size_t tags = 0;

	for (int depth = 0; depth < DEPTH; depth++) {
		const struct link_info *link = network_link(network, ifindex);
		bool vlan = link && link->lower && strcmp(link->kind, "vlan") == 0;

		*ret_link = link;
		if (!link)
			return -ENODEV;
		if (vlan && tags == XLB_TAGS)
			return -E2BIG;
		if (vlan) {
			path->tpid[tags] = link->vlan_protocol;
			path->vid[tags++] = link->vlan_id;
		}
		if (!vlan && !(link->lower && strcmp(link->kind, "macvlan") == 0)) {
			path->ifindex = ifindex;
			return may_be_lowest(link) ? (int)tags : -EOPNOTSUPP;
		}
		ifindex = link->lower;
	}
	return -E2BIG;
}

int network_path(const struct network *network, uint32_t ifindex, struct link_path *ret)
{
	const struct link_info *link;
	struct link_path walked = {}, path = {};
	int tags = walk_down(network, ifindex, &walked, &link);

	if (tags < 0)
		return tags == -ENODEV ? -ENODEV : -EOPNOTSUPP;
	/* met innermost first, sent outermost first */
	path.ifindex = walked.ifindex;
	for (int i = 0; i < tags; i++) {
		path.tpid[i] = walked.tpid[tags - 1 - i];
		path.vid[i] = walked.vid[tags - 1 - i];
	}
	*ret = path;
	return 0;
}

const char *network_path_problem(const struct network *network, uint32_t ifindex,
                                 char buffer[NETWORK_PROBLEM_TEXT])
{
	const struct link_info *link = NULL;
	struct link_path path = {};
	int result = walk_down(network, ifindex, &path, &link);

	if (result >= 0)
		return NULL;
	if (!link)
		snprintf(buffer, NETWORK_PROBLEM_TEXT, "there is no interface %u", ifindex);
	else if (result == -E2BIG)
		snprintf(buffer, NETWORK_PROBLEM_TEXT, "more than %d VLAN tags above %s", XLB_TAGS,
		         link->name);
	else if (link->loopback)
		snprintf(buffer, NETWORK_PROBLEM_TEXT, "%s is the loopback interface", link->name);
	else if (!link->ethernet)
		snprintf(buffer, NETWORK_PROBLEM_TEXT, "%s is not an Ethernet interface",
		         link->name);
	else
		snprintf(buffer, NETWORK_PROBLEM_TEXT,
		         "%s is a %s: its driver decides where a frame goes, XDP cannot",
		         link->name, link->kind);
	return buffer;
}

const struct xlb_addr *network_address_at(const struct network *network, size_t index)
{
	return index < network->address_count ? &network->addresses[index].addr : NULL;
}

/* An address that lo has too is found on the other link first. */
static const struct address *find_address(const struct network *network,
                                          const struct xlb_addr *addr, const char *name)
{
	const struct address *on_loopback = NULL;

	for (size_t i = address_place(network, addr, 0);
	     i < network->address_count && addr_equal(&network->addresses[i].addr, addr); i++) {
		const struct address *address = &network->addresses[i];
		const struct link_info *link = network_link(network, address->ifindex);

		if (name && !(link && strcmp(link->name, name) == 0))
			continue;
		if (!link || !link->loopback)
			return address;
		on_loopback = address;
	}
	return on_loopback;
}

uint32_t network_address(const struct network *network, const struct xlb_addr *addr,
                         const char *name)
{
	const struct address *address = find_address(network, addr, name);

	return address ? address->ifindex : 0;
}

uint64_t network_address_serial(const struct network *network, const struct xlb_addr *addr,
                                const char *name)
{
	const struct address *address = find_address(network, addr, name);

	return address ? address->serial : 0;
}

uint64_t network_generation(const struct network *network)
{
	return network->generation;
}

size_t network_macs(const struct network *network, uint32_t ifindex, uint8_t (*ret)[6], size_t room)
{
	const struct link_info *link = network_link(network, ifindex);
	size_t count = 0;

	if (!link || !link->ethernet)
		return 0;
	if (count < room)
		memcpy(ret[count++], link->mac, sizeof(link->mac));
	for (size_t i = 0; i < network->link_count && count < room; i++) {
		const struct link_info *upper = &network->links[i].info;

		if (upper->lower == ifindex && strcmp(upper->kind, "macvlan") == 0 && upper->up &&
		    memcmp(upper->mac, link->mac, sizeof(link->mac)) != 0)
			memcpy(ret[count++], upper->mac, sizeof(upper->mac));
	}
	return count;
}

/* ---- the socket -------------------------------------------------------------------------------- */

static void take_message(void *context, const struct nlmsghdr *message)
{
	(void)network_take(context, message); /* counts what changed */
}

static int dump_table(struct network *network, void (*ask)(char *buffer))
{
	char buffer[NETSOCKET_QUESTION] __attribute__((aligned(8)));
	int result = -EINTR;

	for (int i = 0; i < DUMP_ATTEMPTS && (result == -EINTR || result == -ENOBUFS); i++) {
		memset(buffer, 0, sizeof(buffer));
		ask(buffer);
		result = netsocket_dump(network->socket, (struct nlmsghdr *)buffer, take_message,
		                        network);
	}
	return result;
}

/* What the last dump did not confirm is not there any more. */
static void drop_unconfirmed(struct network *network)
{
	size_t before = network->address_count + network->link_count;

	for (size_t i = network->address_count; i-- > 0;)
		if (network->addresses[i].round != network->round)
			close_gap(network->addresses, &network->address_count,
			          sizeof(*network->addresses), i);
	for (size_t i = network->link_count; i-- > 0;)
		if (network->links[i].round != network->round)
			(void)remove_link(network, network->links[i].info.ifindex);
	if (network->address_count + network->link_count == before)
		return;
	network->generation++;
	network->dirty = true;
}

static int dump_all(struct network *network)
{
	int result;

	/* an old "is there" still waiting would confirm what a lost message took away */
	netsocket_drain(network->socket);
	network->round++;
	result = dump_table(network, netmessage_ask_links);
	if (result == 0)
		result = dump_table(network, netmessage_ask_addresses);
	if (result == 0)
		drop_unconfirmed(network);
	return result;
}

static void read_messages(evutil_socket_t fd, short what, void *argument)
{
	struct network *network = argument;
	int result = netsocket_read(network->socket, take_message, network);

	(void)fd;
	(void)what;
	if (result == -ENOBUFS)
		log_notice(TOPIC,
		           "messages about links and addresses were lost, reading all again");
	if (result < 0 || network->stale)
		result = dump_all(network);
	if (result < 0 && !network->stale)
		log_errno(result, TOPIC, "cannot read links and addresses");
	network->stale = result < 0;
	if (!network->dirty)
		return;
	network->dirty = false;
	network->changed(network->context);
}

static int open_socket(struct network *network, struct event_base *base)
{
	static const struct timeval retry = {.tv_sec = RETRY};
	static const unsigned groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR};
	int result = netsocket_open(NETLINK_ROUTE, groups, ARRAY_SIZE(groups), &network->socket);

	if (result < 0)
		return log_errno(result, TOPIC, "cannot open an rtnetlink socket");
	result = dump_all(network);
	if (result < 0)
		return log_errno(result, TOPIC, "cannot read links and addresses");
	network->readable = event_new(base, netsocket_fd(network->socket), EV_READ | EV_PERSIST,
	                              read_messages, network);
	if (!network->readable || event_add(network->readable, &retry) < 0)
		return log_errno(-ENOMEM, TOPIC, "cannot wait for links and addresses");
	return 0;
}

struct network *network_new(void)
{
	return calloc(1, sizeof(struct network));
}

int network_start(struct event_base *base, void (*changed)(void *context), void *context,
                  struct network **ret)
{
	_cleanup_(network_stopp) struct network *network = network_new();
	int result;

	if (!network)
		return log_errno(-ENOMEM, TOPIC, "cannot start");
	network->changed = changed;
	network->context = context;
	result = open_socket(network, base);
	if (result < 0)
		return result;
	network->dirty = false;
	log_debug(TOPIC, "%zu links, %zu addresses", network->link_count, network->address_count);
	*ret = take_ptr(network);
	return 0;
}

struct network *network_stop(struct network *network)
{
	if (!network)
		return NULL;
	if (network->readable)
		event_free(network->readable);
	netsocket_close(network->socket);
	free(network->links);
	free(network->addresses);
	free(network);
	return NULL;
}
