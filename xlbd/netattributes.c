// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netattributes.c - netlink attributes by number.
 *
 * A message is turned into an array of pointers once; whoever reads one says how long it must be. So a message that is cut short, or of a
 * kernel that is older or newer, gives "not there" and never a read behind its end. Numbers that nobody asks for are
 * skipped. netmessages.c (rtnetlink) and firewall_messages.c (nf_tables) read all their messages through this.
 */
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <string.h>

#include "xlbd/netattributes.h"

static void take(struct attributes *attributes, const struct nlattr *attribute)
{
	uint16_t type = mnl_attr_get_type(attribute);

	if (type < ATTRIBUTES_MAX)
		attributes->at[type] = attribute;
}

/* mnl_attr_for_each() goes by the padded length, up to three bytes behind a message that is cut short. */
struct attributes attributes_of(const struct nlmsghdr *message, size_t header)
{
	const struct nlattr *attribute = mnl_nlmsg_get_payload_offset(message, header);
	const char *end = (const char *)message + message->nlmsg_len;
	struct attributes attributes = {};

	for (; mnl_attr_ok(attribute, (int)(end - (const char *)attribute));
	     attribute = mnl_attr_next(attribute))
		take(&attributes, attribute);
	return attributes;
}

struct attributes attributes_nested(const struct nlattr *nest)
{
	struct attributes attributes = {};
	const struct nlattr *attribute;

	if (nest)
		mnl_attr_for_each_nested(attribute, nest)
			take(&attributes, attribute);
	return attributes;
}

const void *attribute_bytes(const struct attributes *attributes, int type, size_t size)
{
	const struct nlattr *attribute = attributes->at[type];

	if (!attribute || mnl_attr_get_payload_len(attribute) < size)
		return NULL;
	return mnl_attr_get_payload(attribute);
}

size_t attribute_length(const struct attributes *attributes, int type)
{
	const struct nlattr *attribute = attributes->at[type];

	return attribute ? mnl_attr_get_payload_len(attribute) : 0;
}

uint32_t attribute_u32(const struct attributes *attributes, int type)
{
	const void *bytes = attribute_bytes(attributes, type, sizeof(uint32_t));
	uint32_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

uint16_t attribute_u16(const struct attributes *attributes, int type)
{
	const void *bytes = attribute_bytes(attributes, type, sizeof(uint16_t));
	uint16_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

uint32_t attribute_be32(const struct attributes *attributes, int type)
{
	return ntohl(attribute_u32(attributes, type));
}

void attribute_string(const struct attributes *attributes, int type, char *text, size_t room)
{
	const struct nlattr *attribute = attributes->at[type];
	size_t length;

	if (!attribute)
		return;
	length = strnlen(mnl_attr_get_payload(attribute), mnl_attr_get_payload_len(attribute));
	if (length >= room)
		length = room - 1;
	memset(text, 0, room);
	memcpy(text, mnl_attr_get_payload(attribute), length);
}
