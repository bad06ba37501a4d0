/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netmessages.h - rtnetlink messages <-> links, addresses, routes, neighbours. Pure.
 *
 * Readers return false for a message that is not of their kind, cut short, or of a family that is not IP; *ret is untouched then.
 */
#ifndef XLBD_NETMESSAGES_H
#define XLBD_NETMESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "xlb_shared.h"
#include "xlbd/network.h"

struct nlmsghdr;

struct address_info {
	uint32_t ifindex;
	struct xlb_addr addr;
	uint8_t prefix;
	bool usable; /* not tentative, not a duplicate */
};

struct route_info {
	int error;      /* -errno of the kernel: no way there; 0: the rest is valid */
	uint8_t type;   /* RTN_* */
	uint8_t prefix; /* of the route, if the question asked for it */
	uint32_t ifindex;
	struct xlb_addr gateway; /* zero: none; may be of the other family */
	struct xlb_addr source;  /* preferred; zero: none */
	uint32_t mtu;            /* of the route; 0: the device's */
};

struct neighbour_info {
	uint32_t ifindex;
	struct xlb_addr addr;
	uint16_t state; /* NUD_* */
	bool has_mac;
	uint8_t mac[6];
};

bool netmessage_link(const struct nlmsghdr *message, struct link_info *ret);
bool netmessage_address(const struct nlmsghdr *message, struct address_info *ret);
bool netmessage_route(const struct nlmsghdr *message, struct route_info *ret);
bool netmessage_neighbour(const struct nlmsghdr *message, struct neighbour_info *ret);

/* Questions, written to a zeroed buffer of NETSOCKET_QUESTION bytes. */
void netmessage_ask_links(char *buffer);
void netmessage_ask_addresses(char *buffer);
/* match: answer with the route's own prefix (RTM_F_FIB_MATCH) and not with what it means for this address. */
void netmessage_ask_route(char *buffer, const struct xlb_addr *addr, bool match);
void netmessage_ask_neighbour(char *buffer, uint32_t ifindex, const struct xlb_addr *addr);
/* "I use this neighbour": the kernel resolves it, or confirms that it is still there. Never of a permanent one. */
void netmessage_use_neighbour(char *buffer, uint32_t ifindex, const struct xlb_addr *addr);

#endif
