/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * network.h - the host's links and addresses, mirrored from rtnetlink and kept fresh.
 *
 * Who needs to know what an interface is (its MAC, the device below a VLAN or macvlan, its MTU) or whether an address is on
 * it asks here; neighbours.h builds next hops on top.
 */
#ifndef XLBD_NETWORK_H
#define XLBD_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xlb_shared.h"
#include "xlbd/cleanup.h"

struct event_base;
struct network; /* opaque */
struct nlmsghdr;

struct link_info {
	uint32_t ifindex;
	char name[16];
	char kind[16]; /* "veth", "vlan", "macvlan", "bridge", "bond", ...; "" for a NIC */
	uint8_t mac[6];
	uint32_t mtu;
	bool up; /* IFF_UP and carrier */
	bool loopback, ethernet;
	uint32_t lower;   /* ifindex of the device below (IFLA_LINK), 0: none in this namespace */
	uint32_t peer;    /* of kind veth: ifindex of the other end, 0: in another namespace */
	uint32_t master;  /* ifindex of the bridge, bond, ... that it is a port of; 0: none */
	uint16_t vlan_id; /* of kind vlan; host order */
	__be16 vlan_protocol; /* of kind vlan: 802.1Q or 802.1ad */
};

/* The physical way below a link: the lowest device and the tags to send with, outermost first. */
struct link_path {
	uint32_t ifindex;
	__be16 tpid[XLB_TAGS];
	uint16_t vid[XLB_TAGS]; /* host order; 0: none */
};

/* changed(context) runs after links or addresses changed, once per batch of messages. */
int network_start(struct event_base *base, void (*changed)(void *context), void *context,
                  struct network **ret);               /* logs */
struct network *network_stop(struct network *network); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct network, network_stop)

const struct link_info *network_link(const struct network *network,
                                     uint32_t ifindex); /* NULL: none */
const struct link_info *network_link_named(const struct network *network, const char *name);
const struct link_info *network_link_at(const struct network *network,
                                        size_t index); /* NULL after the last */
/*
 * -ENODEV: no such link; -EOPNOTSUPP: not Ethernet, a kind of device that XDP cannot stand in for (bridge, bond, ...), or
 * more than XLB_TAGS tags. macvlan: the device below it. A VLAN or macvlan whose lower device lies in another
 * namespace is its own lowest device.
 */
int network_path(const struct network *network, uint32_t ifindex, struct link_path *ret);
/* The sentence to a failure of network_path(); NULL: it does not fail. Returns `buffer`. */
#define NETWORK_PROBLEM_TEXT 160
const char *network_path_problem(const struct network *network, uint32_t ifindex,
                                 char buffer[NETWORK_PROBLEM_TEXT]);
/* ifindex of a link that has the address; 0: none. name NULL: any link. */
uint32_t network_address(const struct network *network, const struct xlb_addr *addr,
                         const char *name);
/* The address at this place of the mirror, in order; an address on two links stands there twice. NULL after the last. */
const struct xlb_addr *network_address_at(const struct network *network, size_t index);
/*
 * 0: the address is not there; else a number that is new each time the address comes (or comes back) to a link of that name.
 * name NULL: any link.
 */
uint64_t network_address_serial(const struct network *network, const struct xlb_addr *addr,
                                const char *name);
/* Counts the changes of links and addresses. */
uint64_t network_generation(const struct network *network);
/* MACs that frames for this link may be sent to: its own, then those of macvlans (VMACs) on it. Returns their count. */
size_t network_macs(const struct network *network, uint32_t ifindex, uint8_t (*ret)[6],
                    size_t room);

/* The mirror alone, fed by hand: no socket, no events. network_stop() frees it. NULL: out of memory. */
struct network *network_new(void);
/* One message of rtnetlink. True: it changed something. */
bool network_take(struct network *network, const struct nlmsghdr *message);

#endif
