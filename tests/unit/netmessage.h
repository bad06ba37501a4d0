/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netmessage.h - rtnetlink messages for tests, fed to a mirror without a socket.
 */
#ifndef XLBD_TESTS_NETMESSAGE_H
#define XLBD_TESTS_NETMESSAGE_H

#include "xlbd/network.h"

struct test_link {
	uint32_t ifindex;
	const char *name, *kind; /* kind NULL: a NIC */
	uint32_t lower;
	uint16_t vlan_id, vlan_protocol; /* host order; protocol 0: the message has none */
	uint8_t mac;                     /* last byte of 02:00:00:00:00:xx */
	bool down, loopback;
	bool elsewhere; /* the device below is in another namespace */
};

/* True: the mirror changed. */
bool feed_link(struct network *network, const struct test_link *link);
bool feed_link_gone(struct network *network, uint32_t ifindex);
bool feed_address(struct network *network, uint32_t ifindex, const char *text);
bool feed_address_gone(struct network *network, uint32_t ifindex, const char *text);

#endif
