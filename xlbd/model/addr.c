// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * addr.c - addresses and endpoints: from bytes, to text and back.
 *
 * Everywhere outside the connection table an address is 16 bytes, IPv4 as ::ffff:a.b.c.d, so that one key and one function
 * serve both families. This file is the only place that decides which family an address is and
 * how it looks to a person. Everybody who reads or shows addresses calls it: the readers, the control socket, xlbctl.
 *
 * Consequence of the one form: "::ffff:192.0.2.1" written as IPv6 is the IPv4 address 192.0.2.1 and is printed as
 * that. IPVS would keep the two apart; model/judge.c leaves such services to IPVS.
 * It does not resolve names, know scopes or allocate.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xlbd/cleanup.h"
#include "xlbd/model/addr.h"

static const struct {
	uint8_t number;
	bool parsed; /* may stand behind an endpoint */
	const char *name;
} protocols[] = {
	{0, false, "none"},
	{IPPROTO_TCP, true, "tcp"},
	{IPPROTO_UDP, true, "udp"},
	{IPPROTO_SCTP, false, "sctp"},
};

struct xlb_addr addr_from_ipv4(__be32 address)
{
	return (struct xlb_addr){.word = {0, 0, htonl(0xffff), address}};
}

struct xlb_addr addr_from_bytes(int family, const void *bytes)
{
	struct xlb_addr addr;
	__be32 ipv4;

	if (family == AF_INET) {
		memcpy(&ipv4, bytes, sizeof(ipv4));
		return addr_from_ipv4(ipv4);
	}
	memcpy(&addr, bytes, sizeof(addr));
	return addr;
}

bool addr_is_ipv4(const struct xlb_addr *addr)
{
	return !addr->word[0] && !addr->word[1] && addr->word[2] == htonl(0xffff);
}

int addr_family(const struct xlb_addr *addr)
{
	return addr_is_ipv4(addr) ? AF_INET : AF_INET6;
}

__be32 addr_ipv4(const struct xlb_addr *addr)
{
	return addr->word[3];
}

bool addr_equal(const struct xlb_addr *a, const struct xlb_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

int addr_compare(const struct xlb_addr *a, const struct xlb_addr *b)
{
	return memcmp(a, b, sizeof(*a));
}

bool addr_is_zero(const struct xlb_addr *addr)
{
	if (addr->word[0] || addr->word[1] || addr->word[3])
		return false;
	return !addr->word[2] || addr_is_ipv4(addr);
}

bool addr_parse(const char *text, struct xlb_addr *ret)
{
	uint8_t bytes[16];
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;

	if (inet_pton(family, text, bytes) != 1)
		return false;
	*ret = addr_from_bytes(family, bytes);
	return true;
}

const char *addr_print(const struct xlb_addr *addr, char buffer[ADDR_TEXT])
{
	if (addr_is_ipv4(addr))
		inet_ntop(AF_INET, &addr->word[3], buffer, ADDR_TEXT);
	else
		inet_ntop(AF_INET6, addr, buffer, ADDR_TEXT);
	return buffer;
}

/* Digits alone, at most 65535; what follows them is given back. */
static bool parse_port(const char *text, uint16_t *ret, const char **ret_rest)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long port = strtoul(text, NULL, 10);

	if (!digits || digits > 5 || port > UINT16_MAX)
		return false;
	*ret = (uint16_t)port;
	*ret_rest = text + digits;
	return true;
}

static bool parse_protocol(const char *text, uint8_t *ret)
{
	if (!*text) {
		*ret = 0;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		if (*text != '/' || !protocols[i].parsed || strcmp(text + 1, protocols[i].name))
			continue;
		*ret = protocols[i].number;
		return true;
	}
	return false;
}

bool endpoint_parse(const char *text, struct xlb_addr *ret_addr, uint16_t *ret_port,
                    uint8_t *ret_protocol)
{
	bool bracket = *text == '[';
	const char *begin = text + bracket, *end = strchr(begin, bracket ? ']' : ':'), *rest;
	char copy[ADDR_TEXT];
	struct xlb_addr addr;
	uint16_t port;
	uint8_t protocol;

	if (!end || (size_t)(end - begin) >= sizeof(copy) || end[bracket] != ':')
		return false;
	memcpy(copy, begin, end - begin);
	copy[end - begin] = 0;
	/* brackets are for IPv6 alone: [192.0.2.1]:80 is a mistake worth telling */
	if (bracket != !!strchr(copy, ':') || !addr_parse(copy, &addr))
		return false;
	if (!parse_port(end + bracket + 1, &port, &rest) || !parse_protocol(rest, &protocol))
		return false;

	*ret_addr = addr;
	*ret_port = port;
	*ret_protocol = protocol;
	return true;
}

const char *endpoint_print(const struct xlb_addr *addr, uint16_t port, uint8_t protocol,
                           char buffer[ENDPOINT_TEXT])
{
	bool bracket = !addr_is_ipv4(addr);
	char text[ADDR_TEXT];

	snprintf(buffer, ENDPOINT_TEXT, "%s%s%s:%u%s%s", bracket ? "[" : "", addr_print(addr, text),
	         bracket ? "]" : "", port, protocol ? "/" : "",
	         protocol ? protocol_name(protocol) : "");
	return buffer;
}

const char *protocol_name(uint8_t protocol)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		if (protocols[i].number == protocol)
			return protocols[i].name;
	return "?";
}
