/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * addr.h - addresses as 16 bytes, IPv4 as ::ffff:a.b.c.d; print and parse. Pure.
 */
#ifndef XLBD_MODEL_ADDR_H
#define XLBD_MODEL_ADDR_H

#include <stdbool.h>
#include <stdint.h>

#include "xlb_shared.h"

#define ADDR_TEXT     48 /* room for any printed address */
#define ENDPOINT_TEXT 64 /* room for [address]:port/protocol */

struct xlb_addr addr_from_ipv4(__be32 address);
struct xlb_addr addr_from_bytes(
	int family, const void *bytes); /* AF_INET: 4 bytes, AF_INET6: 16; network order */
bool addr_is_ipv4(const struct xlb_addr *addr);
int addr_family(const struct xlb_addr *addr);  /* AF_INET or AF_INET6 */
__be32 addr_ipv4(const struct xlb_addr *addr); /* of an IPv4 address */
bool addr_equal(const struct xlb_addr *a, const struct xlb_addr *b);
int addr_compare(const struct xlb_addr *a, const struct xlb_addr *b); /* as memcmp: network order */
bool addr_is_zero(const struct xlb_addr *addr);                       /* 0.0.0.0 or :: */

/* "192.0.2.1" or "2001:db8::1", as inet_pton takes them: no names, no brackets, no scope. False: not an address. */
bool addr_parse(const char *text, struct xlb_addr *ret);
/* Writes at most ADDR_TEXT bytes and returns `buffer`. */
const char *addr_print(const struct xlb_addr *addr, char buffer[ADDR_TEXT]);

/*
 * "192.0.2.1:80", "[2001:db8::1]:80", each with an optional "/tcp" or "/udp"; protocol 0 if it is not there.
 * port in host order. False: not of this form.
 */
bool endpoint_parse(const char *text, struct xlb_addr *ret_addr, uint16_t *ret_port,
                    uint8_t *ret_protocol);
/* The same form; "/tcp" is written only if protocol is not 0. Returns `buffer`. */
const char *endpoint_print(const struct xlb_addr *addr, uint16_t port, uint8_t protocol,
                           char buffer[ENDPOINT_TEXT]);
const char *protocol_name(uint8_t protocol); /* "tcp", "udp", "sctp", "none" (0) or "?" */

#endif
